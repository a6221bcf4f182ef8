package selection

import (
	"cmp"
	"maps"
	"slices"

	"github.com/gompss/gompss/codegen/cpu/internal/analysis"
	"github.com/gompss/gompss/codegen/cpu/internal/memory"
	"github.com/gompss/gompss/codegen/cpu/internal/vector"
	"github.com/gompss/gompss/codegen/cpu/prepare"
	"github.com/gompss/gompss/codegen/cpu/vcode"
	"github.com/gompss/gompss/codegen/ir"
)

// If the index of an element differs between lanes, several of its fields are loaded together: for
// each lane, pieces of 16 bytes at the address of its element, which is computed and checked once;
// the pieces are then transposed. A gather for each field would load as many elements as there are
// lanes, and compute all addresses, for each field.

// A recordPiece is a piece of the element, and the size of the fields in it.
type recordPiece struct{ start, size int64 }

// record selects the declarations at the beginning of list that load fields of one element, and
// returns their number; 0 if there are none.
func (g *stores) record(list []ir.Stmt) int {
	moves := analysis.RecordOf(list)
	if len(moves) < 2 {
		return 0
	}
	first := moves[0]
	if h := g.Homes[first.Slice]; h == nil || h.Per > 0 || g.Shape(first.Index.I).Kind != analysis.Varying {
		return 0
	}
	pieces := map[recordPiece][]int{}
	for i, m := range moves {
		t := m.Place.Type()
		p := recordPiece{m.Offset / prepare.PieceBytes * prepare.PieceBytes, int64(t.Size)}
		if p.start+prepare.PieceBytes > int64(m.Index.Type().Size) || g.Shapes.Of[m.V].Kind != analysis.Varying || g.Lanes*int(t.Size) < prepare.PieceBytes || g.Width(t).Bytes() != g.Lanes*int(t.Size) {
			return 0
		}
		pieces[p] = append(pieces[p], i)
	}
	if len(pieces) == len(moves) {
		return 0 // the loads of pieces would be as many as those of fields
	}
	old := g.At
	g.At = list[0].Pos()
	at := g.Target(first.Place)
	g.Each(func(u int) { at.CheckNow(u) })
	at.Mem.Disp -= int32(first.Offset)
	g.loadRecords(at, moves, pieces)
	g.At = old
	return len(moves)
}

// loadRecords declares the variables of the moves with the values of each lane's element, which
// starts at the target.
func (g *stores) loadRecords(at memory.Target, moves []analysis.FieldMove, pieces map[recordPiece][]int) {
	homes := make([]*memory.Home, len(moves))
	for i, m := range moves {
		homes[i] = g.Declare(m.V)
	}
	order := slices.SortedFunc(maps.Keys(pieces), func(x, y recordPiece) int {
		return cmp.Or(cmp.Compare(x.start, y.start), cmp.Compare(x.size, y.size))
	})
	g.Each(func(u int) {
		rows := make([][]vcode.Reg, len(order))
		g.LanesOut(at, u, func(lane int, index vcode.Reg) {
			m := vcode.Indexed(at.Mem.Base, index, at.Scale, at.Mem.Disp)
			for k, p := range order {
				rows[k] = g.IntoRows(rows[k], lane, int(prepare.PieceBytes/p.size), m.Plus(p.start))
			}
		})
		for k, p := range order {
			columns := g.Turn(rows[k], vector.WidthOf(g.Lanes*int(p.size)))
			for _, i := range pieces[p] {
				g.Move(homes[i].Vectors[u], columns[(moves[i].Offset-p.start)/p.size])
			}
		}
	})
}

// piece selects the statements at the beginning of list that move fields of one piece, and returns
// their number; 0 if there are none.
func (g *stores) piece(list []ir.Stmt) int {
	if g.Shapes == nil || g.Exec != nil || g.SerialBase > 0 || len(list) < 2 {
		return 0
	}
	if n := g.record(list); n > 0 {
		return n
	}
	moves := analysis.PiecesOf(list)
	if len(moves) < 2 {
		return 0
	}
	first, t := moves[0], moves[0].Place.Type()
	h, sh := g.Homes[first.Slice], g.Shape(first.Index.I)
	if h == nil || h.Per > 0 || sh.Kind != analysis.Affine || !first.Load && len(moves) != prepare.PieceBytes/int(t.Size) || g.Lanes*int(t.Size) < prepare.PieceBytes || g.Width(t).Bytes() != g.Lanes*int(t.Size) {
		return 0
	}
	for _, m := range moves {
		if g.Checks(m.Index) || m.Load && g.Shapes.Of[m.V].Kind != analysis.Varying {
			return 0
		}
	}
	a, ok := g.ApartOf(g.Target(first.Place), t)
	if !ok {
		return 0
	}
	a.At.Mem.Disp += int32(first.Offset/prepare.PieceBytes*prepare.PieceBytes - first.Offset)
	old := g.At
	g.At = list[0].Pos()
	if first.Load {
		g.loadPiece(a, moves)
	} else {
		g.storePiece(a, moves)
	}
	g.At = old
	return len(moves)
}

// loadPiece declares the variables of the moves with the values of each lane's piece.
func (g *stores) loadPiece(a memory.Apart, moves []analysis.FieldMove) {
	size := int64(a.T.Size)
	per := int(prepare.PieceBytes / size)
	var homes []*memory.Home
	for _, m := range moves {
		homes = append(homes, g.Declare(m.V))
	}
	g.Each(func(u int) {
		rows := make([]vcode.Reg, per)
		for k := range rows {
			rows[k] = g.NewVector()
			g.ReadVector(rows[k], g.Quarter(a, u, k), vcode.W128)
			for q := 1; q < g.Lanes/per; q++ {
				rows[k] = g.InsertSixteen(rows[k], g.Quarter(a, u, q*per+k), q, a.W)
			}
		}
		columns := g.Turn(rows, a.W)
		for i, m := range moves {
			g.Move(homes[i].Vectors[u], columns[m.Offset%prepare.PieceBytes/size])
		}
	})
}

// storePiece stores the variables of the moves.
func (g *stores) storePiece(a memory.Apart, moves []analysis.FieldMove) {
	per := len(moves)
	columns := make([][]vcode.Reg, per)
	for i, m := range moves {
		columns[i] = g.Vector(&ir.Ref{Var: m.V, At: m.Place.Pos()})
	}
	g.Each(func(u int) {
		rows := make([]vcode.Reg, per)
		for i := range rows {
			rows[i] = columns[i][u]
		}
		for k, r := range g.Turn(rows, a.W) {
			g.WriteVector(g.Quarter(a, u, k), r, vcode.W128)
			for q := 1; q < g.Lanes/per; q++ {
				g.StoreSixteen(g.Quarter(a, u, q*per+k), r, q, a.W)
			}
		}
	})
}
