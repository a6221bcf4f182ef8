package specialise_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gompss/gompss/codegen"
	"github.com/gompss/gompss/codegen/ir"
	"github.com/gompss/gompss/codegen/ir/specialise"
)

func kernelOf(t *testing.T, text string) *ir.Kernel {
	t.Helper()
	p, err := codegen.Load(codegen.File{Name: "k.go", Text: "package k\n" + text})
	require.NoError(t, err)
	return p.Kernels()[0]
}

const sums = `
//omp:target device(acc)
//omp:task in(x) inout(y)
func Sums(n, m, from int, flip bool, x, y []float64) {
	width := m + 1
	//omp:teams distribute parallel for
	for i := 0; i < n; i++ {
		for j := 0; j < m; j++ {
			y[i] += x[i*width+j+from]
		}
		if m%2 == 1 && flip {
			y[i]++
		}
	}
}`

// The number of parallel iterations is no size, nor is what is added to an index, or a bool.
func TestSizes_ShapeTheCode(t *testing.T) {
	require.Equal(t, []int{1}, specialise.Sizes(kernelOf(t, sums)))
}

// What follows from a size is known, and the kernel itself stays as it is.
func TestWithSizes_FoldsWhatFollows(t *testing.T) {
	k := kernelOf(t, sums)
	before := k.String()
	odd := specialise.WithSizes(k, map[int]ir.Bits{1: 7}).String()
	require.Contains(t, odd, "j < 7")
	require.Contains(t, odd, "i * 8 + j + from")
	require.Contains(t, odd, "if flip")
	require.NotContains(t, odd, "width")
	even := specialise.WithSizes(k, map[int]ir.Bits{1: 8}).String()
	require.NotContains(t, even, "flip {")
	require.Equal(t, before, k.String())
}

// A product of two sizes is one, and a divisor that is 0 keeps its check.
func TestWithSizes_KeepsChecksThatFail(t *testing.T) {
	k := kernelOf(t, `
//omp:target device(acc)
//omp:task inout(y)
func Divided(n, d int, y []int) {
	//omp:teams distribute parallel for
	for i := 0; i < n; i++ {
		y[i] = y[i] / d + 12 / d
	}
}`)
	require.Equal(t, []int{1}, specialise.Sizes(k))
	checked := func(k *ir.Kernel) (n int) {
		ir.WalkExprs(k.Body, func(e ir.Expr) bool {
			if b, ok := e.(*ir.Binary); ok && b.Checked {
				n++
			}
			return true
		})
		return n
	}
	require.Equal(t, 2, checked(k))
	require.Equal(t, 2, checked(specialise.WithSizes(k, map[int]ir.Bits{1: 0})))
	require.Equal(t, 0, checked(specialise.WithSizes(k, map[int]ir.Bits{1: 5})))
}
