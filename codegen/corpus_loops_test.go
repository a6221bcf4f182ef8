package codegen_test

import "github.com/gompss/gompss/codegen/kernel"

// Kernels whose loops the compiler has to find a place for.

type Body struct {
	Pos  [3]float32
	Mass float32
}

// AllPairs reads the fields of all bodies in every iteration.
//
//omp:target device(acc, smp)
//omp:task in(b) inout(acc[:3*n])
func AllPairs(n int, eps float32, b []Body, acc []float32) {
	count := len(b)
	//omp:teams distribute parallel for
	for i := 0; i < n; i++ {
		me := b[i%count]
		var ax, ay, az float32
		for j := 0; j < count; j++ {
			dx, dy := b[j].Pos[0]-me.Pos[0], b[j].Pos[1]-me.Pos[1]
			dz, mass := b[j].Pos[2]-me.Pos[2], b[j].Mass
			d := dx*dx + dy*dy + dz*dz + eps
			if d > 2 {
				continue
			}
			s := mass * kernel.Rsqrt(d) / d
			ax += dx * s
			ay += dy * s
			az += dz * s
		}
		acc[3*i] += ax
		acc[3*i+1] += ay
		acc[3*i+2] += az
	}
}

// Nearest has two tiled loops, one of which needs the number of the iteration, in the iterations of two loops.
//
//omp:target device(acc, smp)
//omp:task in(x, y) out(best, far)
func Nearest(n, m int, x []float64, y []int32, best []int32, far []float64) {
	//omp:teams distribute parallel for collapse(2)
	for i := 0; i < n; i++ {
		for k := 0; k < m; k++ {
			want, least := float64(i*m+k)/7, 1e30
			if k%3 == 1 {
				want = -want
			}
			at := int32(-1)
			last := len(x) - 1
			for j := 1; j < last; j++ {
				d := (x[j-1]+x[j]+x[j+1])/3 - want
				if d*d < least {
					least, at = d*d, int32(j)
				}
			}
			sum := 0.0
			for j := range y {
				if at != y[j] {
					sum += float64(y[j]) * want
				}
			}
			best[i*m+k], far[i*m+k] = at, sum
		}
	}
}

// TeamPairs has its tiles in a loop of each team, which changes what they hold between the rounds.
//
//omp:target device(acc, smp)
//omp:task inout(x)
func TeamPairs(rows, n int, x []float32) {
	//omp:teams distribute
	for r := 0; r < rows; r++ {
		row := x[r*n : r*n+n]
		for round := 0; round < 2; round++ {
			var sum float32
			//omp:parallel for reduction(+: sum)
			for i := 0; i < 9; i++ {
				var s float32
				for j := 0; j < n; j++ {
					s += row[j] * float32(i-j%3)
				}
				sum += s
			}
			if n > 0 {
				row[round%n] = sum / 64
			}
		}
	}
}

// Fluxes is the two loops of a hydrodynamics code that say what is parallel and nothing about the device.
//
//omp:target device(acc, smp)
//omp:task in(xarea, yarea, xvel0, xvel1, yvel0, yvel1) inout(volFluxX, volFluxY)
func Fluxes(nx, ny int, dt float64, xarea, xvel0, xvel1, yarea, yvel0, yvel1, volFluxX, volFluxY []float64) {
	w := nx + 2
	//omp:teams
	{
		//omp:loop
		for k := 0; k < ny; k++ {
			for j := 0; j < nx+1; j++ {
				volFluxX[k*w+j] = 0.25 * dt * xarea[k*w+j] * (xvel0[k*w+j] + xvel0[(k+1)*w+j] + xvel1[k*w+j] + xvel1[(k+1)*w+j])
			}
		}
		//omp:loop
		for k := 0; k < ny+1; k++ {
			for j := 0; j < nx; j++ {
				volFluxY[k*w+j] = 0.25 * dt * yarea[k*w+j] * (yvel0[k*w+j] + yvel0[k*w+j+1] + yvel1[k*w+j] + yvel1[k*w+j+1])
			}
		}
	}
}

// JacobiRows says that its rows are independent; which of its loops neighbouring threads should share is found.
//
//omp:target device(acc, smp)
//omp:task in(b) inout(a)
func JacobiRows(n int, a, b []float64) {
	w := n + 2
	//omp:loop
	for i := 1; i <= n; i++ {
		for j := 1; j <= n; j++ {
			a[i*w+j] = (b[(i-1)*w+j] + b[(i+1)*w+j] + b[i*w+j-1] + b[i*w+j+1]) / 4
		}
	}
}

