package cpu

import (
	"fmt"

	"github.com/gompss/gompss/codegen/cpu/internal/analysis"
	"github.com/gompss/gompss/codegen/cpu/x86"
	"github.com/gompss/gompss/codegen/ir"
)

// An apart is an access to elements that lie apart.
type apart struct {
	at      target
	t       *ir.Type
	w       x86.Width
	gap     int64 // in elements, from one lane to the next or, if turned, to the one before
	turned  bool
	windows bool // else lane by lane
}

// apartOf tells whether an affine access is one that whole vectors or single lanes serve.
func (g *gen) apartOf(at target, t *ir.Type) (apart, bool) {
	size := int64(t.Size)
	a := apart{at: at, t: t, w: g.width(t), gap: at.stride / max(size, 1)}
	if at.stride != int64(int32(at.stride)) {
		return a, false
	}
	far := (at.stride + 8) * int64(g.lanes*(g.unroll+g.first))
	if size < 4 || at.stride%size != 0 || g.lanes*int(size) != a.w.Bytes() || far != int64(int32(far)) || int64(at.mem.Disp)+far != int64(int32(int64(at.mem.Disp)+far)) {
		return a, false
	}
	if a.gap < 0 {
		a.gap, a.turned = -a.gap, true
	}
	a.windows = a.gap <= int64(g.lanes/2)
	return a, true
}

// lowest is where copy u begins, the lane with the lowest address.
func (g *gen) lowest(a apart, u int) x86.Mem {
	m := g.copyMem(a.at, u)
	if a.turned {
		m.Disp += int32(int64(g.lanes-1) * a.at.stride)
	}
	return m
}

// laneOf is the lane that the n-th element from the lowest belongs to.
func (g *gen) laneOf(a apart, n int) int {
	if a.turned {
		return g.lanes - 1 - n
	}
	return n
}

// loadApart loads all lanes; those that are off become 0.
func (g *gen) loadApart(a apart) []x86.Reg {
	out := make([]x86.Reg, g.unroll)
	g.each(func(u int) {
		switch {
		case !a.windows:
			out[u] = g.loadLanesApart(a, u, 0, g.lanes)
		case g.avx512:
			out[u] = g.loadWindows512(a, u)
		default:
			out[u] = g.loadWindows(a, u)
		}
		if g.exec != nil {
			g.clearOff(out[u], g.exec[u], a)
		}
	})
	return out
}

// clearOff makes the lanes 0 that are off.
func (g *gen) clearOff(d, m x86.Reg, a apart) {
	if g.avx512 {
		g.Emit(x86.I(pick(a.t, x86.VMOVUPSStore, x86.VMOVUPDStore), a.w, x86.RegArg(d), x86.RegArg(d)).Masked(m, true))
		return
	}
	g.Op(x86.VPAND, a.w, x86.RegArg(d), x86.RegArg(d), x86.RegArg(g.maskFor(m, a.t)))
}

// loadWindows512 takes from every window what lies in it.
func (g *gen) loadWindows512(a apart, u int) x86.Reg {
	size := int64(a.t.Size)
	ws, m, d := analysis.WindowsOf(g.lanes, a.gap), g.lowest(a, u), g.NewVector()
	op, from := pick(a.t, x86.VPERMT2PS, x86.VPERMT2PD), make([]int64, g.lanes)
	g.Op(pick(a.t, x86.VMOVUPS, x86.VMOVUPD), a.w, x86.RegArg(d), x86.MemArg(m.Plus(ws[0].Start*size)))
	var there []int
	for _, p := range ws[0].Places {
		lane := g.laneOf(a, p.Lane)
		from[lane], there = int64(p.At), append(there, lane)
	}
	if len(ws) == 1 {
		g.Op(op, a.w, x86.RegArg(d), x86.RegArg(g.Pattern(from, int(size))), x86.RegArg(d))
		return d
	}
	for _, w := range ws[1:] {
		for _, p := range w.Places {
			lane := g.laneOf(a, p.Lane)
			from[lane], there = int64(g.lanes+p.At), append(there, lane)
		}
		g.Op(op, a.w, x86.RegArg(d), x86.RegArg(g.Pattern(from, int(size))), x86.MemArg(m.Plus(w.Start*size)))
		for _, lane := range there {
			from[lane] = int64(lane)
		}
	}
	return d
}

