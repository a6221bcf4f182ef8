package strategy

import (
	"fmt"
	"slices"

	"github.com/gompss/gompss/codegen/internal/analysis"
	"github.com/gompss/gompss/codegen/internal/analysis/affine"
	"github.com/gompss/gompss/codegen/internal/lower/crews"
	"github.com/gompss/gompss/codegen/internal/lower/forms"
	"github.com/gompss/gompss/codegen/internal/lower/spaces"
	"github.com/gompss/gompss/codegen/internal/lower/strategy/bodies"
	"github.com/gompss/gompss/codegen/internal/lower/strategy/unchecked"
	"github.com/gompss/gompss/codegen/internal/mapping"
	"github.com/gompss/gompss/codegen/ir"
	"github.com/gompss/gompss/codegen/ir/build"
	"github.com/gompss/gompss/codegen/ir/query"
	"github.com/gompss/gompss/codegen/target"
)

// An iteration that owns a record of a slice - a few consecutive elements, such as a small matrix
// or the coordinates of a body - keeps it in registers: loops over the record are unrolled, and
// each element is a variable, loaded once before, unless it is stored first, and stored once after.
// Neighbouring threads would load elements a record apart, so longer records pass through team
// memory, which the threads of a team fill and empty with coalesced accesses.
//
// The elements of a record belong to one iteration, as the loop is parallel and each iteration
// accesses all of its record. The launch tests that other accessed memory does not overlap.

// A recorded is a loop whose iterations own records.
type recorded struct {
	*Sharer
	f       *ir.For
	body    []ir.Stmt
	records []*record
	conds   []ir.Expr
	bytes   ir.Bytes // of team memory
}

func (x *recorded) tuning() target.Records { return x.Device().Tuning.Records }

// team is the number of threads of a team.
func (x *recorded) team() int64 { return int64(x.tuning().Team) }

// A record is the part of a slice that an iteration owns.
type record struct {
	slice   *ir.Var
	size    int64
	values  []*ir.Var
	written bool
	loaded  bool // an element may be read before it is stored
	uses    int64
	tile    *ir.Var
}

// records returns the loop over n whose iterations keep their records in registers, nil where there
// are no records or no gain.
func records(t *Sharer, n Sharing) []ir.Stmt {
	sp, f := n.Sp, n.Sp.Loops[0]
	if t.Single || t.Slow || t.Whole || !sp.Direct() || !forms.Counts(f) || n.P.Only != nil || !mapping.WholeSchedule(n.D) ||
		!t.Shuffles() || forms.LeavesIteration(n.Body, sp.Label) {
		return nil
	}
	x := &recorded{Sharer: t, f: f}
	left := t.Device().Tuning.Records.Statements
	body, fine := x.written(bodies.Propagate(query.Flatten(n.Body)), &left)
	if !fine || !plainRecord(body) {
		return nil
	}
	x.body = body
	if !x.find() {
		return nil
	}
	at := sp.At
	x.keep()
	for _, r := range x.records {
		t.Decide(at, "records of "+r.slice.Name, fmt.Sprintf("%d elements in registers", r.size),
			"an iteration touches all of them, and no other does: each is loaded once", AsItIs)
	}
	var test ir.Expr = build.Bool(true, at)
	for _, c := range x.conds {
		test = build.Compare(ir.LAnd, test, c, at)
	}
	apart, out := t.Temp("apart", test, nil)
	plain := t.CopyOf(forms.Unwrapped(t.Walk(sp, n.P, unchecked.Loops(t.Crew, n.Body), nil)), &t.Kernel.NumVars)
	out = append(out, &ir.If{Cond: apart, Then: x.run(sp, n.P), Else: plain, At: at})
	return []ir.Stmt{&ir.Block{Body: out, At: at}}
}

