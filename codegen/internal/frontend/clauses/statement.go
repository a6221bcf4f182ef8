package clauses

import (
	"go/token"
	"slices"
	"strings"

	"github.com/gompss/gompss/codegen/internal/frontend/exprs"
	"github.com/gompss/gompss/codegen/internal/syntax"
	"github.com/gompss/gompss/codegen/ir"
	"github.com/gompss/gompss/codegen/ir/build"
	"github.com/gompss/gompss/codegen/ir/query"
)

// partOf gives the bit of each construct word.
var partOf = map[string]ir.Parts{"teams": ir.Teams, "distribute": ir.Distribute, "parallel": ir.Parallel,
	"for": ir.Workshare, "simd": ir.Simd, "loop": ir.Loop, "single": ir.Single, "masked": ir.Masked}

// ReadStatement returns the IR of directive d on the statement at scopeAt, where the names in its
// clauses are looked up. Errors are reported; a clause that has one is left out.
func ReadStatement(b *exprs.Builder, d *syntax.Directive, scopeAt token.Pos) *ir.Directive {
	r := &statementReader{ClauseReader: ClauseReader{b: b, scope: scopeAt}, seen: map[*ir.Var]string{}, parts: map[*ir.Var][]ir.Expr{}}
	r.out = &ir.Directive{Text: d.Text, At: b.Pos(d.At)}
	for _, w := range d.Words() {
		r.out.Parts |= partOf[w]
	}
	for _, c := range d.Clauses() {
		r.clause(c)
	}
	r.lengths(d)
	r.scans(d)
	return r.out
}

type statementReader struct {
	ClauseReader
	out   *ir.Directive
	seen  map[*ir.Var]string    // the clause that says how a variable is shared
	parts map[*ir.Var][]ir.Expr // the reduced parts of variables that are reduced in part
	plain int                   // the number of reduction clauses without inscan
}

func (r *statementReader) clause(c syntax.Clause) {
	what, arg, out := "clause "+c.Name.Text, c.Args.Trim(), r.out
	switch c.Name.Text {
	case "collapse":
		out.Collapse = r.constant(what, arg)
	case "simdlen":
		out.Simdlen = r.constant(what, arg)
	case "safelen":
		out.Safelen = r.constant(what, arg)
	case "num_teams":
		out.NumTeams = r.positive(what, arg)
	case "thread_limit":
		out.ThreadLimit = r.positive(what, arg)
	case "num_threads":
		out.NumThreads = r.positive(what, arg)
	case "if":
		out.If = r.boolean(what, arg)
	case "nowait":
		out.Nowait = true
	case "schedule":
		out.Schedule = r.schedule(what, arg, scheduleWords)
	case "dist_schedule":
		out.DistSchedule = r.schedule(what, arg, scheduleWords[:1])
	case "mode":
		i, _ := r.word(what, arg, modeWords)
		out.Mode = ir.TeamMode(i)
	case "bind":
		r.bind(what, arg)
	case "nested":
		r.nested(what, arg)
	default:
		r.list(c, what)
	}
}

// The words of clauses, in the order of the constants of ir that they stand for; the first schedule
// and nested kind is number 1 there.
var (
	scheduleWords = []string{"static", "dynamic", "guided", "auto", "onetoone", "cyclic", "counter"}
	modeWords     = []string{"auto", "spmd", "broadcast", "control_loop", "warp_specialized"}
	bindWords     = []string{"teams", "parallel", "thread"}
	nestedWords   = []string{"auto", "inline", "eager", "cta", "warp", "host", "cpu", "cross"}
)

func (r *statementReader) schedule(what string, args syntax.Piece, kinds []string) ir.Schedule {
	parts := args.Split(',')
	if len(parts) > 2 {
		r.fail(parts[2], what, "it takes a kind and a chunk", "write "+what[len("clause "):]+"("+kinds[0]+", 64)")
		return ir.Schedule{}
	}
	i, ok := r.word(what, parts[0], kinds)
	if !ok {
		return ir.Schedule{}
	}
	s := ir.Schedule{Kind: ir.ScheduleKind(i + 1)}
	if len(parts) == 2 {
		s.Chunk = r.positive(what, parts[1])
		if s.Kind == ir.ScheduleAuto || s.Kind == ir.ScheduleOneToOne {
			r.fail(parts[1], what, parts[0].Text+" takes no chunk", "leave the chunk out, or write schedule(static, chunk)")
			s.Chunk = nil
		}
	}
	return s
}

func (r *statementReader) bind(what string, arg syntax.Piece) {
	if parts := arg.Split(','); len(parts) == 2 && parts[0].Text == "teams" && parts[1].Text == "parallel" {
		arg = parts[0] // its iterations go over the threads of all teams
	}
	i, ok := r.word(what, arg, bindWords)
	if !ok {
		return
	}
	r.out.Bind = ir.Bind(i + 1)
	if r.out.Parts&ir.Parallel != 0 && r.out.Bind == ir.BindTeams {
		r.fail(arg, what, "a loop inside parallel cannot bind to the teams", "write teams loop, or bind(parallel)")
	}
}

