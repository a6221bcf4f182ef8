package main

import "github.com/gompss/gompss/codegen/kernel/ordered"

// Median stores in rows of out the median of the 3 x 3 pixels around each pixel of in, an image of
// height rows of width pixels. Pixels of the rim are copied. in begins with the row above the first
// row of out, where there is one.
//
//omp:target device(acc, smp)
//omp:task in(in) out(out)
func Median(in []uint8, above, width int, out []uint8) {
	//omp:teams distribute parallel for
	for i := range out {
		x, at := i%width, i+above*width
		if x == 0 || x == width-1 || at < width || at+width >= len(in) {
			out[i] = in[at]
			continue
		}
		var near [9]uint8
		for dy := range 3 {
			for dx := range 3 {
				near[3*dy+dx] = in[at+(dy-1)*width+dx-1]
			}
		}
		ordered.Sort(near[:])
		out[i] = near[4]
	}
}