// plainRecord reports whether list is arithmetic on variables and elements that needs no checks,
// and leaves no loop.
func plainRecord(list []ir.Stmt) bool {
	for _, s := range list {
		switch s := s.(type) {
		case *ir.Decl:
			if s.Init != nil && !forms.PlainOrArray(s.Init) {
				return false
			}
		case *ir.Assign:
			if !forms.PlainOrArray(s.Value) || !forms.PlainOrArray(s.Place) {
				return false
			}
		case *ir.If:
			if !forms.PlainValue(s.Cond) || !plainRecord(s.Then) || !plainRecord(s.Else) {
				return false
			}
		case *ir.Block:
			if s.Label != nil || !plainRecord(s.Body) {
				return false
			}
		case *ir.For:
			if !forms.Counts(s) || !forms.PlainValue(s.Lo) || !forms.PlainValue(s.Hi) || !plainRecord(s.Body) {
				return false
			}
		default:
			return false
		}
	}
	return true
}

// apart reports whether list touches no element that may be one of a record.
func (x *recorded) apart(list []ir.Stmt) bool {
	apart := true
	ir.WalkExprs(list, func(e ir.Expr) bool {
		if ix, ok := e.(*ir.Index); ok && ix.X.Type().Kind == ir.Slice {
			form, isAffine := affine.Of(ix.I)
			if coef, ok := form.Coef(x.f.Var); isAffine && ok {
				size, known := coef.Const()
				apart = apart && known && size < 2
			}
		}
		return apart
	})
	return apart
}

// written returns list with its loops over records unrolled into at most left statements, unless
// one of these has no known length; the other loops stay.
func (x *recorded) written(list []ir.Stmt, left *int) ([]ir.Stmt, bool) {
	var out []ir.Stmt
	for _, s := range bodies.FoldBranches(list) {
		f, ok := s.(*ir.For)
		if !ok {
			if *left--; *left < 0 {
				return nil, false
			}
			out = append(out, s)
			continue
		}
		if x.apart(f.Body) {
			if *left--; *left < 0 {
				return nil, false
			}
			out = append(out, s)
			continue
		}
		g := *f
		g.Lo, g.Hi, g.Step = bodies.Fold(f.Lo), bodies.Fold(f.Hi), bodies.Fold(f.Step)
		n, known := analysis.ConstTrips(&g)
		if !known || query.LeavesLoop(f) || forms.LeavesIteration(f.Body, f.Label) || n > x.tuning().Longest {
			return nil, false
		}
		lo, _ := query.Int64(g.Lo)
		step, _ := query.Int64(g.Step)
		for k := range n {
			value := &ir.Const{T: f.Var.Type, Bits: uint64(lo + k*step), At: f.At}
			turn := x.CopyOf(ir.SubstStmts(f.Body, map[*ir.Var]ir.Expr{f.Var: value}), &x.Kernel.NumVars)
			inner, fine := x.written(query.Flatten(turn), left)
			if !fine {
				return nil, false
			}
			out = append(out, inner...)
		}
	}
	return out, true
}

// find collects the slices of which each iteration accesses one whole record and no other element.
func (x *recorded) find() bool {
	sizes := map[*ir.Var]int64{}
	others := &ir.VarSet{}
	own := ir.Declared(x.body)
	fine := true
	ir.WalkExprs(x.body, func(e ir.Expr) bool {
		ix, ok := e.(*ir.Index)
		if !ok || ix.X.Type().Kind != ir.Slice {
			if r, ok := e.(*ir.Ref); ok && !own.Has(r.Var) {
				others.Add(r.Var)
			}
			return true
		}
		r, ok := ix.X.(*ir.Ref)
		if !ok || r.Var.Space != ir.Param || ix.Checked {
			fine = false
			return false
		}
		size, _ := x.placeOf(ix)
		if have, seen := sizes[r.Var]; seen && have != size {
			size = 0
		}
		sizes[r.Var] = size
		others.Add(r.Var)
		return size == 0
	})
	if !fine {
		return false
	}
	for v, n := range sizes {
		if n >= 2 && n <= x.tuning().Longest {
			x.records = append(x.records, &record{slice: v, size: n})
		}
	}
	slices.SortFunc(x.records, func(a, b *record) int { return a.slice.ID - b.slice.ID })
	x.records = slices.DeleteFunc(x.records, func(r *record) bool { return !x.whole(r) })
	return len(x.records) > 0 && x.apartFrom(others)
}

