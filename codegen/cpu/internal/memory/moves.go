package memory

import (
	"github.com/gompss/gompss/codegen/cpu/internal/protocol"
	"github.com/gompss/gompss/codegen/cpu/internal/stages"
	"github.com/gompss/gompss/codegen/cpu/internal/vector"
	"github.com/gompss/gompss/codegen/cpu/prepare"
	"github.com/gompss/gompss/codegen/cpu/vcode"
	"github.com/gompss/gompss/codegen/ir"
)

// Moves load and store elements in all lanes.
type Moves struct {
	Strided
	WalksRows bool            // a loop inside that over lanes gathers
	IndexUses map[*ir.Var]int // in the loop over lanes
}

// New adds memory to exits: the variables of a prepared kernel in a frame.
func New(e protocol.Exits, k *prepare.Result, f stages.Frame) Moves {
	v := Variables{Exits: e, Homes: map[*ir.Var]*Home{}, Arrays: k.Arrays, Frame: f, Scratch: f.Scratch}
	return Moves{Strided: Strided{Addresses{Variables: v, Safe: map[*ir.Index]bool{}, always: map[*ir.Index]bool{}, Pointer: map[string]vcode.Reg{},
		limits: map[limitKey]vcode.Reg{}, names: k.Names, bounds: k.Bounds, pointed: k.Pointed}}}
}

// Load loads an element in every lane, as a value of type t (that of e, or uint8 for a bool).
func (g *Moves) Load(e ir.Expr, t *ir.Type) []vcode.Reg {
	if !t.IsScalar() {
		g.Refuse(e.Pos(), "loading a %s as a whole is not supported yet in vector code", t)
	}
	at := g.Target(e)
	switch {
	case at.Index != nil:
		return g.gather(at, t)
	case at.Stride == 0:
		d := g.NewVector()
		g.LoadBroadcast(d, at.Mem, t)
		return g.Same(d)
	case at.Stride == int64(t.Size):
		out := g.NewVectors(g.Unroll)
		g.Each(func(u int) {
			if t.Size < 4 && !g.AVX512 && g.Exec != nil && at.whole {
				g.loadSmallWhole(out[u], g.CopyMem(at, u), t, g.Exec[u])
				return
			}
			if g.ISA.Short() && g.Exec != nil && at.whole && t.Size >= 4 {
				g.loadWhole(out[u], g.CopyMem(at, u), t, u)
				return
			}
			g.LoadVector(out[u], g.CopyMem(at, u), t, u)
		})
		return out
	}
	g.noteApart(e, at)
	if a, ok := g.smallApartOf(at, t); ok {
		return g.loadSmallApart(a)
	}
	if a, ok := g.ApartOf(at, t); ok && at.whole {
		return g.loadApart(a)
	}
	return g.gather(g.AsGather(at, t, e), t)
}

// farApart is a distance in bytes from which neighbouring lanes share no line of a cache: 64 is the
// length of a line on amd64 and on most arm64. A note follows from it, and no code.
const farApart = 64

// noteApart says that the lanes of a load read elements of a slice that lie far apart, as those of
// neighbouring rows do.
func (g *Moves) noteApart(e ir.Expr, at Target) {
	x, ok := e.(*ir.Index)
	if apart := max(at.Stride, -at.Stride); ok && x.X.Type().Kind == ir.Slice && apart >= farApart {
		g.Note("neighbouring iterations read elements of %s that lie %d bytes apart, which lanes load one by one (gathers): "+
			"faster is an array in which neighbouring iterations read neighbours, as its transpose", ir.Source(x.X), apart)
	}
}

// LoadBroadcast fills a vector with one element.
func (g *Moves) LoadBroadcast(d vcode.Reg, m vcode.Mem, t *ir.Type) {
	w := g.Width(t)
	switch t.Size {
	case 8:
		g.Op(vcode.VBroadcastF64, max(w, vcode.W256), vcode.RegArg(d), vcode.MemArg(m))
	case 4:
		g.Op(vcode.VBroadcastF32, w, vcode.RegArg(d), vcode.MemArg(m))
	default:
		r := g.NewGeneral()
		g.Op(vector.SmallLoad(t), vcode.W128, vcode.RegArg(r), vcode.MemArg(m))
		g.BroadcastGeneral(d, r, 4, w)
	}
}

