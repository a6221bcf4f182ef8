package protocol

import (
	"github.com/gompss/gompss/codegen/cpu/image"
	"github.com/gompss/gompss/codegen/cpu/internal/vector"
	"github.com/gompss/gompss/codegen/cpu/mach"
	"github.com/gompss/gompss/codegen/cpu/vcode"
	"github.com/gompss/gompss/codegen/ir"
)

// InGoWhere lets Go compute what has no vector code, out of line, in the lanes of hard that are on.
func (g *Exits) InGoWhere(hard, result vcode.Reg, args []vcode.Reg, n, u int, t *ir.Type) {
	hard = g.CanonicalMask(hard, int(t.Size))
	if g.Exec != nil {
		hard = g.MaskAnd(hard, g.Exec[u])
	}
	g.AnyLane([]vcode.Reg{hard})
	back := g.NewLabel()
	g.Jump(mach.CondNE, g.OutOfLine(func() {
		slow := g.NewVector()
		g.CallLanes(slow, args, n, hard, false)
		g.Blend(result, slow, hard, t)
		g.Jump(mach.Always, back)
	}))
	g.Place(back)
}

// Yield returns to Go with a site; when Go resumes the code, everything is as before but Acc and
// Count.
func (g *Exits) Yield(n int) {
	if g.YieldTo < 0 {
		g.YieldTo, g.ResumeAt = g.NewLabel(), g.NewLabel()
	}
	g.SetSmall(vcode.Count, int64(n))
	g.Op(vcode.Store64, vcode.W128, BlockWord(image.WordStatus), vcode.RegArg(vcode.Count))
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
		g.Op(vcode.Load64, vcode.W128, vcode.RegArg(vcode.Acc), BlockWord(image.WordStop))
		g.Op(vcode.CompareImm, vcode.W128, vcode.MemArg(vcode.At(vcode.Acc, 0)), vcode.ImmArg(image.StopAsked))
		g.Jump(mach.CondE, cold)
	}
	g.Place(back)
	g.Later(cold, func() {
		g.Yield(n)
		g.Jump(mach.Always, back)
	})
}

// MostBetween bounds the instructions between two pause points of a loop without loops inside. One
// takes a cycle or so, where each comes to memory beyond the caches or to a number without a normal
// form some 50 to 100 ns: 16384 of these are a millisecond or two. With many fewer, the jump out of
// the loop, which the processor does not foresee, would take more than a hundredth of the time.
const MostBetween = 1 << 14

// Missing is the weight of an access that may miss all caches: it may touch a page for the first
// time, too.
const Missing = 4

// savedRegs are the registers that outlive a yield.
func (g *Exits) savedRegs() (generals, vectors, masks []vcode.Reg) {
	generals = []vcode.Reg{vcode.R(3), vcode.R(6), vcode.High, vcode.R(8), vcode.R(9), vcode.R(10), vcode.R(11), vcode.R(12), vcode.R(13), vcode.R(14), vcode.R(15)}
	n := 16
	if g.ISA == mach.ARM64 {
		generals, n = append(generals, vcode.R(4), vcode.R(5)), 28
	}
	if g.AVX512 {
		n = 32
		for i := 1; i < 8; i++ {
			masks = append(masks, vcode.K(i))
		}
	}
	for i := range n {
		vectors = append(vectors, vcode.V(i))
	}
	return generals, vectors, masks
}

// YieldRoutines appends the code that saves and restores, where the stage yields at all.
func (g *Exits) YieldRoutines() {
	if g.YieldTo < 0 {
		return
	}
	at := func(base, i, size int) vcode.Arg { return vcode.MemArg(vcode.At(vcode.Block, int32(base+i*size))) }
	generals, vectors, masks := g.savedRegs()
	w := vector.WidthOf(g.Bytes)
	g.Place(g.YieldTo)
	g.PopReturn() // the return address
	g.Op(vcode.Store64, vcode.W128, BlockWord(image.WordResume), vcode.RegArg(vcode.Acc))
	for i, r := range generals {
		g.Op(vcode.Store64, vcode.W128, at(image.SavedGeneral, i, 8), vcode.RegArg(r))
	}
	for i, r := range masks {
		g.Op(vcode.MaskGet64, vcode.W128, vcode.RegArg(vcode.Acc), vcode.RegArg(r))
		g.Op(vcode.Store64, vcode.W128, at(image.SavedMasks, i, 8), vcode.RegArg(vcode.Acc))
	}
	for i, r := range vectors {
		g.Op(vcode.VStoreF32, w, at(image.SavedVectors, i, 64), vcode.RegArg(r))
	}
	g.Return()
	g.Place(g.ResumeAt)
	for i, r := range generals {
		g.Op(vcode.Load64, vcode.W128, vcode.RegArg(r), at(image.SavedGeneral, i, 8))
	}
	for i, r := range masks {
		g.Op(vcode.Load64, vcode.W128, vcode.RegArg(vcode.Acc), at(image.SavedMasks, i, 8))
		g.Op(vcode.MaskSet64, vcode.W128, vcode.RegArg(r), vcode.RegArg(vcode.Acc))
	}
	for i, r := range vectors {
		g.Op(vcode.VLoadF32, w, vcode.RegArg(r), at(image.SavedVectors, i, 64))
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
func (g *Exits) CallLanes(out vcode.Reg, x []vcode.Reg, n int, on vcode.Reg, one bool) {
	s := &g.Sites[n-1]
	for i, r := range x {
		g.WriteVector(vcode.At(vcode.Block, int32(8*(image.WordLanes+8*i))), r, g.Width(s.Args[i]))
	}
	switch {
	case one:
		g.SetSmall(vcode.Acc, 1)
	case on != vcode.NoReg:
		g.MaskBits(vcode.Acc, on)
	default:
		g.SetSmall(vcode.Acc, 1<<g.Lanes-1)
	}
	g.Op(vcode.Store64, vcode.W128, BlockWord(image.WordBits), vcode.RegArg(vcode.Acc))
	g.Yield(n)
	if one {
		g.BroadcastLane(out, vcode.MemArg(LaneRoom(0)), s.Result)
		return
	}
	g.ReadVector(out, LaneRoom(0), g.Width(s.Result))
}
