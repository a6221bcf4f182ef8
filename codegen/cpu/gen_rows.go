package cpu

import (
	"github.com/gompss/gompss/codegen/cpu/internal/analysis"
	"github.com/gompss/gompss/codegen/cpu/prepare"
	"github.com/gompss/gompss/codegen/cpu/x86"
	"github.com/gompss/gompss/codegen/ir"
)

// piece selects the statements at the beginning of list that move fields of one piece, and returns
// how many they are: 0 where there are none.
func (g *gen) piece(list []ir.Stmt) int {
	if g.shapes == nil || g.exec != nil || g.serialBase > 0 || len(list) < 2 {
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
	h, sh := g.homes[first.Slice], g.shape(first.Index.I)
	if h == nil || h.per > 0 || sh.Kind != analysis.Affine || !first.Load && len(moves) != prepare.PieceBytes/int(t.Size) || g.lanes*int(t.Size) < prepare.PieceBytes || g.width(t).Bytes() != g.lanes*int(t.Size) {
		return 0
	}
	for _, m := range moves {
		if g.checks(m.Index) || m.Load && g.shapes.Of[m.V].Kind != analysis.Varying {
			return 0
		}
	}
	a, ok := g.apartOf(g.target(first.Place), t)
	if !ok {
		return 0
	}
	a.at.mem.Disp += int32(first.Offset/prepare.PieceBytes*prepare.PieceBytes - first.Offset)
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

// quarter is the memory of the n-th lane's piece.
func (g *gen) quarter(a apart, u, n int) x86.Mem {
	return g.copyMem(a.at, u).Plus(int64(n) * a.at.stride)
}

// loadPiece declares the variables of the moves with what the lanes have in the piece.
func (g *gen) loadPiece(a apart, moves []analysis.FieldMove) {
	size := int64(a.t.Size)
	per := int(prepare.PieceBytes / size)
	var homes []*home
	for _, m := range moves {
		homes = append(homes, g.declare(m.V))
	}
	g.each(func(u int) {
		rows := make([]x86.Reg, per)
		for k := range rows {
			rows[k] = g.NewVector()
			g.Op(x86.VMOVUPS, x86.W128, x86.RegArg(rows[k]), x86.MemArg(g.quarter(a, u, k)))
			for q := 1; q < g.lanes/per; q++ {
				x, insert := g.NewVector(), x86.VINSERTF128
				if g.avx512 {
					insert = x86.VINSERTF32X4
				}
				g.Op(insert, a.w, x86.RegArg(x), x86.RegArg(rows[k]), x86.MemArg(g.quarter(a, u, q*per+k)), x86.ImmArg(int64(q)))
				rows[k] = x
			}
		}
		columns := g.turn(rows, a.w)
		for i, m := range moves {
			g.move(homes[i].vec[u], columns[m.Offset%prepare.PieceBytes/size])
		}
	})
}

// storePiece stores the variables of the moves.
func (g *gen) storePiece(a apart, moves []analysis.FieldMove) {
	per := len(moves)
	columns := make([][]x86.Reg, per)
	for i, m := range moves {
		columns[i] = g.vec(&ir.Ref{Var: m.V, At: m.Place.Pos()})
	}
	g.each(func(u int) {
		rows := make([]x86.Reg, per)
		for i := range rows {
			rows[i] = columns[i][u]
		}
		for k, r := range g.turn(rows, a.w) {
			g.Op(x86.VMOVUPSStore, x86.W128, x86.MemArg(g.quarter(a, u, k)), x86.RegArg(r))
			for q := 1; q < g.lanes/per; q++ {
				extract, w := x86.VEXTRACTF128, x86.W256
				if g.avx512 {
					extract, w = x86.VEXTRACTF32X4, a.w
				}
				g.Op(extract, w, x86.MemArg(g.quarter(a, u, q*per+k)), x86.RegArg(r), x86.ImmArg(int64(q)))
			}
		}
	})
}

// turn exchanges rows and columns, in every 16 bytes of four vectors of 32-bit lanes or two of
// 64-bit ones.
func (g *gen) turn(x []x86.Reg, w x86.Width) []x86.Reg {
	two := func(op x86.Op, x, y x86.Reg) x86.Reg {
		r := g.NewVector()
		g.Op(op, w, x86.RegArg(r), x86.RegArg(x), x86.RegArg(y))
		return r
	}
	if len(x) == 2 {
		return []x86.Reg{two(x86.VUNPCKLPD, x[0], x[1]), two(x86.VUNPCKHPD, x[0], x[1])}
	}
	a, b, c, d := two(x86.VUNPCKLPS, x[0], x[1]), two(x86.VUNPCKHPS, x[0], x[1]), two(x86.VUNPCKLPS, x[2], x[3]), two(x86.VUNPCKHPS, x[2], x[3])
	return []x86.Reg{two(x86.VUNPCKLPD, a, c), two(x86.VUNPCKHPD, a, c), two(x86.VUNPCKLPD, b, d), two(x86.VUNPCKHPD, b, d)}
}
