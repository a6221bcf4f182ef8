package codegen_test

import "github.com/gompss/gompss/codegen/kernel"

//omp:target device(acc, smp)
//omp:task in(x) inout(out)
func Clauses(x, out []int32) {
	first, last, tmp := int32(3), int32(-1), int32(0)
	//omp:teams distribute parallel for firstprivate(first) lastprivate(last) private(tmp)
	for i := range x {
		tmp = x[i] * first
		last = tmp + int32(i)
		out[i] = tmp
	}
	out[0] = last
}

//omp:target device(acc, smp)
//omp:task in(x) inout(out)
func LastInTeam(x, out []int32, n int) {
	//omp:teams distribute firstprivate(n)
	for r := 0; r < len(out); r++ {
		last := int32(-7)
		//omp:parallel for lastprivate(last)
		for i := 0; i < n; i++ {
			last = x[i] + int32(r)
		}
		out[r] = last
	}
}

//omp:target device(acc, smp)
//omp:task in(x) inout(out)
func DistributeReduce(n, m int, x, out []int64) {
	s := int64(10)
	//omp:teams distribute reduction(+: s)
	for i := 0; i < n; i++ {
		t := int64(0)
		//omp:parallel for reduction(+: t)
		for j := 0; j < m; j++ {
			t += x[i*m+j]
		}
		s += t * int64(i)
	}
	out[0] = s
}

//omp:target device(acc, smp)
//omp:task in(x) inout(out)
func TeamsReduce(x, out []int64) {
	s := int64(5)
	//omp:teams reduction(+: s)
	{
		//omp:distribute parallel for reduction(+: s)
		for i := range x {
			s += x[i]
		}
	}
	out[0] = s
}

//omp:target device(acc, smp)
//omp:task in(x) inout(out)
func ParallelReduce(x []int64, out []int64) {
	s := int64(1)
	//omp:parallel reduction(+: s)
	{
		for i := kernel.ThreadNum(); i < len(x); i += kernel.NumThreads() {
			s += x[i]
		}
	}
	out[0] = s
}

//omp:target device(acc, smp)
//omp:task in(a, b) out(c)
func RowNorms(n, m int, c, a, b []float64) {
	//omp:loop
	for i := 0; i < n; i++ {
		w := b[i]
		s := 0.0
		//omp:loop reduction(+: s)
		for j := 0; j < m; j++ {
			s += a[i*m+j] * a[i*m+j] * w
		}
		c[i] = s
	}
}

//omp:target device(acc, smp)
//omp:task inout(x)
func Undirected(x []float32) {
	for i := range x {
		x[i] = x[i]*x[i] + 1
	}
}

//omp:target device(acc, smp)
//omp:task inout(a)
func UndirectedNest(n, m int, a []float64) {
	for i := 0; i < n; i++ {
		for j := 0; j < m; j++ {
			a[i*m+j] = a[i*m+j]*0.5 + float64(i)
		}
	}
}

//omp:target device(acc, smp)
//omp:task inout(x)
func Recurrence(x []int64) {
	for i := 1; i < len(x); i++ {
		x[i] += x[i-1]
	}
}

// fill is orphaned: the threads that share its loop are those of the construct around the call.
func fill(buf []int32, base int32) {
	//omp:for
	for i := range buf {
		buf[i] += base + int32(i)
	}
}

//omp:target device(acc, smp)
//omp:task inout(x)
func Orphan(x []int32, n int) {
	//omp:teams distribute
	for r := 0; r < len(x)/n; r++ {
		row := x[r*n : r*n+n]
		//omp:parallel
		{
			fill(row, int32(r))
		}
	}
}

func divMod(a, b int) (int, int) {
	if b == 0 {
		return 0, a
	}
	return a / b, a % b
}

//omp:target device(acc, smp)
//omp:task in(x, y) out(q, r)
func DivMods(x, y, q, r []int) {
	//omp:teams distribute parallel for
	for i := range x {
		q[i], r[i] = divMod(x[i], y[i])
	}
}

//omp:target device(acc, smp)
//omp:task inout(x)
func Bounded(x []int32, n int, par bool) {
	//omp:teams distribute
	for r := 0; r < len(x)/n; r++ {
		//omp:parallel for num_threads(4) if(par)
		for i := 0; i < n; i++ {
			x[r*n+i] += int32(i)
		}
		//omp:parallel if(par)
		{
			//omp:for
			for i := 0; i < n; i++ {
				x[r*n+i] *= 2
			}
			//omp:for
			for i := 0; i < n; i++ {
				x[r*n+n-1-i]++
			}
		}
	}
}

