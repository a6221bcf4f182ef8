package vecmath

import (
	"math"

	"github.com/gompss/gompss/codegen/cpu/x86"
	"github.com/gompss/gompss/codegen/ir"
)

// An Emitter takes the instructions of a series.
type Emitter interface {
	NewVector() x86.Reg
	NewMask() x86.Reg
	Op(op x86.Op, w x86.Width, args ...x86.Arg)
	Emit(in x86.Inst)
	// PoolOnce returns the offset in the pool of n copies of a constant of size bytes.
	PoolOnce(bits uint64, size, n int) int
	// ConstVector returns a register that holds the constant in every lane, and does so everywhere.
	ConstVector(bits uint64, size int) x86.Reg
	// Pattern returns a register with these numbers in its lanes of size bytes.
	Pattern(numbers []int64, size int) x86.Reg
}

// Features say what the code may use, and how exact it has to be.
type Features struct {
	AVX512   bool // else AVX2 and FMA
	FastMath bool // shorter polynomials, where the bounds of fastmath allow them
	LongMul  bool // products of 64-bit lanes, which AVX-512 has anyway
}

// Basic is arithmetic on one vector of numbers of a type. Results are fresh registers unless a
// method says that it overwrites.
type Basic struct {
	Emitter
	Features
	Type  *ir.Type
	Width x86.Width
}

// Integers are functions on integers: bits, words, division, and conversions from and to floats.
type Integers struct{ Basic }

// A Series is all that can be computed of one vector, functions of floats among it.
type Series struct{ Integers }

// New is selection for vectors of width w with a t in each lane.
func New(e Emitter, m Features, t *ir.Type, w x86.Width) Series {
	return Series{Integers{Basic{e, m, t, w}}}
}

// as is the same for lanes of another type.
func (s Integers) as(t *ir.Type) Integers {
	s.Type = t
	return s
}

// pick chooses by the size of a lane.
func (s Basic) pick(four, eight x86.Op) x86.Op {
	if s.Type.Size == 8 {
		return eight
	}
	return four
}

// newMask is a register for the answer of a comparison: a vector without AVX-512.
func (s Basic) newMask() x86.Reg {
	if s.AVX512 {
		return s.NewMask()
	}
	return s.NewVector()
}

