package memory

import (
	"github.com/gompss/gompss/codegen/cpu/internal/analysis"
	"github.com/gompss/gompss/codegen/cpu/internal/vector"
	"github.com/gompss/gompss/codegen/cpu/prepare"
	"github.com/gompss/gompss/codegen/cpu/vcode"
	"github.com/gompss/gompss/codegen/ir"
)

// Strided moves elements that lie apart by a constant distance.
type Strided struct{ Addresses }

// An Apart is an access to elements that lie apart.
type Apart struct {
	At      Target
	T       *ir.Type
	W       vcode.Width
	gap     int64 // in elements, from one lane to the next or, if turned, to the one before
	turned  bool
	windows bool // else lane by lane
}

// ApartOf reports whether an affine access is one that whole vectors or single lanes serve.
func (g *Strided) ApartOf(at Target, t *ir.Type) (Apart, bool) {
	size := int64(t.Size)
	a := Apart{At: at, T: t, W: g.Width(t), gap: at.Stride / max(size, 1)}
	if at.Stride != int64(int32(at.Stride)) {
		return a, false
	}
	far := (at.Stride + 8) * int64(g.Lanes*(g.Unroll+g.First))
	if size < 4 || at.Stride%size != 0 || g.Lanes*int(size) != a.W.Bytes() || far != int64(int32(far)) || int64(at.Mem.Disp)+far != int64(int32(int64(at.Mem.Disp)+far)) {
		return a, false
	}
	if a.gap < 0 {
		a.gap, a.turned = -a.gap, true
	}
	a.windows = a.gap <= int64(g.Lanes/2)
	return a, true
}

// lowest is where copy u begins, the lane with the lowest address.
func (g *Strided) lowest(a Apart, u int) vcode.Mem {
	m := g.CopyMem(a.At, u)
	if a.turned {
		m.Disp += int32(int64(g.Lanes-1) * a.At.Stride)
	}
	return m
}

// laneOf is the lane that the n-th element from the lowest belongs to.
func (g *Strided) laneOf(a Apart, n int) int {
	if a.turned {
		return g.Lanes - 1 - n
	}
	return n
}

// loadApart loads all lanes; those that are off become 0.
func (g *Strided) loadApart(a Apart) []vcode.Reg {
	out := make([]vcode.Reg, g.Unroll)
	g.Each(func(u int) {
		switch {
		case !a.windows:
			out[u] = g.loadLanesApart(a, u, 0, g.Lanes)
		case g.AVX512:
			out[u] = g.loadWindows512(a, u)
		default:
			out[u] = g.loadWindows(a, u)
		}
		if g.Exec != nil {
			g.clearOff(out[u], g.Exec[u], a)
		}
	})
	return out
}

// clearOff makes the lanes 0 that are off.
func (g *Strided) clearOff(d, m vcode.Reg, a Apart) {
	if g.AVX512 {
		g.Emit(vcode.I(vector.Pick(a.T, vcode.VStoreF32, vcode.VStoreF64), a.W, vcode.RegArg(d), vcode.RegArg(d)).Masked(m, true))
		return
	}
	g.Op(vcode.VAnd, a.W, vcode.RegArg(d), vcode.RegArg(d), vcode.RegArg(g.MaskFor(m, a.T)))
}

// loadWindows512 takes from every window what lies in it.
func (g *Strided) loadWindows512(a Apart, u int) vcode.Reg {
	size := int64(a.T.Size)
	ws, m, d := analysis.WindowsOf(g.Lanes, a.gap), g.lowest(a, u), g.NewVector()
	op, from := vector.Pick(a.T, vcode.VPermuteTwoF32, vcode.VPermuteTwoF64), make([]int64, g.Lanes)
	g.Op(vector.Pick(a.T, vcode.VLoadF32, vcode.VLoadF64), a.W, vcode.RegArg(d), vcode.MemArg(m.Plus(ws[0].Start*size)))
	var there []int
	for _, p := range ws[0].Places {
		lane := g.laneOf(a, p.Lane)
		from[lane], there = int64(p.At), append(there, lane)
	}
	if len(ws) == 1 {
		g.Op(op, a.W, vcode.RegArg(d), vcode.RegArg(g.Pattern(from, int(size))), vcode.RegArg(d))
		return d
	}
	for _, w := range ws[1:] {
		for _, p := range w.Places {
			lane := g.laneOf(a, p.Lane)
			from[lane], there = int64(g.Lanes+p.At), append(there, lane)
		}
		g.Op(op, a.W, vcode.RegArg(d), vcode.RegArg(g.Pattern(from, int(size))), vcode.MemArg(m.Plus(w.Start*size)))
		for _, lane := range there {
			from[lane] = int64(lane)
		}
	}
	return d
}

