package main

import "math"

// Count adds to counts[b] how often b stands in the n bytes of data.
//
//omp:target device(acc, smp)
//omp:task in(data[0:n]) inout(counts)
func Count(n int, data []byte, counts []uint32) {
	//omp:teams distribute parallel for
	for i := 0; i < n; i++ {
		//omp:atomic
		counts[data[i]]++
	}
}

// CountCUDA is Count for NVIDIA GPUs, with a histogram in shared memory for each team. The GPU runs
// the text in count.cu; this function says what that text computes, and tests can call it.
//
//omp:target device(cuda) implements(Count)
//omp:target native("count.cu") ndrange(1, min(n, 1<<18), 256) shmem(256*4)
//omp:task in(data[0:n]) inout(counts)
func CountCUDA(n int, data []byte, counts []uint32) { Count(n, data, counts) }

// CountOpenCL is Count for devices with an OpenCL driver, in the text of count.cl.
//
//omp:target device(opencl) implements(Count)
//omp:target native("count.cl") ndrange(1, min(n, 1<<18), 256) shmem(256*4)
//omp:task in(data[0:n]) inout(counts)
func CountOpenCL(n int, data []byte, counts []uint32) { Count(n, data, counts) }

// Entropy stores the entropy of the bytes in bits.
//
//omp:target device(acc, smp)
//omp:task in(counts) out(*bits)
func Entropy(n int, counts []uint32, bits *float64) {
	h := 0.0
	//omp:teams distribute parallel for reduction(+: h)
	for b := 0; b < 256; b++ {
		if counts[b] > 0 {
			p := float64(counts[b]) / float64(n)
			h -= p * math.Log2(p)
		}
	}
	*bits = h
}
