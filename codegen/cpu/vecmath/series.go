package vecmath

import (
	"math"

	"github.com/gompss/gompss/codegen/cpu/vcode"
	"github.com/gompss/gompss/codegen/ir"
)

// An Emitter takes the instructions of a series.
type Emitter interface {
	NewVector() vcode.Reg
	NewMask() vcode.Reg
	Op(op vcode.Op, w vcode.Width, args ...vcode.Arg)
	Emit(in vcode.Inst)
	// PoolOnce returns the offset in the pool of n copies of a constant of size bytes.
	PoolOnce(bits uint64, size, n int) int
	// ConstVector returns a register that holds the constant in every lane, and does so everywhere.
	ConstVector(bits uint64, size int) vcode.Reg
	// Pattern returns a register with these numbers in its lanes of size bytes.
	Pattern(numbers []int64, size int) vcode.Reg
}

// Features say what the code may use, and how exact it has to be.
type Features struct {
	AVX512   bool // else AVX2 and FMA
	FastMath bool // shorter polynomials, where the bounds of fastmath allow them
	Extra    Operations
}

// Operations are sets of those that not every instruction set has.
type Operations uint8

// The operations.
const (
	LongProducts Operations = 1 << iota // of 64-bit lanes, which AVX-512 has anyway
	Extremes                            // VLeastF32 and its like
	SumsInPlace                         // a fused operation overwrites what it adds to, no factor
)

// Basic is arithmetic on one vector of numbers of a type. Results are fresh registers unless a
// method says that it overwrites.
type Basic struct {
	Emitter
	Features
	Type  *ir.Type
	Width vcode.Width
}

// Integers are functions on integers: bits, words, division, and conversions from and to floats.
type Integers struct{ Basic }

// A Series is all that can be computed of one vector, functions of floats among it.
type Series struct{ Integers }

// New is selection for vectors of width w with a t in each lane.
func New(e Emitter, m Features, t *ir.Type, w vcode.Width) Series {
	return Series{Integers{Basic{e, m, t, w}}}
}

// as is the same for lanes of another type.
func (s Integers) as(t *ir.Type) Integers {
	s.Type = t
	return s
}

// pick chooses by the size of a lane.
func (s Basic) pick(four, eight vcode.Op) vcode.Op {
	if s.Type.Size == 8 {
		return eight
	}
	return four
}

// newMask is a register for the answer of a comparison: a vector without AVX-512.
func (s Basic) newMask() vcode.Reg {
	if s.AVX512 {
		return s.NewMask()
	}
	return s.NewVector()
}

// Both is the lanes of two masks.
func (s Basic) Both(x, y vcode.Reg) vcode.Reg {
	m := s.newMask()
	if s.AVX512 {
		s.Op(vcode.MaskAnd, vcode.W128, vcode.RegArg(m), vcode.RegArg(x), vcode.RegArg(y))
	} else {
		s.Op(vcode.VAnd, s.Width, vcode.RegArg(m), vcode.RegArg(x), vcode.RegArg(y))
	}
	return m
}

func (s Basic) bits(v float64) uint64 {
	if s.Type.Size == 4 {
		return uint64(math.Float32bits(float32(v)))
	}
	return math.Float64bits(v)
}

// At is a constant as a memory operand.
func (s Basic) At(v float64) vcode.Arg { return s.AtBits(s.bits(v)) }

// AtBits is a constant of these bits as a memory operand.
func (s Basic) AtBits(bits uint64) vcode.Arg {
	size := int(s.Type.Size)
	if s.AVX512 {
		return vcode.MemArg(vcode.Mem{Base: vcode.PoolBase, Index: vcode.NoReg, Disp: int32(s.PoolOnce(bits, size, 1)), Broadcast: true})
	}
	return vcode.MemArg(vcode.Mem{Base: vcode.PoolBase, Index: vcode.NoReg, Disp: int32(s.PoolOnce(bits, size, s.Width.Bytes()/size))})
}

// Const is a constant in a fresh register.
func (s Basic) Const(v float64) vcode.Reg { return s.ConstBits(s.bits(v)) }

// ConstBits is a constant of these bits in a fresh register.
func (s Basic) ConstBits(bits uint64) vcode.Reg {
	r := s.NewVector()
	op := vcode.VBroadcastF32
	if s.Type.Size == 8 {
		op = vcode.VBroadcastF64
	}
	s.Op(op, max(s.Width, map[bool]vcode.Width{true: vcode.W256, false: vcode.W128}[s.Type.Size == 8]), vcode.RegArg(r), vcode.MemArg(vcode.Mem{Base: vcode.PoolBase, Index: vcode.NoReg, Disp: int32(s.PoolOnce(bits, int(s.Type.Size), 1))}))
	return r
}

