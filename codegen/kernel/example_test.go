package kernel_test

import (
	"fmt"

	"github.com/gompss/gompss/codegen/kernel"
)

// Functions of this package run as Go too; one function serves both float types.
func Example() {
	fmt.Println(kernel.Rsqrt(float32(4)), kernel.Sqrt(2.25), kernel.FMA(2.0, 3.0, 1.0))
	// Output: 0.5 1.5 7
}

// Without devices the function is a league of one team of one thread.
func ExampleThreadNum() {
	fmt.Println(kernel.TeamNum(), kernel.NumTeams(), kernel.ThreadNum(), kernel.NumThreads())
	// Output: 0 1 0 1
}

// The two steps of Newton's method make of a quick estimate the inverse square root to all bits
// but the last ones.
func ExampleRsqrt() {
	x, y := float32(9), float32(0.3)
	for range 2 {
		y *= 1.5 - 0.5*x*y*y
	}
	fmt.Println(kernel.Abs(y-kernel.Rsqrt(x)) < 1e-3)
	// Output: true
}

// FMA rounds once: the rest that a product leaves is exact.
func ExampleFMA() {
	x := 1 + 0x1p-30
	product := x * x
	fmt.Println(kernel.FMA(x, x, -product) == 0x1p-60)
	// Output: true
}
