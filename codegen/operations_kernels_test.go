package codegen_test

import (
	"math"
	"math/bits"

	"github.com/gompss/gompss/codegen/kernel"
)

// Kernels of one operation each, at every width: each is vector code.

//omp:target device(smp)
//omp:task in(x, c) inout(y)
func OpShl[T, C kernel.Integer](x []T, c []C, y []T) {
	//omp:teams distribute parallel for
	for i := range x {
		y[i] = x[i] << c[i]
	}
}

//omp:target device(smp)
//omp:task in(x, c) inout(y)
func OpShr[T, C kernel.Integer](x []T, c []C, y []T) {
	//omp:teams distribute parallel for
	for i := range x {
		y[i] = x[i] >> c[i]
	}
}

//omp:target device(smp)
//omp:task in(x, c) inout(y)
func OpShiftSome[T, C kernel.Integer](x []T, c []C, y []T) {
	//omp:teams distribute parallel for
	for i := range x {
		if c[i] >= 0 {
			y[i] = x[i]>>c[i] ^ x[i]<<(c[i]&7)
		}
	}
}

//omp:target device(smp)
//omp:task in(x, c) inout(y)
func OpRotate8(x []uint8, c []int, y []uint8) {
	//omp:teams distribute parallel for
	for i := range x {
		y[i] = bits.RotateLeft8(x[i], c[i])
	}
}

//omp:target device(smp)
//omp:task in(x, c) inout(y)
func OpRotate16(x []uint16, c []int, y []uint16) {
	//omp:teams distribute parallel for
	for i := range x {
		y[i] = bits.RotateLeft16(x[i], c[i])
	}
}

//omp:target device(smp)
//omp:task in(x, c) inout(y)
func OpRotate32(x []uint32, c []int, y []uint32) {
	//omp:teams distribute parallel for
	for i := range x {
		y[i] = bits.RotateLeft32(x[i], c[i])
	}
}

//omp:target device(smp)
//omp:task in(x, c) inout(y)
func OpRotate64(x []uint64, c []int, y []uint64) {
	//omp:teams distribute parallel for
	for i := range x {
		y[i] = bits.RotateLeft64(x[i], c[i])
	}
}

//omp:target device(smp)
//omp:task in(x, c) inout(y)
func OpMin[T kernel.Integer | kernel.Float](x, c, y []T) {
	//omp:teams distribute parallel for
	for i := range x {
		y[i] = min(x[i], c[i])
	}
}

//omp:target device(smp)
//omp:task in(x, c) inout(y)
func OpMax[T kernel.Integer | kernel.Float](x, c, y []T) {
	//omp:teams distribute parallel for
	for i := range x {
		y[i] = max(x[i], c[i])
	}
}

//omp:target device(smp)
//omp:task in(x, c) inout(y)
func OpMul[T kernel.Integer | kernel.Float](x, c, y []T) {
	//omp:teams distribute parallel for
	for i := range x {
		y[i] = x[i] * c[i]
	}
}

//omp:target device(smp)
//omp:task in(x, c) inout(y)
func OpCompare[T kernel.Integer | kernel.Float](x, c, y []T) {
	//omp:teams distribute parallel for
	for i := range x {
		if x[i] < c[i] {
			y[i] = c[i] - 1
		}
	}
}

//omp:target device(smp)
//omp:task in(x, c) inout(y)
func OpDiv[T kernel.Integer](x, c, y []T) {
	//omp:teams distribute parallel for
	for i := range x {
		y[i] = x[i] / (c[i] | 1)
	}
}

//omp:target device(smp)
//omp:task in(x, c) inout(y)
func OpRem[T kernel.Integer](x, c, y []T) {
	//omp:teams distribute parallel for
	for i := range x {
		y[i] = x[i] % (c[i] | 1)
	}
}

//omp:target device(smp)
//omp:task in(x, c) inout(y)
func OpDivConst[T kernel.Integer](x, c, y []T) {
	//omp:teams distribute parallel for
	for i := range x {
		y[i] = x[i]/7 + c[i]/100
	}
}

//omp:target device(smp)
//omp:task in(x, c) inout(y)
func OpRemConst[T kernel.Integer](x, c, y []T) {
	//omp:teams distribute parallel for
	for i := range x {
		y[i] = x[i]%10 + c[i]%16
	}
}

//omp:target device(smp)
//omp:task in(x) inout(y)
func OpConvert[T, C kernel.Integer | kernel.Float](x []T, y []C) {
	//omp:teams distribute parallel for
	for i := range x {
		y[i] = C(x[i])
	}
}

//omp:target device(smp)
//omp:task in(x, c) inout(y)
func OpCopysign[T kernel.Float](x, c, y []T) {
	//omp:teams distribute parallel for
	for i := range x {
		y[i] = kernel.Copysign(x[i], c[i])
	}
}

//omp:target device(smp)
//omp:task in(x, c) inout(y)
func OpDim[T kernel.Float](x, c, y []T) {
	//omp:teams distribute parallel for
	for i := range x {
		y[i] = kernel.Dim(x[i], c[i])
	}
}

