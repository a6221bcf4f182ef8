package cpu

import (
	"cmp"
	"maps"
	"slices"

	"github.com/gompss/gompss/codegen/cpu/internal/analysis"
	"github.com/gompss/gompss/codegen/cpu/prepare"
	"github.com/gompss/gompss/codegen/cpu/x86"
	"github.com/gompss/gompss/codegen/ir"
)

// Several fields of elements whose index differs from lane to lane are loaded together: each lane's
// pieces of 16 bytes at the address of its element, which is computed and checked once, and turned
// as gen_rows.go says. A gather for each field would load as many elements as there are lanes, and
// compute all addresses, for every one of them.

// A recordPiece is a piece of the element and the size of the fields that are taken from it.
type recordPiece struct{ start, size int64 }

// record selects the declarations at the beginning of list that load fields of one element, and
// returns how many they are: 0 where there are none.
func (g *gen) record(list []ir.Stmt) int {
	moves := analysis.RecordOf(list)
	if len(moves) < 2 {
		return 0
	}
	first := moves[0]
	if h := g.homes[first.Slice]; h == nil || h.per > 0 || g.shape(first.Index.I).Kind != analysis.Varying {
		return 0
	}
	pieces := map[recordPiece][]int{}
	for i, m := range moves {
		t := m.Place.Type()
		p := recordPiece{m.Offset / prepare.PieceBytes * prepare.PieceBytes, int64(t.Size)}
		if p.start+prepare.PieceBytes > int64(m.Index.Type().Size) || g.shapes.Of[m.V].Kind != analysis.Varying || g.lanes*int(t.Size) < prepare.PieceBytes || g.width(t).Bytes() != g.lanes*int(t.Size) {
			return 0
		}
		pieces[p] = append(pieces[p], i)
	}
	if len(pieces) == len(moves) {
		return 0 // as many loads of pieces as of fields
	}
	old := g.At
	g.At = list[0].Pos()
	at := g.target(first.Place)
	g.each(func(u int) { at.checkNow(u) })
	at.mem.Disp -= int32(first.Offset)
	g.loadRecords(at, moves, pieces)
	g.At = old
	return len(moves)
}

// loadRecords declares the variables of the moves with what the lanes have in their elements, which
// begin at the target.
func (g *gen) loadRecords(at target, moves []analysis.FieldMove, pieces map[recordPiece][]int) {
	homes := make([]*home, len(moves))
	for i, m := range moves {
		homes[i] = g.declare(m.V)
	}
	order := slices.SortedFunc(maps.Keys(pieces), func(x, y recordPiece) int {
		return cmp.Or(cmp.Compare(x.start, y.start), cmp.Compare(x.size, y.size))
	})
	g.each(func(u int) {
		rows := make([][]x86.Reg, len(order))
		g.lanesOut(at, u, func(lane int, index x86.Reg) {
			m := x86.Indexed(at.mem.Base, index, at.scale, at.mem.Disp)
			for k, p := range order {
				rows[k] = g.intoRows(rows[k], lane, int(prepare.PieceBytes/p.size), m.Plus(p.start))
			}
		})
		for k, p := range order {
			columns := g.turn(rows[k], widthOf(g.lanes*int(p.size)))
			for _, i := range pieces[p] {
				g.move(homes[i].vec[u], columns[(moves[i].Offset-p.start)/p.size])
			}
		}
	})
}

// intoRows puts the piece of a lane into the vectors that hold those of every per-th lane; lanes
// come in order.
func (g *gen) intoRows(rows []x86.Reg, lane, per int, m x86.Mem) []x86.Reg {
	r := g.NewVector()
	if lane < per {
		g.Op(x86.VMOVUPS, x86.W128, x86.RegArg(r), x86.MemArg(m))
		return append(rows, r)
	}
	insert := x86.VINSERTF128
	if g.avx512 {
		insert = x86.VINSERTF32X4
	}
	w := widthOf(g.lanes * prepare.PieceBytes / per)
	g.Op(insert, max(w, x86.W256), x86.RegArg(r), x86.RegArg(rows[lane%per]), x86.MemArg(m), x86.ImmArg(int64(lane/per)))
	rows[lane%per] = r
	return rows
}