func (r *statementReader) nested(what string, args syntax.Piece) {
	parts := args.Split(',')
	i, ok := r.word(what, parts[0], nestedWords)
	if ok {
		r.out.Nested.Kind = ir.NestedKind(i + 1)
	}
	if len(parts) > 1 {
		_, r.out.Nested.Boost = r.word(what, parts[1], []string{"boost"})
	}
	if len(parts) > 2 {
		r.fail(parts[2], what, "it takes a strategy and boost", "write nested(cta, boost)")
	}
}

// list reads the clauses that list variables.
func (r *statementReader) list(c syntax.Clause, what string) {
	switch c.Name.Text {
	case "private":
		r.out.Private = append(r.out.Private, r.variables(c, what)...)
	case "firstprivate":
		r.out.Firstprivate = append(r.out.Firstprivate, r.variables(c, what)...)
	case "lastprivate":
		r.out.Lastprivate = append(r.out.Lastprivate, r.variables(c, what)...)
	case "shared":
		r.out.Shared = append(r.out.Shared, r.variables(c, what)...)
	case "reduction":
		r.reductions(c, what)
	case "dist_private":
		r.distArrays(c, what, ir.DistPrivate)
	case "dist_firstprivate":
		r.distArrays(c, what, ir.DistFirstprivate)
	case "dist_lastprivate":
		r.distArrays(c, what, ir.DistLastprivate)
	case "dist_firstlastprivate":
		r.distArrays(c, what, ir.DistFirstLastprivate)
	default:
		panic("gompss: bug: codegen: no reader of " + what)
	}
}

func (r *statementReader) variables(c syntax.Clause, what string) []*ir.Var {
	var out []*ir.Var
	for _, p := range c.Args.Split(',') {
		if v := r.variable(what, p); v != nil && r.claim(v, c.Name.Text, p) {
			out = append(out, v)
		}
	}
	return out
}

// claim records that clause defines the sharing of v, and reports a second definition. firstprivate
// and lastprivate may be combined.
func (r *statementReader) claim(v *ir.Var, clause string, at syntax.Piece) bool {
	before, claimed := r.seen[v]
	switch {
	case !claimed:
		r.seen[v] = clause
		return true
	case before == clause:
		r.fail(at, "clause "+clause, v.Name+" stands in it twice", "name it once")
		return false
	case before == "firstprivate" && clause == "lastprivate" || before == "lastprivate" && clause == "firstprivate":
		r.seen[v] = "firstprivate and lastprivate"
		return true
	}
	r.fail(at, "clause "+clause, v.Name+" is "+before+" already", "name it in one of the two")
	return false
}

func (r *statementReader) reductions(c syntax.Clause, what string) {
	args, inscan := r.modifier(c.Args)
	if inscan {
		r.out.Scan = &ir.Scan{At: r.b.Pos(c.Name.At)}
	} else {
		r.plain++
	}
	op, items := r.reduction(what, args)
	if op == ir.MinLoc || op == ir.MaxLoc {
		r.locations(op, what, items)
		return
	}
	for _, p := range items {
		place := r.reductionPlace(what, p)
		if place == nil {
			continue
		}
		if place.Type().Complex {
			r.sumOfComplex(op, place, what, p)
			continue
		}
		if why := query.Reducible(op, elementType(place)); why != "" {
			r.fail(p, what, why+" for "+op.String()+", and "+p.Text+" is "+place.Type().String(), "use another operator or variable")
			continue
		}
		if r.claimPlace(place, p) {
			r.out.Reductions = append(r.out.Reductions, ir.Reduction{Op: op, Place: place, At: r.b.Pos(p.At)})
		}
	}
}

// sumOfComplex reduces the two parts of a complex number, each for itself.
func (r *statementReader) sumOfComplex(op ir.Op, place ir.Expr, what string, p syntax.Piece) {
	if op != ir.Add {
		r.fail(p, what, p.Text+" is "+place.Type().String()+", of which there are sums alone", "write reduction(+: "+p.Text+")")
		return
	}
	if r.claimPlace(place, p) {
		for i := range place.Type().Fields {
			part := &ir.Member{X: build.Copy(place), Field: i, At: place.Pos()}
			r.out.Reductions = append(r.out.Reductions, ir.Reduction{Op: op, Place: part, At: r.b.Pos(p.At)})
		}
	}
}

// claimPlace claims the variable of place, but lets several parts of one variable stand in several
// clauses.
func (r *statementReader) claimPlace(place ir.Expr, p syntax.Piece) bool {
	v, isPart := query.PlaceVar(place), true
	switch e := place.(type) {
	case *ir.Ref:
		isPart = false
	case *ir.Deref:
		_, isVar := e.X.(*ir.Ref)
		isPart = !isVar
	}
	if !isPart || len(r.parts[v]) == 0 {
		if isPart {
			r.parts[v] = append(r.parts[v], place)
		}
		return r.claim(v, "reduction", p)
	}
	if slices.ContainsFunc(r.parts[v], func(e ir.Expr) bool { return query.Same(e, place) }) {
		r.fail(p, "clause reduction", p.Text+" stands in it twice", "name it once")
		return false
	}
	r.parts[v] = append(r.parts[v], place)
	return true
}