// placeOf returns the length of a record and the position in it if ix is an element of a record,
// else 0.
func (x *recorded) placeOf(ix *ir.Index) (size, at int64) {
	form, ok := affine.Of(ix.I)
	if !ok {
		return 0, 0
	}
	coef, ok := form.Coef(x.f.Var)
	size, isConst := coef.Const()
	if !ok || !isConst || size < 2 {
		return 0, 0
	}
	at, isConst = form.Subst(x.f.Var, affine.Constant(0)).Const()
	if !isConst || at < 0 || at >= size {
		return 0, 0
	}
	return size, at
}

// whole reports whether every iteration accesses all of r, and gains from keeping it in registers.
func (x *recorded) whole(r *record) bool {
	touched, stored := map[int64]bool{}, map[int64]bool{}
	ofRecord := func(e ir.Expr) (int64, bool) {
		ix, ok := e.(*ir.Index)
		if !ok {
			return 0, false
		}
		if v, ok := ix.X.(*ir.Ref); !ok || v.Var != r.slice {
			return 0, false
		}
		_, at := x.placeOf(ix)
		return at, true
	}
	for _, s := range x.body {
		plain := true
		if c, ok := s.(*ir.If); ok {
			ir.WalkExprs([]ir.Stmt{c}, func(e ir.Expr) bool {
				if at, ok := ofRecord(e); ok {
					r.uses++
					r.loaded = r.loaded || !stored[at]
				}
				return true
			})
			ir.WalkStmts([]ir.Stmt{c}, func(s ir.Stmt) bool {
				if a, ok := s.(*ir.Assign); ok {
					_, stores := ofRecord(a.Place)
					r.written = r.written || stores
				}
				return true
			})
			continue
		}
		a, _ := s.(*ir.Assign)
		ir.StmtExprs(s, func(e ir.Expr) {
			plain = plain && surely(e)
			ir.WalkExpr(e, func(y ir.Expr) bool {
				if at, ok := ofRecord(y); ok {
					r.uses++
					touched[at] = touched[at] || plain
					r.loaded = r.loaded || !stored[at] && (a == nil || y != a.Place)
				}
				return true
			})
		})
		if a != nil {
			if at, stores := ofRecord(a.Place); stores {
				r.written, stored[at] = true, true
			}
		}
	}
	for at := range r.size {
		if !touched[at] {
			return false
		}
	}
	return r.size >= x.tuning().Staged || 2*r.uses > 3*r.size
}

// apartFrom adds the tests that written memory overlaps no other accessed memory.
func (x *recorded) apartFrom(others *ir.VarSet) bool {
	stored := writtenSlices(x.body)
	for i, r := range x.records {
		for _, v := range others.List() {
			if v == r.slice || v.Type.Kind != ir.Slice || !r.written && !slices.Contains(stored, v) {
				continue
			}
			if v.Space != ir.Param || slices.ContainsFunc(x.records[:i], func(q *record) bool { return q.slice == v }) {
				continue
			}
			x.conds = append(x.conds, &ir.Apart{X: build.Ref(r.slice, x.f.At), Y: build.Ref(v, x.f.At), At: x.f.At})
		}
	}
	return true
}

// keep replaces the elements of records by variables.
func (x *recorded) keep() {
	for _, r := range x.records {
		elem := r.slice.Type.Elem
		for range r.size {
			r.values = append(r.values, x.Local(r.slice.Name, elem, x.f.At))
		}
	}
	rewrite := &ir.Rewrite{Expr: func(e ir.Expr) ir.Expr {
		ix, ok := e.(*ir.Index)
		if !ok {
			return e
		}
		v, ok := ix.X.(*ir.Ref)
		if !ok {
			return e
		}
		for _, r := range x.records {
			if r.slice == v.Var {
				_, at := x.placeOf(ix)
				return build.Ref(r.values[at], ix.At)
			}
		}
		return e
	}}
	x.body = rewrite.CopyStmts(x.body)
}

