package main

// Assign stores in cluster[i] the nearest of the k centres to point i of dims coordinates, and adds
// the points of each cluster to sums and their number to counts.
//
//omp:target device(acc, smp)
//omp:task in(points, centres) out(cluster) reduction(+: sums, counts)
func Assign(k, dims int, points, centres []float64, cluster []int32, sums []int64, counts []int64) {
	//omp:teams distribute parallel for
	for i := range cluster {
		best, nearest := int32(0), 0.0
		for c := 0; c < k; c++ {
			d := 0.0
			for j := 0; j < dims; j++ {
				x := points[i*dims+j] - centres[c*dims+j]
				d += x * x
			}
			if c == 0 || d < nearest {
				best, nearest = int32(c), d
			}
		}
		cluster[i] = best
		for j := 0; j < dims; j++ {
			//omp:atomic
			sums[int(best)*dims+j] += int64(points[i*dims+j] * scale)
		}
		//omp:atomic
		counts[best]++
	}
}

// Move sets the centres to the means of their clusters, and sums and counts to zero; moved is the
// largest distance in one coordinate.
//
//omp:target device(acc, smp)
//omp:task inout(centres, sums, counts) out(*moved)
func Move(k, dims int, centres []float64, sums, counts []int64, moved *float64) {
	far := 0.0
	//omp:teams distribute parallel for reduction(max: far)
	for c := 0; c < k; c++ {
		for j := 0; j < dims; j++ {
			if counts[c] > 0 {
				mean := float64(sums[c*dims+j]) / scale / float64(counts[c])
				far = max(far, mean-centres[c*dims+j], centres[c*dims+j]-mean)
				centres[c*dims+j] = mean
			}
			sums[c*dims+j] = 0
		}
		counts[c] = 0
	}
	*moved = far
}

// scale turns coordinates into whole numbers, whose sum does not depend on its order.
const scale = 1 << 24