// JacobiColumns has its loops in the wrong order.
//
//omp:target device(acc, smp)
//omp:task in(b) inout(a)
func JacobiColumns(n int, a, b []float64) {
	w := n + 2
	//omp:loop
	for j := 1; j <= n; j++ {
		for i := 1; i <= n; i++ {
			a[i*w+j] = (b[(i-1)*w+j] + b[(i+1)*w+j] + b[i*w+j-1] + b[i*w+j+1]) / 4
		}
	}
}

// AddArrays has no directive on a statement: where its slices do not overlap it is parallel nevertheless.
//
//omp:target device(acc, smp)
//omp:task in(x, y) inout(z)
func AddArrays(x, y, z []float32) {
	for i := range z {
		z[i] = x[i] + y[i]
	}
}

// ScaleRows leaves the rows to the teams and the columns to their threads: the loops are not perfectly nested.
//
//omp:target device(acc, smp)
//omp:task in(x) inout(y, sums)
func ScaleRows(n, m int, x, y, sums []float64) {
	//omp:loop
	for i := 0; i < n; i++ {
		s := 1.0
		for k := 0; k < 3 && k < m; k++ {
			s += x[i*m+k]
		}
		for j := 0; j < m; j++ {
			y[i*m+j] = x[i*m+j] * s
		}
		sums[i] = s
	}
}

const nX = 4

// DG keeps the part of flx and fly that belongs to an element on chip while a team works on it.
//
//omp:target device(acc, smp)
//omp:task in(delta, der, gw) inout(flx, fly)
func DG(nelem int, dt float64, delta, der, gw, flx, fly []float64) {
	//omp:teams distribute dist_firstlastprivate([nX*nX]flx, [nX*nX]fly)
	for ie := 0; ie < nelem; ie++ {
		var grad [nX * nX]float64
		//omp:parallel for
		for ii := 0; ii < nX*nX; ii++ {
			k, l := ii%nX, ii/nX
			s2 := 0.0
			for j := 0; j < nX; j++ {
				s1 := 0.0
				for i := 0; i < nX; i++ {
					s1 += (delta[j*nX+l]*flx[ie*nX*nX+i+j*nX]*der[k*nX+i] + delta[k*nX+i]*fly[ie*nX*nX+i+j*nX]*der[l*nX+j]) * gw[i]
				}
				s2 += s1 * gw[j]
			}
			grad[ii] = s2
		}
		//omp:parallel for
		for ii := 0; ii < nX*nX; ii++ {
			flx[ie*nX*nX+ii] += dt * grad[ii]
			fly[ie*nX*nX+ii] += dt * grad[ii]
		}
	}
}

// Relax sweeps each block of x several times where it lies; scratch has no meaning before or after.
//
//omp:target device(acc, smp)
//omp:task in(w) inout(x, scratch, out)
func Relax(x, w, scratch, out []float32) {
	//omp:teams distribute dist_firstprivate([32]x) dist_private([32]scratch) dist_lastprivate([2]out)
	for b := 0; b < (len(x)+31)/32; b++ {
		for sweep := 0; sweep < 3; sweep++ {
			//omp:parallel for
			for i := b * 32; i < min(b*32+32, len(x)); i++ {
				left, right := x[max(i-1, b*32)], x[min(i+1, b*32+31, len(x)-1)]
				scratch[i] = (left + 2*x[i] + right) * w[sweep]
			}
			//omp:parallel for
			for i := b * 32; i < min(b*32+32, len(x)); i++ {
				x[i] = scratch[i]
			}
		}
		if len(x) < 65 {
			continue
		}
		out[2*b] = x[b*32]
		out[2*b+1] = 1
	}
	for i := range x { // what an iteration owned is its own
		x[i], scratch[i] = 0, 0
	}
}

// OwnBins has the part of an iteration in a thread.
//
//omp:target device(acc, smp)
//omp:task in(x) inout(bins)
func OwnBins(x []uint8, bins []int32) {
	//omp:teams distribute parallel for dist_firstlastprivate([8]bins)
	for g := 0; g < len(bins)/8; g++ {
		for i := g; i < len(x); i += len(bins) / 8 {
			bins[g*8+int(x[i]%8)]++
		}
	}
}

