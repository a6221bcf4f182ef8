package strategy

import (
	"slices"

	"github.com/gompss/gompss/codegen/internal/analysis"
	"github.com/gompss/gompss/codegen/internal/analysis/affine"
	"github.com/gompss/gompss/codegen/internal/integers"
	"github.com/gompss/gompss/codegen/internal/lower/forms"
	"github.com/gompss/gompss/codegen/internal/lower/spaces"
	"github.com/gompss/gompss/codegen/internal/lower/strategy/bodies"
	"github.com/gompss/gompss/codegen/ir"
	"github.com/gompss/gompss/codegen/ir/build"
	"github.com/gompss/gompss/codegen/ir/query"
)

// A nest in which each iteration reads its own row of memory, as in a batch of matrix-vector
// products, is collapsed to one loop over all rows, so that the strategies for rows of one loop
// apply. Rows that several iterations read are left to the strategy "blocks", which loads them
// once.

// flattened returns the collapsed iteration space of n, and the declarations that compute the
// induction variables of n from the one of that space. It returns nil if iterations share rows.
func flattened(t *Sharer, n Sharing) (sp *spaces.Space, ahead, decode []ir.Stmt) {
	if len(n.Sp.Loops) < 2 || t.Slow || n.P.Only != nil || !ownRows(n) {
		return nil, nil, nil
	}
	for _, f := range n.Sp.Loops {
		if lo, ok := query.Int64(f.Lo); !ok || lo != 0 || !forms.Counts(f) {
			return nil, nil, nil
		}
	}
	at := n.Sp.At
	number := t.Local("row", ir.IntType, at)
	counting, ahead := t.Counted(n.Sp)
	f := &ir.For{Label: &ir.Label{}, Var: number, Lo: build.Int(0, at), Hi: n.Sp.Count(), Step: build.Int(1, at), Rel: ir.Lt, At: at}
	return &spaces.Space{Loops: []*ir.For{f}, Order: []int{0}, Label: n.Sp.Label, At: at}, ahead, t.Decode(n.Sp, counting, build.Ref(number, at))
}

// ownRows reports whether an inner loop of n has a contiguous read of elements that no other
// iteration reads, and no read that is contiguous across neighbouring iterations.
func ownRows(n Sharing) bool {
	own, beside := false, false
	column := n.Sp.Loops[n.Sp.Order[len(n.Sp.Order)-1]].Var
	for _, s := range bodies.Propagate(query.Flatten(n.Body)) {
		f, ok := s.(*ir.For)
		if !ok {
			continue
		}
		ir.WalkExprs(f.Body, func(e ir.Expr) bool {
			ix, ok := e.(*ir.Index)
			if !ok {
				return true
			}
			form, known := affine.Of(ix.I)
			if !known || ix.X.Type().Kind != ir.Slice {
				return true
			}
			if near(form, column, 1) {
				beside = true
			}
			mine := near(form, f.Var, 1) && !near(form, column, bodies.FarStride)
			for _, g := range n.Sp.Loops {
				mine = mine && form.Has(g.Var)
			}
			own = own || mine
			return true
		})
	}
	return own && !beside
}

// near reports whether form depends on v with a stride of at most most elements.
func near(form affine.Form, v *ir.Var, most uint64) bool {
	coef, ok := form.Coef(v)
	c, isConst := coef.Const()
	return ok && isConst && c != 0 && integers.Magnitude(c) <= most
}

// inNumbers returns the place of ix over the number of an iteration, where the rows of the
// iterations follow each other.
func inNumbers(sp *spaces.Space, ix *ir.Index, number *ir.Var) (affine.Form, bool) {
	form, ok := affine.Of(ix.I)
	if !ok || !slices.IsSorted(sp.Order) {
		return form, false
	}
	var apart affine.Form // of neighbours of the loop inside
	for k, f := range slices.Backward(sp.Loops) {
		coef, ok := form.Coef(f.Var)
		if !ok || k == len(sp.Loops)-1 && len(coef.Terms) == 0 || k < len(sp.Loops)-1 && !coef.Equal(apart) {
			return form, false
		}
		count, known := affine.Of(f.Hi)
		if !known {
			return form, false
		}
		if k == len(sp.Loops)-1 {
			form = form.Without(f.Var).Add(coef.Mul(affine.OfVar(number)))
		} else {
			form = form.Without(f.Var)
		}
		apart = coef.Mul(count)
	}
	return form, form.Known()
}

// lanesOfNest is lanes for a nest.
func lanesOfNest(t *Sharer, n Sharing) []ir.Stmt {
	sp, ahead, decode := flattened(t, n)
	if sp == nil || rereads(n.Body) {
		return nil
	}
	return behind(ahead, t.lanes(sp, n.D, n.P, append(decode, n.Body...), n.Grid), sp.At)
}

// longRowsOfNest is rowsOfNest where rows are known to be so long that teams go along them. Where
// that is not known the launch chooses how many lanes a row has, if these may add up in any order.
func longRowsOfNest(t *Sharer, n Sharing) []ir.Stmt {
	for _, s := range query.Flatten(n.Body) {
		if f, ok := s.(*ir.For); ok {
			if trips, known := analysis.ConstTrips(f); !known || trips < t.Device().Tuning.Rows.Least {
				return nil
			}
		}
	}
	return rowsOfNest(t, n)
}

