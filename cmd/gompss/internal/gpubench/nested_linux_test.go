//go:build amd64 || arm64

package gpubench

import (
	"math"
	"reflect"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"

	"github.com/gompss/gompss/codegen"
	"github.com/gompss/gompss/codegen/ir"
	"github.com/gompss/gompss/codegen/simt"
)

// Every way to write the nested loops computes what the Go function does on every graph of the
// suite.
func TestNestedSuite_WaysEqualGo(t *testing.T) {
	functions := map[string]any{"RowProducts": RowProducts, "LevelOf": LevelOf, "RankStep": RankStep, "Relax": Relax,
		"ScatterProducts": ScatterProducts, "Highest": Highest, "Dependency": Dependency, "RowSoftmax": RowSoftmax, "Tessellate": Tessellate}
	for _, how := range nestedWays {
		pkg, err := codegen.Load(codegen.File{Name: "nested_kernels.go", Text: nestedWay(how)})
		require.NoError(t, err)
		for _, c := range nestedSuite {
			k, err := pkg.Kernel(c.kernel)
			require.NoError(t, err)
			lowered, err := codegen.Lower(k, codegen.LowerOptions{})
			require.NoError(t, err)
			program, err := simt.New(lowered.Program)
			require.NoError(t, err)
			for _, g := range graphs(64) {
				args := c.args(g)[0]
				got := cloned(args[len(args)-1])
				var in []reflect.Value
				var list []simt.Arg
				for i, a := range args {
					in = append(in, reflect.ValueOf(a))
					if i == len(args)-1 {
						a = got
					}
					list = append(list, simtArg(a))
				}
				reflect.ValueOf(functions[c.kernel]).Call(in)
				_, err := program.Run(list, simt.Config{Teams: 2, Threads: 64, Races: true})
				require.NoError(t, err, "%s, %s, %s", how, c.kernel, g.name)
				require.NoError(t, alike(args[len(args)-1], got, nestedTolerance(got)), "%s, %s, %s", how, c.kernel, g.name)
			}
		}
	}
}

func simtArg(a any) simt.Arg {
	switch a := a.(type) {
	case int:
		return simt.Arg{Bits: ir.Bits(a)}
	case int32:
		return simt.Arg{Bits: ir.Bits(a)}
	case float64:
		return simt.Arg{Bits: ir.Bits(math.Float64bits(a))}
	}
	v := reflect.ValueOf(a)
	n := int64(v.Len())
	return simt.Arg{Len: n, Cap: n, Memory: &simt.Memory{Name: "argument", Bytes: unsafe.Slice((*byte)(v.UnsafePointer()), uintptr(n)*v.Type().Elem().Size())}}
}
