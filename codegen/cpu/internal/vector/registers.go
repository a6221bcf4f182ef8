package vector

import (
	"fmt"

	"github.com/gompss/gompss/codegen/cpu/mach"
	"github.com/gompss/gompss/codegen/cpu/prepare"
	"github.com/gompss/gompss/codegen/cpu/x86"
	"github.com/gompss/gompss/codegen/ir"
)

// Registers are the virtual registers of one stage, its constants, and the instructions that
// depend on neither the number of lanes nor on which of them are on.
type Registers struct {
	Machine
	Kernel   *ir.Kernel
	consts   map[constKey]x86.Reg
	patterns map[string]x86.Reg // vectors of numbers that differ
	pooled   map[constKey]int   // constants used from memory
}

// New begins the code of a stage of a kernel for a machine, in so many unrolled copies.
func New(code mach.Code, k *ir.Kernel, m Machine, unroll int) Arithmetic {
	m.Code = code
	r := Registers{Machine: m, Kernel: k, consts: map[constKey]x86.Reg{}, patterns: map[string]x86.Reg{}, pooled: map[constKey]int{}}
	return Arithmetic{Vectors{Locked: Locked{r}, Lanes: m.Bytes / 8, Unroll: unroll, Wanted: unroll, Prefix: x86.NoReg}}
}

// Refuse stops the selection; Compile returns the refusal.
func (g *Registers) Refuse(at ir.Pos, why string, args ...any) {
	panic(&prepare.Refusal{Kernel: g.Kernel.Name, At: at, Why: fmt.Sprintf(why, args...)})
}

// Container is the bytes that a lane of type t takes in a register: small integers are held as 32
// bits.
func Container(t *ir.Type) int { return max(4, int(t.Size)) }

func WidthOf(bytes int) x86.Width {
	switch {
	case bytes <= 16:
		return x86.W128
	case bytes <= 32:
		return x86.W256
	}
	return x86.W512
}

// NewVectors returns n fresh vector registers.
func (g *Registers) NewVectors(n int) []x86.Reg {
	out := make([]x86.Reg, n)
	for i := range out {
		out[i] = g.NewVector()
	}
	return out
}

func (g *Registers) Move(dst, src x86.Reg) {
	if dst == src {
		return
	}
	switch g.ClassOf(dst) {
	case mach.General:
		g.Op(x86.MOVQStore, x86.W128, x86.RegArg(dst), x86.RegArg(src))
	case mach.Vector:
		g.Op(x86.VMOVUPSStore, WidthOf(g.Bytes), x86.RegArg(dst), x86.RegArg(src))
	case mach.Mask:
		g.Op(x86.KMOVW, x86.W128, x86.RegArg(dst), x86.RegArg(src))
	}
}

// ConstGeneral returns a fresh general register with value v.
func (g *Registers) ConstGeneral(v int64) x86.Reg {
	r := g.NewGeneral()
	g.SetGeneral(r, v)
	return r
}

func (g *Registers) SetGeneral(r x86.Reg, v int64) {
	if v == int64(int32(v)) {
		g.Op(x86.MOVQImm, x86.W128, x86.RegArg(r), x86.ImmArg(v))
		return
	}
	g.Op(x86.MOVQ, x86.W128, x86.RegArg(r), mach.PoolAt(g.PoolWord(uint64(v), 8)))
}

// Masks are mask registers with AVX-512 and vectors with AVX2, there in one canonical lane size:
// bytes/lanes.

func (g *Registers) NewMaskRegister() x86.Reg {
	if g.AVX512 {
		return g.NewMask()
	}
	return g.NewVector()
}

// undefined tells the liveness analysis that r is defined here, for the idiom x xor x.
func (g *Registers) undefined(r x86.Reg) x86.Reg {
	g.Op(x86.VMOVUPSStore, x86.W128, x86.RegArg(r), x86.RegArg(x86.V(15)))
	return r
}

// BroadcastGeneral fills a vector with a general register.
func (g *Registers) BroadcastGeneral(dst, src x86.Reg, size int, w x86.Width) {
	switch {
	case g.AVX512 && size == 8:
		g.Op(x86.VPBROADCASTQR, w, x86.RegArg(dst), x86.RegArg(src))
	case g.AVX512:
		g.Op(x86.VPBROADCASTDR, w, x86.RegArg(dst), x86.RegArg(src))
	case size == 8:
		g.Op(x86.VMOVQ, x86.W128, x86.RegArg(dst), x86.RegArg(src))
		g.Op(x86.VPBROADCASTQ, w, x86.RegArg(dst), x86.RegArg(dst))
	default:
		g.Op(x86.VMOVD, x86.W128, x86.RegArg(dst), x86.RegArg(src))
		g.Op(x86.VPBROADCASTD, w, x86.RegArg(dst), x86.RegArg(dst))
	}
}

// Pick chooses by the size of a lane.
func Pick(t *ir.Type, four, eight x86.Op) x86.Op {
	if Container(t) == 8 {
		return eight
	}
	return four
}