// loadWindows is loadWindows512 where an instruction takes from one vector only.
func (g *Strided) loadWindows(a Apart, u int) vcode.Reg {
	size := int64(a.T.Size)
	m, d := g.lowest(a, u), vcode.NoReg
	for _, w := range analysis.WindowsOf(g.Lanes, a.gap) {
		from, here := make([]int64, g.Lanes), 0
		for _, p := range w.Places {
			lane := g.laneOf(a, p.Lane)
			from[lane], here = int64(p.At), here|1<<lane
		}
		d = g.merge(d, g.permuted(from, vcode.MemArg(m.Plus(w.Start*size)), a), here, a)
	}
	return d
}

// merge is d with the lanes of x that the bits name; x where there is no d.
func (g *Strided) merge(d, x vcode.Reg, lanes int, a Apart) vcode.Reg {
	if d == vcode.NoReg {
		return x
	}
	r := g.NewVector()
	g.Op(vector.Pick(a.T, vcode.VBlendImmF32, vcode.VBlendImmF64), a.W, vcode.RegArg(r), vcode.RegArg(d), vcode.RegArg(x), vcode.ImmArg(int64(lanes)))
	return r
}

// permuted takes element from[i] of x to lane i. It needs no AVX-512.
func (g *Strided) permuted(from []int64, x vcode.Arg, a Apart) vcode.Reg {
	d, imm := g.NewVector(), int64(0)
	switch {
	case a.W == vcode.W256 && a.T.Size == 4:
		g.Op(vcode.VPermuteF32, a.W, vcode.RegArg(d), vcode.RegArg(g.Pattern(from, 4)), x)
	case a.W == vcode.W128 && a.T.Size == 8:
		g.Op(vcode.VPermuteWithinF64, a.W, vcode.RegArg(d), x, vcode.ImmArg(from[0]|from[1]<<1))
	default: // four lanes
		for lane, at := range from {
			imm |= at << (2 * lane)
		}
		g.Op(map[bool]vcode.Op{true: vcode.VPermuteWithinF32, false: vcode.VPermuteImmF64}[a.T.Size == 4], a.W, vcode.RegArg(d), x, vcode.ImmArg(imm))
	}
	return d
}

// loadLanesApart loads n lanes from the first on, one by one.
func (g *Strided) loadLanesApart(a Apart, u, first, n int) vcode.Reg {
	d := g.NewVector()
	if n == 1 {
		m := g.CopyMem(a.At, u).Plus(int64(first) * a.At.Stride)
		g.Op(vector.Pick(a.T, vcode.LoadF32, vcode.LoadF64), vcode.W128, vcode.RegArg(d), vcode.MemArg(m))
		return d
	}
	x, y := g.loadLanesApart(a, u, first, n/2), g.loadLanesApart(a, u, first+n/2, n/2)
	switch bytes := n * int(a.T.Size); {
	case bytes == 64:
		g.Op(vcode.VInsert256Of512, vcode.W512, vcode.RegArg(d), vcode.RegArg(x), vcode.RegArg(y), vcode.ImmArg(1))
	case bytes == 32 && g.AVX512:
		g.Op(vcode.VInsert128Of512, vcode.W256, vcode.RegArg(d), vcode.RegArg(x), vcode.RegArg(y), vcode.ImmArg(1))
	case bytes == 32:
		g.Op(vcode.VInsert128Of256, vcode.W256, vcode.RegArg(d), vcode.RegArg(x), vcode.RegArg(y), vcode.ImmArg(1))
	case bytes == 16:
		g.Op(vcode.VInterleaveLowF64, vcode.W128, vcode.RegArg(d), vcode.RegArg(x), vcode.RegArg(y))
	default:
		g.Op(vcode.VInterleaveLowF32, vcode.W128, vcode.RegArg(d), vcode.RegArg(x), vcode.RegArg(y))
	}
	return d
}

// StoreApart stores v, and reports whether there is a way.
func (g *Strided) StoreApart(a Apart, v []vcode.Reg) bool {
	masked := g.Exec != nil
	switch {
	case a.windows && g.AVX512 && !(masked && a.turned):
		g.Each(func(u int) { g.storeWindows512(a, u, v[u]) })
	case masked && g.AVX512:
		return false
	default:
		g.Each(func(u int) { g.storeLanesApart(a, u, v[u]) })
	}
	return true
}