// run returns the loop, through team memory where a record is long.
func (x *recorded) run(sp *spaces.Space, p spaces.Portion) []ir.Stmt {
	staged := x.stage()
	at := x.f.At
	i := build.Ref(x.f.Var, at)
	var before, after []ir.Stmt
	for _, r := range x.records {
		for e, v := range r.values {
			place := func() ir.Expr {
				if r.tile != nil {
					mine := build.Binary(ir.Mul, build.Query(ir.ThreadNum, at), build.Int(r.apart(), at), at)
					return build.Index(build.Ref(r.tile, at), build.Binary(ir.Add, mine, build.Int(int64(e), at), at), at)
				}
				return build.Index(build.Ref(r.slice, at), build.Binary(ir.Add, build.Binary(ir.Mul, i, build.Int(r.size, at), at), build.Int(int64(e), at), at), at)
			}
			var first ir.Expr
			if r.loaded {
				first = place()
			}
			before = append(before, build.Decl(v, first, at))
			if r.written {
				after = append(after, build.Assign(place(), build.Ref(v, at), at))
			}
		}
	}
	body := append(append(before, x.body...), after...)
	if !staged {
		return x.CopyOf(x.Walk(sp, p, body, nil), &x.Kernel.NumVars)
	}
	return x.CopyOf(x.inTeams(body, p), &x.Kernel.NumVars)
}

// apart is the distance between the records of neighbouring threads in team memory: they lie in
// different banks.
func (r *record) apart() int64 { return r.size | 1 }

// stage allocates team memory for long records.
func (x *recorded) stage() bool {
	var bytes ir.Bytes
	for _, r := range x.records {
		if r.size >= x.tuning().Staged {
			bytes += ir.Bytes(x.team()*r.apart()) * ir.Bytes(r.slice.Type.Elem.Size)
		}
	}
	if bytes == 0 || bytes > x.Device().Memory.StaticShared {
		return false
	}
	for n, r := range x.records {
		if r.size >= x.tuning().Staged {
			elem := r.slice.Type.Elem
			r.tile = x.Slot(crews.Slot{What: "record", Kind: elem.Kind, N: n + 100*int(r.size)}, ir.ArrayOf(elem, x.team()*r.apart()), r.slice.Name+"Tile", x.f.At)
		}
	}
	crews.UseTeams(x.Sharer.Crew, x.tuning().Team, x.f.At)
	x.bytes = bytes
	return true
}

// inFlight is how many elements of r a thread loads before it needs the first: so many that a
// multiprocessor with as many teams as its team memory holds has the bytes on their way that its
// bandwidth asks for.
func (x *recorded) inFlight(r *record) int {
	gpu := x.Device()
	threads := gpu.ResidentWarps(gpu.Tuning.Records.Team, int(r.size)+gpu.Tuning.AddressRegisters, x.bytes) * gpu.Team.Warp
	least := max(int64(gpu.Memory.InFlight/(ir.Bytes(max(threads, 1))*r.slice.Type.Elem.Size)), 1)
	for n := least; n < 2*least; n++ { // a number that leaves no rest is better
		if r.size%n == 0 {
			return int(n)
		}
	}
	return int(min(least, r.size))
}