// Two is one instruction of two sources, of which y may be in memory.
func (s Basic) Two(single, double vcode.Op, x vcode.Reg, y vcode.Arg) vcode.Reg {
	r := s.NewVector()
	s.Op(s.pick(single, double), s.Width, vcode.RegArg(r), vcode.RegArg(x), y)
	return r
}

// Add is x + y.
func (s Basic) Add(x vcode.Reg, y vcode.Arg) vcode.Reg {
	return s.Two(vcode.VAddF32, vcode.VAddF64, x, y)
}

// Sub is x - y.
func (s Basic) Sub(x vcode.Reg, y vcode.Arg) vcode.Reg {
	return s.Two(vcode.VSubF32, vcode.VSubF64, x, y)
}

// Mul is x * y.
func (s Basic) Mul(x vcode.Reg, y vcode.Arg) vcode.Reg {
	return s.Two(vcode.VMulF32, vcode.VMulF64, x, y)
}

// Div is x / y.
func (s Basic) Div(x vcode.Reg, y vcode.Arg) vcode.Reg {
	return s.Two(vcode.VDivF32, vcode.VDivF64, x, y)
}

// And is the bits of x and y.
func (s Basic) And(x vcode.Reg, y vcode.Arg) vcode.Reg {
	return s.Two(vcode.VAndF32, vcode.VAndF64, x, y)
}

// Or is the bits of x or y.
func (s Basic) Or(x vcode.Reg, y vcode.Arg) vcode.Reg { return s.Two(vcode.VOrF32, vcode.VOrF64, x, y) }

// Xor is the bits that x and y do not share.
func (s Basic) Xor(x vcode.Reg, y vcode.Arg) vcode.Reg {
	return s.Two(vcode.VXorF32, vcode.VXorF64, x, y)
}

// least is the smaller one of x and y, of which not both are 0; where one is a NaN it is y, or
// the NaN.
func (s Basic) least(x, y vcode.Reg) vcode.Reg {
	if s.Extra&Extremes != 0 {
		return s.Two(vcode.VLeastF32, vcode.VLeastF64, x, vcode.RegArg(y))
	}
	return s.Two(vcode.VMinF32, vcode.VMinF64, x, vcode.RegArg(y))
}

// greatest is the larger one, as least is the smaller.
func (s Basic) greatest(x, y vcode.Reg) vcode.Reg {
	if s.Extra&Extremes != 0 {
		return s.Two(vcode.VGreatestF32, vcode.VGreatestF64, x, vcode.RegArg(y))
	}
	return s.Two(vcode.VMaxF32, vcode.VMaxF64, x, vcode.RegArg(y))
}

// clamp brings x into [lo, hi], neither of which is 0; a NaN stays.
func (s Basic) clamp(x vcode.Reg, lo, hi float64) vcode.Reg {
	return s.greatest(s.Const(lo), s.least(s.Const(hi), x))
}

// FMA overwrites p with p*x + c.
func (s Basic) FMA(p, x vcode.Reg, c vcode.Arg) {
	s.Op(s.pick(vcode.VFusedScaleAddF32, vcode.VFusedScaleAddF64), s.Width, vcode.RegArg(p), vcode.RegArg(x), c)
}

// AddProduct overwrites p with p + x*y.
func (s Basic) AddProduct(p, x vcode.Reg, y vcode.Arg) {
	s.Op(s.pick(vcode.VFusedAddF32, vcode.VFusedAddF64), s.Width, vcode.RegArg(p), vcode.RegArg(x), y)
}

// subProduct overwrites p with p - x*y.
func (s Basic) subProduct(p, x vcode.Reg, y vcode.Arg) {
	s.Op(s.pick(vcode.VFusedSubF32, vcode.VFusedSubF64), s.Width, vcode.RegArg(p), vcode.RegArg(x), y)
}

// Copy is x in a register of its own.
func (s Basic) Copy(x vcode.Reg) vcode.Reg {
	r := s.NewVector()
	s.Op(vcode.VStoreF32, s.Width, vcode.RegArg(r), vcode.RegArg(x))
	return r
}

// Polynomial is c[0] + c[1]*x + ...
func (s Basic) Polynomial(x vcode.Reg, c ...float64) vcode.Reg {
	p := s.Const(c[len(c)-1])
	for i := len(c) - 2; i >= 0; i-- {
		if s.Extra&SumsInPlace != 0 {
			sum := s.NewVector()
			s.Op(vcode.VLoadF32, s.Width, vcode.RegArg(sum), s.At(c[i]))
			s.AddProduct(sum, p, vcode.RegArg(x))
			p = sum
			continue
		}
		s.FMA(p, x, s.At(c[i]))
	}
	return p
}

