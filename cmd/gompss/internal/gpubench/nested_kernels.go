package gpubench

import _ "embed"

// Kernels with nested loops on graphs in compressed rows. The suite compiles them once for each way
// to write the nested loop.

//go:embed nested_kernels.go
var nestedSource string

//omp:target device(acc, smp)
//omp:task in(start, col, val, x) inout(y)
func RowProducts(start, col []int32, val, x, y []float64) {
	//omp:teams distribute parallel for
	for r := 0; r < len(start)-1; r++ {
		s := 0.0
		//omp:parallel for reduction(+: s) nested(auto)
		for k := start[r]; k < start[r+1]; k++ {
			s += val[k] * x[col[k]]
		}
		y[r] = s
	}
}

// LevelOf is one level of a breadth-first search: depth is that of the whole search.
//
//omp:target device(acc, smp)
//omp:task in(start, col, depth) inout(next)
func LevelOf(level int, start, col, depth, next []int32) {
	//omp:teams distribute parallel for
	for v := 0; v < len(start)-1; v++ {
		if depth[v] == int32(level) {
			//omp:parallel for nested(auto)
			for e := start[v]; e < start[v+1]; e++ {
				if depth[col[e]] > int32(level) {
					//omp:atomic
					next[col[e]] = min(next[col[e]], int32(level)+1)
				}
			}
		}
	}
}

// RankStep is a step of PageRank that pulls from the neighbours.
//
//omp:target device(acc, smp)
//omp:task in(start, col, share) inout(next)
func RankStep(damping float64, start, col []int32, share, next []float64) {
	//omp:teams distribute parallel for
	for v := 0; v < len(start)-1; v++ {
		sum := 0.0
		//omp:parallel for reduction(+: sum) nested(auto)
		for e := start[v]; e < start[v+1]; e++ {
			sum += share[col[e]]
		}
		next[v] = 1 - damping + damping*sum
	}
}

// Relax relaxes the edges of the nodes whose distance changed, one of four.
//
//omp:target device(acc, smp)
//omp:task in(start, col, weight, dist) inout(next)
func Relax(start, col, weight, dist, next []int32) {
	//omp:teams distribute parallel for
	for v := 0; v < len(start)-1; v++ {
		mine := dist[v]
		if mine&3 == 0 {
			//omp:parallel for nested(auto)
			for e := start[v]; e < start[v+1]; e++ {
				//omp:atomic
				next[col[e]] = min(next[col[e]], mine+weight[e])
			}
		}
	}
}
