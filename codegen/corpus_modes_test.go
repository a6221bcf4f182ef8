package codegen_test

import "github.com/gompss/gompss/codegen/kernel"

// The kernels of this file run in every mode: the tests put each in place of "auto".

//omp:target device(acc, smp)
//omp:task inout(y) in(x)
func ModeAlpha(x, y []float32, n int) {
	//omp:teams mode(auto) num_teams(1)
	{
		alpha := x[0] * 2
		//omp:parallel for
		for i := 0; i < n; i++ {
			y[i] += alpha * x[i]
		}
		alpha = alpha + y[0]
		//omp:parallel for
		for i := 0; i < n; i++ {
			y[i] -= alpha
		}
	}
}

//omp:target device(acc, smp)
//omp:task inout(x, d)
func ModeBranch(x, d []int32, n int) {
	//omp:teams distribute mode(auto)
	for r := 0; r < len(d); r++ {
		d[r]++
		if d[r] > 3 {
			//omp:parallel for
			for i := 0; i < n; i++ {
				x[r*n+i] += d[r]
			}
		} else if d[r] > 1 {
			//omp:parallel for
			for i := 0; i < n; i++ {
				x[r*n+i] -= d[r]
			}
			d[r] = 50
		} else {
			continue
		}
		d[r] += x[r*n]
	}
}

//omp:target device(acc, smp)
//omp:task inout(x, s)
func ModeSerial(x, s []int32, n int) {
	//omp:teams distribute mode(auto)
	for r := 0; r < len(s); r++ {
		k := s[r]
		for j := int32(0); j < 3; j++ {
			s[r] += k
			k += j
		}
		//omp:parallel for
		for i := 0; i < n; i++ {
			x[r*n+i] -= k
		}
		if s[r] > 5 {
			s[r] = 5
			//omp:parallel for
			for i := 0; i < n; i++ {
				x[r*n+i] += s[r]
			}
		}
		s[r] += k
	}
}

//omp:target device(acc, smp)
//omp:task inout(x, rounds)
func ModeConverge(x []int64, n int, rounds []int32) {
	//omp:teams distribute mode(auto)
	for r := 0; r < len(rounds); r++ {
		for k := int32(0); ; k++ {
			sum := int64(0)
			//omp:parallel for reduction(+: sum)
			for i := 0; i < n; i++ {
				sum += x[r*n+i]
			}
			if sum < 10 || k > 20 {
				rounds[r] = k
				break
			}
			if sum%2 == 1 {
				x[r*n]--
				continue
			}
			//omp:parallel for
			for i := 0; i < n; i++ {
				x[r*n+i] /= 2
			}
		}
	}
}

//omp:target device(acc, smp)
//omp:task inout(x)
func ModeRows(x []int32, n int) {
	//omp:teams distribute mode(auto)
	for r := 0; r < len(x)/n; r++ {
		row := x[r*n : r*n+n]
		if r%2 == 1 {
			row = row[:n/2]
		}
		//omp:parallel
		{
			fill(row, int32(r))
		}
		row[0] += int32(len(row))
	}
}

//omp:target device(acc, smp)
//omp:task in(x) inout(out)
func ModeSums(n, m int, x, out []int64) {
	s, most := int64(10), int64(-1)
	//omp:teams distribute mode(auto) reduction(+: s) reduction(max: most)
	for i := 0; i < n; i++ {
		t := int64(0)
		//omp:parallel for reduction(+: t)
		for j := 0; j < m; j++ {
			t += x[i*m+j]
		}
		s += t * int64(i)
		most = max(most, t)
	}
	out[0] = s
	out[1] = most
}

//omp:target device(acc, smp)
//omp:task inout(x)
func ModeFew(x []int32, n, few int) {
	//omp:teams distribute mode(auto)
	for r := 0; r < len(x)/n; r++ {
		base := x[r*n]
		//omp:parallel num_threads(64)
		{
			//omp:for
			for i := 0; i < n; i++ {
				x[r*n+i] += base
			}
			//omp:for
			for i := 0; i < n/2; i++ {
				x[r*n+i] += x[r*n+n-1-i]
			}
		}
		//omp:parallel num_threads(few)
		{
			for i := kernel.ThreadNum(); i < n; i += kernel.NumThreads() {
				x[r*n+i] ^= base
			}
			kernel.Barrier()
			//omp:for
			for i := 1; i < n; i += 2 {
				x[r*n+i] += x[r*n+i-1]
			}
		}
		//omp:parallel for num_threads(3)
		for i := 0; i < n; i++ {
			x[r*n+i]++
		}
	}
}

