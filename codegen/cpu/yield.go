package cpu

import (
	"fmt"
	"slices"

	"github.com/gompss/gompss/codegen/cpu/image"
	"github.com/gompss/gompss/codegen/cpu/internal/analysis"
	"github.com/gompss/gompss/codegen/cpu/mach"
	"github.com/gompss/gompss/codegen/cpu/x86"
	"github.com/gompss/gompss/codegen/ir"
)

// Generated code can yield: it saves every register that it may use into the block and returns to
// Go, which goes on at the resume entry of the stage. That is how the collector and other
// goroutines get their turn in long loops, and how functions without vector code are called.

func (g *gen) newSite(s image.Site) int {
	s.At = g.At
	g.sites = append(g.sites, s)
	return len(g.sites)
}

// arithSite numbers the check of the second operand of e, a divisor or a count.
func (g *gen) arithSite(check ir.CheckKind, e *ir.Binary) int {
	n := g.newSite(image.Site{Kind: image.SiteArith, Check: check, What: ir.Source(e.Y)})
	g.sites[n-1].At = e.At
	return n
}

// yield returns to Go with a site; when Go resumes the code, everything is as before but AX and CX.
func (g *gen) yield(n int) {
	if g.yieldTo < 0 {
		g.yieldTo, g.resumeAt = g.NewLabel(), g.NewLabel()
	}
	g.Op(x86.MOVQImm, x86.W128, x86.RegArg(x86.CX), x86.ImmArg(int64(n)))
	g.Op(x86.MOVQStore, x86.W128, blockWord(image.WordStatus), x86.RegArg(x86.CX))
	g.Call(g.yieldTo)
}

// pausePoint yields where the runtime has asked the goroutine to stop, which stopping the world
// does. One stands where a loop goes round, or where it has gone round so often that its
// instructions could take long: what lies between two of them bounds how long the world may wait.
func (g *gen) pausePoint() {
	back, cold := g.NewLabel(), g.NewLabel()
	n := g.newSite(image.Site{Kind: image.SitePause})
	if g.stopAlways {
		g.Jump(mach.Always, cold)
	} else {
		g.Op(x86.MOVQ, x86.W128, x86.RegArg(x86.AX), blockWord(image.WordStop))
		g.Op(x86.CMPQImm, x86.W128, x86.MemArg(x86.At(x86.AX, 0)), x86.ImmArg(image.StopAsked))
		g.Jump(mach.CondE, cold)
	}
	g.Place(back)
	g.later(cold, func() {
		g.yield(n)
		g.Jump(mach.Always, back)
	})
}

// mostBetween bounds the instructions between two pause points of a loop without loops inside. One
// takes a cycle or so, where each comes to memory beyond the caches or to a number without a normal
// form some 50 to 100 ns: 16384 of these are a millisecond or two. With many fewer, the jump out of
// the loop, which the processor does not foresee, would take more than a hundredth of the time.
const mostBetween = 1 << 14

// roundsBetween is how many rounds of a loop over body, of so many vectors each, may come between
// two pause points.
func (g *gen) roundsBetween(body []ir.Stmt, vectors int) int64 {
	if !g.single && !analysis.Innermost(body) {
		return 1 // the loops inside have pause points
	}
	if g.stopAlways {
		return 2
	}
	weight := int64(0)
	ir.Inspect(body, func(s ir.Stmt) {
		weight++
		if _, ok := s.(*ir.Atomic); ok {
			weight += 4 * int64(g.lanes)
		}
	}, func(e ir.Expr) { weight += g.weightOf(e) })
	return max(1, mostBetween/(max(1, weight)*int64(vectors)))
}

// missing is the weight of an access that may miss all caches: it may touch a page for the first
// time, too.
const missing = 4

// weightOf is about how many instructions the code for e has, besides those of its operands.
func (g *gen) weightOf(e ir.Expr) int64 {
	if e, ok := e.(*ir.Index); ok {
		if g.shapes == nil {
			return missing
		}
		if s := g.shape(e.I); s.Kind == analysis.Varying || s.Kind == analysis.Affine && s.Stride != 1 {
			return missing * int64(g.lanes)
		}
	}
	return analysis.Operations(e)
}