// LoadVector loads neighbouring elements; lanes that are off are not read.
func (g *Moves) LoadVector(d vcode.Reg, m vcode.Mem, t *ir.Type, u int) {
	w := g.Width(t)
	if t.Size < 4 {
		g.loadSmall(d, m, t, u)
		return
	}
	if g.Exec == nil && !g.Fills(t) {
		g.Op(vcode.LoadF64, vcode.W128, vcode.RegArg(d), vcode.MemArg(m))
		return
	}
	if g.Exec == nil {
		g.Op(vector.Pick(t, vcode.VLoadF32, vcode.VLoadF64), w, vcode.RegArg(d), vcode.MemArg(m))
		return
	}
	if g.AVX512 {
		g.Emit(vcode.I(vector.Pick(t, vcode.VLoadF32, vcode.VLoadF64), w, vcode.RegArg(d), vcode.MemArg(m)).Masked(g.Exec[u], true))
		return
	}
	g.Op(vector.Pick(t, vcode.VMaskedLoadF32, vcode.VMaskedLoadF64), w, vcode.RegArg(d), vcode.RegArg(g.MaskFor(g.Exec[u], t)), vcode.MemArg(m))
}

// loadSmall widens 1- and 2-byte elements to 32 bits a lane.
func (g *Moves) loadSmall(d vcode.Reg, m vcode.Mem, t *ir.Type, u int) {
	if g.Exec != nil && !g.AVX512 {
		g.loadSmallLanes(d, m, t, u)
		return
	}
	in := vcode.I(vector.Widening(t), g.Width(t), vcode.RegArg(d), g.smallOperand(m, t))
	if g.Exec != nil {
		in = in.Masked(g.Exec[u], true)
	}
	g.Emit(in)
}

// loadWhole loads all lanes, where lanes that are off may be read, and makes those 0: without
// masked loads that is shorter than one lane after the other.
func (g *Moves) loadWhole(d vcode.Reg, m vcode.Mem, t *ir.Type, u int) {
	exec := g.Exec
	g.Exec = nil
	g.LoadVector(d, m, t, u)
	g.Exec = exec
	g.Op(vcode.VAnd, g.Width(t), vcode.RegArg(d), vcode.RegArg(d), vcode.RegArg(g.MaskFor(exec[u], t)))
}

// smallOperand is what small elements are widened from: memory, or, where two lanes have less there
// than the instruction would read, a register.
func (g *Moves) smallOperand(m vcode.Mem, t *ir.Type) vcode.Arg {
	if g.Fills(t) {
		return vcode.MemArg(m)
	}
	r, d := g.NewGeneral(), g.NewVector()
	g.Op(map[int]vcode.Op{2: vcode.LoadU16, 4: vcode.LoadU32}[g.Lanes*int(t.Size)], vcode.W128, vcode.RegArg(r), vcode.MemArg(m))
	g.Op(vcode.VSetI32, vcode.W128, vcode.RegArg(d), vcode.RegArg(r))
	return vcode.RegArg(d)
}

// loadSmallWhole loads all lanes, where lanes that are off may be read, and makes those 0.
func (g *Moves) loadSmallWhole(d vcode.Reg, m vcode.Mem, t *ir.Type, exec vcode.Reg) {
	w := g.Width(t)
	g.Op(vector.Widening(t), w, vcode.RegArg(d), g.smallOperand(m, t))
	g.Op(vcode.VAnd, w, vcode.RegArg(d), vcode.RegArg(d), vcode.RegArg(g.MaskFor(exec, t)))
}

// gather loads elements from anywhere; lanes that are off are not read.
func (g *Moves) gather(at Target, t *ir.Type) []vcode.Reg {
	if t.Size < 4 {
		return g.gatherSmall(at, t)
	}
	isize := 8
	if at.size4 {
		isize = 4
	}
	w := vector.WidthOf(g.Lanes * max(isize, vector.Container(t)))
	out := g.NewVectors(g.Unroll)
	g.WalksRows = g.WalksRows || g.inLoopOfLanes()
	one := func(u int) {
		if g.ISA.Short() && g.Exec == nil {
			g.gatherOut(out[u], at, u, t)
			return
		}
		// The mask is consumed, and the destination keeps what lanes that are off held: zero, not
		// garbage from a false dependence.
		m := g.NewMaskRegister()
		if g.Exec != nil {
			g.MaskMove(m, g.MaskFor(g.Exec[u], t))
		} else {
			g.MaskMove(m, g.MaskAll())
		}
		g.Move(out[u], g.ConstVector(0, vector.Container(t)))
		mem := vcode.MemArg(vcode.Indexed(at.Mem.Base, at.Index[u], at.Scale, at.Mem.Disp))
		if g.AVX512 {
			g.Emit(vcode.I(vector.GatherOp(at.size4, t, true), w, vcode.RegArg(out[u]), mem).Masked(m, false))
			return
		}
		g.Op(vector.GatherOp(at.size4, t, false), w, vcode.RegArg(out[u]), mem, vcode.RegArg(m))
	}
	g.Each(func(u int) {
		if !g.mayBeEven(at, t) && !g.walksEvenly(at, t) {
			at.CheckNow(u)
			one(u)
			return
		}
		g.evenly(at, u, func(m vcode.Mem) { g.LoadVector(out[u], m, t, u) }, func() { one(u) })
	})
	return out
}