// rowsOfNest is rowTiles for a nest.
func rowsOfNest(t *Sharer, n Sharing) []ir.Stmt {
	sp, ahead, decode := flattened(t, n)
	if sp == nil {
		return nil
	}
	along := &ir.Rewrite{Expr: func(e ir.Expr) ir.Expr {
		if ix, ok := e.(*ir.Index); ok {
			if form, ok := inNumbers(n.Sp, ix, sp.Loops[0].Var); ok {
				own := *ix
				own.I = form.Expr(ix.At)
				return &own
			}
		}
		return e
	}}
	body := append(decode, along.CopyStmts(bodies.Propagate(query.Flatten(n.Body)))...)
	return behind(ahead, rowTiles(t, sp, n.D, n.P, body), sp.At)
}

// rereads reports whether list reads a slice in front of a loop that it stores into behind it: the
// lanes of a row all do the one, and one of them the other, with no barrier in between.
func rereads(list []ir.Stmt) bool {
	list = query.Flatten(list)
	stored, read := &ir.VarSet{}, &ir.VarSet{}
	for _, s := range list {
		switch s := s.(type) {
		case *ir.For:
			continue
		case *ir.Assign:
			if v := query.BaseVar(s.Place); v != nil && !query.IsRef(s.Place) {
				stored.Add(v)
			}
		case *ir.Decl:
			for _, v := range ir.ExprVars(forms.OrZero(s.Init)).List() {
				read.Add(v)
			}
		}
	}
	return slices.ContainsFunc(stored.List(), read.Has)
}

// behind returns list with ahead in front, nil where there is no list.
func behind(ahead, list []ir.Stmt, at ir.Pos) []ir.Stmt {
	if list == nil {
		return nil
	}
	return []ir.Stmt{&ir.Block{Body: append(ahead, list...), At: at}}
}

// wholeLines returns the space of n with rows that begin and end at lines of the cache, and the
// condition under which an iteration is one of n. Of rows that begin elsewhere, as those of an
// interior do, each warp stores parts of lines that another warp completes. It returns nil where
// rows begin at lines already, or where that is not known.
func wholeLines(t *Sharer, n Sharing) (*spaces.Space, ir.Expr) {
	last := len(n.Sp.Order) - 1
	switch n.D.Schedule.Kind {
	case ir.ScheduleNone, ir.ScheduleStatic, ir.ScheduleAuto:
	default:
		return nil, nil
	}
	if last < 1 || t.Slow || !n.Grid || len(n.Sums) > 0 || n.P.Only != nil || len(n.P.Deals) > 0 || n.D.Schedule.Chunk != nil {
		return nil, nil
	}
	f := *n.Sp.Loops[n.Sp.Order[last]]
	lo, okLo := query.Int64(f.Lo)
	hi, okHi := query.Int64(f.Hi)
	each := storedInLine(t, n.Body, f.Var)
	if !okLo || !okHi || !forms.Counts(&f) || each < 2 || lo < 0 || lo%each == 0 {
		return nil, nil
	}
	from, to := lo-lo%each, (hi+each-1)/each*each
	if (to-from-(hi-lo))*t.Device().Tuning.Rows.Idle > hi-lo {
		return nil, nil
	}
	at := f.At
	inside := build.Compare(ir.LAnd, build.Compare(ir.Le, build.Int(lo, at), build.Ref(f.Var, at), at), build.Compare(ir.Lt, build.Ref(f.Var, at), build.Int(hi, at), at), at)
	f.Lo, f.Hi = build.Int(from, at), build.Int(to, at)
	sp := *n.Sp
	sp.Loops = slices.Clone(sp.Loops)
	sp.Loops[sp.Order[last]] = &f
	if k := len(t.Trips.Grid) - 1; k >= 0 && !t.Trips.Unknown {
		if host := t.OnHost(sp.Count()); host != nil {
			t.Trips.Grid[k] = host
		}
	}
	t.Decide(at, "loop "+f.Var.Text(), "rows from whole lines of the cache on", "a warp then stores whole lines", AsItIs)
	return &sp, inside
}

// storedInLine returns how many iterations of the loop over v store to a line of the cache, or 0
// unless all stores of body are to rows that begin at a line where v is a multiple of that.
func storedInLine(t *Sharer, body []ir.Stmt, v *ir.Var) int64 {
	defs := &analysis.AccessList{Defs: affine.Definitions{}, Changed: ir.Assigned(body), Taken: ir.AddressTaken(body)}
	defs.Stmts(body)
	var each int64
	fine := defs.Why == ""
	ir.WalkStmts(body, func(s ir.Stmt) bool {
		a, ok := s.(*ir.Assign)
		if !ok || query.IsRef(a.Place) || !fine {
			return fine
		}
		ix, ok := a.Place.(*ir.Index)
		if !ok || ix.X.Type().Kind != ir.Slice || !query.IsRef(ix.X) || ix.Type().Size == 0 {
			fine = false
			return false
		}
		n := int64(t.Device().Memory.Line / ix.Type().Size)
		form := defs.Defs.Form(ix.I)
		_, multiple := bodies.AlignedForm(form, v, max(n, 1), true)
		fine = fine && form.Known() && multiple && n > 1 && (each == 0 || each == n)
		each = n
		return fine
	})
	if !fine {
		return 0
	}
	return each
}