// Both is the lanes of two masks.
func (s Basic) Both(x, y x86.Reg) x86.Reg {
	m := s.newMask()
	if s.AVX512 {
		s.Op(x86.KANDW, x86.W128, x86.RegArg(m), x86.RegArg(x), x86.RegArg(y))
	} else {
		s.Op(x86.VPAND, s.Width, x86.RegArg(m), x86.RegArg(x), x86.RegArg(y))
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
func (s Basic) At(v float64) x86.Arg { return s.AtBits(s.bits(v)) }

// AtBits is a constant of these bits as a memory operand.
func (s Basic) AtBits(bits uint64) x86.Arg {
	size := int(s.Type.Size)
	if s.AVX512 {
		return x86.MemArg(x86.Mem{Base: x86.RIP, Index: x86.NoReg, Disp: int32(s.PoolOnce(bits, size, 1)), Broadcast: true})
	}
	return x86.MemArg(x86.Mem{Base: x86.RIP, Index: x86.NoReg, Disp: int32(s.PoolOnce(bits, size, s.Width.Bytes()/size))})
}

// Const is a constant in a fresh register.
func (s Basic) Const(v float64) x86.Reg { return s.ConstBits(s.bits(v)) }

// ConstBits is a constant of these bits in a fresh register.
func (s Basic) ConstBits(bits uint64) x86.Reg {
	r := s.NewVector()
	op := x86.VBROADCASTSS
	if s.Type.Size == 8 {
		op = x86.VBROADCASTSD
	}
	s.Op(op, max(s.Width, map[bool]x86.Width{true: x86.W256, false: x86.W128}[s.Type.Size == 8]), x86.RegArg(r), x86.MemArg(x86.Mem{Base: x86.RIP, Index: x86.NoReg, Disp: int32(s.PoolOnce(bits, int(s.Type.Size), 1))}))
	return r
}

// Two is one instruction of two sources, of which y may be in memory.
func (s Basic) Two(single, double x86.Op, x x86.Reg, y x86.Arg) x86.Reg {
	r := s.NewVector()
	s.Op(s.pick(single, double), s.Width, x86.RegArg(r), x86.RegArg(x), y)
	return r
}

// Add is x + y.
func (s Basic) Add(x x86.Reg, y x86.Arg) x86.Reg { return s.Two(x86.VADDPS, x86.VADDPD, x, y) }

// Sub is x - y.
func (s Basic) Sub(x x86.Reg, y x86.Arg) x86.Reg { return s.Two(x86.VSUBPS, x86.VSUBPD, x, y) }

// Mul is x * y.
func (s Basic) Mul(x x86.Reg, y x86.Arg) x86.Reg { return s.Two(x86.VMULPS, x86.VMULPD, x, y) }

// Div is x / y.
func (s Basic) Div(x x86.Reg, y x86.Arg) x86.Reg { return s.Two(x86.VDIVPS, x86.VDIVPD, x, y) }

// And is the bits of x and y.
func (s Basic) And(x x86.Reg, y x86.Arg) x86.Reg { return s.Two(x86.VANDPS, x86.VANDPD, x, y) }

// Or is the bits of x or y.
func (s Basic) Or(x x86.Reg, y x86.Arg) x86.Reg { return s.Two(x86.VORPS, x86.VORPD, x, y) }

// Xor is the bits that x and y do not share.
func (s Basic) Xor(x x86.Reg, y x86.Arg) x86.Reg { return s.Two(x86.VXORPS, x86.VXORPD, x, y) }

// clamp brings x into [lo, hi]; a NaN stays: the instructions return their second source then.
func (s Basic) clamp(x x86.Reg, lo, hi float64) x86.Reg {
	a := s.Two(x86.VMINPS, x86.VMINPD, s.Const(hi), x86.RegArg(x))
	return s.Two(x86.VMAXPS, x86.VMAXPD, s.Const(lo), x86.RegArg(a))
}

// FMA overwrites p with p*x + c.
func (s Basic) FMA(p, x x86.Reg, c x86.Arg) {
	s.Op(s.pick(x86.VFMADD213PS, x86.VFMADD213PD), s.Width, x86.RegArg(p), x86.RegArg(x), c)
}

// AddProduct overwrites p with p + x*y.
func (s Basic) AddProduct(p, x x86.Reg, y x86.Arg) {
	s.Op(s.pick(x86.VFMADD231PS, x86.VFMADD231PD), s.Width, x86.RegArg(p), x86.RegArg(x), y)
}

// subProduct overwrites p with p - x*y.
func (s Basic) subProduct(p, x x86.Reg, y x86.Arg) {
	s.Op(s.pick(x86.VFNMADD231PS, x86.VFNMADD231PD), s.Width, x86.RegArg(p), x86.RegArg(x), y)
}

// Copy is x in a register of its own.
func (s Basic) Copy(x x86.Reg) x86.Reg {
	r := s.NewVector()
	s.Op(x86.VMOVUPSStore, s.Width, x86.RegArg(r), x86.RegArg(x))
	return r
}

// Polynomial is c[0] + c[1]*x + ...
func (s Basic) Polynomial(x x86.Reg, c ...float64) x86.Reg {
	p := s.Const(c[len(c)-1])
	for i := len(c) - 2; i >= 0; i-- {
		s.FMA(p, x, s.At(c[i]))
	}
	return p
}

// round is the nearest integer, ties to even.
func (s Basic) round(x x86.Reg) x86.Reg {
	r := s.NewVector()
	if s.AVX512 {
		s.Op(s.pick(x86.VRNDSCALEPS, x86.VRNDSCALEPD), s.Width, x86.RegArg(r), x86.RegArg(x), x86.ImmArg(8))
	} else {
		s.Op(s.pick(x86.VROUNDPS, x86.VROUNDPD), s.Width, x86.RegArg(r), x86.RegArg(x), x86.ImmArg(8))
	}
	return r
}

// CompareTo is the lanes where x and y stand as the predicate says; in the lane size of the type.
func (s Basic) CompareTo(x x86.Reg, y x86.Arg, predicate int64) x86.Reg {
	m := s.newMask()
	s.Op(s.pick(x86.VCMPPS, x86.VCMPPD), s.Width, x86.RegArg(m), x86.RegArg(x), y, x86.ImmArg(predicate))
	return m
}

// Choose overwrites d with x in the lanes of m, which has the lane size of the type.
func (s Basic) Choose(d, x, m x86.Reg) {
	if s.AVX512 {
		s.Emit(x86.I(s.pick(x86.VMOVUPSStore, x86.VMOVUPDStore), s.Width, x86.RegArg(d), x86.RegArg(x)).Masked(m, false))
		return
	}
	s.Op(x86.VPBLENDVB, s.Width, x86.RegArg(d), x86.RegArg(d), x86.RegArg(x), x86.RegArg(m))
}

// ShiftLeft returns the lanes of x shifted left by n bits.
func (s Basic) ShiftLeft(x x86.Reg, n int64) x86.Reg {
	r := s.NewVector()
	s.Op(s.pick(x86.VPSLLD, x86.VPSLLQ), s.Width, x86.RegArg(r), x86.RegArg(x), x86.ImmArg(n))
	return r
}

// ShiftRight shifts integers of the lane's size, zeros in.
func (s Basic) ShiftRight(x x86.Reg, n int64) x86.Reg {
	r := s.NewVector()
	s.Op(s.pick(x86.VPSRLD, x86.VPSRLQ), s.Width, x86.RegArg(r), x86.RegArg(x), x86.ImmArg(n))
	return r
}

// AddInts is x + y of integers of the lane's size.
func (s Basic) AddInts(x, y x86.Reg) x86.Reg { return s.Two(x86.VPADDD, x86.VPADDQ, x, x86.RegArg(y)) }

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
func (s Basic) scale(p, n x86.Reg) x86.Reg {
	if s.AVX512 {
		return s.Two(x86.VSCALEFPS, x86.VSCALEFPD, p, x86.RegArg(n))
	}
	half := s.NewVector()
	s.Op(s.pick(x86.VROUNDPS, x86.VROUNDPD), s.Width, x86.RegArg(half), x86.RegArg(s.Mul(n, s.At(0.5))), x86.ImmArg(9))
	rest := s.Sub(n, x86.RegArg(half))
	return s.Mul(s.Mul(p, x86.RegArg(s.power(half))), x86.RegArg(s.power(rest)))
}

// power is 2^n for an integer n as a float, in the range of normal exponents.
func (s Basic) power(n x86.Reg) x86.Reg {
	bias := float64(127)
	if s.Type.Size == 8 {
		bias = 1023
	}
	return s.ShiftLeft(s.Add(n, s.At(s.magic()+bias)), s.Mantissa())
}

// Predicates of VCMPPS.
const (
	CmpEQ    = 0x00
	CmpLT    = 0x11
	cmpUNORD = 0x03
	CmpGT    = 0x1E
	CmpGE    = 0x1D
	CmpNLT   = 0x15 // not less: true for NaN too, as the next one
	CmpNGE   = 0x19
)
