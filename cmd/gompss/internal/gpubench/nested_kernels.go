package gpubench

import _ "embed"

// Kernels with nested loops on graphs in compressed sparse rows. The suite compiles them once for
// each form of the nested loop.

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

// LevelOf is one level of a breadth-first search. depth has the levels found so far.
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

// RankStep is a step of PageRank in pull form.
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

// Relax relaxes the edges of the nodes whose distance changed: about one node of four.
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

// ScatterProducts is the product of the transposed matrix and x, which scatters each row.
//
//omp:target device(acc, smp)
//omp:task in(start, col, val, x) inout(y)
func ScatterProducts(start, col []int32, val, x, y []float64) {
	//omp:teams distribute parallel for
	for r := 0; r < len(start)-1; r++ {
		by := x[r]
		if by != 0 {
			//omp:parallel for nested(auto)
			for k := start[r]; k < start[r+1]; k++ {
				//omp:atomic
				y[col[k]] += by * val[k]
			}
		}
	}
}

// Highest colours a node if none of its uncoloured neighbours has a higher priority.
//
//omp:target device(acc, smp)
//omp:task in(start, col, priority) inout(colour)
func Highest(round int32, start, col, priority, colour []int32) {
	//omp:teams distribute parallel for
	for v := 0; v < len(start)-1; v++ {
		most := int32(-1)
		//omp:parallel for reduction(max: most) nested(auto)
		for e := start[v]; e < start[v+1]; e++ {
			most = max(most, priority[col[e]])
		}
		if most <= priority[v] {
			colour[v] = round
		}
	}
}

// Dependency adds up the dependencies of a node's successors, a step of betweenness centrality.
//
//omp:target device(acc, smp)
//omp:task in(start, col, depth, paths, delta) inout(next)
func Dependency(start, col, depth []int32, paths, delta, next []float32) {
	//omp:teams distribute parallel for
	for v := 0; v < len(start)-1; v++ {
		sum, below := float32(0), depth[v]+1
		//omp:parallel for reduction(+: sum) nested(auto)
		for e := start[v]; e < start[v+1]; e++ {
			w := col[e]
			if depth[w] == below {
				sum += (1 + delta[w]) / paths[w]
			}
		}
		next[v] = paths[v] * sum
	}
}

// RowSoftmax computes the normalising sums of ragged rows, with two loops for each row.
//
//omp:target device(acc, smp)
//omp:task in(start, col, score) inout(total)
func RowSoftmax(start, col []int32, score, total []float32) {
	//omp:teams distribute parallel for
	for r := 0; r < len(start)-1; r++ {
		most := float32(-1e30)
		//omp:parallel for reduction(max: most) nested(auto)
		for k := start[r]; k < start[r+1]; k++ {
			most = max(most, score[k])
		}
		sum := float32(0)
		//omp:parallel for reduction(+: sum) nested(auto)
		for k := start[r]; k < start[r+1]; k++ {
			d := score[k] - most
			sum += 1 / (1 + d*d)
		}
		total[r] = sum
	}
}

// Tessellate computes points of quadratic curves. The length of a row is the number of its points.
//
//omp:target device(acc, smp)
//omp:task in(start, col, a, b, c) inout(point)
func Tessellate(start, col []int32, a, b, c, point []float32) {
	//omp:teams distribute parallel for
	for r := 0; r < len(start)-1; r++ {
		p, q, s := a[r], b[r], c[r]
		by := 1 / float32(start[r+1]-start[r]+1)
		//omp:parallel for nested(auto)
		for k := start[r]; k < start[r+1]; k++ {
			t := float32(k-start[r]) * by
			u := 1 - t
			point[k] = u*u*p + 2*t*u*q + t*t*s
		}
	}
}