//omp:target device(acc, smp)
//omp:task inout(x)
func Branches(x []int32, n int) {
	if n == 0 {
		return
	}
	m := len(x)
	if m > n {
		m = n
	}
	if n > 100 {
		//omp:teams distribute parallel for
		for i := 0; i < m; i++ {
			x[i]++
		}
	} else if x[0] > 2 {
		//omp:teams distribute parallel for
		for i := 0; i < m; i++ {
			x[i] += 2
		}
		x[0] = 100
	} else {
		//omp:teams distribute parallel for
		for i := 0; i < m; i++ {
			x[i] += 3
		}
	}
}

//omp:target device(acc, smp)
//omp:task inout(a, b)
func TimeLoop(a, b []float64, steps int) {
	for t := 0; t < steps; t++ {
		//omp:teams distribute parallel for
		for i := 1; i < len(a)-1; i++ {
			b[i] = (a[i-1] + a[i] + a[i+1]) / 3
		}
		//omp:teams distribute parallel for
		for i := 1; i < len(a)-1; i++ {
			a[i] = b[i]
		}
	}
}

//omp:target device(acc, smp)
//omp:task inout(x, rounds)
func Converge(x []int64, n int, rounds []int32) {
	//omp:teams distribute
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
//omp:task inout(x, out)
func SingleMasked(x, out []int32, n int) {
	//omp:teams distribute
	for r := 0; r < len(x)/n; r++ {
		var pivot int32
		//omp:parallel
		{
			//omp:single
			{
				pivot = x[r*n] + 1
			}
			//omp:for
			for i := 0; i < n; i++ {
				x[r*n+i] -= pivot
			}
			//omp:masked
			{
				out[r] = pivot
			}
		}
	}
}

//omp:target device(acc, smp)
//omp:task in(x) inout(count, taken)
func Capture(x []int32, count, taken []int32) {
	//omp:teams distribute parallel for
	for i := range x {
		if x[i]%3 == 0 {
			var at int32
			//omp:atomic capture
			{
				at = count[0]
				count[0]++
			}
			taken[at] = 1
		}
	}
}

//omp:target device(acc, smp)
//omp:task inout(x)
func Nested(x []int32, n int) {
	//omp:teams distribute parallel for
	for r := 0; r < len(x)/n; r++ {
		//omp:parallel for nested(inline)
		for i := 0; i < n; i++ {
			x[r*n+i] += int32(r)
		}
	}
}

//omp:target device(acc, smp)
//omp:task inout(x, s)
func Broadcast(x []int32, s []int32, n int) {
	//omp:teams distribute mode(broadcast)
	for r := 0; r < len(s); r++ {
		k := s[r]
		s[r] = k + 1
		if k > 3 {
			k = 3
		}
		//omp:parallel for
		for i := 0; i < n; i++ {
			x[r*n+i] += k
		}
		for j := int32(0); j < 3; j++ {
			s[r] += k
			k += j
		}
		//omp:parallel for
		for i := 0; i < n; i++ {
			x[r*n+i] -= k
		}
	}
}

//omp:target device(acc, smp)
//omp:task inout(x, s)
func Mixed(x []int32, s []int32, n int) {
	//omp:teams distribute
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
	}
}

//omp:target device(acc, smp)
//omp:task inout(x)
func SpreadFor(x []int64) {
	//omp:parallel for
	for i := range x {
		x[i] = x[i]*3 + 1
	}
}

//omp:target device(acc, smp)
//omp:task in(x) inout(out)
func MaxLocTeams(x []int64, out []int64, n int) {
	//omp:teams distribute
	for r := 0; r < len(out)/2; r++ {
		best, where := x[r*n], 0
		//omp:parallel for reduction(maxloc: (best, where))
		for i := 0; i < n; i++ {
			if x[r*n+i] > best {
				best, where = x[r*n+i], i
			}
		}
		out[2*r], out[2*r+1] = best, int64(where)
	}
}

//omp:target device(acc, smp)
//omp:task inout(m)
func LUStep(n, k int, m []float64) {
	//omp:teams distribute
	for i := k + 1; i < n; i++ {
		f := m[i*n+k] / m[k*n+k]
		m[i*n+k] = f
		//omp:parallel for
		for j := k + 1; j < n; j++ {
			m[i*n+j] -= f * m[k*n+j]
		}
	}
}

