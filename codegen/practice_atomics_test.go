package codegen_test

// Kernels whose iterations update what others update, and rows that are added up in order.

//omp:target device(smp)
//omp:task in(x) inout(bins)
func PracticeAtomicBins(x []uint8, bins []int64) {
	//omp:teams distribute parallel for
	for i := range x {
		//omp:atomic
		bins[x[i]]++
	}
}

//omp:target device(smp)
//omp:task in(a) inout(y)
func PracticeAtomicColumns(n, m int, a, y []float64) {
	//omp:teams distribute parallel for
	for i := 0; i < n; i++ {
		for j := 0; j < m; j++ {
			//omp:atomic
			y[j] += a[i*m+j]
		}
	}
}

//omp:target device(smp)
//omp:task in(a) inout(y)
func PracticeAtomicCollapsed(n, m int, a, y []float64) {
	//omp:teams distribute parallel for collapse(2)
	for i := 0; i < n; i++ {
		for j := 0; j < m; j++ {
			//omp:atomic
			y[j] += a[i*m+j]
		}
	}
}

//omp:target device(smp)
//omp:task in(x) inout(count)
func PracticeAtomicCount(x []int32, count []int64) {
	//omp:teams distribute parallel for
	for i := range x {
		if x[i]&3 == 1 {
			//omp:atomic
			count[0] += int64(x[i])
		}
	}
}

//omp:target device(smp)
//omp:task in(x, at) inout(y)
func PracticeAtomicScatter(x []float32, at []int32, y []float32) {
	//omp:teams distribute parallel for
	for i := range x {
		//omp:atomic
		y[at[i]] += x[i]
	}
}

//omp:target device(smp)
//omp:task in(x, at) inout(y)
func PracticeAtomicMost(x []int32, at []uint16, y []int32) {
	//omp:teams distribute parallel for
	for i := range x {
		//omp:atomic
		y[at[i]] = max(y[at[i]], x[i])
	}
}

//omp:target device(smp)
//omp:task in(a) out(sums)
func PracticeRowSums(n, m int, a, sums []float32) {
	//omp:teams distribute parallel for
	for i := 0; i < n; i++ {
		s := float32(0)
		for j := 0; j < m; j++ {
			s += a[i*m+j]
		}
		sums[i] = s
	}
}

//omp:target device(smp)
//omp:task in(a) out(sums)
func PracticeRowSums64(n, m int, a, sums []float64) {
	//omp:teams distribute parallel for
	for i := 0; i < n; i++ {
		s := 0.0
		for j := 0; j < m; j++ {
			s += a[i*m+j]
		}
		sums[i] = s
	}
}

type practicePoint struct {
	x, y, z float64
	kind    int32
}

//omp:target device(smp)
//omp:task in(p, next) out(d)
func PracticeNeighbours(p []practicePoint, next []int32, d []float64) {
	//omp:teams distribute parallel for
	for i := range d {
		s := 0.0
		for k := 0; k < 4; k++ {
			q := p[next[i*4+k]]
			dx, dy, dz := q.x-p[i].x, q.y-p[i].y, q.z-p[i].z
			s += dx*dx + dy*dy + dz*dz
		}
		d[i] = s
	}
}

//omp:target device(smp)
//omp:task in(p, at) out(d)
func PracticeGatherPoints(p []practicePoint, at []int32, d []float64) {
	//omp:teams distribute parallel for
	for i := range d {
		q := &p[at[i]]
		d[i] = q.x*2 + q.y - q.z
	}
}
