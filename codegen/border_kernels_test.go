package codegen_test

func borderClamp(v, lo, hi int) int {
	if v < lo {
		return lo
	}
	if v > hi {
		return hi
	}
	return v
}

func borderWrap(v, n int) int {
	if v < 0 {
		v += n
	}
	if v >= n {
		v -= n
	}
	return v
}

func borderMod(v, n int) int {
	r := v % n
	if r < 0 {
		r += n
	}
	return r
}

func borderAt(i, j, w int) int { return i*w + j }

//omp:target device(acc, smp)
//omp:task in(x) out(y[0:n])
func BorderClamped(n int, x, y []float32) {
	//omp:teams distribute parallel for
	for i := 0; i < n; i++ {
		j := i + 2
		if j > n-1 {
			j = n - 1
		}
		k := i - 3
		if k < 0 {
			k = 0
		}
		y[i] = x[min(i+1, n-1)] + x[max(i-1, 0)]*2 + x[borderClamp(i-2, 0, n-1)]*3 + x[j]*4 + x[k]*5
	}
}

//omp:target device(acc, smp)
//omp:task in(x) out(y)
func BorderWrapped(x, y []float32) {
	n := len(y)
	//omp:loop
	for i := 0; i < n; i++ {
		j := i + 1
		if j == n {
			j = 0
		}
		k := i - 1
		if k < 0 {
			k += n
		}
		var q int
		if i == n-1 {
			q = 0
		} else {
			q = i + 1
		}
		p := i - 1
		if i == 0 {
			p = n - 1
		}
		y[i] = x[(i+1)%n] + x[(i+n-1)%n]*2 + x[(i-1+n)%n]*3 + x[j]*4 + x[k]*5 + x[q]*6 + x[p]*7 + x[borderWrap(i-1, n)]*8 + x[borderMod(i-2, n)]*9
	}
}

//omp:target device(acc, smp)
//omp:task in(x) out(y[0:h*w])
func BorderTorus(h, w int, x, y []float32) {
	//omp:teams distribute parallel for collapse(2)
	for i := 0; i < h; i++ {
		for j := 0; j < w; j++ {
			up := i - 1
			if up < 0 {
				up = h - 1
			}
			right := j + 1
			if right == w {
				right = 0
			}
			y[i*w+j] = x[((i+1)%h)*w+j] + x[borderAt(up, right, w)]*2 + x[borderAt(borderWrap(i-1, h), borderMod(j-2, w), w)]*3 + x[min(i+1, h-1)*w+max(j-1, 0)]*4
		}
	}
}

//omp:target device(acc, smp)
//omp:task in(x) out(y[0:n])
func BorderWindow(n, r int, x, y []float32) {
	//omp:teams distribute parallel for
	for i := 0; i < n; i++ {
		var s float32
		for k := -r; k <= r; k++ {
			j := i + k
			if j < 0 {
				j = -j - 1
			} else if j >= n {
				j = n - 1
			}
			if j < n {
				s += x[j]
			}
			if q := i - k; q >= 0 && q < n {
				s -= x[q] * 2
			}
			if q := i + k; q != n && q > 0 && q <= n {
				s += x[q] * 3
			}
		}
		y[i] = s
	}
}

//omp:target device(acc, smp)
//omp:task in(x) out(y[0:int(n)])
func BorderNarrow(n int32, x, y []float32) {
	//omp:teams distribute parallel for
	for i := int32(0); i < n; i++ {
		j := i + 1
		if j == n {
			j = 0
		}
		y[i] = x[min(i+1, n-1)] + x[(i-1+n)%n]*2 + x[j]*3
	}
}

//omp:target device(acc, smp)
//omp:task in(v, x) out(y)
func BorderData(n int, v []int32, x, y []float32) {
	//omp:teams distribute parallel for
	for i := range y {
		j := int(v[i])
		if j < 0 {
			j = 0
		}
		if j >= n {
			j = n - 1
		}
		y[i] = x[j] + x[max(0, min(int(v[i]), n-1))]*2
		if i != 0 {
			y[i] += x[i-1]
		}
	}
}