//omp:target device(acc, smp)
//omp:task in(x) inout(count)
func ModeBins(x []uint8, count []int32) {
	//omp:teams mode(auto)
	{
		var bins [64]int32
		last := int32(0)
		//omp:distribute parallel for
		for i := 0; i < len(x); i++ {
			//omp:atomic
			bins[x[i]&63]++
		}
		for k := int32(0); k < 64; k++ {
			if bins[k] != 0 {
				last = k + 1
			}
		}
		//omp:parallel for
		for k := int32(0); k < last; k++ {
			//omp:atomic
			count[k] += bins[k]
		}
	}
}

//omp:target device(acc, smp)
//omp:task in(x) inout(out)
func ModeLast(x, out []int32, n int) {
	//omp:teams distribute mode(auto) firstprivate(n)
	for r := 0; r < len(out); r++ {
		last, first := int32(-7), int32(r)
		n := n - r%2
		//omp:parallel for lastprivate(last) firstprivate(first)
		for i := 0; i < n; i++ {
			first += x[i]
			last = x[i] + int32(r)
			first -= x[i]
		}
		out[r] = last + first
	}
}

// stage is called by the team: the loops in it belong to the construct around the call.
func stage(row []int32, by int32) int32 {
	s := int32(0)
	//omp:parallel for reduction(+: s)
	for i := 0; i < len(row); i++ {
		row[i] *= by
		s += row[i]
	}
	if s > 100 {
		return s
	}
	//omp:parallel for
	for i := 0; i < len(row); i++ {
		row[i]++
	}
	return -s
}

//omp:target device(acc, smp)
//omp:task inout(x, out)
func ModeOrphan(x, out []int32, n int) {
	//omp:teams distribute mode(auto)
	for r := 0; r < len(out); r++ {
		for k := int32(1); k < 4; k++ {
			s := stage(x[r*n:r*n+n], k)
			if s < 0 {
				out[r]--
			}
			out[r] += s
		}
	}
}

//omp:target device(acc, smp)
//omp:task inout(x, few)
func ModeCrew(x, few []int32, n int) {
	//omp:teams distribute mode(auto)
	for r := 0; r < len(few); r++ {
		s := int32(r)
		//omp:parallel num_threads(int(few[r])) reduction(+: s) firstprivate(n)
		{
			for i := kernel.ThreadNum(); i < n; i += kernel.NumThreads() {
				x[r*n+i] += 3
			}
			kernel.Barrier()
			t := int32(0)
			//omp:for reduction(max: t)
			for i := 0; i < n; i++ {
				t = max(t, x[r*n+n-1-i])
			}
			//omp:for
			for i := 0; i < n; i++ {
				s += x[r*n+i] + t
			}
		}
		few[r] += s
	}
}

//omp:target device(acc, smp)
//omp:task inout(x, out)
func ModeCondition(x, out []int32, n int) {
	//omp:teams distribute mode(auto)
	for r := 0; r < len(out); r++ {
		for k := int32(2); stage(x[r*n:r*n+n], k) < 0; k++ {
			out[r] += k
			if k > 6 {
				break
			}
		}
	}
}

type modePair struct{ A, B int16 }

type modeNode struct {
	Key, Value int32
	Pair       modePair
}

// ModeNodes follows chains of structs by pointers and compares whole structs, beside checks that may end threads.
//
//omp:target device(acc, smp)
//omp:task in(nodes, next) inout(found)
func ModeNodes(nodes []modeNode, next, found []int32) {
	//omp:teams distribute mode(auto)
	for r := 0; r < len(found); r++ {
		hits := int32(0)
		//omp:parallel num_threads(64)
		{
			//omp:for reduction(+: hits)
			for k := 0; k < len(next); k++ {
				n := &nodes[next[k]]
				if n.Key == next[(k+r)%len(next)] {
					hits += n.Value
				}
				if n.Pair == nodes[r%len(nodes)].Pair {
					hits++
				}
			}
			//omp:single
			{
				found[r] += hits
			}
		}
	}
}
