package codegen_test

import (
	_ "embed"
	"fmt"
	"math"
	"math/rand/v2"
	"reflect"
	"runtime"
	"strings"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"

	"github.com/gompss/gompss/codegen"
	"github.com/gompss/gompss/codegen/ir"
	"github.com/gompss/gompss/codegen/simt"
)

//go:embed corpus_test.go
var corpusSource string

// loadCorpus compiles the kernels of corpus_test.go.
func loadCorpus(t testing.TB) *codegen.Package {
	t.Helper()
	p, err := codegen.Load(codegen.File{Name: "corpus_test.go", Text: corpusSource})
	require.NoError(t, err)
	return p
}

// name is the name of a kernel's Go function.
func name(kernel any) string {
	full := runtime.FuncForPC(reflect.ValueOf(kernel).Pointer()).Name()
	return full[strings.LastIndex(full, ".")+1:]
}

// makeArgs makes the arguments of a case; equal calls give equal arguments.
func (c corpusCase) makeArgs(n int) []any { return c.args(n, rand.New(rand.NewPCG(uint64(n), 7))) }

// runGo calls the kernel as the Go function that it is.
func (c corpusCase) runGo(args []any) {
	in := make([]reflect.Value, len(args))
	for i, a := range args {
		in[i] = reflect.ValueOf(a)
	}
	reflect.ValueOf(c.kernel).Call(in)
}

// differ returns the first difference between what two runs left in their arguments, "" for none.
func (c corpusCase) differ(want, got []any) string {
	for i := range want {
		if d := c.values(fmt.Sprintf("argument %d", i), reflect.ValueOf(want[i]), reflect.ValueOf(got[i])); d != "" {
			return d
		}
	}
	return ""
}

func (c corpusCase) values(path string, want, got reflect.Value) string {
	switch want.Kind() {
	case reflect.Slice, reflect.Array:
		for i := range want.Len() {
			if d := c.values(fmt.Sprintf("%s[%d]", path, i), want.Index(i), got.Index(i)); d != "" {
				return d
			}
		}
		return ""
	case reflect.Pointer:
		return c.values("*"+path, want.Elem(), got.Elem())
	case reflect.Struct:
		for i := range want.NumField() {
			if d := c.values(path+"."+want.Type().Field(i).Name, want.Field(i), got.Field(i)); d != "" {
				return d
			}
		}
		return ""
	case reflect.Float32, reflect.Float64:
		if c.near(want.Float(), got.Float()) {
			return ""
		}
	default:
		if want.Equal(got) {
			return ""
		}
	}
	return fmt.Sprintf("%s: got %v, want %v", path, got, want)
}

func (c corpusCase) near(want, got float64) bool {
	if math.Float64bits(want) == math.Float64bits(got) || math.IsNaN(want) && math.IsNaN(got) {
		return true
	}
	return math.Abs(want-got) <= c.tolerance*math.Max(1, math.Max(math.Abs(want), math.Abs(got)))
}

// deviceArg gives the interpreter the memory of a Go value itself: its bytes are in gc's layout already.
func deviceArg(i int, a any) simt.Arg {
	v := reflect.ValueOf(a)
	name := fmt.Sprintf("argument %d", i)
	view := func(at unsafe.Pointer, size uintptr) *simt.Memory {
		return &simt.Memory{Name: name, Bytes: unsafe.Slice((*byte)(at), size)}
	}
	switch v.Kind() {
	case reflect.Slice:
		n := int64(v.Len())
		return simt.Arg{Memory: view(v.UnsafePointer(), uintptr(n)*v.Type().Elem().Size()), Len: n, Cap: n}
	case reflect.Pointer:
		return simt.Arg{Memory: view(v.UnsafePointer(), v.Type().Elem().Size())}
	case reflect.Float32:
		return simt.Arg{Bits: ir.Bits(math.Float32bits(float32(v.Float())))}
	case reflect.Float64:
		return simt.Arg{Bits: ir.Bits(math.Float64bits(v.Float()))}
	case reflect.Bool:
		if v.Bool() {
			return simt.Arg{Bits: 1}
		}
		return simt.Arg{}
	}
	if v.CanInt() {
		return simt.Arg{Bits: ir.Bits(v.Int())}
	}
	return simt.Arg{Bits: ir.Bits(v.Uint())}
}

func runDevice(p *simt.Program, args []any, cfg simt.Config) error {
	list := make([]simt.Arg, len(args))
	for i, a := range args {
		list[i] = deviceArg(i, a)
	}
	_, err := p.Run(list, cfg)
	return err
}

// shapes are grids that no kernel may depend on: one thread, few and many teams, numbers that divide nothing. The zero
// shape is the natural grid.
var shapes = []struct{ teams, threads int }{{1, 1}, {1, 7}, {3, 64}, {5, 33}, {2, 32}, {13, 5}, {0, 0}}

// The Go run of a kernel is what it means; the device gives the same for every grid and order, with no race.
func TestDeviceEqualsGo(t *testing.T) {
	p := loadCorpus(t)
	for _, c := range corpus {
		t.Run(name(c.kernel), func(t *testing.T) {
			t.Parallel()
			for _, opt := range []codegen.LowerOptions{{}, {NoShuffles: true, KeepChecks: true}} {
				c.compare(t, lowerKernel(t, p, name(c.kernel), opt).Program, opt.NoShuffles)
			}
		})
	}
}

func (c corpusCase) compare(t *testing.T, lowered *ir.Program, odd bool) {
	program, err := simt.New(lowered)
	require.NoError(t, err)
	for _, n := range []int{0, 1, 7, 100, 333} {
		want := c.makeArgs(n)
		c.runGo(want)
		for k, s := range shapes {
			cfg := simt.Config{Teams: s.teams, Threads: s.threads, Seed: uint64(k), Races: true, Steps: 50_000_000}
			got := c.makeArgs(n)
			where := fmt.Sprintf("size %d, %d teams of %d threads, any number of threads %v", n, s.teams, s.threads, odd)
			require.NoError(t, runDevice(program, got, cfg), "%s\n%s", where, lowered)
			if d := c.differ(want, got); d != "" {
				t.Fatalf("%s: %s\n%s", where, d, lowered)
			}
		}
	}
}