// mayBeEven tells the accesses that are worth a look at whether their elements are neighbours: all
// lanes are on, and fill a vector.
func (g *Moves) mayBeEven(at Target, t *ir.Type) bool { return g.Exec == nil && g.fillsEvenly(at, t) }

func (g *Moves) fillsEvenly(at Target, t *ir.Type) bool {
	return at.even && int64(at.Scale) == int64(t.Size) && t.Size >= 4 && g.Lanes*int(t.Size) == g.Width(t).Bytes()
}

// walksEvenly tells such loads in a loop that lanes leave one by one, as a rule together: each
// walks a row, and the rows begin side by side.
func (g *Moves) walksEvenly(at Target, t *ir.Type) bool {
	return g.Prefix == vcode.NoReg && len(g.Loops) > 0 && g.Loops[len(g.Loops)-1].Varying && g.fillsEvenly(at, t)
}

func (g *Moves) StoreVector(m vcode.Mem, v vcode.Reg, t *ir.Type, u int) {
	w := g.Width(t)
	if t.Size < 4 {
		g.storeSmall(m, v, t, u)
		return
	}
	if g.Exec == nil && !g.Fills(t) {
		g.Op(vcode.StoreF64, vcode.W128, vcode.MemArg(m), vcode.RegArg(v))
		return
	}
	if g.Exec == nil {
		g.Op(vector.Pick(t, vcode.VStoreF32, vcode.VStoreF64), w, vcode.MemArg(m), vcode.RegArg(v))
		return
	}
	if g.AVX512 {
		g.Emit(vcode.I(vector.Pick(t, vcode.VStoreF32, vcode.VStoreF64), w, vcode.MemArg(m), vcode.RegArg(v)).Masked(g.Exec[u], false))
		return
	}
	g.Op(vector.Pick(t, vcode.VMaskedStoreF32, vcode.VMaskedStoreF64), w, vcode.MemArg(m), vcode.RegArg(g.MaskFor(g.Exec[u], t)), vcode.RegArg(v))
}

func (g *Moves) storeSmall(m vcode.Mem, v vcode.Reg, t *ir.Type, u int) {
	if !g.AVX512 && g.Exec == nil {
		g.storeSmallTogether(m, v, t)
		return
	}
	if !g.AVX512 {
		g.storeSmallLanes(m, v, t, u)
		return
	}
	op := vcode.VNarrowI32I8
	if t.Size == 2 {
		op = vcode.VNarrowI32I16
	}
	in := vcode.I(op, g.Width(t), vcode.MemArg(m), vcode.RegArg(v))
	if g.Exec != nil {
		in = in.Masked(g.Exec[u], false)
	}
	g.Emit(in)
}

// Scatter writes elements anywhere.
func (g *Moves) Scatter(at Target, v []vcode.Reg, t *ir.Type) {
	if g.mayBeEven(at, t) {
		all := g.Unroll
		g.Each(func(u int) {
			one := at
			one.even, one.Index, one.known, one.check = false, at.Index[u:u+1], nil, nil
			g.evenly(at, u, func(m vcode.Mem) { g.StoreVector(m, v[u], t, u) }, func() {
				g.Unroll = 1
				g.Scatter(one, v[u:u+1], t)
				g.Unroll = all
			})
		})
		return
	}
	g.Each(func(u int) { at.CheckNow(u) })
	if !g.AVX512 || t.Size < 4 {
		g.scatterLanes(at, v, t)
		return
	}
	isize := 8
	if at.size4 {
		isize = 4
	}
	w := vector.WidthOf(g.Lanes * max(isize, vector.Container(t)))
	op := map[[2]bool]vcode.Op{{true, true}: vcode.VScatterI32F32, {true, false}: vcode.VScatterI32F64, {false, true}: vcode.VScatterI64F32, {false, false}: vcode.VScatterI64F64}[[2]bool{at.size4, t.Size == 4}]
	g.Each(func(u int) {
		m := g.NewMaskRegister()
		if g.Exec != nil {
			g.MaskMove(m, g.Exec[u])
		} else {
			g.MaskMove(m, g.MaskAll())
		}
		g.Emit(vcode.I(op, w, vcode.MemArg(vcode.Indexed(at.Mem.Base, at.Index[u], at.Scale, at.Mem.Disp)), vcode.RegArg(v[u])).Masked(m, false))
	})
}