// Large has more memory of a team than there is on a chip.
//
//omp:target device(acc, smp)
//omp:task inout(x)
func Large(x []int32, rows int) {
	//omp:teams distribute
	for r := 0; r < rows; r++ {
		var table, other [9000]int32
		//omp:parallel for
		for i := 0; i < 9000; i++ {
			table[i] = int32(i*r) % 97
			other[8999-i] = int32(i)
		}
		//omp:parallel for
		for i := 0; i < len(x)/rows; i++ {
			x[r*(len(x)/rows)+i] += table[(i*7)%9000] + other[i%9000]
		}
	}
}

// EdgeLoop has the same work for every edge, however the edges are dealt out to rows.
//
//omp:target device(acc, smp)
//omp:task in(start, col, val, x) inout(out)
func EdgeLoop(start, col []int32, val, x, out []float64) {
	//omp:teams loop
	for r := 0; r < len(start)-1; r++ {
		//omp:loop
		for k := start[r]; k < start[r+1]; k++ {
			if val[k] < 0 {
				continue
			}
			out[k] = val[k]*x[col[k]] + float64(r)
		}
	}
}

// EdgeSums says of each of the two loops that it is parallel.
//
//omp:target device(acc, smp)
//omp:task in(start, col) inout(in)
func EdgeSums(start []int, col []int32, in []int64) {
	//omp:loop
	for r := 2; r < len(start)-1; r++ {
		//omp:loop
		for k := start[r]; k < start[r+1]; k++ {
			//omp:atomic
			in[col[k]] += int64(r)
		}
	}
}

//omp:target device(acc, smp)
//omp:task in(a) inout(c)
func SyrkTriangle(n, m int, a, c []float64) {
	//omp:teams distribute parallel for collapse(2)
	for i := 0; i < n; i++ {
		for j := 0; j <= i; j++ {
			s := 0.0
			for k := 0; k < m; k++ {
				s += a[i*m+k] * a[j*m+k]
			}
			c[i*n+j] += s
		}
	}
}

//omp:target device(acc, smp)
//omp:task in(x) inout(out)
func PairsBelow(n int, x, out []int64) {
	s, most := int64(0), int64(-1)
	//omp:parallel for collapse(2) reduction(+: s) reduction(max: most) schedule(dynamic)
	for i := n - 1; i >= 0; i-- {
		for j := i - 1; j >= 0; j -= 2 {
			if x[i] == x[j] {
				continue
			}
			s += x[i] * x[j]
			most = max(most, x[i]^x[j])
		}
	}
	out[0], out[1] = s, most
}

//omp:target device(acc, smp)
//omp:task in(x) inout(y)
func Band(n, width int, x, y []float32) {
	//omp:loop collapse(2)
	for i := 0; i < n; i++ {
		for j := max(i-width, 0); j < min(i+width, n); j++ {
			y[i*n+j] += x[i] * x[j]
		}
	}
}

//omp:target device(acc, smp)
//omp:task inout(x)
func Tetrahedron(n int, x []int32) {
	//omp:teams distribute parallel for collapse(3)
	for i := 0; i < n; i++ {
		for j := i; j < n; j++ {
			for k := i + 1; k <= j; k++ {
				x[(i*n+j)*n+k] += int32(i + 2*j - k)
			}
		}
	}
}

//omp:target device(acc, smp)
//omp:task in(start, col, val, x) inout(w, y)
func RowsCollapsed(start, col []int32, val, x, w, y []float64) {
	//omp:teams distribute parallel for collapse(2)
	for i := 0; i < len(start)-1; i++ {
		for k := start[i]; k < start[i+1]; k++ {
			w[k] = val[k] * x[col[k]]
			//omp:atomic
			y[i] += float64(col[k])
		}
	}
}

//omp:target device(acc, smp)
//omp:task in(start, col) inout(y)
func RowsInTeam(start, col []int32, y []int64) {
	//omp:teams num_teams(1)
	{
		//omp:parallel for collapse(2)
		for i := 0; i < len(start)-1; i++ {
			for k := start[i]; k < start[i+1]; k++ {
				//omp:atomic
				y[i] += int64(col[k])
			}
		}
	}
}

//omp:target device(acc, smp)
//omp:task in(x) inout(out)
func MomentTable(x []int32, out []int64) {
	var table [4][3]int64
	rows := &table
	//omp:teams distribute parallel for reduction(+: *rows)
	for i := range x {
		k := x[i] & 3
		rows[k][0]++
		rows[k][1] += int64(x[i])
		rows[k][2] += int64(x[i]) * int64(x[i])
	}
	for r := range 4 {
		for c := range 3 {
			out[r*3+c] = table[r][c]
		}
	}
}