//omp:target device(acc, smp)
//omp:task in(x) inout(out)
func CounterChunks(x, out []int64) {
	s := int64(0)
	//omp:teams distribute parallel for schedule(counter, 5) reduction(+: s)
	for i := 0; i < len(x); i++ {
		out[i+1] = x[i] * 2
		s += x[i]
	}
	out[0] = s
}

//omp:target device(acc, smp)
//omp:task in(x) inout(out) label("dynamic")
func DynamicChunks(n, m int, x, out []int64) {
	last := int64(-1)
	//omp:teams distribute parallel for collapse(2) schedule(dynamic) lastprivate(last)
	for i := 0; i < n; i++ {
		for j := 0; j < m; j++ {
			if x[i*m+j] == 7 {
				continue
			}
			last = x[i*m+j]
			out[i*m+j] += last
		}
	}
	out[n*m] = last
}

//omp:target device(acc, smp)
//omp:task in(x) inout(y)
func Lanes(x, y []float64) {
	//omp:simd
	for i := range y {
		y[i] = y[i]*2 + x[i]
	}
}

//omp:target device(acc, smp)
//omp:task inout(y)
func LanesOfTeams(y []float64, n int) {
	//omp:teams distribute
	for r := 0; r < len(y)/n; r++ {
		scale := y[r*n]
		//omp:simd
		for i := 1; i < n; i++ {
			y[r*n+i] *= scale
		}
	}
}

//omp:target device(acc, smp)
//omp:task in(x) inout(out)
func LoopParts(n int, x, out []float64) {
	//omp:teams
	{
		//omp:loop
		for i := 0; i < n; i++ {
			out[i] = x[i] * x[i]
		}
	}
	//omp:loop bind(parallel)
	for i := 0; i < n; i++ {
		out[i]++
	}
	//omp:teams loop collapse(2)
	for i := 0; i < n; i++ {
		for j := 0; j < 2; j++ {
			out[n+2*i+j] = x[i]
		}
	}
}

//omp:target device(acc, smp)
//omp:task inout(x, y)
func Guarded(x, y []int32, n int) {
	//omp:teams distribute parallel for
	for i := 0; i < n; i++ {
		if i > 0 && i+1 < n {
			x[i] += int32(i)
		}
		if i+100 < len(y) {
			y[i+100]--
		}
	}
}

//omp:target device(acc, smp)
//omp:task in(x) inout(out)
func GuidedChunks(x, out []int64) {
	s := int64(0)
	//omp:teams distribute parallel for schedule(guided, 3) reduction(+: s)
	for i := 0; i < len(x); i++ {
		out[i+1] = x[i] * 2
		s += x[i]
	}
	out[0] = s
}

//omp:target device(acc, smp)
//omp:task in(x) inout(out)
func GuidedRounds(n int, x, out []int64) {
	//omp:teams
	for k := 0; k < n; k++ {
		//omp:distribute parallel for schedule(guided)
		for i := 0; i < len(x); i++ {
			//omp:atomic
			out[i] += x[i] + int64(k)
		}
	}
}

//omp:target device(acc, smp)
//omp:task in(x) inout(out)
func StaticChunks(n, m int, x, out []int64) {
	last, most := int64(-1), int64(-9)
	//omp:teams distribute parallel for collapse(2) dist_schedule(static, m+3) schedule(static, 2) lastprivate(last) reduction(max: most)
	for i := 0; i < n; i++ {
		for j := 0; j < m; j++ {
			if x[i*m+j] == 7 {
				continue
			}
			last = x[i*m+j]
			most = max(most, last)
			out[i*m+j] += last
		}
	}
	out[n*m], out[n*m+1] = last, most
}

//omp:target device(acc, smp)
//omp:task in(x) inout(out)
func ChunksOfRows(n int, x, out []float64) {
	//omp:teams distribute dist_schedule(static, 3)
	for i := len(x)/n - 1; i >= 0; i-- {
		scale := x[i*n]
		//omp:parallel for schedule(static, 4)
		for j := 0; j < n; j++ {
			out[i*n+j] += scale * x[i*n+j]
		}
		//omp:parallel
		{
			//omp:for schedule(static, n-1)
			for j := n - 1; j > 0; j-- {
				out[i*n+j] -= x[i*n+j-1]
			}
		}
	}
}