// round is the nearest integer, ties to even.
func (s Basic) round(x vcode.Reg) vcode.Reg {
	r := s.NewVector()
	if s.AVX512 {
		s.Op(s.pick(vcode.VRoundScaleF32, vcode.VRoundScaleF64), s.Width, vcode.RegArg(r), vcode.RegArg(x), vcode.ImmArg(8))
	} else {
		s.Op(s.pick(vcode.VRoundF32, vcode.VRoundF64), s.Width, vcode.RegArg(r), vcode.RegArg(x), vcode.ImmArg(8))
	}
	return r
}

// CompareTo is the lanes where x and y stand as the predicate says; in the lane size of the type.
func (s Basic) CompareTo(x vcode.Reg, y vcode.Arg, predicate int64) vcode.Reg {
	m := s.newMask()
	s.Op(s.pick(vcode.VCompareF32, vcode.VCompareF64), s.Width, vcode.RegArg(m), vcode.RegArg(x), y, vcode.ImmArg(predicate))
	return m
}

// Choose overwrites d with x in the lanes of m, which has the lane size of the type.
func (s Basic) Choose(d, x, m vcode.Reg) {
	if s.AVX512 {
		s.Emit(vcode.I(s.pick(vcode.VStoreF32, vcode.VStoreF64), s.Width, vcode.RegArg(d), vcode.RegArg(x)).Masked(m, false))
		return
	}
	s.Op(vcode.VBlend, s.Width, vcode.RegArg(d), vcode.RegArg(d), vcode.RegArg(x), vcode.RegArg(m))
}

// ShiftLeft returns the lanes of x shifted left by n bits.
func (s Basic) ShiftLeft(x vcode.Reg, n int64) vcode.Reg {
	r := s.NewVector()
	s.Op(s.pick(vcode.VShiftLeftI32, vcode.VShiftLeftI64), s.Width, vcode.RegArg(r), vcode.RegArg(x), vcode.ImmArg(n))
	return r
}

// ShiftRight shifts integers of the lane's size, zeros in.
func (s Basic) ShiftRight(x vcode.Reg, n int64) vcode.Reg {
	r := s.NewVector()
	s.Op(s.pick(vcode.VShiftRightU32, vcode.VShiftRightU64), s.Width, vcode.RegArg(r), vcode.RegArg(x), vcode.ImmArg(n))
	return r
}

// AddInts is x + y of integers of the lane's size.
func (s Basic) AddInts(x, y vcode.Reg) vcode.Reg {
	return s.Two(vcode.VAddI32, vcode.VAddI64, x, vcode.RegArg(y))
}

// magic is what brings a small integer, as a float, into the low bits of the sum.
func (s Basic) magic() float64 {
	if s.Type.Size == 4 {
		return 1.5 * (1 << 23)
	}
	return 1.5 * (1 << 52)
}

// Mantissa is how many bits of a float the mantissa has.
func (s Basic) Mantissa() int64 {
	if s.Type.Size == 4 {
		return 23
	}
	return 52
}

// scale is p * 2^n for an integer n as a float, with gradual underflow. Without AVX-512 it goes in
// two steps, each of which fits.
func (s Basic) scale(p, n vcode.Reg) vcode.Reg {
	if s.AVX512 {
		return s.Two(vcode.VScaleF32, vcode.VScaleF64, p, vcode.RegArg(n))
	}
	half := s.NewVector()
	s.Op(s.pick(vcode.VRoundF32, vcode.VRoundF64), s.Width, vcode.RegArg(half), vcode.RegArg(s.Mul(n, s.At(0.5))), vcode.ImmArg(9))
	rest := s.Sub(n, vcode.RegArg(half))
	return s.Mul(s.Mul(p, vcode.RegArg(s.power(half))), vcode.RegArg(s.power(rest)))
}

// power is 2^n for an integer n as a float, in the range of normal exponents.
func (s Basic) power(n vcode.Reg) vcode.Reg {
	bias := float64(127)
	if s.Type.Size == 8 {
		bias = 1023
	}
	return s.ShiftLeft(s.Add(n, s.At(s.magic()+bias)), s.Mantissa())
}

// Predicates of VCompareF32.
const (
	CmpEQ    = 0x00
	CmpLT    = 0x11
	cmpUNORD = 0x03
	CmpGT    = 0x1E
	CmpGE    = 0x1D
	CmpNLT   = 0x15 // not less: true for NaN too, as the next one
	CmpNGE   = 0x19
)