// inTeams runs body for as many iterations at once as a team has threads.
func (x *recorded) inTeams(body []ir.Stmt, p spaces.Portion) []ir.Stmt {
	at := x.f.At
	sharer := build.Query(ir.NumThreads, at)
	hi, out := x.Temp("end", x.f.Hi, nil)
	base, n := x.Local("base", ir.IntType, at), x.Local("n", ir.IntType, at)
	first := build.Binary(ir.Mul, build.Query(ir.TeamNum, at), sharer, at)
	stride, out := x.Temp("stride", build.Binary(ir.Mul, build.Query(ir.NumTeams, at), sharer, at), out)
	least := &ir.Math{Fn: ir.IMin, Args: []ir.Expr{build.Binary(ir.Sub, hi, build.Ref(base, at), at), sharer}, T: ir.IntType, At: at}
	turn := []ir.Stmt{build.Decl(n, least, at)}
	turn = append(turn, x.moved(base, n, false)...)
	mine := append([]ir.Stmt{build.Decl(x.f.Var, build.Binary(ir.Add, build.Ref(base, at), build.Query(ir.ThreadNum, at), at), at)}, body...)
	turn = append(turn, build.Barrier(at), &ir.If{Cond: build.Compare(ir.Lt, build.Query(ir.ThreadNum, at), build.Ref(n, at), at), Then: mine, At: at}, build.Barrier(at))
	if back := x.moved(base, n, true); len(back) > 0 {
		turn = append(append(turn, back...), build.Barrier(at))
	}
	next := build.Assign(build.Ref(base, at), build.Binary(ir.Add, build.Ref(base, at), stride, at), at)
	loop := &ir.While{Label: &ir.Label{}, Cond: build.Compare(ir.Lt, build.Ref(base, at), hi, at), Post: []ir.Stmt{next}, Body: turn, At: at}
	return append(out, build.Barrier(at), build.Decl(base, build.Binary(ir.Add, x.f.Lo, first, at), at), loop)
}

// moved loads the records of n iterations from base on into team memory, or stores the written
// records from there.
func (x *recorded) moved(base, n *ir.Var, back bool) []ir.Stmt {
	at := x.f.At
	var out []ir.Stmt
	for _, r := range x.records {
		if r.tile == nil || back && !r.written || !back && !r.loaded {
			continue
		}
		size, me := build.Int(r.size, at), build.Query(ir.ThreadNum, at)
		move := func(e *ir.Var) ir.Stmt {
			of := &ir.Binary{Op: ir.Div, X: build.Ref(e, at), Y: size, T: ir.IntType, At: at}
			in := &ir.Binary{Op: ir.Rem, X: build.Ref(e, at), Y: size, T: ir.IntType, At: at}
			tile := build.Index(build.Ref(r.tile, at), build.Binary(ir.Add, build.Binary(ir.Mul, of, build.Int(r.apart(), at), at), in, at), at)
			place := build.Index(build.Ref(r.slice, at), build.Binary(ir.Add, build.Binary(ir.Mul, build.Ref(base, at), size, at), build.Ref(e, at), at), at)
			if back {
				return build.Assign(place, tile, at)
			}
			return build.Assign(tile, place, at)
		}
		e, u, own := x.Local("e", ir.IntType, at), x.Local("u", ir.IntType, at), x.Local("e", ir.IntType, at)
		next := build.Assign(build.Ref(e, at), build.Binary(ir.Add, build.Ref(e, at), build.Query(ir.NumThreads, at), at), at)
		some := &ir.While{Label: &ir.Label{}, Cond: build.Compare(ir.Lt, build.Ref(e, at), build.Binary(ir.Mul, build.Ref(n, at), size, at), at),
			Post: []ir.Stmt{next}, Body: []ir.Stmt{move(e)}, At: at}
		mine := build.Binary(ir.Add, build.Binary(ir.Mul, build.Ref(u, at), build.Int(x.team(), at), at), me, at)
		all := &ir.For{Label: &ir.Label{}, Var: u, Lo: build.Int(0, at), Hi: size, Step: build.Int(1, at), Rel: ir.Lt, Unroll: x.inFlight(r),
			Body: []ir.Stmt{build.Decl(own, mine, at), move(own)}, At: at}
		whole := build.Compare(ir.LAnd, build.Compare(ir.Eq, build.Ref(n, at), build.Int(x.team(), at), at),
			build.Compare(ir.Eq, build.Query(ir.NumThreads, at), build.Int(x.team(), at), at), at)
		out = append(out, &ir.If{Cond: whole, Then: []ir.Stmt{all}, Else: []ir.Stmt{build.Decl(e, me, at), some}, At: at})
	}
	return out
}
