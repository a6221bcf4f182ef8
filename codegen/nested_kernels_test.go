package codegen_test

import _ "embed"

// Kernels with nested loops whose length memory decides, as programs on graphs and sparse matrices
// have them.

//go:embed nested_kernels_test.go
var nestedKernelsSource string

//omp:target device(acc, smp)
//omp:task in(start, col, val, x) out(y)
func NestedSpMV(start, col []int32, val, x, y []float64) {
	//omp:teams distribute parallel for
	for r := 0; r < len(start)-1; r++ {
		s := 0.5
		//omp:parallel for reduction(+: s) nested(auto)
		for k := start[r]; k < start[r+1]; k++ {
			s += val[k] * x[col[k]]
		}
		y[r] = 2 * s
	}
}

// NestedBFS marks the neighbours of the nodes of a level.
//
//omp:target device(acc, smp)
//omp:task in(start, col) inout(depth, reached)
func NestedBFS(level int32, start, col, depth []int32, reached []int64) {
	//omp:teams distribute parallel for
	for v := 0; v < len(start)-1; v++ {
		if depth[v]&7 != level {
			continue
		}
		lo, hi := start[v], start[v+1]
		//omp:parallel for nested(auto)
		for e := lo; e < hi; e++ {
			//omp:atomic
			reached[col[e]]++
		}
		depth[v] += 8
	}
}

// NestedSSSP relaxes the edges of the nodes that changed; far ones are counted apart.
//
//omp:target device(acc, smp)
//omp:task in(start, col, weight, old, changed) inout(dist, seen)
func NestedSSSP(start, col, weight, old, dist []int32, changed []uint8, seen []int32) {
	total := int32(0)
	//omp:teams distribute parallel for reduction(+: total)
	for v := 0; v < len(start)-1; v++ {
		mine := old[v]
		if changed[v] != 0 {
			far := int8(mine & 3)
			//omp:parallel for nested(auto) if(start[v+1] - start[v] > 12)
			for e := start[v]; e < start[v+1]; e++ {
				//omp:atomic
				dist[col[e]] = min(dist[col[e]], mine+weight[e]+int32(far))
			}
			total += mine
		}
		total++
	}
	seen[0] = total
}

// NestedColour finds the least colour that no neighbour has, in two nested loops.
//
//omp:target device(acc, smp)
//omp:task in(start, col, colour) inout(next)
func NestedColour(start, col, colour []int32, next []int64) {
	//omp:teams distribute parallel for
	for v := 0; v < len(start)-1; v++ {
		used, larger := uint64(0), 0
		//omp:parallel for reduction(|: used) nested(auto)
		for e := start[v]; e < start[v+1]; e++ {
			used |= 1 << (uint32(colour[col[e]]) & 63)
		}
		if used == 0 {
			next[v] = -1
			continue
		}
		//omp:parallel for reduction(+: larger) nested(auto)
		for e := start[v]; e < start[v+1]; e++ {
			if col[e] > int32(v) {
				larger++
			}
		}
		c := int64(0)
		for used&1 != 0 {
			used >>= 1
			c++
		}
		next[v] = c<<32 + int64(larger)
	}
}

// NestedTriangles counts the common neighbours of the ends of each edge: a loop in the nested loop.
//
//omp:target device(acc, smp)
//omp:task in(start, col) out(count)
func NestedTriangles(start, col []int32, count []int64) {
	//omp:teams distribute parallel for
	for v := 0; v < len(start)-1; v++ {
		n := int64(0)
		//omp:parallel for reduction(+: n) nested(auto)
		for e := start[v]; e < start[v+1]; e++ {
			w := col[e]
			for f := start[w]; f < start[w+1]; f++ {
				if col[f]%16 == int32(v%16) {
					n++
				}
			}
		}
		count[v] = n
	}
}

// NestedPageRank has two sums of floats and a condition around the nested loop.
//
//omp:target device(acc, smp)
//omp:task in(start, col, rank, degree) out(next, most)
func NestedPageRank(damping float64, start, col []int32, rank, degree, next, most []float64) {
	//omp:teams distribute parallel for
	for v := 0; v < len(start)-1; v++ {
		sum, top, weights := 0.0, -1.0, 1.0
		if start[v] < start[v+1] {
			//omp:parallel for reduction(+: sum, weights) reduction(max: top) nested(auto)
			for e := start[v]; e < start[v+1]; e++ {
				u := col[e]
				sum += rank[u] / (degree[u] + 1)
				weights += rank[u]
				top = max(top, rank[u])
			}
		}
		next[v] = (1-damping)/weights + damping*sum
		most[v] = top
	}
}

