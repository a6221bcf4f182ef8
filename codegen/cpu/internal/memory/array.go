package memory

import (
	"github.com/gompss/gompss/codegen/cpu/image"
	"github.com/gompss/gompss/codegen/cpu/internal/vector"
	"github.com/gompss/gompss/codegen/cpu/mach"
	"github.com/gompss/gompss/codegen/cpu/vcode"
	"github.com/gompss/gompss/codegen/ir"
)

// Local arrays lie in the scratch memory of a launch. One that is declared outside the vector loop
// is there once, like a slice. One that is declared in it belongs to a lane: the elements with one
// number lie side by side, one for each lane of each unrolled copy, so that a number that all lanes
// agree on is a plain vector load, and one that they do not is a gather.

const (
	ManyScratch = 64 << 10 // bytes of scratch memory from which on fewer copies are better
	mostScratch = 16 << 20
)

// ArrayHome makes room for an array.
func (g *Variables) ArrayHome(v *ir.Var, n int64) *Home {
	h := &Home{General: g.NewGeneral(), Length: g.ConstGeneral(n)}
	size := int64(v.Type.Elem.Size)
	at, ok := g.Frame.Place[v]
	if !ok || g.Shapes != nil {
		at = g.Scratch
		if g.Shapes != nil {
			h.Per = int64(g.Lanes * g.Wanted)
			size *= h.Per
		}
		if n > mostScratch/size {
			g.Refuse(v.At, "the local array %s takes %d bytes for each of %d lanes, more than the %d that there are: make it a parameter", v.Name, n*size/max(h.Per, 1), max(h.Per, 1), mostScratch)
		}
		g.Scratch += image.RoundUp(n*size, image.ScratchAlign)
	}
	g.ReadWord(h.General, image.WordScratch)
	g.AddConst(h.General, at)
	return h
}

// declareArray sets an array to zero.
func (g *Variables) declareArray(v *ir.Var, n int64) *Home {
	h := g.ArrayHome(v, n)
	g.Homes[v] = h
	g.FillArray(h, v.Type.Elem, n, g.ConstVector(0, 4))
	return h
}

// FillArray stores vectors of one value all over the array; it has room for whole vectors.
func (g *Variables) FillArray(h *Home, t *ir.Type, n int64, value vcode.Reg) {
	w := vector.WidthOf(g.Bytes)
	total := image.RoundUp(n*int64(t.Size)*max(h.Per, 1), int64(g.Bytes))
	if total <= 16*int64(g.Bytes) {
		for at := int64(0); at < total; at += int64(g.Bytes) {
			g.WriteVector(vcode.At(h.General, int32(at)), value, w)
		}
		return
	}
	p, left := g.NewGeneral(), g.NewGeneral()
	g.Move(p, h.General)
	g.SetGeneral(left, total/int64(g.Bytes))
	top := g.NewLabel()
	g.Place(top)
	g.WriteVector(vcode.At(p, 0), value, w)
	if total > ManyScratch {
		g.PausePoint()
	}
	g.AddConst(p, int64(g.Bytes))
	g.Decrement(left)
	g.JumpBack(mach.CondNE, top)
}
