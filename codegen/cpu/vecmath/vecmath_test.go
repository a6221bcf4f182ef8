package vecmath

import (
	"fmt"
	"math/big"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gompss/gompss/codegen/cpu/vcode"
	"github.com/gompss/gompss/codegen/ir"
)

// A recorder keeps what a series emits.
type recorder struct {
	vectors, masks int
	insts          []vcode.Inst
}

func (r *recorder) NewVector() vcode.Reg {
	r.vectors++
	return vcode.FirstVirtual + vcode.Reg(2*r.vectors)
}

func (r *recorder) NewMask() vcode.Reg {
	r.masks++
	return vcode.FirstVirtual + vcode.Reg(2*r.masks+1)
}

func (r *recorder) Emit(in vcode.Inst) { r.insts = append(r.insts, in) }

func (r *recorder) Op(op vcode.Op, w vcode.Width, args ...vcode.Arg) { r.Emit(vcode.I(op, w, args...)) }

func (r *recorder) PoolOnce(_ uint64, size, n int) int { return size * n }

func (r *recorder) ConstVector(uint64, int) vcode.Reg { return r.NewVector() }

func (r *recorder) Pattern([]int64, int) vcode.Reg { return r.NewVector() }

// functions are those of one and of two operands, by the types that they take.
func functions(s Series) map[string]func(x, y vcode.Reg) vcode.Reg {
	out := map[string]func(x, y vcode.Reg) vcode.Reg{}
	if s.Type.IsFloat() {
		out["exp"] = func(x, _ vcode.Reg) vcode.Reg { return s.Exp(x) }
		out["exp2"] = func(x, _ vcode.Reg) vcode.Reg { return s.Exp2(x) }
		out["log"] = func(x, _ vcode.Reg) vcode.Reg { return s.Log(x, 1, 2) }
		out["tanh"] = func(x, _ vcode.Reg) vcode.Reg { return s.Tanh(x) }
		out["erf"] = func(x, _ vcode.Reg) vcode.Reg { return s.Erf(x) }
		out["sin"] = func(x, _ vcode.Reg) vcode.Reg { return s.Circular(x, ir.Sin) }
		out["tan"] = func(x, _ vcode.Reg) vcode.Reg { return s.Circular(x, ir.Tan) }
		out["pow"] = func(x, y vcode.Reg) vcode.Reg { p, _ := s.Power2(x, y); return p }
		out["hypot"] = s.Hypot
		out["copysign"] = s.CopySign
		out["remainder"] = func(x, y vcode.Reg) vcode.Reg { r, _ := s.Remainder(x, y); return r }
		out["round"] = func(x, _ vcode.Reg) vcode.Reg { return s.RoundAway(x) }
		return out
	}
	width := 8 * int64(s.Type.Size)
	out["ones"] = func(x, _ vcode.Reg) vcode.Reg { return s.OnesCount(x, width) }
	out["len"] = func(x, _ vcode.Reg) vcode.Reg { return s.BitLen(x, width) }
	out["zeros"] = func(x, _ vcode.Reg) vcode.Reg { return s.TrailingZeros(x, width) }
	out["rotate"] = func(x, y vcode.Reg) vcode.Reg { return s.RotateBy(x, y, width) }
	out["divide"] = func(x, _ vcode.Reg) vcode.Reg { return s.DivideByConst(ir.Rem, x, 7, false) }
	return out
}

// A result is a register of its own, and operands stay as they are; without AVX-512 nothing has a
// mask register, an embedded broadcast or 64 bytes.
func TestSeries_LeavesOperandsAlone(t *testing.T) {
	for _, typ := range []*ir.Type{ir.Float32Type, ir.Float64Type, ir.Uint32Type, ir.Uint64Type} {
		for _, avx512 := range []bool{false, true} {
			w := vcode.W256
			if avx512 {
				w = vcode.W512
			}
			for name := range functions(New(nil, Features{}, typ, vcode.W128)) {
				r := &recorder{}
				x, y := r.NewVector(), r.NewVector()
				out := functions(New(r, Features{AVX512: avx512}, typ, w))[name](x, y)
				where := fmt.Sprint(name, typ, avx512)
				require.NotEqual(t, x, out, where)
				require.NotEqual(t, y, out, where)
				for _, in := range r.insts {
					require.False(t, in.Args[0].Kind == vcode.ArgReg && (in.Args[0].Reg == x || in.Args[0].Reg == y), "%s: %s writes an operand", where, in)
					if avx512 {
						continue
					}
					require.Equal(t, vcode.NoReg, in.Mask, "%s: %s", where, in)
					require.NotEqual(t, vcode.W512, in.Width, "%s: %s", where, in)
					for _, a := range in.Args {
						require.False(t, a.Kind == vcode.ArgMem && a.Mem.Broadcast, "%s: %s", where, in)
					}
				}
				require.True(t, avx512 || r.masks == 0, where)
			}
		}
	}
}

// What quotientByConst multiplies with gives the quotients of all x, by the arithmetic of math/big.
func TestReciprocal_DividesExactly(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 5))
	for _, width := range []int{32, 64} {
		all := uint64(1)<<(width-1)<<1 - 1
		for range 2000 {
			c := rng.Uint64()&all>>rng.IntN(width-1) | 1
			if c == 1 {
				continue
			}
			m, shift, exact := reciprocal(c, width)
			long := longReciprocal(c, width)
			for _, x := range []uint64{0, 1, c - 1, c, all, all - 1, all / c * c, all/c*c - 1, rng.Uint64() & all} {
				x &= all
				want := x / c
				if exact || x <= all/2 {
					p := new(big.Int).Mul(new(big.Int).SetUint64(x), new(big.Int).SetUint64(m))
					require.Equal(t, want, p.Rsh(p, uint(width+shift)).Uint64(), "%d / %d", x, c)
				}
				p := new(big.Int).Mul(new(big.Int).SetUint64(x), new(big.Int).SetUint64(long))
				h := p.Rsh(p, uint(width)).Uint64()
				require.Equal(t, want, (h+(x-h)/2)>>shift, "%d / %d by the long one", x, c)
			}
		}
	}
}

func TestBound_HoldsForEveryFunctionThatItNames(t *testing.T) {
	for fn := range mathBounds {
		for _, typ := range []*ir.Type{ir.Float32Type, ir.Float64Type} {
			ulp, ok := Bound(fn, typ)
			require.True(t, ok)
			require.Positive(t, ulp)
		}
	}
	_, ok := Bound(ir.Round, ir.Float64Type)
	require.False(t, ok)
}