// NestedComponents hooks the labels of neighbours, from a slice of the edges.
//
//omp:target device(acc, smp)
//omp:task in(start, col, label) inout(next)
func NestedComponents(start, col, label, next []int32) {
	//omp:teams distribute parallel for
	for v := 0; v < len(start)-1; v++ {
		least := label[v]
		//omp:parallel for reduction(min: least) nested(auto)
		for e := start[v]; e < start[v+1]; e++ {
			least = min(least, label[col[e]])
		}
		if least < label[v] {
			//omp:atomic
			next[label[v]] = min(next[label[v]], least)
		}
	}
}

// NestedBezier makes as many points of a curve as its curvature asks for.
//
//omp:target device(acc, smp)
//omp:task in(first, ax, bx, cx) inout(px)
func NestedBezier(first []int32, ax, bx, cx, px []float32) {
	//omp:teams distribute parallel for
	for i := 0; i < len(first)-1; i++ {
		n := first[i+1] - first[i]
		a, b, c := ax[i], bx[i], cx[i]
		//omp:parallel for nested(auto)
		for k := first[i]; k < first[i+1]; k++ {
			t := float32(k-first[i]) / float32(n)
			u := 1 - t
			px[k] = float32(float32(u*u)*a) + float32(float32(2*u*t)*b) + float32(float32(t*t)*c)
		}
	}
}

// The plain forms in which people write nested loops, with no clause for them.

//omp:target device(acc, smp)
//omp:task in(start, col, val, x) inout(y)
func PlainSlices(start, col []int32, val, x, y []float64) {
	//omp:teams distribute parallel for
	for r := 0; r < len(start)-1; r++ {
		s := 0.0
		cols := col[start[r]:start[r+1]]
		vals := val[start[r]:start[r+1]]
		//omp:simd reduction(+: s)
		for k := range cols {
			s += vals[k] * x[cols[k]]
		}
		y[r] = s
	}
}

//omp:target device(acc, smp)
//omp:task in(start, col, x) inout(y)
func PlainRange(start, col []int32, x, y []int64) {
	//omp:teams distribute parallel for
	for r := 0; r < len(start)-1; r++ {
		s := int64(r)
		for _, c := range col[start[r]:start[r+1]] {
			s += x[c]
		}
		y[r] = s
	}
}

//omp:target device(acc, smp)
//omp:task in(start, col, val, x) inout(y)
func PlainInPlace(start, col []int32, val, x, y []float64) {
	//omp:teams distribute parallel for
	for r := 0; r < len(start)-1; r++ {
		y[r] = 0
		//omp:simd reduction(+: y[r])
		for k := start[r]; k < start[r+1]; k++ {
			y[r] += val[k] * x[col[k]]
		}
	}
}

//omp:target device(acc, smp) fastmath
//omp:task in(start, col, val, x) inout(y)
func PlainFast(start, col []int32, val, x, y []float64) {
	for r := 0; r < len(start)-1; r++ {
		s := 0.0
		for k := start[r]; k < start[r+1]; k++ {
			s += val[k] * x[col[k]]
		}
		y[r] = s
	}
}

//omp:target device(acc, smp)
//omp:task in(start, col, depth) inout(next)
func PlainLevel(level int32, start, col, depth, next []int32) {
	//omp:teams distribute parallel for
	for v := 0; v < len(start)-1; v++ {
		if depth[v] != level {
			continue
		}
		for e := start[v]; e < start[v+1]; e++ {
			w := col[e]
			//omp:atomic compare
			if next[w] == 3 {
				next[w] = level + 5
			}
		}
	}
}

//omp:target device(acc, smp)
//omp:task in(start, col) inout(count)
func PlainTriangles(start, col []int32, count []int64) {
	total := int64(0)
	//omp:teams distribute parallel for reduction(+: total)
	for v := 0; v < len(start)-1; v++ {
		for e := start[v]; e < start[v+1]; e++ {
			w := col[e]
			for f := start[w]; f < start[w+1]; f++ {
				if col[f] == int32(v) {
					total++
				}
			}
		}
	}
	count[0] += total
}

