package task_test

import _ "embed"

//go:embed nested_kernels_test.go
var nestedSource string

//omp:target device(acc, smp)
//omp:task in(start[lo:hi+1], col, val, x) inout(y[lo:hi])
func NestedRows(lo, hi int, start, col []int32, val, x, y []int64) {
	//omp:teams distribute parallel for
	for r := lo; r < hi; r++ {
		s := y[r]
		//omp:parallel for reduction(+: s) nested(auto)
		for k := start[r]; k < start[r+1]; k++ {
			s += val[k] * x[col[k]]
		}
		y[r] = s
	}
}

// NestedReach reads the depths that NestedRows does not touch, and counts with atomics that tasks
// share.
//
//omp:target device(acc, smp)
//omp:task in(start[lo:hi+1], col, y[lo:hi]) concurrent(reached)
func NestedReach(lo, hi int, start, col []int32, y, reached []int64) {
	//omp:teams distribute parallel for
	for r := lo; r < hi; r++ {
		if y[r]&1 == 0 {
			//omp:parallel for nested(auto)
			for k := start[r]; k < start[r+1]; k++ {
				//omp:atomic
				reached[col[k]] += int64(k)
			}
		}
	}
}