// PrefixSums leaves in y the sums of x up to each element, and in *total that of all.
//
//omp:target device(acc, smp)
//omp:task in(x) out(y) inout(*total)
func PrefixSums(x, y []int64, total *int64) {
	s := *total
	//omp:teams distribute parallel for reduction(inscan, +: s)
	for i := range x {
		s += x[i]
		//omp:scan inclusive(s)
		y[i] = s
	}
	*total = s
}

// Compact keeps the positive elements of x, in their order, at the front of y, and counts them.
//
//omp:target device(acc, smp)
//omp:task in(x) inout(y, *count)
func Compact(x, y []float32, count *int) {
	n := 0
	//omp:teams distribute parallel for reduction(inscan, +: n)
	for i := range x {
		if x[i] > 0 {
			y[n] = x[i]
		}
		//omp:scan exclusive(n)
		if x[i] > 0 {
			n++
		}
	}
	*count = n
}

// RowScans leaves in each row of a the least element so far, the place of the greatest so far, and the running mean, which
// threads of one team find for a row.
//
//omp:target device(acc, smp)
//omp:task in(a) out(least, at, mean)
//omp:shape a [rows][n]
func RowScans(rows, n int, a []float32, least []float32, at []int32, mean []float64) {
	//omp:teams distribute
	for r := 0; r < rows; r++ {
		low, high, where, sum := float32(100), float32(-100), int32(-1), 0.0
		//omp:parallel for reduction(inscan, min: low) reduction(inscan, maxloc: high, where) reduction(inscan, +: sum)
		for i := 0; i < n; i++ {
			v := a[r*n+i]
			low = min(low, v)
			if v > high {
				high, where = v, int32(i)
			}
			sum += float64(v)
			//omp:scan inclusive(low, high, where, sum)
			least[r*n+i] = low
			at[r*n+i] = where
			mean[r*n+i] = sum / float64(i+1)
		}
	}
}

// HubRows is SpMV with rows of very different lengths: the long ones wait for a loop of the teams.
//
//omp:target device(acc, smp)
//omp:task in(start, col, val, x) out(y)
func HubRows(start, col []int32, val, x, y []float64) {
	//omp:teams distribute parallel for
	for r := 0; r < len(start)-1; r++ {
		s := 1.0
		//omp:parallel for reduction(+: s) nested(host)
		for k := start[r]; k < start[r+1]; k++ {
			s += val[k] * x[col[k]]
		}
		y[r] = 2 * s
	}
}

// HubNodes reaches the neighbours of nodes at a level, and counts the nodes and edges behind the nested loop.
//
//omp:target device(acc, smp)
//omp:task in(start, edges) inout(depth, degree, total)
func HubNodes(level int32, start, edges, depth, degree, total []int32) {
	nodes := int32(0)
	//omp:teams distribute parallel for reduction(+: nodes)
	for v := 0; v < len(start)-1; v++ {
		if v%3 != 0 {
			mine := start[v+1] - start[v]
			//omp:parallel for nested(host) if(mine > 5)
			for e := start[v]; e < start[v+1]; e++ {
				//omp:atomic
				depth[edges[e]] = min(depth[edges[e]], level+1)
			}
			if mine == 0 {
				continue
			}
			degree[v] = mine
			nodes++
		}
	}
	total[0] += nodes
}

// HubSteps has two nested loops in one iteration, in a loop over time.
//
//omp:target device(acc, smp)
//omp:task in(start, col) inout(x, y)
func HubSteps(steps int, start, col []int32, x, y []int64) {
	scale := int64(3)
	for t := 0; t < steps; t++ {
		//omp:teams distribute parallel for firstprivate(scale)
		for r := 0; r < len(start)-1; r++ {
			s := int64(t)
			//omp:parallel for reduction(+: s) nested(host)
			for k := start[r]; k < start[r+1]; k++ {
				s += x[col[k]] * scale
			}
			most := s
			if s&1 == 0 {
				//omp:parallel for reduction(max: most) nested(host) if(r&1 == 0)
				for k := start[r]; k < start[r+1]; k++ {
					most = max(most, x[col[k]]+int64(k))
				}
			}
			y[r] = most + s
		}
		//omp:teams distribute parallel for
		for r := 0; r < len(y); r++ {
			x[r] += y[r] & 7
		}
	}
}

