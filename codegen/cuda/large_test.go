package cuda_test

import (
	"github.com/gompss/gompss/codegen"
	"github.com/gompss/gompss/codegen/ir"
)

// largeArrays has arrays of a thread that local memory cannot hold: one by elements, which is transposed, and one as a whole.
func largeArrays() *ir.Program {
	pkg, err := codegen.Load(codegen.File{Name: "large.go", Text: `package p

//omp:target device(acc)
//omp:task inout(x)
func largearrays(x []float64, n int) {
	//omp:teams distribute parallel for
	for i := 0; i < len(x); i++ {
		var a [200][300]float64
		var b [70000]float64
		for k := 0; k < n; k++ {
			a[k%200][k] += x[i]
		}
		b[n] = x[i]
		c := b[:n]
		x[i] = a[n][i] + c[0]
	}
}
`})
	if err != nil {
		panic(err)
	}
	k, err := pkg.Kernel("largearrays")
	if err != nil {
		panic(err)
	}
	low, err := codegen.Lower(k, codegen.LowerOptions{Target: "cuda"})
	if err != nil {
		panic(err)
	}
	return low.Program
}
