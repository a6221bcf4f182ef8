package protocol

import (
	"github.com/gompss/gompss/codegen/cpu/image"
	"github.com/gompss/gompss/codegen/cpu/internal/vector"
	"github.com/gompss/gompss/codegen/cpu/mach"
	"github.com/gompss/gompss/codegen/cpu/x86"
	"github.com/gompss/gompss/codegen/ir"
)

// InGoWhere lets Go compute what has no vector code, out of line, in the lanes of hard that are on.
func (g *Exits) InGoWhere(hard, result x86.Reg, args []x86.Reg, n, u int, t *ir.Type) {
	hard = g.CanonicalMask(hard, int(t.Size))
	if g.Exec != nil {
		hard = g.MaskAnd(hard, g.Exec[u])
	}
	g.AnyLane([]x86.Reg{hard})
	back := g.NewLabel()
	g.Jump(mach.CondNE, g.OutOfLine(func() {
		slow := g.NewVector()
		g.CallLanes(slow, args, n, hard, false)
		g.Blend(result, slow, hard, t)
		g.Jump(mach.Always, back)
	}))
	g.Place(back)
}

// Yield returns to Go with a site; when Go resumes the code, everything is as before but AX and CX.
func (g *Exits) Yield(n int) {
	if g.YieldTo < 0 {
		g.YieldTo, g.ResumeAt = g.NewLabel(), g.NewLabel()
	}
	g.SetSmall(x86.CX, int64(n))
	g.Op(x86.MOVQStore, x86.W128, BlockWord(image.WordStatus), x86.RegArg(x86.CX))
	g.Call(g.YieldTo)
}

// PausePoint yields where the runtime has asked the goroutine to stop, which stopping the world
// does. One stands where a loop goes round, or where it has gone round so often that its
// instructions could take long: what lies between two of them bounds how long the world may wait.
func (g *Exits) PausePoint() {
	back, cold := g.NewLabel(), g.NewLabel()
	n := g.NewSite(image.Site{Kind: image.SitePause})
	if g.StopAlways {
		g.Jump(mach.Always, cold)
	} else {
		g.Op(x86.MOVQ, x86.W128, x86.RegArg(x86.AX), BlockWord(image.WordStop))
		g.Op(x86.CMPQImm, x86.W128, x86.MemArg(x86.At(x86.AX, 0)), x86.ImmArg(image.StopAsked))
		g.Jump(mach.CondE, cold)
	}
	g.Place(back)
	g.Later(cold, func() {
		g.Yield(n)
		g.Jump(mach.Always, back)
	})
}

// mostBetween bounds the instructions between two pause points of a loop without loops inside. One
// takes a cycle or so, where each comes to memory beyond the caches or to a number without a normal
// form some 50 to 100 ns: 16384 of these are a millisecond or two. With many fewer, the jump out of
// the loop, which the processor does not foresee, would take more than a hundredth of the time.
const MostBetween = 1 << 14

// missing is the weight of an access that may miss all caches: it may touch a page for the first
// time, too.
const Missing = 4

// savedRegs are the registers that outlive a yield.
func (g *Exits) savedRegs() (generals, vectors, masks []x86.Reg) {
	generals = []x86.Reg{x86.BX, x86.SI, x86.DX, x86.R8, x86.R(9), x86.R(10), x86.R(11), x86.R(12), x86.R(13), x86.R(14), x86.R(15)}
	n := 16
	if g.ISA == mach.ARM64 {
		generals, n = append(generals, x86.SP, x86.BP), 28
	}
	if g.AVX512 {
		n = 32
		for i := 1; i < 8; i++ {
			masks = append(masks, x86.K(i))
		}
	}
	for i := range n {
		vectors = append(vectors, x86.V(i))
	}
	return generals, vectors, masks
}

// YieldRoutines appends the code that saves and restores, where the stage yields at all.
func (g *Exits) YieldRoutines() {
	if g.YieldTo < 0 {
		return
	}
	at := func(base, i, size int) x86.Arg { return x86.MemArg(x86.At(x86.DI, int32(base+i*size))) }
	generals, vectors, masks := g.savedRegs()
	w := vector.WidthOf(g.Bytes)
	g.Place(g.YieldTo)
	g.PopAX() // the return address
	g.Op(x86.MOVQStore, x86.W128, BlockWord(image.WordResume), x86.RegArg(x86.AX))
	for i, r := range generals {
		g.Op(x86.MOVQStore, x86.W128, at(image.SavedGeneral, i, 8), x86.RegArg(r))
	}
	for i, r := range masks {
		g.Op(x86.KMOVQGet, x86.W128, x86.RegArg(x86.AX), x86.RegArg(r))
		g.Op(x86.MOVQStore, x86.W128, at(image.SavedMasks, i, 8), x86.RegArg(x86.AX))
	}
	for i, r := range vectors {
		g.Op(x86.VMOVUPSStore, w, at(image.SavedVectors, i, 64), x86.RegArg(r))
	}
	g.Return()
	g.Place(g.ResumeAt)
	for i, r := range generals {
		g.Op(x86.MOVQ, x86.W128, x86.RegArg(r), at(image.SavedGeneral, i, 8))
	}
	for i, r := range masks {
		g.Op(x86.MOVQ, x86.W128, x86.RegArg(x86.AX), at(image.SavedMasks, i, 8))
		g.Op(x86.KMOVQSet, x86.W128, x86.RegArg(r), x86.RegArg(x86.AX))
	}
	for i, r := range vectors {
		g.Op(x86.VMOVUPS, w, x86.RegArg(r), at(image.SavedVectors, i, 64))
	}
	g.Resume()
}

func FoldMath(e *ir.Math) func(x, y ir.Bits) (ir.Bits, error) {
	fn, t, n := e.Fn, e.Args[0].Type(), len(e.Args)
	return func(x, y ir.Bits) (ir.Bits, error) {
		if n == 1 {
			return ir.FoldMath(fn, t, x), nil
		}
		return ir.FoldMath(fn, t, x, y), nil
	}
}

// CallLanes is inGo for one vector, in the lanes of on; NoReg means all.
func (g *Exits) CallLanes(out x86.Reg, x []x86.Reg, n int, on x86.Reg, one bool) {
	s := &g.Sites[n-1]
	for i, r := range x {
		g.WriteVector(x86.At(x86.DI, int32(8*(image.WordLanes+8*i))), r, g.Width(s.Args[i]))
	}
	switch {
	case one:
		g.SetSmall(x86.AX, 1)
	case on != x86.NoReg:
		g.MaskBits(x86.AX, on)
	default:
		g.SetSmall(x86.AX, 1<<g.Lanes-1)
	}
	g.Op(x86.MOVQStore, x86.W128, BlockWord(image.WordBits), x86.RegArg(x86.AX))
	g.Yield(n)
	if one {
		g.BroadcastLane(out, x86.MemArg(LaneRoom(0)), s.Result)
		return
	}
	g.ReadVector(out, LaneRoom(0), g.Width(s.Result))
}
