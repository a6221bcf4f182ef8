package codegen_test

// More kernels of language_test.go: complex numbers.

type phasor complex128

type signal struct {
	at   [2]complex64
	gain complex128
}

func twiddle(k, n int) complex64 {
	x := (float32(k) + 0.5) / float32(n+1)
	return complex(1-x*x, -x)
}

// split returns the quotient and the rest of a division.
func split(z, w complex128) (q, rest complex128) {
	q = z / w
	return q, z - q*w
}

func scaled[T complex64 | complex128](z, w T) T { return z*w + 2*z - 1i }

//omp:target
//omp:task in(z, w) inout(p, q, s)
func LangComplex(z []complex128, w []complex64, c complex128, by complex64, p []phasor, q []complex64, s []int) {
	//omp:teams distribute parallel for
	for i := range z {
		a, b := z[i], w[i]
		var sum complex128
		for j := range 3 {
			sum += a*complex(float64(j), 1) - c
		}
		p[i] *= phasor(sum)
		p[i] -= phasor(a/(c+2)) + 1.5i
		p[i]++
		q[i] = scaled(b, by) * complex64(a) / -b
		q[i] += complex(real(b)*imag(by), float32(i))
		s[i] = 0
		if a == complex128(b) {
			s[i] = 1
		}
		if b != by {
			s[i] += 2
		}
		if real(scaled(a, c)) < float64(imag(q[i]*by)) == (b == 0) {
			s[i] += 4
		}
	}
}

//omp:target
//omp:task in(z) out(w)
func LangComplexParts(z []signal, w []signal) {
	//omp:teams distribute parallel for
	for i := range w {
		u := z[i]
		for k := range u.at {
			u.at[k] *= twiddle(k+i, len(z))
			u.at[1-k], u.at[k] = u.at[k]-u.at[1-k], u.at[k]+u.at[1-k]
		}
		g := &u.gain
		*g = complex(imag(*g), real(*g))
		quotient, rest := split(*g, complex128(u.at[0])+0.5)
		pair := [2]complex128{quotient, rest}
		*g = pair[i&1]
		w[i] = u
	}
}

//omp:target
//omp:task in(z, w) out(q, r, p)
func LangComplexDivide(z, w, q, p []complex128, r []complex64) {
	//omp:teams distribute parallel for
	for i := range q {
		q[i] = z[i] / w[i]
		r[i] = complex64(z[i]) / complex64(w[i])
		p[i] = z[i] * w[i]
	}
}

//omp:target
//omp:task out(steps)
func LangJulia(n int, c complex128, steps []int32) {
	//omp:teams distribute parallel for
	for i := range steps {
		z := complex(float64(i%n)/float64(n)*3-1.5, float64(i/n)/float64(n)*3-1.5)
		k := int32(0)
		for k < 40 && real(z)*real(z)+imag(z)*imag(z) <= 4 {
			z = z*z + c
			k++
		}
		steps[i] = k
	}
}

//omp:target
//omp:task inout(x)
func LangFFT(n int, x []complex64) {
	for half := 1; half < n; half *= 2 {
		//omp:teams distribute parallel for
		for i := 0; i < n/2; i++ {
			k := i % half
			lo := i/half*2*half + k
			t := twiddle(k, 2*half) * x[lo+half]
			x[lo], x[lo+half] = x[lo]+t, x[lo]-t
		}
	}
}

//omp:target
//omp:task in(z, w) inout(*dot, *norms)
func LangComplexSums(z []complex128, w []complex64, dot *complex128, norms *signal) {
	sum := *dot
	//omp:teams distribute parallel for reduction(+: sum, norms.gain)
	for i := range z {
		sum += z[i] * complex(real(z[i]), -imag(z[i]))
		norms.gain = norms.gain + complex128(w[i])
	}
	*dot = sum
	var last complex64
	//omp:teams distribute parallel for reduction(+: last)
	for i := range w {
		var row complex64
		//omp:simd reduction(+: row)
		for j := range 4 {
			row += w[i] * complex(0, float32(j))
		}
		last = row + last
	}
	norms.at[0] = last
}