// elementType returns the scalar type of which place is one value or an array.
func elementType(place ir.Expr) *ir.Type {
	t := place.Type()
	for t.Kind == ir.Array || t.Kind == ir.Slice {
		t = t.Elem
	}
	return t
}

// reductionPlace reads x, *p, s.f, w[i], a (a fixed array) and a[0:4], and parts of such places.
func (r *statementReader) reductionPlace(what string, p syntax.Piece) ir.Expr {
	e := r.expr(what, p)
	if e == nil {
		return nil
	}
	const instead = "name a scalar variable, *p, a field, an element, a fixed array or a constant part of one"
	v := query.PlaceVar(e)
	switch {
	case v == nil:
		r.fail(p, what, p.Text+" is not something that it can combine", instead)
	case e.Type().Kind == ir.Slice && !isReslice(e):
		r.fail(p, what, p.Text+" is a slice, whose length is not known here", instead)
	case e.Type().Kind == ir.Pointer:
		r.fail(p, what, p.Text+" is a pointer", "write *"+p.Text)
	case !constantBounds(e):
		r.fail(p, what, "the bounds of "+p.Text+" are not constant", instead)
	case e.Type().Complex && query.IsNamed(e):
		return e
	case !elementType(e).IsScalar():
		r.fail(p, what, p.Text+" is "+e.Type().String(), instead)
	default:
		return e
	}
	return nil
}

func isReslice(e ir.Expr) bool { _, ok := e.(*ir.Reslice); return ok }

func constantBounds(e ir.Expr) bool {
	constant := func(e ir.Expr) bool { _, ok := e.(*ir.Const); return e == nil || ok }
	rs, ok := e.(*ir.Reslice)
	return !ok || constant(rs.Lo) && constant(rs.Hi) && rs.Max == nil
}

// locations reads the pairs of minloc and maxloc: "v, i" or "(v, i)".
func (r *statementReader) locations(op ir.Op, what string, items []syntax.Piece) {
	var flat []syntax.Piece
	for _, p := range items {
		if strings.HasPrefix(p.Text, "(") && p.Closing() == len(p.Text)-1 {
			flat = append(flat, p.Sub(1, len(p.Text)-1).Split(',')...)
			continue
		}
		flat = append(flat, p)
	}
	if len(flat)%2 != 0 {
		r.fail(flat[len(flat)-1], what, op.String()+" needs pairs of a value and an index", "write reduction("+op.String()+": value, index)")
		return
	}
	for pair := range slices.Chunk(flat, 2) {
		r.location(op, what, pair[0], pair[1])
	}
}

func (r *statementReader) location(op ir.Op, what string, value, index syntax.Piece) {
	v, i := r.reductionPlace(what, value), r.reductionPlace(what, index)
	if v == nil || i == nil {
		return
	}
	if !v.Type().IsScalar() || query.Reducible(op, v.Type()) != "" {
		r.fail(value, what, op.String()+" needs a number, and "+value.Text+" is "+v.Type().String(), "use a scalar number")
		return
	}
	if !i.Type().IsInteger() {
		r.fail(index, what, "the index of "+op.String()+" must be an integer, and "+index.Text+" is "+i.Type().String(), "use an int")
		return
	}
	if r.claimPlace(v, value) && r.claimPlace(i, index) {
		r.out.Reductions = append(r.out.Reductions, ir.Reduction{Op: op, Place: v, Index: i, At: r.b.Pos(value.At)})
	}
}

// distArrays reads "[n]x" items.
func (r *statementReader) distArrays(c syntax.Clause, what string, kind ir.DistKind) {
	for _, p := range c.Args.Split(',') {
		end := -1
		if strings.HasPrefix(p.Text, "[") {
			end = p.Closing()
		}
		if end < 0 {
			r.fail(p, what, "the part of "+p.Text+" that an iteration owns is missing", "write "+c.Name.Text+"([n]"+p.Text+")")
			continue
		}
		chunk := r.positive(what, p.Sub(1, end).Trim())
		v := r.variable(what, p.From(end+1).Trim())
		if chunk == nil || v == nil {
			continue
		}
		if v.Type.Kind != ir.Slice {
			r.fail(p, what, v.Name+" is "+v.Type.String(), "name a slice")
			continue
		}
		if r.claim(v, c.Name.Text, p) {
			r.out.DistArrays = append(r.out.DistArrays, ir.DistArray{Kind: kind, Var: v, Chunk: chunk, At: r.b.Pos(p.At)})
		}
	}
}

// lengths checks simdlen against safelen.
func (r *statementReader) lengths(d *syntax.Directive) {
	if r.out.Safelen > 0 && r.out.Simdlen > r.out.Safelen {
		c := syntax.Find(d.Clauses(), "simdlen")
		r.fail(c.Args, "clause simdlen", "it is larger than safelen", "write a simdlen of at most the safelen")
	}
}
