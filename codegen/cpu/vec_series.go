package cpu

import (
	"math"

	"github.com/gompss/gompss/codegen/cpu/x86"
	"github.com/gompss/gompss/codegen/ir"
)

// An emitter takes the instructions of a series.
type emitter interface {
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

// A features says what the code may use, and how exact it has to be.
type features struct {
	avx512 bool // else AVX2 and FMA
	fast   bool // shorter polynomials, where the bounds of fastmath allow them
}

// A series is selection of arithmetic on one vector. Results are fresh registers unless a method
// says that it overwrites.
type series struct {
	emitter
	features
	t *ir.Type
	w x86.Width
}

// newSeries is selection for vectors of width w with a t in each lane.
func newSeries(e emitter, m features, t *ir.Type, w x86.Width) series { return series{e, m, t, w} }

// as is the same for lanes of another type.
func (s series) as(t *ir.Type) series {
	s.t = t
	return s
}

// pick chooses by the size of a lane.
func (s series) pick(four, eight x86.Op) x86.Op {
	if s.t.Size == 8 {
		return eight
	}
	return four
}

// newMask is a register for the answer of a comparison: a vector without AVX-512.
func (s series) newMask() x86.Reg {
	if s.avx512 {
		return s.NewMask()
	}
	return s.NewVector()
}

// both is the lanes of two masks.
func (s series) both(x, y x86.Reg) x86.Reg {
	m := s.newMask()
	if s.avx512 {
		s.Op(x86.KANDW, x86.W128, x86.RegArg(m), x86.RegArg(x), x86.RegArg(y))
	} else {
		s.Op(x86.VPAND, s.w, x86.RegArg(m), x86.RegArg(x), x86.RegArg(y))
	}
	return m
}

func (s series) bits(v float64) uint64 {
	if s.t.Size == 4 {
		return uint64(math.Float32bits(float32(v)))
	}
	return math.Float64bits(v)
}

// at is a constant as a memory operand.
func (s series) at(v float64) x86.Arg { return s.atBits(s.bits(v)) }

func (s series) atBits(bits uint64) x86.Arg {
	size := int(s.t.Size)
	if s.avx512 {
		return x86.MemArg(x86.Mem{Base: x86.RIP, Index: x86.NoReg, Disp: int32(s.PoolOnce(bits, size, 1)), Broadcast: true})
	}
	return x86.MemArg(x86.Mem{Base: x86.RIP, Index: x86.NoReg, Disp: int32(s.PoolOnce(bits, size, s.w.Bytes()/size))})
}

// c is a constant in a fresh register.
func (s series) c(v float64) x86.Reg { return s.cBits(s.bits(v)) }

func (s series) cBits(bits uint64) x86.Reg {
	r := s.NewVector()
	op := x86.VBROADCASTSS
	if s.t.Size == 8 {
		op = x86.VBROADCASTSD
	}
	s.Op(op, max(s.w, map[bool]x86.Width{true: x86.W256, false: x86.W128}[s.t.Size == 8]), x86.RegArg(r), x86.MemArg(x86.Mem{Base: x86.RIP, Index: x86.NoReg, Disp: int32(s.PoolOnce(bits, int(s.t.Size), 1))}))
	return r
}

func (s series) two(single, double x86.Op, x x86.Reg, y x86.Arg) x86.Reg {
	r := s.NewVector()
	s.Op(s.pick(single, double), s.w, x86.RegArg(r), x86.RegArg(x), y)
	return r
}

func (s series) add(x x86.Reg, y x86.Arg) x86.Reg { return s.two(x86.VADDPS, x86.VADDPD, x, y) }
func (s series) sub(x x86.Reg, y x86.Arg) x86.Reg { return s.two(x86.VSUBPS, x86.VSUBPD, x, y) }
func (s series) mul(x x86.Reg, y x86.Arg) x86.Reg { return s.two(x86.VMULPS, x86.VMULPD, x, y) }
func (s series) div(x x86.Reg, y x86.Arg) x86.Reg { return s.two(x86.VDIVPS, x86.VDIVPD, x, y) }
func (s series) and(x x86.Reg, y x86.Arg) x86.Reg { return s.two(x86.VANDPS, x86.VANDPD, x, y) }
func (s series) or(x x86.Reg, y x86.Arg) x86.Reg  { return s.two(x86.VORPS, x86.VORPD, x, y) }
func (s series) xor(x x86.Reg, y x86.Arg) x86.Reg { return s.two(x86.VXORPS, x86.VXORPD, x, y) }

// clamp brings x into [lo, hi]; a NaN stays: the instructions return their second source then.
func (s series) clamp(x x86.Reg, lo, hi float64) x86.Reg {
	a := s.two(x86.VMINPS, x86.VMINPD, s.c(hi), x86.RegArg(x))
	return s.two(x86.VMAXPS, x86.VMAXPD, s.c(lo), x86.RegArg(a))
}

// fma overwrites p with p*x + c.
func (s series) fma(p, x x86.Reg, c x86.Arg) {
	s.Op(s.pick(x86.VFMADD213PS, x86.VFMADD213PD), s.w, x86.RegArg(p), x86.RegArg(x), c)
}

// addProduct overwrites p with p + x*y.
func (s series) addProduct(p, x x86.Reg, y x86.Arg) {
	s.Op(s.pick(x86.VFMADD231PS, x86.VFMADD231PD), s.w, x86.RegArg(p), x86.RegArg(x), y)
}

// subProduct overwrites p with p - x*y.
func (s series) subProduct(p, x x86.Reg, y x86.Arg) {
	s.Op(s.pick(x86.VFNMADD231PS, x86.VFNMADD231PD), s.w, x86.RegArg(p), x86.RegArg(x), y)
}

func (s series) copy(x x86.Reg) x86.Reg {
	r := s.NewVector()
	s.Op(x86.VMOVUPSStore, s.w, x86.RegArg(r), x86.RegArg(x))
	return r
}

// poly is c[0] + c[1]*x + ...
func (s series) poly(x x86.Reg, c ...float64) x86.Reg {
	p := s.c(c[len(c)-1])
	for i := len(c) - 2; i >= 0; i-- {
		s.fma(p, x, s.at(c[i]))
	}
	return p
}

// round is the nearest integer, ties to even.
func (s series) round(x x86.Reg) x86.Reg {
	r := s.NewVector()
	if s.avx512 {
		s.Op(s.pick(x86.VRNDSCALEPS, x86.VRNDSCALEPD), s.w, x86.RegArg(r), x86.RegArg(x), x86.ImmArg(8))
	} else {
		s.Op(s.pick(x86.VROUNDPS, x86.VROUNDPD), s.w, x86.RegArg(r), x86.RegArg(x), x86.ImmArg(8))
	}
	return r
}

// compareTo is the lanes where x and y stand as the predicate says; in the lane size of the type.
func (s series) compareTo(x x86.Reg, y x86.Arg, predicate int64) x86.Reg {
	m := s.newMask()
	s.Op(s.pick(x86.VCMPPS, x86.VCMPPD), s.w, x86.RegArg(m), x86.RegArg(x), y, x86.ImmArg(predicate))
	return m
}

// choose overwrites d with x in the lanes of m, which has the lane size of the type.
func (s series) choose(d, x, m x86.Reg) {
	if s.avx512 {
		s.Emit(x86.I(s.pick(x86.VMOVUPSStore, x86.VMOVUPDStore), s.w, x86.RegArg(d), x86.RegArg(x)).Masked(m, false))
		return
	}
	s.Op(x86.VPBLENDVB, s.w, x86.RegArg(d), x86.RegArg(d), x86.RegArg(x), x86.RegArg(m))
}

// integers of the lane's size
func (s series) shiftLeft(x x86.Reg, n int64) x86.Reg {
	r := s.NewVector()
	s.Op(s.pick(x86.VPSLLD, x86.VPSLLQ), s.w, x86.RegArg(r), x86.RegArg(x), x86.ImmArg(n))
	return r
}

func (s series) shiftRight(x x86.Reg, n int64) x86.Reg {
	r := s.NewVector()
	s.Op(s.pick(x86.VPSRLD, x86.VPSRLQ), s.w, x86.RegArg(r), x86.RegArg(x), x86.ImmArg(n))
	return r
}

func (s series) addInts(x, y x86.Reg) x86.Reg { return s.two(x86.VPADDD, x86.VPADDQ, x, x86.RegArg(y)) }

// magic is what brings a small integer, as a float, into the low bits of the sum.
func (s series) magic() float64 {
	if s.t.Size == 4 {
		return 1.5 * (1 << 23)
	}
	return 1.5 * (1 << 52)
}

func (s series) mantissa() int64 {
	if s.t.Size == 4 {
		return 23
	}
	return 52
}

// scale is p * 2^n for an integer n as a float, with gradual underflow. Without AVX-512 it goes in two steps, each of which fits.
func (s series) scale(p, n x86.Reg) x86.Reg {
	if s.avx512 {
		return s.two(x86.VSCALEFPS, x86.VSCALEFPD, p, x86.RegArg(n))
	}
	half := s.NewVector()
	s.Op(s.pick(x86.VROUNDPS, x86.VROUNDPD), s.w, x86.RegArg(half), x86.RegArg(s.mul(n, s.at(0.5))), x86.ImmArg(9))
	rest := s.sub(n, x86.RegArg(half))
	return s.mul(s.mul(p, x86.RegArg(s.power(half))), x86.RegArg(s.power(rest)))
}

// power is 2^n for an integer n as a float, in the range of normal exponents.
func (s series) power(n x86.Reg) x86.Reg {
	bias := float64(127)
	if s.t.Size == 8 {
		bias = 1023
	}
	return s.shiftLeft(s.add(n, s.at(s.magic()+bias)), s.mantissa())
}

// Predicates of VCMPPS.
const (
	cmpEQ    = 0x00
	cmpLT    = 0x11
	cmpUNORD = 0x03
	cmpGT    = 0x1E
	cmpGE    = 0x1D
	cmpNLT   = 0x15 // not less: true for NaN too, as the next one
	cmpNGE   = 0x19
)
