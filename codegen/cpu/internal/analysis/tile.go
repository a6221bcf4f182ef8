package analysis

import "github.com/gompss/gompss/codegen/ir"

// A Tile is a nest "rows { lanes { ... loops inside ... } }" of two loops that directives free, of
// which several rows run at once: their loops inside are jammed into one, so that what all rows
// read - a row of the second matrix of a product - is loaded once for all of them, and the values
// that the rows carry through these loops stay in registers.
//
// The sums of a row keep their order, so that it changes no result. All accesses are checked
// before, for all rows; where that is not possible, or fails, rows run one by one as elsewhere.
//
// Source: unroll-and-jam as in Callahan, Carr and Kennedy, "Improving Register Allocation for
// Subscripted Variables", PLDI 1990.
type Tile struct {
	Rows, Lanes *ir.For
	Local       *ir.VarSet // declared inside lanes
	Most        int        // rows at once
	Copies      int        // vectors of every row at once
}

// Jams reports whether several rows of the statements may take turns: assignments of numbers, and
// loops that all rows go through alike.
func (t *Tile) Jams(body []ir.Stmt, fixed func(ir.Expr) bool) bool {
	for _, s := range body {
		switch s := s.(type) {
		case *ir.Decl:
			if !s.Var.Type.IsScalar() {
				return false
			}
		case *ir.Assign:
			ref, local := s.Place.(*ir.Ref)
			if local && !t.Local.Has(ref.Var) || !local && !s.Place.Type().IsScalar() {
				return false
			}
		case *ir.For:
			if _, ok := ir.ConstStep(s); !ok || s.Rel == ir.Ne || len(ReductionsOf(s)) > 0 || !fixed(s.Lo) || !fixed(s.Hi) || !t.Jams(s.Body, fixed) {
				return false
			}
		default:
			return false
		}
	}
	return true
}

func (t *Tile) HoldsLoop() bool {
	for _, s := range t.Lanes.Body {
		if _, ok := s.(*ir.For); ok {
			return true
		}
	}
	return false
}

// Counters are the loops of the nest by their variables.
func (t *Tile) Counters() map[*ir.Var]*ir.For {
	out := map[*ir.Var]*ir.For{t.Rows.Var: t.Rows, t.Lanes.Var: t.Lanes}
	ir.WalkStmts(t.Lanes.Body, func(s ir.Stmt) bool {
		if f, ok := s.(*ir.For); ok {
			out[f.Var] = f
		}
		return true
	})
	return out
}

// TileRoom is the number of vector registers that a tile may take.
func TileRoom(avx512 bool) int {
	if avx512 {
		return 28
	}
	return 12
}

// Fit chooses how many rows and vectors at once the registers hold.
func (t *Tile) Fit(room int, fuses bool) bool {
	held, temps := 0, 2 // an element of a row in all lanes, and a constant
	ir.WalkStmts(t.Lanes.Body, func(s ir.Stmt) bool {
		if _, ok := s.(*ir.Decl); ok {
			held++
		}
		return true
	})
	shared := 0
	t.sharedLoads(t.Lanes.Body, func(*ir.Index) { shared++ })
	if shared == 0 || held == 0 {
		return false
	}
	for _, c := range []struct{ rows, copies int }{{8, 2}, {4, 2}, {4, 1}, {2, 2}, {2, 1}} {
		need := held*c.rows*c.copies + shared*c.copies + temps
		if !fuses {
			need += c.copies
		}
		if need <= room {
			t.Most, t.Copies = c.rows, c.copies
			return true
		}
	}
	return false
}

// sharedLoads calls f for the elements, in statements that are no loops, that all rows read.
func (t *Tile) sharedLoads(body []ir.Stmt, f func(*ir.Index)) {
	for _, s := range body {
		if l, ok := s.(*ir.For); ok {
			t.sharedLoads(l.Body, f)
			continue
		}
		ir.StmtExprs(s, func(e ir.Expr) {
			if a, ok := s.(*ir.Assign); ok && e == a.Place {
				return
			}
			ir.WalkExpr(e, func(x ir.Expr) bool {
				ix, ok := x.(*ir.Index)
				if ok && t.shares(ix) {
					f(ix)
				}
				return !ok
			})
		})
	}
}

// shares reports whether the element is the same for all rows.
func (t *Tile) shares(ix *ir.Index) bool {
	if ix.X.Type().Kind != ir.Slice || !ix.Type().IsScalar() || ix.Type().Kind == ir.Bool {
		return false
	}
	lanes := false
	for _, v := range ir.ExprVars(ix).List() {
		if v == t.Rows.Var || t.Local.Has(v) && t.Counters()[v] == nil {
			return false
		}
		lanes = lanes || v == t.Lanes.Var
	}
	return lanes
}

