package cpu_test

// Kernels whose parallel loops stand in sequential code.

//omp:target device(smp)
func Steps(steps int, a, b []float64) {
	for t := 0; t < steps; t++ {
		scale := 1 / float64(t+2)
		//omp:teams distribute parallel for
		for i := 1; i < len(a)-1; i++ {
			b[i] = scale * (a[i-1] + a[i] + a[i+1])
		}
		//omp:teams distribute parallel for
		for i := 1; i < len(a)-1; i++ {
			a[i] = b[i] + float64(t)
		}
	}
}

//omp:target device(smp)
func Settle(x []int32, out []int64, most int) {
	rounds := 0
	total := int64(3)
	for {
		changed := int64(0)
		low, at := int32(1<<30), -1
		//omp:teams distribute parallel for reduction(+: changed) reduction(minloc: low, at)
		for i := 0; i < len(x); i++ {
			if x[i] > 3 {
				x[i] -= x[i] >> 2
				changed++
			}
			if x[i] < low {
				low, at = x[i], i
			}
		}
		total += changed * int64(rounds+1)
		if rounds++; changed == 0 || rounds >= most {
			out[2], out[3] = int64(low), int64(at)
			break
		}
		if rounds%2 == 1 {
			half := x[:len(x)/2]
			//omp:teams distribute parallel for
			for i := range half {
				half[i] ^= int32(rounds)
			}
		}
	}
	out[0], out[1] = int64(rounds), total
}

//omp:target device(smp)
func Rows(h, w, from int, m []float32, sums []float64) {
	for r := from; r < h; r++ {
		var s float64
		//omp:teams distribute parallel for reduction(+: s)
		for c := 0; c < w; c++ {
			m[r*w+c] += float32(r)
			s += float64(int(m[r*w+c]))
		}
		sums[r] = s
	}
}

//omp:target device(smp)
func Wrong(steps int, a, b []float64) {
	for t := 0; t < steps; t++ {
		//omp:teams distribute parallel for
		for i := 0; i < len(a); i++ {
			a[i] += b[i+t]
		}
	}
}