//omp:target device(smp)
//omp:task in(x, c) inout(y)
func OpMod[T kernel.Float](x, c, y []T) {
	//omp:teams distribute parallel for
	for i := range x {
		y[i] = kernel.Mod(x[i], c[i])
	}
}

//omp:target device(smp)
//omp:task in(x, c) inout(y)
func OpRemainder[T kernel.Float](x, c, y []T) {
	//omp:teams distribute parallel for
	for i := range x {
		y[i] = kernel.Remainder(x[i], c[i])
	}
}

//omp:target device(smp)
//omp:task in(x, c) inout(y)
func OpHypot[T kernel.Float](x, c, y []T) {
	//omp:teams distribute parallel for
	for i := range x {
		y[i] = kernel.Hypot(x[i], c[i])
	}
}

//omp:target device(smp)
//omp:task in(x, c) inout(y)
func OpRound[T kernel.Float](x, c, y []T) {
	//omp:teams distribute parallel for
	for i := range x {
		y[i] = kernel.Round(x[i])
	}
}

//omp:target device(smp)
//omp:task in(x, c) inout(y)
func OpRounds[T kernel.Float](x, c, y []T) {
	//omp:teams distribute parallel for
	for i := range x {
		y[i] = kernel.RoundToEven(x[i]) + kernel.Floor(c[i])*kernel.Ceil(x[i]) - kernel.Trunc(c[i])
	}
}

//omp:target device(smp)
//omp:task in(x, c) inout(y)
func OpSigns[T kernel.Float](x, c, y []T) {
	//omp:teams distribute parallel for
	for i := range x {
		if kernel.Signbit(x[i]) || kernel.IsNaN(c[i]) || kernel.IsInf(c[i], 0) {
			y[i] = -kernel.Abs(c[i])
		}
	}
}

//omp:target device(smp)
//omp:task in(x, c) inout(y)
func OpFloatBits32(x, c, y []float32) {
	//omp:teams distribute parallel for
	for i := range x {
		y[i] = math.Float32frombits(math.Float32bits(x[i])&^(1<<31) | math.Float32bits(c[i])&(1<<31))
	}
}

//omp:target device(smp)
//omp:task in(x, c) inout(y)
func OpFloatBits64(x, c, y []float64) {
	//omp:teams distribute parallel for
	for i := range x {
		y[i] = math.Float64frombits(math.Float64bits(x[i])&^(1<<63) | math.Float64bits(c[i])&(1<<63))
	}
}

//omp:target device(smp)
//omp:task in(x, c) inout(y)
func OpMathMinMax(x, c, y []float64) {
	//omp:teams distribute parallel for
	for i := range x {
		y[i] = math.Min(x[i], c[i]) + math.Max(x[i], y[i])
	}
}

//omp:target device(smp)
//omp:task in(x, c) inout(y)
func OpMul64(x, c, y []uint64) {
	//omp:teams distribute parallel for
	for i := range x {
		hi, lo := bits.Mul64(x[i], c[i])
		y[i] = hi ^ lo
	}
}

//omp:target device(smp)
//omp:task in(x, c) inout(y)
func OpMul32(x, c, y []uint32) {
	//omp:teams distribute parallel for
	for i := range x {
		hi, lo := bits.Mul32(x[i], c[i])
		y[i] = hi ^ lo
	}
}

//omp:target device(smp)
//omp:task in(x, c) inout(y)
func OpAdd64(x, c, y []uint64) {
	//omp:teams distribute parallel for
	for i := range x {
		s, carry := bits.Add64(x[i], c[i], y[i]&1)
		d, borrow := bits.Sub64(x[i], c[i], y[i]&1)
		y[i] = s ^ d + carry*3 + borrow*5
	}
}

//omp:target device(smp)
//omp:task in(x, c) inout(y)
func OpAndNot[T kernel.Integer](x, c, y []T) {
	//omp:teams distribute parallel for
	for i := range x {
		y[i] = x[i]&^c[i] ^ -y[i] | ^c[i]
	}
}

//omp:target device(smp)
//omp:task in(x) inout(y)
func OpCount8(x []uint8, y []int) {
	//omp:teams distribute parallel for
	for i := range x {
		y[i] = bits.LeadingZeros8(x[i]) + bits.OnesCount8(x[i])*100
	}
}

//omp:target device(smp)
//omp:task in(x) inout(y)
func OpCount64(x []uint64, y []int) {
	//omp:teams distribute parallel for
	for i := range x {
		y[i] = bits.LeadingZeros64(x[i]) + bits.OnesCount64(x[i])*100 + bits.TrailingZeros64(x[i])*10000
	}
}

// OpBothWidths shifts numbers of two widths by one count.
//
//omp:target device(smp)
//omp:task in(x, c) inout(y, z)
func OpBothWidths(x []int64, c []int32, y []int64, z []int32) {
	k := uint32(0)
	if len(c) > 0 {
		k = uint32(c[0]) & 31
	}
	//omp:teams distribute parallel for
	for i := range x {
		z[i] = c[i] << k
		y[i] = x[i] << k
	}
}