// loadWindows is loadWindows512 where an instruction takes from one vector only.
func (g *gen) loadWindows(a apart, u int) x86.Reg {
	size := int64(a.t.Size)
	m, d := g.lowest(a, u), x86.NoReg
	for _, w := range analysis.WindowsOf(g.lanes, a.gap) {
		from, here := make([]int64, g.lanes), 0
		for _, p := range w.Places {
			lane := g.laneOf(a, p.Lane)
			from[lane], here = int64(p.At), here|1<<lane
		}
		d = g.merge(d, g.permuted(from, x86.MemArg(m.Plus(w.Start*size)), a), here, a)
	}
	return d
}

// merge is d with the lanes of x that the bits name; x where there is no d.
func (g *gen) merge(d, x x86.Reg, lanes int, a apart) x86.Reg {
	if d == x86.NoReg {
		return x
	}
	r := g.NewVector()
	g.Op(pick(a.t, x86.VBLENDPS, x86.VBLENDPD), a.w, x86.RegArg(r), x86.RegArg(d), x86.RegArg(x), x86.ImmArg(int64(lanes)))
	return r
}

// permuted takes element from[i] of x to lane i. It needs no AVX-512.
func (g *gen) permuted(from []int64, x x86.Arg, a apart) x86.Reg {
	d, imm := g.NewVector(), int64(0)
	switch {
	case a.w == x86.W256 && a.t.Size == 4:
		g.Op(x86.VPERMPS, a.w, x86.RegArg(d), x86.RegArg(g.Pattern(from, 4)), x)
	case a.w == x86.W128 && a.t.Size == 8:
		g.Op(x86.VPERMILPD, a.w, x86.RegArg(d), x, x86.ImmArg(from[0]|from[1]<<1))
	default: // four lanes
		for lane, at := range from {
			imm |= at << (2 * lane)
		}
		g.Op(map[bool]x86.Op{true: x86.VPERMILPS, false: x86.VPERMPDImm}[a.t.Size == 4], a.w, x86.RegArg(d), x, x86.ImmArg(imm))
	}
	return d
}

// Pattern is a register with these numbers, loaded once, at the entry.
func (g *gen) Pattern(numbers []int64, size int) x86.Reg {
	key := fmt.Sprint(size, numbers)
	if r, ok := g.patterns[key]; ok {
		return r
	}
	at, r := g.AlignPool(64), g.NewVector()
	for _, n := range numbers {
		g.PoolWord(uint64(n), size)
	}
	g.LoadAtEntry(x86.VMOVUPS, widthOf(len(numbers)*size), r, at)
	g.patterns[key] = r
	return r
}

// loadLanesApart loads n lanes from the first on, one by one.
func (g *gen) loadLanesApart(a apart, u, first, n int) x86.Reg {
	d := g.NewVector()
	if n == 1 {
		m := g.copyMem(a.at, u).Plus(int64(first) * a.at.stride)
		g.Op(pick(a.t, x86.VMOVSSLoad, x86.VMOVSDLoad), x86.W128, x86.RegArg(d), x86.MemArg(m))
		return d
	}
	x, y := g.loadLanesApart(a, u, first, n/2), g.loadLanesApart(a, u, first+n/2, n/2)
	switch bytes := n * int(a.t.Size); {
	case bytes == 64:
		g.Op(x86.VINSERTF64X4, x86.W512, x86.RegArg(d), x86.RegArg(x), x86.RegArg(y), x86.ImmArg(1))
	case bytes == 32 && g.avx512:
		g.Op(x86.VINSERTF32X4, x86.W256, x86.RegArg(d), x86.RegArg(x), x86.RegArg(y), x86.ImmArg(1))
	case bytes == 32:
		g.Op(x86.VINSERTF128, x86.W256, x86.RegArg(d), x86.RegArg(x), x86.RegArg(y), x86.ImmArg(1))
	case bytes == 16:
		g.Op(x86.VUNPCKLPD, x86.W128, x86.RegArg(d), x86.RegArg(x), x86.RegArg(y))
	default:
		g.Op(x86.VUNPCKLPS, x86.W128, x86.RegArg(d), x86.RegArg(x), x86.RegArg(y))
	}
	return d
}

