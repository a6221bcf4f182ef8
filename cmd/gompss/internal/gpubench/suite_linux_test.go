//go:build amd64 || arm64

package gpubench

import (
	"fmt"
	"math"
	"reflect"
	"runtime"
	"strings"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"

	"github.com/gompss/gompss/codegen"
	"github.com/gompss/gompss/codegen/ir"
	"github.com/gompss/gompss/codegen/simt"
	"github.com/gompss/gompss/devices"
)

// Every form of every kernel of the suite computes on device code what the Go function computes,
// without a race, with few and with many teams.
func TestSuite_EqualsGo(t *testing.T) {
	for _, p := range suiteParts {
		pkg, err := codegen.Load(codegen.File{Name: p.name + ".go", Text: p.text})
		require.NoError(t, err)
		for _, c := range p.cases {
			for _, f := range c.forms {
				name := formName(f)
				t.Run(name, func(t *testing.T) {
					t.Parallel()
					if name == "Mandelbrot" && fuses(1+0x1p-30, -1-0x1p-29) {
						t.Skip("its number of rounds shows that Go fuses products and sums on this processor")
					}
					equalsGo(t, pkg, c, f, name)
				})
			}
		}
	}
}

// fuses reports whether Go makes one operation of a product and a sum, for an x whose square is not
// -y but is rounded to it.
//
//go:noinline
func fuses(x, y float64) bool { return x*x+y != 0 }

func formName(f any) string {
	full := runtime.FuncForPC(reflect.ValueOf(f).Pointer()).Name()
	return full[strings.LastIndex(full, ".")+1:]
}

func equalsGo(t *testing.T, pkg *codegen.Package, c suiteCase, f any, name string) {
	k, err := pkg.Kernel(name)
	require.NoError(t, err)
	made, _, err := suiteKernelOf(k)
	require.NoError(t, err)
	n := c.size[1]
	want := c.args(n)
	var in []reflect.Value
	for _, a := range want {
		in = append(in, reflect.ValueOf(a))
	}
	reflect.ValueOf(f).Call(in)
	shapes := []simt.Config{{Teams: 7, Threads: 256, Races: !c.again}, {Teams: 1, Threads: 64, Races: !c.again}}
	if testing.Short() {
		shapes = shapes[:1]
	}
	for _, p := range []*ir.Program{made.Program, made.Unchecked} {
		if p == nil {
			continue
		}
		program, err := simt.New(p)
		require.NoError(t, err)
		for _, shape := range shapes {
			got := c.args(n)
			_, err := program.Run(argsOf(got), shape)
			require.NoError(t, err, fmt.Sprint(shape))
			for i := range got {
				if reflect.ValueOf(got[i]).Kind() == reflect.Slice {
					require.NoError(t, alike(want[i], got[i], max(c.tolerance, 1e-6)), "argument %d of %d teams", i, shape.Teams)
				}
			}
		}
	}
}

// The host proves every launch of the suite, as that of a task, but for what it cannot know: which
// elements an interior or a rim leaves out, what is on a diagonal, and where the parts of a
// transform end.
func TestSuite_HostProves(t *testing.T) {
	left := map[string]bool{"Conv5Rim": true, "Diffusion": true, "Alignment": true, "RadixFour": true, "Depthwise": true, "DepthwiseLoop": true, "Ising": true}
	for _, p := range suiteParts {
		pkg, err := codegen.Load(codegen.File{Name: p.name + ".go", Text: p.text})
		require.NoError(t, err)
		for _, c := range p.cases {
			var args []devices.Arg
			for _, a := range argsOf(c.args(c.size[1])) {
				args = append(args, devices.Arg{Bits: a.Bits, Len: a.Len, Cap: a.Cap})
			}
			for _, f := range c.forms {
				k, err := pkg.Kernel(formName(f))
				require.NoError(t, err)
				made, _, err := suiteKernelOf(k)
				require.NoError(t, err)
				if made.Unchecked != nil {
					require.Equal(t, !left[k.Name], made.Proves(args), k.Name)
				}
			}
		}
	}
}

// argsOf makes arguments of a kernel that is interpreted.
func argsOf(args []any) []simt.Arg {
	var out []simt.Arg
	for _, a := range args {
		switch a := a.(type) {
		case int:
			out = append(out, simt.Arg{Bits: uint64(a)})
		case uint32:
			out = append(out, simt.Arg{Bits: uint64(a)})
		case float32:
			out = append(out, simt.Arg{Bits: uint64(math.Float32bits(a))})
		case float64:
			out = append(out, simt.Arg{Bits: math.Float64bits(a)})
		default:
			v := reflect.ValueOf(a)
			size := int(v.Type().Elem().Size())
			bytes := unsafe.Slice((*byte)(v.UnsafePointer()), v.Len()*size)
			out = append(out, simt.Arg{Memory: &simt.Memory{Name: "argument", Bytes: bytes}, Len: int64(v.Len()), Cap: int64(v.Len())})
		}
	}
	return out
}
