package codegen_test

import "math/bits"

//omp:target device(smp)
//omp:task in(x) inout(n, y)
func PracticeBits8(x, y []uint8, n []int) {
	//omp:teams distribute parallel for
	for i := range x {
		v := x[i]
		n[i] = bits.OnesCount8(v) + bits.LeadingZeros8(v)*100 + bits.TrailingZeros8(v)*10000 + bits.Len8(v)*1000000
		y[i] = bits.Reverse8(v) ^ bits.RotateLeft8(v, 3) + bits.RotateLeft8(v, -2)*3 + bits.RotateLeft8(v, 8)
	}
}

//omp:target device(smp)
//omp:task in(x) inout(n, y)
func PracticeBits16(x, y []uint16, n []int) {
	//omp:teams distribute parallel for
	for i := range x {
		v := x[i]
		n[i] = bits.OnesCount16(v) + bits.LeadingZeros16(v)*100 + bits.TrailingZeros16(v)*10000 + bits.Len16(v)*1000000
		y[i] = bits.Reverse16(v) ^ bits.ReverseBytes16(v)*5 ^ bits.RotateLeft16(v, 3) + bits.RotateLeft16(v, -2)*3 + bits.RotateLeft16(v, 16)
	}
}

//omp:target device(smp)
//omp:task in(x) inout(n, y)
func PracticeBits32(x, y []uint32, n []int) {
	//omp:teams distribute parallel for
	for i := range x {
		v := x[i]
		n[i] = bits.OnesCount32(v) + bits.LeadingZeros32(v)*100 + bits.TrailingZeros32(v)*10000 + bits.Len32(v)*1000000
		if v&1 == 0 {
			y[i] = bits.Reverse32(v) ^ bits.ReverseBytes32(v)*5 ^ bits.RotateLeft32(v, 3) + bits.RotateLeft32(v, -2)*3 + bits.RotateLeft32(v, 32)
		}
	}
}

//omp:target device(smp)
//omp:task in(x) inout(n, y)
func PracticeBits64(x, y []uint64, n []int) {
	//omp:teams distribute parallel for
	for i := range x {
		v := x[i]
		n[i] = bits.OnesCount64(v) + bits.LeadingZeros64(v)*100 + bits.TrailingZeros64(v)*10000 + bits.Len64(v)*1000000
		y[i] = bits.Reverse64(v) ^ bits.ReverseBytes64(v)*5 ^ bits.RotateLeft64(v, 31) + bits.RotateLeft64(v, -2)*3 + bits.RotateLeft64(v, 64)
	}
}

// The same of what is one for all, outside the lanes and in them.
//
//omp:target device(smp)
//omp:task in(x) inout(n)
func PracticeBitsOfAll(x []uint32, n []int) {
	k := 0
	if len(x) > 0 {
		k = bits.OnesCount32(x[0])*7 + bits.TrailingZeros64(uint64(x[0]))
	}
	//omp:teams distribute parallel for
	for i := range n {
		n[i] = k + bits.LeadingZeros16(uint16(x[0])) + bits.Len(uint(len(n)))*i
	}
}

// Numbers without a sign as floats.
//
//omp:target device(smp)
//omp:task in(x, y, z) inout(f, d)
func PracticeUnsigned(x []uint32, y []uint64, z []int64, f []float32, d []float64) {
	//omp:teams distribute parallel for
	for i := range x {
		f[3*i] = float32(x[i])
		d[3*i] = float64(x[i])
		d[3*i+1], d[3*i+2] = float64(y[i]), float64(z[i])
	}
}

// Shifts of numbers with a sign, by constants and by the same in all lanes.
//
//omp:target device(smp)
//omp:task in(x) inout(y)
func PracticeShifts(k int, by uint64, x, y []int64) {
	//omp:teams distribute parallel for
	for i := range x {
		y[i] = x[i]>>k ^ x[i]>>1 + x[i]>>63*3 + x[i]>>by*7 + x[i]>>0*9
	}
}