// storeWindows512 permutes the lanes to where they lie in every window, and stores what is theirs.
func (g *Strided) storeWindows512(a Apart, u int, v vcode.Reg) {
	size := int64(a.T.Size)
	for _, w := range analysis.WindowsOf(g.Lanes, a.gap) {
		x, elements, from := g.NewVector(), int64(0), make([]int64, g.Lanes)
		for _, p := range w.Places {
			from[p.At], elements = int64(g.laneOf(a, p.Lane)), elements|1<<p.At
		}
		g.Move(x, v)
		g.Op(vector.Pick(a.T, vcode.VPermuteTwoF32, vcode.VPermuteTwoF64), a.W, vcode.RegArg(x), vcode.RegArg(g.Pattern(from, int(size))), vcode.RegArg(x))
		in := vcode.I(vector.Pick(a.T, vcode.VStoreF32, vcode.VStoreF64), a.W, vcode.MemArg(g.lowest(a, u).Plus(w.Start*size)), vcode.RegArg(x))
		if g.Exec != nil {
			g.Emit(in.Masked(g.spreadMask(g.Exec[u], w, elements), false))
			continue
		}
		m := g.NewMask()
		g.SetSmall(vcode.Count, elements)
		g.Op(vcode.MaskSet32, vcode.W128, vcode.RegArg(m), vcode.RegArg(vcode.Count))
		g.Emit(in.Masked(m, false))
	}
}

// spreadMask is the mask of the elements of a window whose lanes are on.
func (g *Strided) spreadMask(exec vcode.Reg, w analysis.Window, elements int64) vcode.Reg {
	m := g.NewMask()
	to := g.ConstGeneral(elements)
	g.MaskBits(vcode.Count, exec)
	if first := w.Places[0].Lane; first > 0 {
		g.ShiftRight(vcode.Count, int64(first))
	}
	g.Op(vcode.SpreadBits, vcode.W128, vcode.RegArg(vcode.Count), vcode.RegArg(vcode.Count), vcode.RegArg(to))
	g.Op(vcode.MaskSet32, vcode.W128, vcode.RegArg(m), vcode.RegArg(vcode.Count))
	return m
}

// storeLanesApart stores the lanes that are on one by one.
func (g *Strided) storeLanesApart(a Apart, u int, v vcode.Reg) {
	bits := vcode.NoReg
	if g.Exec != nil {
		bits = g.NewGeneral()
		g.MaskBits(bits, g.Exec[u])
	}
	per := 16 / int(a.T.Size)
	parts := make([]vcode.Reg, g.Lanes/per)
	parts[0] = v
	for q := 1; q < len(parts); q++ {
		parts[q] = g.NewVector()
		if g.AVX512 {
			g.Op(vcode.VExtract128Of512, a.W, vcode.RegArg(parts[q]), vcode.RegArg(v), vcode.ImmArg(int64(q)))
		} else {
			g.Op(vcode.VExtract128Of256, vcode.W256, vcode.RegArg(parts[q]), vcode.RegArg(v), vcode.ImmArg(int64(q)))
		}
	}
	g.InLanes(bits, func(lane int) {
		x := parts[lane/per]
		if at := int64(lane % per); at > 0 {
			y := g.NewVector()
			g.Op(vector.Pick(a.T, vcode.VPermuteWithinF32, vcode.VPermuteWithinF64), vcode.W128, vcode.RegArg(y), vcode.RegArg(x), vcode.ImmArg(at))
			x = y
		}
		g.Op(vector.Pick(a.T, vcode.StoreF32, vcode.StoreF64), vcode.W128, vcode.MemArg(g.CopyMem(a.At, u).Plus(int64(lane)*a.At.Stride)), vcode.RegArg(x))
	})
}

// IntoRows puts the piece of a lane into the vectors that hold those of every per-th lane; lanes
// come in order.
func (g *Strided) IntoRows(rows []vcode.Reg, lane, per int, m vcode.Mem) []vcode.Reg {
	r := g.NewVector()
	if lane < per {
		g.ReadVector(r, m, vcode.W128)
		return append(rows, r)
	}
	insert := vcode.VInsert128Of256
	if g.AVX512 {
		insert = vcode.VInsert128Of512
	}
	w := vector.WidthOf(g.Lanes * prepare.PieceBytes / per)
	g.Op(insert, max(w, vcode.W256), vcode.RegArg(r), vcode.RegArg(rows[lane%per]), vcode.MemArg(m), vcode.ImmArg(int64(lane/per)))
	rows[lane%per] = r
	return rows
}

// Quarter is the memory of the n-th lane's piece.
func (g *Strided) Quarter(a Apart, u, n int) vcode.Mem {
	return g.CopyMem(a.At, u).Plus(int64(n) * a.At.Stride)
}
