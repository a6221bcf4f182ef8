package cpu

import (
	"github.com/gompss/gompss/codegen/cpu/image"
	"github.com/gompss/gompss/codegen/cpu/mach"
	"github.com/gompss/gompss/codegen/cpu/x86"
	"github.com/gompss/gompss/codegen/ir"
)

// A tile is a nest "rows { lanes { ... loops inside ... } }" of two loops that directives free, of
// which several rows run at once: their loops inside are jammed into one, so that what all rows
// read - a row of the second matrix of a product - is loaded once for all of them, and the values
// that the rows carry through these loops stay in registers.
//
// The sums of a row keep their order, so that it changes no result. All accesses are checked
// before, for all rows; where that is not possible, or fails, rows run one by one as elsewhere.
//
// Source: unroll-and-jam as in Callahan, Carr and Kennedy, "Improving Register Allocation for
// Subscripted Variables", PLDI 1990.
type tile struct {
	rows, lanes *ir.For
	local       *ir.VarSet // declared inside lanes
	most        int        // rows at once
	copies      int        // vectors of every row at once
}

// tileOf finds the tile of a parallel loop; nil where there is none, or it would gain nothing.
func (g *gen) tileOf(rows, lanes *ir.For) *tile {
	if len(rows.Body) != 1 || rows.Body[0] != ir.Stmt(lanes) || len(reductionsOf(rows))+len(reductionsOf(lanes)) > 0 || rows.Rel == ir.Ne || lanes.Rel == ir.Ne {
		return nil
	}
	t := &tile{rows: rows, lanes: lanes, local: ir.Declared(lanes.Body)}
	changes := changedIn(rows)
	fixed := (&loopFrame{changes: changes}).fixed
	if !fixed(lanes.Lo) || !fixed(lanes.Hi) || !t.jams(lanes.Body, fixed) || !t.holdsLoop() {
		return nil
	}
	counters := t.counters()
	good := true
	ir.Inspect(lanes.Body, nil, func(e ir.Expr) {
		if ix, ok := e.(*ir.Index); ok && ix.Checked {
			good = good && g.cornered(ix, counters, fixed)
		}
	})
	if !good || !t.fit(room(g.avx512), g.kernel.Fuses()) {
		return nil
	}
	return t
}

// jams tells whether several rows of the statements may take turns: assignments of numbers, and
// loops that all rows go through alike.
func (t *tile) jams(body []ir.Stmt, fixed func(ir.Expr) bool) bool {
	for _, s := range body {
		switch s := s.(type) {
		case *ir.Decl:
			if !s.Var.Type.IsScalar() {
				return false
			}
		case *ir.Assign:
			ref, local := s.Place.(*ir.Ref)
			if local && !t.local.Has(ref.Var) || !local && !s.Place.Type().IsScalar() {
				return false
			}
		case *ir.For:
			if _, ok := ir.ConstStep(s); !ok || s.Rel == ir.Ne || len(reductionsOf(s)) > 0 || !fixed(s.Lo) || !fixed(s.Hi) || !t.jams(s.Body, fixed) {
				return false
			}
		default:
			return false
		}
	}
	return true
}

func (t *tile) holdsLoop() bool {
	for _, s := range t.lanes.Body {
		if _, ok := s.(*ir.For); ok {
			return true
		}
	}
	return false
}

// counters are the loops of the nest by their variables.
func (t *tile) counters() map[*ir.Var]*ir.For {
	out := map[*ir.Var]*ir.For{t.rows.Var: t.rows, t.lanes.Var: t.lanes}
	ir.WalkStmts(t.lanes.Body, func(s ir.Stmt) bool {
		if f, ok := s.(*ir.For); ok {
			out[f.Var] = f
		}
		return true
	})
	return out
}

// room is how many vector registers a tile may take.
func room(avx512 bool) int {
	if avx512 {
		return 28
	}
	return 12
}

// fit chooses how many rows and vectors at once the registers hold.
func (t *tile) fit(room int, fuses bool) bool {
	held, temps := 0, 2 // an element of a row in all lanes, and a constant
	ir.WalkStmts(t.lanes.Body, func(s ir.Stmt) bool {
		if _, ok := s.(*ir.Decl); ok {
			held++
		}
		return true
	})
	shared := 0
	t.sharedLoads(t.lanes.Body, func(*ir.Index) { shared++ })
	if shared == 0 || held == 0 {
		return false
	}
	for _, c := range []struct{ rows, copies int }{{8, 2}, {4, 2}, {4, 1}, {2, 2}, {2, 1}} {
		need := held*c.rows*c.copies + shared*c.copies + temps
		if !fuses {
			need += c.copies
		}
		if need <= room {
			t.most, t.copies = c.rows, c.copies
			return true
		}
	}
	return false
}

