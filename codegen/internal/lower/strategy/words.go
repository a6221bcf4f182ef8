package strategy

import (
	"slices"
	"strconv"

	"github.com/gompss/gompss/codegen/internal/analysis"
	"github.com/gompss/gompss/codegen/internal/analysis/affine"
	"github.com/gompss/gompss/codegen/internal/lower/forms"
	"github.com/gompss/gompss/codegen/internal/lower/strategy/bodies"
	"github.com/gompss/gompss/codegen/internal/lower/unroll"
	"github.com/gompss/gompss/codegen/ir"
	"github.com/gompss/gompss/codegen/ir/build"
	"github.com/gompss/gompss/codegen/ir/query"
)

// The strategy "words" lets a thread execute several successive iterations of a loop over elements
// that are narrower than a word of memory, such as pixels and characters. What the iterations load
// and store is then contiguous, and the device compiler accesses it in whole words where the slices
// begin at multiples of them. All loads of the thread precede its stores, so that none is between
// the parts of a word.

// A wordLoop is a loop whose threads access whole words.
type wordLoop struct {
	*Sharer
	f       *ir.For
	body    []ir.Stmt
	defs    affine.Definitions
	changed *ir.VarSet // variables that the body assigns
	runs    []*wordRun
	conds   []ir.Expr // tests that slices do not overlap
}

// A wordRun is the places of a slice that iterations load, or store, a known distance apart.
type wordRun struct {
	slice  *ir.Var
	stored bool
	base   affine.Form // of a place, without the counter of the loop and constants
	each   int64       // elements from one iteration to the next
	places []int64     // of an iteration, beside base
	size   int64       // bytes of an element
}

// words returns the loop over n whose threads execute successive iterations, or nil if these access
// no narrow elements that are contiguous.
func words(t *Sharer, n Sharing) []ir.Stmt {
	sp, f := n.Sp, n.Sp.Loops[0]
	if t.Slow || !sp.Direct() || !forms.Counts(f) || n.P.Only != nil || n.D.Schedule.Chunk != nil || forms.LeavesIteration(n.Body, sp.Label) {
		return nil
	}
	switch n.D.Schedule.Kind {
	case ir.ScheduleNone, ir.ScheduleStatic, ir.ScheduleAuto:
	default:
		return nil
	}
	if _, ok := n.P.First.(*ir.Binary); !ok && (!isQuery(n.P.First, ir.ThreadNum) || !isQuery(n.P.Stride, ir.NumThreads)) {
		return nil
	}
	lo, known := query.Int64(f.Lo)
	if !known || lo < 0 {
		return nil
	}
	x := &wordLoop{Sharer: t, f: f, body: query.Flatten(n.Body)}
	if !x.fits() || mayPass(sp, x.body) {
		return nil
	}
	width := x.width()
	if width < 2 {
		return nil
	}
	at := sp.At
	t.Decide(at, "loop "+f.Var.Name, strconv.FormatInt(width, 10)+" successive iterations of a thread at once",
		"their elements are narrow: together they are whole words of memory", AsItIs)
	c := coarse{width: int(width), one: x.body, successive: x.successive, before: lo % width, merged: x.merged}
	if len(x.conds) == 0 {
		return severalAtOnce(t, sp, n.P, c)
	}
	var test ir.Expr = build.Bool(true, at)
	for _, e := range x.conds {
		test = build.Compare(ir.LAnd, test, e, at)
	}
	apart, out := t.Temp("apart", test, nil)
	plain := t.CopyOf(forms.Unwrapped(t.Walk(sp, n.P, n.Body, nil)), &t.Kernel.NumVars)
	out = append(out, &ir.If{Cond: apart, Then: severalAtOnce(t, sp, n.P, c), Else: plain, At: at})
	return []ir.Stmt{&ir.Block{Body: out, At: at}}
}

// fits reports whether the body is a short list of arithmetic and accesses to elements, whose loads
// can precede its stores. It collects the accesses, and the tests that slices are apart.
func (x *wordLoop) fits() bool {
	own := ir.Declared(x.body)
	x.defs, x.changed = affine.Definitions{}, ir.Assigned(x.body)
	list := &analysis.AccessList{Defs: x.defs, Changed: x.changed, Taken: ir.AddressTaken(x.body)}
	list.Stmts(x.body)
	if list.Why != "" {
		return false
	}
	var stores []*ir.Index
	ops, fine := 0, true
	for _, s := range x.body {
		var place ir.Expr
		switch s := s.(type) {
		case *ir.Decl:
			fine = fine && s.Var.Type.IsScalar()
		case *ir.Assign:
			place = s.Place
			if r, ok := place.(*ir.Ref); ok {
				fine = fine && own.Has(r.Var)
				place = nil
			}
		default:
			return false
		}
		ir.StmtExprs(s, func(e ir.Expr) {
			fine = fine && forms.PlainValue(e)
			ir.WalkExpr(e, func(y ir.Expr) bool {
				switch y := y.(type) {
				case *ir.Index:
					// What is stored is moved after all else: its place may not change meanwhile.
					moves := y == place && slices.ContainsFunc(ir.ExprVars(y.I).List(), x.changed.Has)
					fine = fine && !moves && x.access(y, y == place, stores)
					return !x.formed(y)
				case *ir.Binary:
					ops++
				case *ir.Math:
					ops += unroll.MathCost(y.Fn, x.Device().Tuning.Jam.PointOperations/4)
				}
				return true
			})
		})
		if ix, ok := place.(*ir.Index); ok {
			stores = append(stores, ix)
		}
		if !fine {
			return false
		}
	}
	jam := x.Device().Tuning.Jam
	return len(stores) > 0 && ops <= jam.PointOperations && wordsIn(x.body) <= jam.PointWords
}