//omp:target device(acc, smp)
//omp:task in(x) inout(out)
func CountedRounds(n int, x, out []int64) {
	//omp:teams
	for k := 0; k < n; k++ {
		//omp:distribute parallel for schedule(counter)
		for i := 0; i < len(x); i++ {
			//omp:atomic
			out[i] += x[i] + int64(k)
		}
		//omp:distribute parallel for schedule(dynamic, 2)
		for i := 0; i < len(x); i++ {
			//omp:atomic
			out[i] += int64(i)
		}
	}
}

// CountDown returns out of a loop of launches, where data decide.
//
//omp:target device(acc, smp)
//omp:task inout(x) in(by)
func CountDown(rounds int, x []int64, by []int32) {
	for round := 0; round < rounds; round++ {
		any := false
		//omp:teams distribute parallel for reduction(||: any)
		for i := range x {
			if x[i] > 0 {
				x[i] -= int64(by[x[i]%int64(len(by))])
				any = true
			}
		}
		if !any {
			return
		}
	}
	x[0] = -100
}

// ReturnsEarly returns behind loops of teams.
//
//omp:target device(acc, smp)
//omp:task inout(x) in(by)
func ReturnsEarly(n int, x []int64, by []int32) {
	//omp:teams distribute
	for r := 0; r < len(x)/8; r++ {
		//omp:parallel for
		for c := 0; c < 8; c++ {
			x[r*8+c] += int64(by[r%len(by)])
		}
	}
	if n%4 == 0 {
		return
	}
	if x[0]%2 != 0 {
		//omp:teams distribute
		for r := 0; r < len(x)/8; r++ {
			for k := 0; k < n; k++ {
				//omp:parallel for
				for c := 0; c < 8; c++ {
					x[r*8+c] += x[r*8+c] / int64(by[(r+k)%len(by)])
				}
			}
		}
		return
	}
	//omp:teams distribute parallel for
	for i := range x {
		x[i]++
	}
}

// TimeSteps exchanges its slices after each step, and uses them behind the steps.
//
//omp:target device(acc, smp)
//omp:task inout(a, b, out)
func TimeSteps(n, steps int, a, b []float32, out []float32) {
	src, dst := a, b
	for t := 0; t < steps; t++ {
		//omp:teams distribute parallel for collapse(2)
		for i := 1; i < n-1; i++ {
			for j := 1; j < n-1; j++ {
				dst[i*n+j] = 0.25 * (src[(i-1)*n+j] + src[(i+1)*n+j] + src[i*n+j-1] + src[i*n+j+1])
			}
		}
		src, dst = dst, src
	}
	//omp:teams distribute parallel for
	for i := range out {
		out[i] = src[i] - dst[i]
	}
}

// AcceptedSteps exchanges its slices only after steps that change enough.
//
//omp:target device(acc, smp)
//omp:task inout(a, b, out)
func AcceptedSteps(n int, a, b []int64, out []int64) {
	src, dst := a, b
	for t := 0; t < n%7; t++ {
		most := int64(0)
		//omp:teams distribute parallel for reduction(max: most)
		for i := 1; i < len(a); i++ {
			dst[i] = (src[i-1] + 3*src[i]) & 1023
			most = max(most, dst[i])
		}
		if most > 700 {
			src[0]++
			was := src
			src = dst
			dst = was
			dst[0] ^= 5
		} else {
			dst[0] += most
		}
		dst[0] += src[0] >> 1
	}
	//omp:teams distribute parallel for
	for i := range out {
		out[i] = src[i] - dst[i+1]
	}
}

// ExchangedWhere exchanges slices under conditions, before a loop and in each iteration.
//
//omp:target device(acc, smp)
//omp:task inout(a, b, out)
func ExchangedWhere(n int, a, b []int64, out []int64) {
	src, dst := a, b
	if n%3 == 1 {
		src, dst = dst, src
	}
	//omp:teams distribute parallel for
	for i := range out {
		x, y := src[i:], dst[i:]
		if src[i] > dst[i] {
			x, y = y, x
		}
		for k := range 5 {
			out[i] += x[0] - 2*y[0]
			if out[i]&3 == int64(k) {
				x, y = y, x
			}
			out[i] ^= x[0]
		}
	}
}