// sharedLoads calls f for the elements, in statements that are no loops, that all rows read.
func (t *tile) sharedLoads(body []ir.Stmt, f func(*ir.Index)) {
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

// shares tells whether the element is the same for all rows.
func (t *tile) shares(ix *ir.Index) bool {
	if ix.X.Type().Kind != ir.Slice || !ix.Type().IsScalar() || ix.Type().Kind == ir.Bool {
		return false
	}
	lanes := false
	for _, v := range ir.ExprVars(ix).List() {
		if v == t.rows.Var || t.local.Has(v) && t.counters()[v] == nil {
			return false
		}
		lanes = lanes || v == t.lanes.Var
	}
	return lanes
}

// A jamming makes the body of a tile's lanes loop for several rows.
type jamming struct {
	*tile
	variable func(like *ir.Var) *ir.Var
	shared   map[*ir.Var]bool // hold what all rows read
}

// variable makes a new variable like v.
func (g *gen) variable(v *ir.Var) *ir.Var {
	c := *v
	g.made++
	c.ID = g.kernel.NumVars + g.made
	return &c
}

// jam returns the body for rows v, v+step, ... where step is that of the rows.
func (t *tile) jam(variable func(like *ir.Var) *ir.Var, v *ir.Var, step int64) []ir.Stmt {
	j := &jamming{tile: t, variable: variable, shared: map[*ir.Var]bool{}}
	body := j.share((&ir.Rewrite{Expr: func(e ir.Expr) ir.Expr {
		if ix, ok := e.(*ir.Index); ok {
			ix.Checked = false // all rows were looked at before
		}
		return e
	}}).CopyStmts(t.lanes.Body))
	copies := make([][]ir.Stmt, t.most)
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
		if !j.shared[d] && j.counters()[d] == nil {
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
		if !ok || r.Var != j.rows.Var {
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

// tiled runs as many rows of the chunk as make whole tiles, and leaves the others. The loop over
// lanes is the outer one here: what all rows read stays in the caches for the next rows.
func (g *gen) tiled(t *tile) {
	step, _ := ir.ConstStep(t.rows)
	lo, hi := g.homes[g.tripLo].gp, g.homes[g.tripHi].gp
	rest := g.NewLabel()
	whole := g.NewGeneral()
	g.move(whole, hi)
	g.Op(x86.SUBQ, x86.W128, x86.RegArg(whole), x86.RegArg(lo))
	g.Op(x86.ANDQImm, x86.W128, x86.RegArg(whole), x86.ImmArg(-int64(t.most)))
	g.Op(x86.TESTQ, x86.W128, x86.RegArg(whole), x86.RegArg(whole))
	g.Jump(mach.CondLE, rest)
	g.Op(x86.ADDQ, x86.W128, x86.RegArg(whole), x86.RegArg(lo))
	end := g.variable(g.tripHi)
	g.homes[end] = &home{gp: whole, length: x86.NoReg}
	g.proveCorners(t, between(t.rows, g.tripLo, end), rest)
	rows := between(t.rows, g.tripLo, end)
	rows.Var = g.variable(t.rows.Var)
	rows.Step = &ir.Const{T: ir.IntType, Bits: uint64(step * int64(t.most)), At: rows.At}
	rows.Body = t.jam(g.variable, rows.Var, step)
	lanes := *t.lanes
	lanes.Body = []ir.Stmt{rows}
	g.lanesFor[&lanes] = true
	g.note("the loop at %s takes %d rows at once, %d vectors of each", t.rows.At, t.most, t.copies)
	unroll, round := g.unroll, g.round
	g.unroll = t.copies
	g.forStmt(&lanes)
	g.unroll, g.round = unroll, max(round, int64(t.most))
	g.Op(x86.MOVQStore, x86.W128, blockWord(image.WordLo), x86.RegArg(whole))
	g.Place(rest)
	g.loadAgain()
}

// loadAgain loads what outlives the stage from the block once more, so that nothing that comes
// before has to keep it in registers.
func (g *gen) loadAgain() {
	for _, v := range g.entered {
		g.homes[v] = g.loadWord(v, g.frame.word[v])
	}
	for word, v := range []*ir.Var{image.WordLo: g.tripLo, image.WordHi: g.tripHi} {
		h := &home{gp: g.NewGeneral(), length: x86.NoReg}
		g.Op(x86.MOVQ, x86.W128, x86.RegArg(h.gp), blockWord(word))
		g.homes[v] = h
	}
}

// cornered tells whether the index is a sum of counters, products of a counter and what the nest
// does not change, and what it does not change: it is extreme where all counters are.
func (g *gen) cornered(ix *ir.Index, counters map[*ir.Var]*ir.For, fixed func(ir.Expr) bool) bool {
	root, ok := ix.X.(*ir.Ref)
	if !ok || ix.X.Type().Kind != ir.Slice || g.homes[root.Var] == nil || !fixed(root) {
		return false
	}
	weight := 0
	for _, t := range linearOf(ix.I).terms {
		if t.coef > 1<<20 || t.coef < -1<<20 {
			return false
		}
		if fixed(t.expr) {
			if !g.known([]term{t}) {
				return false
			}
			continue
		}
		_, y, ok := counted(t.expr, counters)
		if !ok || y != nil && (!fixed(y) || !g.known([]term{{expr: y}})) {
			return false
		}
		if y != nil {
			weight += int(max(t.coef, -t.coef))
		}
	}
	return weight <= 3 // products of numbers below 2^31: no more of them than an unsigned number holds
}

// counted takes v or v*y apart, where v is a counter.
func counted(e ir.Expr, counters map[*ir.Var]*ir.For) (v *ir.Var, y ir.Expr, ok bool) {
	if c, isConvert := e.(*ir.Convert); isConvert && ir.IsWide(c.T) && c.X.Type().IsInteger() && c.X.Type().IsSigned() {
		e = c.X
	}
	if r, isRef := e.(*ir.Ref); isRef {
		return r.Var, nil, counters[r.Var] != nil
	}
	for v := range counters {
		if _, y, ok := factorsOf(e, v); ok {
			return v, y, true
		}
	}
	return nil, nil, false
}

// ends are the least and the greatest value of a counter.
type ends struct{ lo, hi x86.Reg }

// proveCorners jumps to fail unless all accesses of the tile are in range for all iterations. rows
// is its outer loop restricted to those that are to run.
func (g *gen) proveCorners(t *tile, rows *ir.For, fail mach.Label) {
	counters, of := t.counters(), map[*ir.Var]ends{}
	counters[t.rows.Var] = rows
	changes := changedIn(t.rows)
	fixed := (&loopFrame{changes: changes}).fixed
	small := map[string]x86.Reg{}
	seen := map[string]bool{}
	g.shared = map[string]x86.Reg{}
	ir.Inspect(t.lanes.Body, nil, func(e ir.Expr) {
		ix, ok := e.(*ir.Index)
		if !ok || !ix.Checked || seen[ir.ExprKey(ix)] {
			return
		}
		seen[ir.ExprKey(ix)] = true
		lo, hi := g.constGeneral(0), g.constGeneral(0)
		l := linearOf(ix.I)
		for _, term := range l.terms {
			if fixed(term.expr) {
				x := g.fitting(term.expr, small, fail)
				g.addTimes(lo, x, term.coef)
				g.addTimes(hi, x, term.coef)
				continue
			}
			v, y, _ := counted(term.expr, counters)
			if _, ok := of[v]; !ok {
				of[v] = g.endsOf(counters[v], fail)
			}
			first, last := of[v].lo, of[v].hi
			if y != nil {
				f := g.fitting(y, small, fail)
				g.Op(x86.TESTQ, x86.W128, x86.RegArg(f), x86.RegArg(f))
				g.Jump(mach.CondL, fail)
				first, last = g.product(first, f), g.product(last, f)
			}
			if term.coef < 0 {
				first, last = last, first
			}
			g.addTimes(lo, first, term.coef)
			g.addTimes(hi, last, term.coef)
		}
		length := g.homes[ix.X.(*ir.Ref).Var].length
		for _, r := range []x86.Reg{lo, hi} {
			g.addConst(r, l.c)
			g.Op(x86.CMPQ, x86.W128, x86.RegArg(r), x86.RegArg(length))
			g.Jump(mach.CondAE, fail)
		}
	})
	g.shared = nil
}

// fitting is the value of e, which is a small number from here on.
func (g *gen) fitting(e ir.Expr, small map[string]x86.Reg, fail mach.Label) x86.Reg {
	key := ir.ExprKey(e)
	if r, ok := small[key]; ok {
		return r
	}
	r := g.gp(e)
	g.fits(r, fail)
	small[key] = r
	return r
}

func (g *gen) product(x, y x86.Reg) x86.Reg {
	r := g.NewGeneral()
	g.move(r, x)
	g.Op(x86.IMULQ, x86.W128, x86.RegArg(r), x86.RegArg(y))
	return r
}

// addTimes adds coef*x to d.
func (g *gen) addTimes(d, x x86.Reg, coef int64) {
	if coef != 1 {
		y := g.NewGeneral()
		g.Op(x86.IMUL3Q, x86.W128, x86.RegArg(y), x86.RegArg(x), x86.ImmArg(coef))
		x = y
	}
	g.Op(x86.ADDQ, x86.W128, x86.RegArg(d), x86.RegArg(x))
}

// endsOf computes the ends of a counter; it jumps to fail where there are no iterations, or the
// numbers are large.
func (g *gen) endsOf(s *ir.For, fail mach.Label) ends {
	step, _ := ir.ConstStep(s)
	from, to := s.Lo, s.Hi
	if step < 0 {
		from, to = to, from
	}
	e := ends{lo: g.NewGeneral(), hi: g.NewGeneral()}
	g.move(e.lo, g.gp(from))
	g.move(e.hi, g.gp(to))
	if s.Rel == ir.Lt {
		g.addConst(e.hi, -1)
	} else if s.Rel == ir.Gt {
		g.addConst(e.lo, 1)
	}
	g.fits(e.lo, fail)
	g.fits(e.hi, fail)
	g.Op(x86.CMPQ, x86.W128, x86.RegArg(e.lo), x86.RegArg(e.hi))
	g.Jump(mach.CondG, fail)
	return e
}