// A jamming makes the body of a tile's lanes loop for several rows.
type jamming struct {
	*Tile
	variable func(like *ir.Var) *ir.Var
	shared   map[*ir.Var]bool // hold what all rows read
}

// Jam returns the body for rows v, v+step, ... where step is that of the rows.
func (t *Tile) Jam(variable func(like *ir.Var) *ir.Var, v *ir.Var, step int64) []ir.Stmt {
	j := &jamming{Tile: t, variable: variable, shared: map[*ir.Var]bool{}}
	body := j.share((&ir.Rewrite{Expr: func(e ir.Expr) ir.Expr {
		if ix, ok := e.(*ir.Index); ok {
			ix.Checked = false // all rows were looked at before
		}
		return e
	}}).CopyStmts(t.Lanes.Body))
	copies := make([][]ir.Stmt, t.Most)
	for r := range copies {
		copies[r] = j.row(body, v, int64(r)*step)
	}
	return j.join(copies)
}

// share puts what all rows read into variables of its own.
func (j *jamming) share(body []ir.Stmt) []ir.Stmt {
	var out []ir.Stmt
	for _, s := range body {
		if l, ok := s.(*ir.For); ok {
			l.Body = j.share(l.Body)
			out = append(out, l)
			continue
		}
		with := map[string]*ir.Var{}
		j.sharedLoads([]ir.Stmt{s}, func(ix *ir.Index) {
			key := ir.ExprKey(ix)
			if with[key] != nil {
				return
			}
			v := j.variable(&ir.Var{Name: "all", Type: ix.Type(), Space: ir.Local, At: ix.At})
			with[key], j.shared[v] = v, true
			out = append(out, &ir.Decl{Var: v, Init: ix, At: ix.At})
		})
		swap := &ir.Rewrite{Expr: func(e ir.Expr) ir.Expr {
			if ix, ok := e.(*ir.Index); ok {
				if v := with[ir.ExprKey(ix)]; v != nil {
					return &ir.Ref{Var: v, At: ix.At}
				}
			}
			return e
		}}
		switch s := s.(type) {
		case *ir.Decl:
			s.Init = swap.CopyExpr(s.Init)
		case *ir.Assign:
			s.Value = swap.CopyExpr(s.Value)
			if ix, ok := s.Place.(*ir.Index); ok {
				ix.I = swap.CopyExpr(ix.I)
			}
		}
		out = append(out, s)
	}
	return out
}

// row is the body for row v + offset, with variables of its own but for what all rows share.
func (j *jamming) row(body []ir.Stmt, v *ir.Var, offset int64) []ir.Stmt {
	own := map[*ir.Var]*ir.Var{}
	for _, d := range ir.Declared(body).List() {
		if !j.shared[d] && j.Counters()[d] == nil {
			own[d] = j.variable(d)
		}
	}
	return (&ir.Rewrite{Var: func(x *ir.Var) *ir.Var {
		if c := own[x]; c != nil {
			return c
		}
		return x
	}, Expr: func(e ir.Expr) ir.Expr {
		r, ok := e.(*ir.Ref)
		if !ok || r.Var != j.Rows.Var {
			return e
		}
		row := &ir.Ref{Var: v, At: r.At}
		if offset == 0 {
			return row
		}
		return &ir.Binary{Op: ir.Add, X: row, Y: &ir.Const{T: v.Type, Bits: uint64(offset), At: r.At}, T: v.Type, At: r.At}
	}}).CopyStmts(body)
}

// join lets the rows take turns, statement by statement.
func (j *jamming) join(rows [][]ir.Stmt) []ir.Stmt {
	var out []ir.Stmt
	for p, s := range rows[0] {
		if l, ok := s.(*ir.For); ok {
			inside := make([][]ir.Stmt, len(rows))
			for r := range rows {
				inside[r] = rows[r][p].(*ir.For).Body
			}
			l.Directive, l.Body = nil, j.join(inside)
			out = append(out, l)
			continue
		}
		d, ok := s.(*ir.Decl)
		if ok && j.shared[d.Var] {
			out = append(out, s)
			continue
		}
		for r := range rows {
			out = append(out, rows[r][p])
		}
	}
	return out
}

// Counted takes v or v*y apart, where v is a counter.
func Counted(e ir.Expr, counters map[*ir.Var]*ir.For) (v *ir.Var, y ir.Expr, ok bool) {
	if c, isConvert := e.(*ir.Convert); isConvert && ir.IsWide(c.T) && c.X.Type().IsInteger() && c.X.Type().IsSigned() {
		e = c.X
	}
	if r, isRef := e.(*ir.Ref); isRef {
		return r.Var, nil, counters[r.Var] != nil
	}
	for v := range counters {
		if _, y, ok := FactorsOf(e, v); ok {
			return v, y, true
		}
	}
	return nil, nil, false
}
