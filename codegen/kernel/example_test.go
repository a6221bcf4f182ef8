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
