package gpubench

import (
	_ "embed"

	"github.com/gompss/gompss/codegen/kernel"
)

// Each kernel executes one construct turns times in each team of a league. The construct has just
// enough work that the compiler keeps it. The suite compiles the kernels once for each mode.

//go:embed overheads_kernels.go
var overheadsSource string

// EachParallel has two parallel regions per turn, each with one loop.
//
//omp:target device(acc, smp)
//omp:task inout(out)
func EachParallel(turns int, out []int32) {
	//omp:teams distribute thread_limit(256) mode(auto)
	for t := 0; t < len(out); t++ {
		var a, b [256]int32
		for r := 0; r < turns; r++ {
			//omp:parallel for
			for i := 0; i < 256; i++ {
				b[i] = a[(i+1)&255] + 1
			}
			//omp:parallel for
			for i := 0; i < 256; i++ {
				a[i] = b[(i+3)&255] ^ int32(r)
			}
		}
		out[t] = a[0]
	}
}

// EachFor has two loops per turn, in one parallel region.
//
//omp:target device(acc, smp)
//omp:task inout(out)
func EachFor(turns int, out []int32) {
	//omp:teams distribute thread_limit(256) mode(auto)
	for t := 0; t < len(out); t++ {
		var a, b [256]int32
		//omp:parallel
		{
			for r := 0; r < turns; r++ {
				//omp:for
				for i := 0; i < 256; i++ {
					b[i] = a[(i+1)&255] + 1
				}
				//omp:for
				for i := 0; i < 256; i++ {
					a[i] = b[(i+3)&255] ^ int32(r)
				}
			}
		}
		out[t] = a[0]
	}
}

// EachBarrier has two barriers per turn, each after a loop with nowait.
//
//omp:target device(acc, smp)
//omp:task inout(out)
func EachBarrier(turns int, out []int32) {
	//omp:teams distribute thread_limit(256) mode(auto)
	for t := 0; t < len(out); t++ {
		var a, b [256]int32
		//omp:parallel
		{
			for r := 0; r < turns; r++ {
				//omp:for nowait
				for i := 0; i < 256; i++ {
					b[i] = a[(i+1)&255] + 1
				}
				kernel.Barrier()
				//omp:for nowait
				for i := 0; i < 256; i++ {
					a[i] = b[(i+3)&255] ^ int32(r)
				}
				kernel.Barrier()
			}
		}
		out[t] = a[0]
	}
}

// EachSingle has one single block per turn, and a loop that reads what the block wrote.
//
//omp:target device(acc, smp)
//omp:task inout(out)
func EachSingle(turns int, out []int32) {
	//omp:teams distribute thread_limit(256) mode(auto)
	for t := 0; t < len(out); t++ {
		var a [256]int32
		s := int32(1)
		//omp:parallel
		{
			for r := 0; r < turns; r++ {
				//omp:single
				{
					s = s*5 + int32(r)
				}
				//omp:for
				for i := 0; i < 256; i++ {
					a[i] ^= s
				}
			}
		}
		out[t] = a[0]
	}
}

// EachReduction has one parallel region with a sum per turn.
//
//omp:target device(acc, smp)
//omp:task inout(out)
func EachReduction(turns int, out []int32) {
	//omp:teams distribute thread_limit(256) mode(auto)
	for t := 0; t < len(out); t++ {
		all := int32(t)
		for r := 0; r < turns; r++ {
			sum := int32(0)
			//omp:parallel for reduction(+: sum)
			for i := 0; i < 256; i++ {
				sum += int32(i) ^ all
			}
			all = all*3 + sum
		}
		out[t] = all
	}
}

// EachCritical has one parallel region per turn, in which every iteration adds to the same variable
// of the team atomically.
//
//omp:target device(acc, smp)
//omp:task inout(out)
func EachCritical(turns int, out []int32) {
	//omp:teams distribute thread_limit(256) mode(auto)
	for t := 0; t < len(out); t++ {
		all := int32(t)
		for r := 0; r < turns; r++ {
			sum := int32(0)
			//omp:parallel for
			for i := 0; i < 256; i++ {
				//omp:atomic
				sum += int32(i) ^ all
			}
			all = all*3 + sum
		}
		out[t] = all
	}
}

// EachStart measures the start of a league with one parallel region in each team.
//
//omp:target device(acc, smp)
//omp:task inout(out)
func EachStart(turns int, out []int32) {
	//omp:teams distribute thread_limit(256) mode(auto)
	for t := 0; t < len(out); t++ {
		var a [256]int32
		//omp:parallel for
		for i := 0; i < 256; i++ {
			a[i] = int32(i * turns)
		}
		out[t] = a[t&255] + int32(t)
	}
}
