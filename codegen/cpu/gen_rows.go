package cpu

import (
	"github.com/gompss/gompss/codegen/cpu/prepare"
	"github.com/gompss/gompss/codegen/cpu/x86"
	"github.com/gompss/gompss/codegen/ir"
)

// Fields of structs that lie in one piece of 16 bytes are loaded and stored so, a piece for each
// lane, and turned: four vectors that hold four pieces each, of every fourth lane, are the four
// fields of all lanes after eight operations, and the other way round.

// A fieldMove is a statement that loads a field into a new variable, or stores a variable to one.
type fieldMove struct {
	place  ir.Expr
	v      *ir.Var
	load   bool
	slice  *ir.Var
	index  *ir.Index
	offset int64 // bytes from the start of the element
}

// fieldMoveOf tells whether s is one.
func fieldMoveOf(s ir.Stmt) (m fieldMove, ok bool) {
	switch s := s.(type) {
	case *ir.Decl:
		m.place, m.v, m.load = s.Init, s.Var, true
	case *ir.Assign:
		r, isRef := s.Value.(*ir.Ref)
		if !isRef {
			return m, false
		}
		m.place, m.v = s.Place, r.Var
	default:
		return m, false
	}
	if m.place == nil || !prepare.IsElement(m.place) {
		return m, false
	}
	t := m.place.Type()
	if !t.IsScalar() || t.Kind == ir.Bool || t.Size < 4 {
		return m, false
	}
	for x := m.place; ; {
		switch p := x.(type) {
		case *ir.Member:
			m.offset += int64(p.X.Type().Fields[p.Field].Offset)
			x = p.X
		case *ir.Index:
			if p.X.Type().Kind == ir.Slice {
				r, isRef := p.X.(*ir.Ref)
				if !isRef {
					return m, false
				}
				m.slice, m.index = r.Var, p
				return m, m.offset%int64(t.Size) == 0
			}
			c, constant := ir.ConstInt(p.I)
			if !constant {
				return m, false
			}
			m.offset += c * int64(p.Type().Size)
			x = p.X
		default:
			return m, false
		}
	}
}

// piece selects the statements at the beginning of list that move fields of one piece, and returns
// how many they are: 0 where there are none.
func (g *gen) piece(list []ir.Stmt) int {
	if g.shapes == nil || g.exec != nil || g.serialBase > 0 || len(list) < 2 {
		return 0
	}
	if n := g.record(list); n > 0 {
		return n
	}
	moves := piecesOf(list)
	if len(moves) < 2 {
		return 0
	}
	first, t := moves[0], moves[0].place.Type()
	h, sh := g.homes[first.slice], g.shape(first.index.I)
	if h == nil || h.per > 0 || sh.kind != affine || !first.load && len(moves) != prepare.PieceBytes/int(t.Size) || g.lanes*int(t.Size) < prepare.PieceBytes || g.width(t).Bytes() != g.lanes*int(t.Size) {
		return 0
	}
	for _, m := range moves {
		if g.checks(m.index) || m.load && g.shapes.of[m.v].kind != varying {
			return 0
		}
	}
	a, ok := g.apartOf(g.target(first.place), t)
	if !ok {
		return 0
	}
	a.at.mem.Disp += int32(first.offset/prepare.PieceBytes*prepare.PieceBytes - first.offset)
	old := g.At
	g.At = list[0].Pos()
	if first.load {
		g.loadPiece(a, moves)
	} else {
		g.storePiece(a, moves)
	}
	g.At = old
	return len(moves)
}

// piecesOf are the moves at the beginning of list between one piece and variables, of scalars of
// one size, in order.
func piecesOf(list []ir.Stmt) []fieldMove {
	var out []fieldMove
	for _, s := range list {
		m, ok := fieldMoveOf(s)
		if !ok {
			break
		}
		if len(out) > 0 {
			first, last := out[0], out[len(out)-1]
			if m.load != first.load || m.slice != first.slice || ir.ExprKey(m.index.I) != ir.ExprKey(first.index.I) || m.place.Type().Size != first.place.Type().Size ||
				m.offset/prepare.PieceBytes != first.offset/prepare.PieceBytes || m.offset <= last.offset {
				break
			}
		} else if (m.offset/prepare.PieceBytes+1)*prepare.PieceBytes > int64(m.index.Type().Size) {
			break // it goes past the end of the element
		}
		out = append(out, m)
	}
	return out
}

// quarter is the memory of the n-th lane's piece.
func (g *gen) quarter(a apart, u, n int) x86.Mem {
	return g.copyMem(a.at, u).Plus(int64(n) * a.at.stride)
}

// loadPiece declares the variables of the moves with what the lanes have in the piece.
func (g *gen) loadPiece(a apart, moves []fieldMove) {
	size := int64(a.t.Size)
	per := int(prepare.PieceBytes / size)
	var homes []*home
	for _, m := range moves {
		homes = append(homes, g.declare(m.v))
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
			g.move(homes[i].vec[u], columns[m.offset%prepare.PieceBytes/size])
		}
	})
}

// storePiece stores the variables of the moves.
func (g *gen) storePiece(a apart, moves []fieldMove) {
	per := len(moves)
	columns := make([][]x86.Reg, per)
	for i, m := range moves {
		columns[i] = g.vec(&ir.Ref{Var: m.v, At: m.place.Pos()})
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
