package prepare

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gompss/gompss/codegen"
	"github.com/gompss/gompss/codegen/ir"
)

const kernels = `package k

type point struct{ x, y float32 }

func length2(p point) float32 { return p.x*p.x + p.y*p.y }

//omp:target
func calls(out []float32, in []point) {
	//omp:teams distribute parallel for
	for i := range out {
		out[i] = length2(in[i])
	}
}

//omp:target
func parts(out, in []float32, n int) {
	//omp:teams distribute parallel for
	for i := 0; i < n; i++ {
		row := in[i*4 : i*4+4]
		sum := float32(0)
		for _, v := range row {
			sum += v
		}
		out[i] = sum
	}
}

//omp:target
func through(sum *float64, x []float64) {
	//omp:teams distribute parallel for reduction(+: *sum)
	for i := range x {
		*sum += x[i]
	}
}
`

func load(t *testing.T) []*ir.Kernel {
	t.Helper()
	p, err := codegen.Load(codegen.File{Name: "k.go", Text: kernels})
	require.NoError(t, err)
	return p.Kernels()
}

func TestKernel_LeavesItsArgumentAlone(t *testing.T) {
	for _, k := range load(t) {
		before := k.String()
		_, err := Kernel(k)
		require.NoError(t, err)
		require.Equal(t, before, k.String())
	}
}

// What remains are slices, numbers and operations on them.
func TestKernel_LeavesNoCallsPartsAndPointers(t *testing.T) {
	for _, k := range load(t) {
		r, err := Kernel(k)
		require.NoError(t, err)
		for _, v := range r.Kernel.Params {
			require.NotEqual(t, ir.Pointer, v.Type.Kind, "%s", v.Name)
		}
		ir.WalkStmts(r.Kernel.Body, func(s ir.Stmt) bool {
			_, call := s.(*ir.Call)
			require.False(t, call, "%s calls", k.Name)
			return true
		})
		ir.WalkExprs(r.Kernel.Body, func(e ir.Expr) bool {
			switch e.(type) {
			case *ir.Reslice, *ir.Deref:
				t.Errorf("%s: %T %s is left", k.Name, e, ir.Source(e))
			}
			return true
		})
	}
}

// A pass keeps what is written in the loops: every one of them, alone, makes statements that print.
func TestPasses_HaveNamesAndKeepLoops(t *testing.T) {
	for _, k := range load(t) {
		p := newResult(k)
		params, body := k.Params, k.Body
		for _, pass := range passes {
			require.NotEmpty(t, pass.name)
			params, body = pass.run(p, params, body)
			loops := 0
			ir.WalkStmts(body, func(s ir.Stmt) bool {
				if _, ok := ir.ParallelLoop(s); ok {
					loops++
				}
				return true
			})
			require.Equal(t, 1, loops, "%s after %q:\n%s", k.Name, pass.name, ir.StmtsString(body))
		}
	}
}

func TestKernel_RefusesPartsOfSeveralSlices(t *testing.T) {
	p, err := codegen.Load(codegen.File{Name: "k.go", Text: `package k

//omp:target
func either(out, a, b []float32, n int) {
	//omp:teams distribute parallel for
	for i := 0; i < n; i++ {
		row := a[i:]
		if i > 3 {
			row = b[i:]
		}
		out[i] = row[0]
	}
}
`})
	require.NoError(t, err)
	_, err = Kernel(p.Kernels()[0])
	var refusal *Refusal
	require.ErrorAs(t, err, &refusal)
	require.Contains(t, refusal.Why, "is a part of")
	require.Equal(t, "either", refusal.Kernel)
}
