package vector

import (
	"fmt"

	"github.com/gompss/gompss/codegen/cpu/mach"
	"github.com/gompss/gompss/codegen/cpu/prepare"
	"github.com/gompss/gompss/codegen/cpu/vcode"
	"github.com/gompss/gompss/codegen/ir"
)

// Registers are the virtual registers of one stage, its constants, and the instructions that
// depend on neither the number of lanes nor on which of them are on.
type Registers struct {
	Machine
	Kernel   *ir.Kernel
	consts   map[constKey]vcode.Reg
	patterns map[string]vcode.Reg // vectors of numbers that differ
	pooled   map[constKey]int     // constants used from memory
}

// New begins the code of a stage of a kernel for a machine, in so many unrolled copies.
func New(code mach.Code, k *ir.Kernel, m Machine, unroll int) Arithmetic {
	m.Code = code
	r := Registers{Machine: m, Kernel: k, consts: map[constKey]vcode.Reg{}, patterns: map[string]vcode.Reg{}, pooled: map[constKey]int{}}
	return Arithmetic{Vectors{Locked: Locked{r}, Lanes: m.Bytes / 8, Unroll: unroll, Wanted: unroll, Prefix: vcode.NoReg}}
}

// Refuse stops the selection; Compile returns the refusal.
func (g *Registers) Refuse(at ir.Pos, why string, args ...any) {
	panic(&prepare.Refusal{Kernel: g.Kernel.Name, At: at, Why: fmt.Sprintf(why, args...)})
}

// Container is the bytes that a lane of type t takes in a register: small integers are held as 32
// bits.
func Container(t *ir.Type) int { return max(4, int(t.Size)) }

func WidthOf(bytes int) vcode.Width {
	switch {
	case bytes <= 16:
		return vcode.W128
	case bytes <= 32:
		return vcode.W256
	}
	return vcode.W512
}

// NewVectors returns n fresh vector registers.
func (g *Registers) NewVectors(n int) []vcode.Reg {
	out := make([]vcode.Reg, n)
	for i := range out {
		out[i] = g.NewVector()
	}
	return out
}

func (g *Registers) Move(dst, src vcode.Reg) {
	if dst == src {
		return
	}
	switch g.ClassOf(dst) {
	case mach.General:
		g.Op(vcode.Store64, vcode.W128, vcode.RegArg(dst), vcode.RegArg(src))
	case mach.Vector:
		g.Op(vcode.VStoreF32, WidthOf(g.Bytes), vcode.RegArg(dst), vcode.RegArg(src))
	case mach.Mask:
		g.Op(vcode.MaskMove, vcode.W128, vcode.RegArg(dst), vcode.RegArg(src))
	}
}

// ConstGeneral returns a fresh general register with value v.
func (g *Registers) ConstGeneral(v int64) vcode.Reg {
	r := g.NewGeneral()
	g.SetGeneral(r, v)
	return r
}

func (g *Registers) SetGeneral(r vcode.Reg, v int64) {
	if v == int64(int32(v)) {
		g.Op(vcode.SetImm, vcode.W128, vcode.RegArg(r), vcode.ImmArg(v))
		return
	}
	g.Op(vcode.Load64, vcode.W128, vcode.RegArg(r), mach.PoolAt(g.PoolWord(uint64(v), 8)))
}

// Masks are mask registers with AVX-512 and vectors with AVX2, there in one canonical lane size:
// bytes/lanes.

func (g *Registers) NewMaskRegister() vcode.Reg {
	if g.AVX512 {
		return g.NewMask()
	}
	return g.NewVector()
}

// undefined tells the liveness analysis that r is defined here, for the idiom x xor x.
func (g *Registers) undefined(r vcode.Reg) vcode.Reg {
	g.Op(vcode.VStoreF32, vcode.W128, vcode.RegArg(r), vcode.RegArg(vcode.V(15)))
	return r
}

// BroadcastGeneral fills a vector with a general register.
func (g *Registers) BroadcastGeneral(dst, src vcode.Reg, size int, w vcode.Width) {
	switch {
	case g.AVX512 && size == 8:
		g.Op(vcode.VBroadcastGeneral64, w, vcode.RegArg(dst), vcode.RegArg(src))
	case g.AVX512:
		g.Op(vcode.VBroadcastGeneral32, w, vcode.RegArg(dst), vcode.RegArg(src))
	case size == 8:
		g.Op(vcode.VSetI64, vcode.W128, vcode.RegArg(dst), vcode.RegArg(src))
		g.Op(vcode.VBroadcastI64, w, vcode.RegArg(dst), vcode.RegArg(dst))
	default:
		g.Op(vcode.VSetI32, vcode.W128, vcode.RegArg(dst), vcode.RegArg(src))
		g.Op(vcode.VBroadcastI32, w, vcode.RegArg(dst), vcode.RegArg(dst))
	}
}

// Pick chooses by the size of a lane.
func Pick(t *ir.Type, four, eight vcode.Op) vcode.Op {
	if Container(t) == 8 {
		return eight
	}
	return four
}