// ThreeSlices rotates three slices until data end the loop, with an exchange of two in each step
// that changes something.
//
//omp:target device(acc, smp)
//omp:task inout(a, b, c)
func ThreeSlices(n int, a, b, c []int64) {
	for {
		a[0]++
		if a[0] > int64(n) {
			break
		}
		//omp:teams distribute parallel for
		for i := 1; i < len(a); i++ {
			c[i] = a[i-1] + 3*b[i]
		}
		was := a
		a = b
		b = c
		c = was
		if a[len(a)-1]%5 == 0 {
			continue
		}
		//omp:teams distribute parallel for
		for i := 1; i < len(a); i++ {
			a[i] ^= b[i] & 7
		}
	}
	for k := 0; k < 3; k++ {
		//omp:teams distribute parallel for
		for i := range a {
			a[i] += b[i] * int64(k)
		}
		a, b = b, a
	}
	c[0] = a[0] - b[len(b)-1]
}

// RowsOfTables has each iteration fill two rows of its own in turn.
//
//omp:target device(acc, smp)
//omp:task in(s, t) inout(rows, out)
func RowsOfTables(m int, s, t []int32, rows []int32, out []int32) {
	//omp:teams distribute parallel for
	for k := range out {
		above, row := rows[2*k*(m+1):(2*k+1)*(m+1)], rows[(2*k+1)*(m+1):(2*k+2)*(m+1)]
		for j := range above {
			above[j] = int32(j)
		}
		for i := 0; i < m; i++ {
			row[0] = int32(i + 1)
			for j := 0; j < m; j++ {
				cost := above[j]
				if s[k*m+i] != t[k*m+j] {
					cost++
				}
				row[j+1] = min(cost, row[j]+1, above[j+1]+1)
			}
			if row[m] > int32(2*m) {
				break
			}
			above, row = row, above
		}
		out[k] = above[m]
	}
}

// ManyExchanges exchanges slices in loops in loops, in blocks and branches, beside moves of numbers,
// in loops one after the other, and a number that a pointer points at.
//
//omp:target device(acc, smp)
//omp:task inout(a, b)
func ManyExchanges(n int, a, b []int64) {
	rounds := n%3 + 1
	for r := 0; r < rounds; r++ {
		x, y, last := a, b, 0
		for k := 0; k < n%4; k++ {
			//omp:teams distribute parallel for
			for i := 1; i < len(a); i++ {
				y[i] = x[i-1] + int64(k)
			}
			last = k
			x, y = y, x
		}
		if last > 1 {
			u, v := x, y
			for k := range n % 5 {
				//omp:teams distribute parallel for
				for i := range u {
					u[i] += v[i] & int64(k)
				}
				if k == 2 {
					continue
				}
				u, v = v, u
			}
		}
		x[0] += int64(last)
		a, b = b, a
	}
	{
		x, y, p, q := a, b, 3, 5
		at := &p
		for k := 0; k < 3; k++ {
			x[0] += int64(*at)
			y[len(y)-1] -= int64(p)
			x, y = y, x
			p, q = q, p
		}
		x[0] ^= int64(q)
	}
	x, y := a, b
	for k := 0; k < 1+n%2; k++ {
		x[0]++
		x, y = y, x
	}
	for k := 0; k < 1+n%3; k++ {
		y[0] += 3
		x, y = y, x
	}
	for k := 0; k < 5 && x[0]%7 != 0; k++ {
		//omp:teams distribute parallel for
		for i := range y {
			y[i] += x[i] & 3
		}
		u, v := x, y
		x, y = v, u
		if y[0]%11 == 0 {
			break
		}
	}
	x[0] += 5 * y[0]
}

// LocalsBetween has values of the outer loop between its two loops.
//
//omp:target device(acc, smp)
//omp:task in(x) inout(y)
func LocalsBetween(n int, f0, beta float64, x, y []float64) {
	//omp:teams distribute parallel for
	for j := 0; j < n; j++ {
		f := f0 + beta*float64(j)
		south := max(j-1, 0)
		for i := 0; i < n; i++ {
			y[j*n+i] += f * x[south*n+i]
		}
	}
}

// LocalsBetweenThree has them between three loops.
//
//omp:target device(acc, smp)
//omp:task in(x) inout(y)
func LocalsBetweenThree(n int, x, y []float64) {
	//omp:teams distribute parallel for
	for k := 0; k < n; k++ {
		up := min(k+1, n-1)
		for j := 0; j < n; j++ {
			row := (k*n + j) * n
			for i := 0; i < n; i++ {
				y[row+i] += x[(up*n+j)*n+i]
			}
		}
	}
}