// formed reports whether the place of ix has a form in which the counter has a constant factor.
func (x *wordLoop) formed(ix *ir.Index) bool {
	form, ok := x.defs.Of(ix.I)
	coef, single := form.Coef(x.f.Var)
	_, isConst := coef.Const()
	return ok && single && isConst
}

// access records ix, which comes after stores in the iteration. It returns false if ix may be one
// of their elements, or is stored at a place without a form.
func (x *wordLoop) access(ix *ir.Index, stored bool, stores []*ir.Index) bool {
	r, ok := ix.X.(*ir.Ref)
	if !ok || r.Var.Space != ir.Param {
		return false
	}
	form, _ := x.defs.Of(ix.I)
	for _, s := range stores {
		v := s.X.(*ir.Ref).Var
		if stored {
			continue // stores keep their order
		}
		if v != r.Var {
			x.apart(v, r.Var, ix.At)
			continue
		}
		there, ok := x.defs.Of(s.I)
		distance, isConst := form.Sub(there).Const()
		if !ok || !isConst || distance == 0 || slices.ContainsFunc(ir.ExprVars(ix.I).List(), x.changed.Has) {
			return false
		}
	}
	if !x.formed(ix) {
		return !stored
	}
	coef, _ := form.Coef(x.f.Var)
	each, _ := coef.Const()
	rest := form.Without(x.f.Var)
	var k int64
	for _, t := range rest.Terms {
		if len(t.Atoms) == 0 {
			k = t.Coef
		}
	}
	base := rest.AddConst(-k)
	for _, g := range x.runs {
		if g.slice == r.Var && g.stored == stored && g.each == each && g.base.Equal(base) {
			g.places = append(g.places, k)
			return true
		}
	}
	x.runs = append(x.runs, &wordRun{slice: r.Var, stored: stored, base: base, each: each, places: []int64{k}, size: int64(ix.Type().Size)})
	return true
}

// apart adds the test that v and w do not overlap.
func (x *wordLoop) apart(v, w *ir.Var, at ir.Pos) {
	for _, c := range x.conds {
		if a := c.(*ir.Apart); query.BaseVar(a.X) == v && query.BaseVar(a.Y) == w {
			return
		}
	}
	x.conds = append(x.conds, &ir.Apart{X: build.Ref(v, at), Y: build.Ref(w, at), At: at})
}

// width returns the number of iterations that a thread executes together: the one with the fewest
// accesses for each, where none of the slices has more than Tuning.Jam.Bytes of a thread. It
// returns 1 if no narrow elements become words.
func (x *wordLoop) width() int64 {
	d := x.Device()
	word, widest := int64(d.Memory.BankWidth), int64(d.Memory.Word)
	best, least := int64(1), 0.0
	for _, g := range x.runs {
		least += g.accesses(1, g.size)
	}
	most := int64(d.Tuning.Jam.Bytes)
	for w := int64(2); w <= most; w *= 2 {
		each, gains := 0.0, false
		for _, g := range x.runs {
			if bytes := max(g.each, -g.each) * g.size * w; bytes > most {
				return best
			}
			n := g.accesses(w, widest)
			gains = gains || g.size < word && g.each != 0 && n < g.accesses(1, g.size)
			each += n
		}
		if gains && each < least {
			best, least = w, each
		}
	}
	return best
}

// accesses returns how many accesses of at most so many bytes w iterations of a thread, which begin
// at a multiple of w, make for each iteration.
func (g *wordRun) accesses(w, widest int64) float64 {
	set := map[int64]bool{}
	for u := range w {
		for _, k := range g.places {
			set[(g.each*u+k)*g.size] = true
		}
	}
	n := 0
	for b := widest; b > g.size; b /= 2 {
		if g.each*w*g.size%b != 0 || !g.base.Known() || !multipleOf(g.base, b/g.size) {
			continue
		}
		for at := range set {
			whole := at%b == 0
			for o := int64(0); o < b; o += g.size {
				whole = whole && set[at+o]
			}
			if whole {
				n++
				for o := int64(0); o < b; o += g.size {
					delete(set, at+o)
				}
			}
		}
	}
	return float64(n+len(set)) / float64(w)
}

// multipleOf reports whether form is a multiple of n.
func multipleOf(form affine.Form, n int64) bool {
	for _, t := range form.Terms {
		if t.Coef%n != 0 {
			return false
		}
	}
	return true
}

// successive returns the body of iteration i+u, with each place as a sum in which i has one factor,
// so that the device compiler sees how far apart places are.
func (x *wordLoop) successive(i *ir.Var, u int64) []ir.Stmt {
	places := &ir.Rewrite{Expr: func(e ir.Expr) ir.Expr {
		ix, ok := e.(*ir.Index)
		if !ok || !x.formed(ix) {
			return e
		}
		form, _ := x.defs.Of(ix.I)
		own := *ix
		own.I = form.Subst(x.f.Var, affine.OfVar(i).AddConst(u)).Expr(ix.At)
		return &own
	}}
	next := build.Binary(ir.Add, build.Ref(i, x.f.At), build.Int(u, x.f.At), x.f.At)
	return ir.SubstStmts(places.CopyStmts(x.body), map[*ir.Var]ir.Expr{x.f.Var: next})
}

// merged interleaves copies of the body, with all stores behind all loads.
func (x *wordLoop) merged(copies [][]ir.Stmt) []ir.Stmt {
	var out, stores []ir.Stmt
	for _, s := range bodies.Interleave(x.Crew, copies) {
		if a, ok := s.(*ir.Assign); ok && !query.IsRef(a.Place) {
			stores = append(stores, s)
			continue
		}
		out = append(out, s)
	}
	return append(out, stores...)
}