//omp:target device(acc, smp)
//omp:task in(front, start, col, p) inout(next)
func PlainQueue(front []int32, start, col, p, next []int32) {
	//omp:teams distribute parallel for
	for i := 0; i < len(front); i++ {
		v := front[i]
		for e := start[v]; e < start[v+1]; e++ {
			//omp:atomic
			next[col[e]] += p[v]
		}
	}
}

// PlainSkips has nested loops under an if, one behind the other, between code that may end the
// iteration.
//
//omp:target device(acc, smp)
//omp:task in(start, col, on, p) inout(next, seen)
func PlainSkips(start, col, on []int32, p, next []float64, seen []int32) {
	//omp:teams distribute parallel for
	for v := 0; v < len(start)-1; v++ {
		if on[v] == 3 {
			continue
		}
		if on[v] > 0 {
			most := -1.0
			for e := start[v]; e < start[v+1]; e++ {
				most = max(most, p[col[e]])
			}
			sum := 0.0
			//omp:simd reduction(+: sum)
			for e := start[v]; e < start[v+1]; e++ {
				sum += p[col[e]] - most
			}
			if sum < -40 {
				continue
			}
			next[v] = sum
		}
		seen[v]++
	}
}

// PlainSifted has a condition around its nested loop, an iteration on either side of it, and a
// context of several types with a slice in it.
//
//omp:target device(acc, smp)
//omp:task in(start, col, on, weight) inout(near, left, visited)
func PlainSifted(scale float32, start, col, on []int32, weight []float32, near []float32, left []int64, visited []int32) {
	count := int32(0)
	//omp:teams distribute parallel for reduction(+: count)
	for v := 0; v < len(start)-1; v++ {
		lo, hi := start[v], start[v+1]
		cols := col[lo:hi]
		odd, by, small := v%2 == 1, scale*weight[v], uint8(v)
		if on[v] > 1 {
			sum := float32(0)
			//omp:simd reduction(+: sum)
			for k := range cols {
				sum += by * weight[cols[k]]
			}
			if odd {
				sum += float32(small)
			}
			near[v] = sum
			count++
		} else {
			near[v] = -by
			count += 2
		}
		left[v] += int64(small) + int64(v)
	}
	visited[0] += count
}

// PlainOther has two nested loops over rows of different lengths.
//
//omp:target device(acc, smp)
//omp:task in(start, col, x) inout(y)
func PlainOther(start, col []int32, x, y []int64) {
	//omp:teams distribute parallel for
	for v := 0; v < len(start)-1; v++ {
		s, last := int64(0), len(start)-2-v
		for e := start[v]; e < start[v+1]; e++ {
			s += x[col[e]]
		}
		for e := start[last]; e < start[last+1]; e++ {
			s -= 2 * x[col[e]]
		}
		y[v] = s
	}
}

// PlainChanged takes nodes from a set as it relaxes their edges: it writes in front of the nested
// loop, in a branch of a branch.
//
//omp:target device(acc, smp)
//omp:task in(start, col, weight, dist) inout(changed, next, far)
func PlainChanged(start, col, weight, dist []int32, changed []uint8, next []int32, far []int64) {
	//omp:teams distribute parallel for
	for v := 0; v < len(start)-1; v++ {
		if changed[v] != 0 {
			changed[v] = 0
			mine := dist[v]
			if mine > 2 {
				far[v] += 2
				for e := start[v]; e < start[v+1]; e++ {
					//omp:atomic
					next[col[e]] = min(next[col[e]], mine+weight[e])
				}
				far[v] *= 3
			} else {
				far[v]--
			}
			changed[v] += uint8(mine & 1)
		}
	}
}

// PlainFree colours the nodes that no neighbour keeps from it, which loops over neighbours find by
// setting a variable.
//
//omp:target device(acc, smp)
//omp:task in(start, col, priority) inout(colour, next, left)
func PlainFree(round int32, start, col, priority, colour, next []int32, left []int64) {
	count := int64(0)
	//omp:teams distribute parallel for reduction(+: count)
	for v := 0; v < len(start)-1; v++ {
		if colour[v] != 0 {
			continue
		}
		free, last := true, uint8(3)
		for e := start[v]; e < start[v+1]; e++ {
			u := col[e]
			if colour[u] == 0 && priority[u] > priority[v] {
				free = false
			}
			if priority[u] == 4 {
				last = 7
			}
		}
		if free {
			next[v] = round + int32(last)
		} else {
			count++
		}
	}
	left[0] = count
}