// savedRegs are the registers that outlive a yield.
func (g *gen) savedRegs() (generals, vectors, masks []x86.Reg) {
	generals = []x86.Reg{x86.BX, x86.SI, x86.DX, x86.R8, x86.R(9), x86.R(10), x86.R(11), x86.R(12), x86.R(13), x86.R(14), x86.R(15)}
	n := 16
	if g.avx512 {
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

// yieldRoutines appends the code that saves and restores, where the stage yields at all.
func (g *gen) yieldRoutines() {
	if g.yieldTo < 0 {
		return
	}
	at := func(base, i, size int) x86.Arg { return x86.MemArg(x86.At(x86.DI, int32(base+i*size))) }
	generals, vectors, masks := g.savedRegs()
	w := widthOf(g.bytes)
	g.Place(g.yieldTo)
	g.PopAX() // the return address
	g.Op(x86.MOVQStore, x86.W128, blockWord(image.WordResume), x86.RegArg(x86.AX))
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
	g.Place(g.resumeAt)
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

// inGo lets Go compute something of one or two numbers in the lanes that are on: what has no vector
// code, and where that of others does not reach. It is slow, some 10 ns a lane.
func (g *gen) inGo(e ir.Expr, eval func(x, y ir.Bits) (ir.Bits, error), operands ...ir.Expr) []x86.Reg {
	s := image.Site{Kind: image.SiteLanes, Result: e.Type(), Eval: eval}
	var args [][]x86.Reg
	for i, a := range operands {
		if i > 1 || !a.Type().IsScalar() || a.Type().Kind == ir.Bool {
			g.refuse(e.Pos(), "%s has no vector form yet", ir.Source(e))
		}
		s.Args[i], s.Alike[i] = a.Type(), g.shape(a).Kind == analysis.Uniform
		args = append(args, g.vec(a))
	}
	if e.Type().Kind == ir.Bool {
		g.refuse(e.Pos(), "%s has no vector form yet", ir.Source(e))
	}
	g.note("%s at %s is computed by Go, lane by lane, some 10 ns each", ir.Source(e), e.Pos())
	n := g.newSite(s)
	out := g.vectors(g.unroll)
	one := g.shape(e).Kind == analysis.Uniform
	for u := range g.unroll {
		if one && u > 0 {
			out[u] = out[0]
			continue
		}
		var x [2]x86.Reg
		for i := range args {
			x[i] = args[i][u]
		}
		var on x86.Reg = x86.NoReg
		if g.exec != nil {
			on = g.exec[u]
		}
		g.callLanes(out[u], x[:len(args)], n, on, one)
	}
	return out
}

// note records something that the author of the kernel may want to know.
func (g *gen) note(format string, args ...any) {
	text := fmt.Sprintf(format, args...)
	if !slices.Contains(g.notes, text) {
		g.notes = append(g.notes, text)
	}
}

// mathInGo is inGo for a library function.
func (g *gen) mathInGo(e *ir.Math) []x86.Reg { return g.inGo(e, foldMath(e), e.Args...) }

func foldMath(e *ir.Math) func(x, y ir.Bits) (ir.Bits, error) {
	fn, t, n := e.Fn, e.Args[0].Type(), len(e.Args)
	return func(x, y ir.Bits) (ir.Bits, error) {
		if n == 1 {
			return ir.FoldMath(fn, t, x), nil
		}
		return ir.FoldMath(fn, t, x, y), nil
	}
}

// callLanes is inGo for one vector, in the lanes of on; NoReg means all.
func (g *gen) callLanes(out x86.Reg, x []x86.Reg, n int, on x86.Reg, one bool) {
	s := &g.sites[n-1]
	for i, r := range x {
		g.Op(x86.VMOVUPSStore, g.width(s.Args[i]), x86.MemArg(x86.At(x86.DI, int32(8*(image.WordLanes+8*i)))), x86.RegArg(r))
	}
	switch {
	case one:
		g.Op(x86.MOVQImm, x86.W128, x86.RegArg(x86.AX), x86.ImmArg(1))
	case on != x86.NoReg:
		g.maskBits(x86.AX, on)
	default:
		g.Op(x86.MOVQImm, x86.W128, x86.RegArg(x86.AX), x86.ImmArg(1<<g.lanes-1))
	}
	g.Op(x86.MOVQStore, x86.W128, blockWord(image.WordBits), x86.RegArg(x86.AX))
	g.yield(n)
	if one {
		g.broadcastLane(out, x86.MemArg(x86.At(x86.DI, 8*image.WordLanes)), s.Result)
		return
	}
	g.Op(x86.VMOVUPS, g.width(s.Result), x86.RegArg(out), x86.MemArg(x86.At(x86.DI, 8*image.WordLanes)))
}

func (g *gen) broadcastLane(d x86.Reg, from x86.Arg, t *ir.Type) {
	if container(t) == 8 {
		g.Op(x86.VBROADCASTSD, max(g.width(t), x86.W256), x86.RegArg(d), from)
	} else {
		g.Op(x86.VBROADCASTSS, g.width(t), x86.RegArg(d), from)
	}
}