// storeApart stores v, and tells whether there is a way.
func (g *gen) storeApart(a apart, v []x86.Reg) bool {
	masked := g.exec != nil
	switch {
	case a.windows && g.avx512 && !(masked && a.turned):
		g.each(func(u int) { g.storeWindows512(a, u, v[u]) })
	case masked && g.avx512:
		return false
	default:
		g.each(func(u int) { g.storeLanesApart(a, u, v[u]) })
	}
	return true
}

// storeWindows512 permutes the lanes to where they lie in every window, and stores what is theirs.
func (g *gen) storeWindows512(a apart, u int, v x86.Reg) {
	size := int64(a.t.Size)
	for _, w := range analysis.WindowsOf(g.lanes, a.gap) {
		x, elements, from := g.NewVector(), int64(0), make([]int64, g.lanes)
		for _, p := range w.Places {
			from[p.At], elements = int64(g.laneOf(a, p.Lane)), elements|1<<p.At
		}
		g.move(x, v)
		g.Op(pick(a.t, x86.VPERMT2PS, x86.VPERMT2PD), a.w, x86.RegArg(x), x86.RegArg(g.Pattern(from, int(size))), x86.RegArg(x))
		in := x86.I(pick(a.t, x86.VMOVUPSStore, x86.VMOVUPDStore), a.w, x86.MemArg(g.lowest(a, u).Plus(w.Start*size)), x86.RegArg(x))
		if g.exec != nil {
			g.Emit(in.Masked(g.spreadMask(g.exec[u], w, elements), false))
			continue
		}
		m := g.NewMask()
		g.Op(x86.MOVQImm, x86.W128, x86.RegArg(x86.CX), x86.ImmArg(elements))
		g.Op(x86.KMOVDSet, x86.W128, x86.RegArg(m), x86.RegArg(x86.CX))
		g.Emit(in.Masked(m, false))
	}
}

// spreadMask is the mask of the elements of a window whose lanes are on.
func (g *gen) spreadMask(exec x86.Reg, w analysis.Window, elements int64) x86.Reg {
	m := g.NewMask()
	to := g.constGeneral(elements)
	g.maskBits(x86.CX, exec)
	if first := w.Places[0].Lane; first > 0 {
		g.Op(x86.SHRQ, x86.W128, x86.RegArg(x86.CX), x86.ImmArg(int64(first)))
	}
	g.Op(x86.PDEPQ, x86.W128, x86.RegArg(x86.CX), x86.RegArg(x86.CX), x86.RegArg(to))
	g.Op(x86.KMOVDSet, x86.W128, x86.RegArg(m), x86.RegArg(x86.CX))
	return m
}

// storeLanesApart stores the lanes that are on one by one.
func (g *gen) storeLanesApart(a apart, u int, v x86.Reg) {
	bits := x86.NoReg
	if g.exec != nil {
		bits = g.NewGeneral()
		g.maskBits(bits, g.exec[u])
	}
	per := 16 / int(a.t.Size)
	parts := make([]x86.Reg, g.lanes/per)
	parts[0] = v
	for q := 1; q < len(parts); q++ {
		parts[q] = g.NewVector()
		if g.avx512 {
			g.Op(x86.VEXTRACTF32X4, a.w, x86.RegArg(parts[q]), x86.RegArg(v), x86.ImmArg(int64(q)))
		} else {
			g.Op(x86.VEXTRACTF128, x86.W256, x86.RegArg(parts[q]), x86.RegArg(v), x86.ImmArg(int64(q)))
		}
	}
	g.inLanes(bits, func(lane int) {
		x := parts[lane/per]
		if at := int64(lane % per); at > 0 {
			y := g.NewVector()
			g.Op(pick(a.t, x86.VPERMILPS, x86.VPERMILPD), x86.W128, x86.RegArg(y), x86.RegArg(x), x86.ImmArg(at))
			x = y
		}
		g.Op(pick(a.t, x86.VMOVSSStore, x86.VMOVSDStore), x86.W128, x86.MemArg(g.copyMem(a.at, u).Plus(int64(lane)*a.at.stride)), x86.RegArg(x))
	})
}
