package verify

import (
	"github.com/gompss/gompss/codegen/ir"
)

func (v *verifier) list(list []ir.Stmt) {
	for _, s := range list {
		v.stmt(s)
	}
}

// body checks a list with a scope of its own.
func (v *verifier) body(list []ir.Stmt) {
	v.open()
	v.list(list)
	v.close()
}

// within checks a body that may jump to label.
func (v *verifier) within(label *ir.Label, loop bool, body func()) {
	v.labels = append(v.labels, target{label, loop})
	body()
	v.labels = v.labels[:len(v.labels)-1]
}

// asyncCopy reports whether s copies a scalar element of a slice to an element of team memory.
func asyncCopy(s *ir.Assign) bool {
	to, isElem := s.Place.(*ir.Index)
	from, reads := s.Value.(*ir.Index)
	if !isElem || !reads || !from.Type().IsScalar() || from.X.Type().Kind != ir.Slice {
		return false
	}
	r, ok := to.X.(*ir.Ref)
	return ok && r.Var.Space == ir.Team
}

func (v *verifier) stmt(s ir.Stmt) {
	if s == nil {
		v.fail(ir.Pos{}, "a nil statement")
		return
	}
	if (s.Pos() == ir.Pos{}) {
		v.fail(ir.Pos{}, "%T without a position", s)
	}
	switch s := s.(type) {
	case *ir.Decl:
		v.decl(s)
	case *ir.Assign:
		v.hasType(s.Value, v.place(s.Place, "assignment"), s.At, "assignment")
		if s.Async && !asyncCopy(s) {
			v.fail(s.At, "an asynchronous copy that is not from a slice to team memory")
		}
	case *ir.Call:
		v.call(s)
	case *ir.If:
		v.boolean(s.Cond, "if")
		v.body(s.Then)
		v.body(s.Else)
	case *ir.Block:
		v.within(s.Label, false, func() { v.body(s.Body) })
	case *ir.While:
		v.while(s)
	case *ir.For:
		v.loop(s)
	case *ir.Break:
		v.jump(s.Label, s.At, false)
	case *ir.Continue:
		v.jump(s.Label, s.At, true)
	case *ir.Return:
		v.ret(s)
	case *ir.Atomic:
		v.atomic(s)
	case *ir.Barrier:
		v.barrier(s)
	case *ir.Construct:
		v.construct(s)
	default:
		v.fail(s.Pos(), "unknown statement %T", s)
	}
}

func (v *verifier) decl(s *ir.Decl) {
	if s.Init != nil {
		v.expr(s.Init)
		if s.Var != nil && s.Init.Type() != nil && !ir.Same(s.Var.Type, s.Init.Type()) {
			v.fail(s.At, "variable %s of type %s starts as %s", s.Var.Name, s.Var.Type, s.Init.Type())
		}
	}
	if v.is(inDevice) && s.Var != nil && s.Var.Space == ir.Team {
		v.use(s.Var, s.At)
		if s.Init != nil {
			v.fail(s.At, "team variable %s has a start value", s.Var.Name)
		}
		return
	}
	v.declare(s.Var, s.At, ir.Local)
}

func (v *verifier) call(s *ir.Call) {
	f := s.Fn
	if f == nil {
		v.fail(s.At, "a call of nothing")
		return
	}
	if !v.funcs[f] {
		v.fail(s.At, "function %s is not listed before its caller", f.Name)
	}
	if len(s.Args) != len(f.Params) || len(s.Results) != len(f.Results) {
		v.fail(s.At, "call of %s with %d arguments and %d results, not %d and %d", f.Name, len(s.Args), len(s.Results),
			len(f.Params), len(f.Results))
		return
	}
	for i, a := range s.Args {
		if v.expr(a) && !ir.Same(a.Type(), f.Params[i].Type) {
			v.fail(a.Pos(), "argument %d of %s is %s, not %s", i, f.Name, a.Type(), f.Params[i].Type)
		}
	}
	for i, r := range s.Results {
		if r == nil {
			continue
		}
		v.use(r, s.At)
		if !ir.Same(r.Type, f.Results[i]) {
			v.fail(s.At, "result %d of %s is %s, but %s is %s", i, f.Name, f.Results[i], r.Name, r.Type)
		}
	}
}

// while checks a loop. The scope of a variable of Pre is the whole loop; the scope of a variable of
// Body does not include Post.
func (v *verifier) while(s *ir.While) {
	v.within(s.Label, true, func() {
		v.open()
		v.list(s.Pre)
		if s.Cond != nil {
			v.boolean(s.Cond, "loop")
		}
		v.body(s.Body)
		v.body(s.Post)
		v.close()
	})
}

func (v *verifier) loop(s *ir.For) {
	if v.is(inDevice) && s.Directive != nil {
		v.fail(s.At, "directive %q in device IR", s.Directive.Text)
	}
	v.directive(s.Directive)
	if s.Directive != nil && s.Directive.Scan != nil {
		v.scan(s)
	}
	for _, e := range []ir.Expr{s.Lo, s.Hi, s.Step} {
		if v.integer(e, "loop bound") && s.Var != nil && !ir.Same(e.Type(), s.Var.Type) {
			v.fail(s.At, "loop variable %s is %s, a bound is %s", s.Var.Name, s.Var.Type, e.Type())
		}
	}
	switch s.Rel {
	case ir.Lt, ir.Le, ir.Gt, ir.Ge, ir.Ne:
	default:
		v.fail(s.At, "loop relation %s", s.Rel)
	}
	if c, ok := s.Step.(*ir.Const); ok && c.Bits == 0 {
		v.fail(s.At, "a loop whose step is 0")
	}
	v.open()
	v.declare(s.Var, s.At, ir.Local)
	v.within(s.Label, true, func() { v.body(s.Body) })
	v.close()
}

// scan checks the two phases of a loop that scans.
func (v *verifier) scan(s *ir.For) {
	last := len(s.Body) - 1
	if last < 0 {
		v.fail(s.At, "a scan without a second phase")
		return
	}
	if b, ok := s.Body[last].(*ir.Block); !ok || b.Label != nil {
		v.fail(s.At, "a scan whose second phase is no plain block")
	}
	if d := s.Directive; len(d.Reductions) == 0 || d.Collapse > 1 {
		v.fail(s.At, "a scan of nothing, or of several loops")
	}
}

func (v *verifier) jump(l *ir.Label, at ir.Pos, loop bool) {
	for _, t := range v.labels {
		if l != nil && t.label == l {
			if loop && !t.loop {
				v.fail(at, "continue of a block")
			}
			return
		}
	}
	v.fail(at, "a jump to a label that is not around it")
}

func (v *verifier) ret(s *ir.Return) {
	if len(s.Results) != len(v.results) {
		v.fail(s.At, "return of %d values, not %d", len(s.Results), len(v.results))
		return
	}
	for i, r := range s.Results {
		if v.expr(r) && !ir.Same(r.Type(), v.results[i]) {
			v.fail(s.At, "result %d is %s, not %s", i, r.Type(), v.results[i])
		}
	}
}

func (v *verifier) atomic(s *ir.Atomic) {
	t := v.place(s.Place, "atomic")
	if t != nil && !t.IsScalar() {
		v.fail(s.At, "atomic on type %s", t)
	}
	if s.Ordered && !v.is(inDevice) {
		v.fail(s.At, "an ordered atomic in loop IR")
	}
	if s.Old != nil {
		if old := v.place(s.Old, "atomic"); old != nil && t != nil && !ir.Same(old, t) {
			v.fail(s.At, "atomic old: %s and %s", t, old)
		}
	}
	needs := func(e ir.Expr, what string) {
		if e == nil {
			v.fail(s.At, "atomic without %s", what)
			return
		}
		v.hasType(e, t, s.At, "atomic "+what)
	}
	switch s.Kind {
	case ir.AtomicRead:
		if s.Old == nil {
			v.fail(s.At, "atomic without old")
		}
	case ir.AtomicWrite:
		needs(s.Value, "value")
	case ir.AtomicUpdate, ir.AtomicCapture:
		v.atomicOp(s, needs)
	case ir.AtomicCompare:
		needs(s.Value, "value")
		needs(s.Compare, "compare")
	default:
		v.fail(s.At, "atomic of kind %d", s.Kind)
	}
}

func (v *verifier) atomicOp(s *ir.Atomic, needs func(ir.Expr, string)) {
	if s.Kind == ir.AtomicCapture && s.Old == nil {
		v.fail(s.At, "atomic capture without old")
	}
	switch s.Op {
	case ir.Shl, ir.Shr:
		if s.Swapped {
			v.fail(s.At, "a swapped atomic shift")
		}
		v.integer(s.Value, "atomic shift count")
		return
	case ir.Add, ir.Sub, ir.Mul, ir.Div, ir.And, ir.Or, ir.Xor, ir.AndNot, ir.Min, ir.Max, ir.LAnd, ir.LOr:
	default:
		if s.Op != ir.NoOp || s.Kind != ir.AtomicCapture {
			v.fail(s.At, "atomic operator %s", s.Op)
		}
	}
	needs(s.Value, "value")
}

func (v *verifier) barrier(s *ir.Barrier) {
	switch {
	case s.Scope == ir.TeamBarrier:
		return
	case s.Scope > ir.GridBarrier:
		v.fail(s.At, "barrier of scope %d", s.Scope)
	case !v.is(inDevice):
		v.fail(s.At, "a warp or named barrier in loop IR")
	case s.Scope == ir.WarpBarrier && !v.is(withWarps):
		v.fail(s.At, "a warp barrier in a launch that announces none")
	case s.Scope == ir.NamedBarrier && (s.ID < 1 || s.ID > 15):
		v.fail(s.At, "barrier number %d", s.ID)
	case s.Scope == ir.NamedBarrier:
		v.integer(s.Count, "barrier count")
	case s.Scope == ir.GridBarrier && (v.grid == nil || !v.grid.Cooperative):
		v.fail(s.At, "a grid barrier in a launch that announces none")
	case s.Scope == ir.GridBarrier:
		if ix, ok := s.Count.(*ir.Index); !ok || ix.Type().Kind != ir.Uint32 {
			v.fail(s.At, "a grid barrier without words to count in")
		}
	}
}

func (v *verifier) construct(s *ir.Construct) {
	switch {
	case v.is(inDevice):
		v.fail(s.At, "a construct in device IR")
	case s.Directive == nil:
		v.fail(s.At, "a construct without a directive")
	}
	v.directive(s.Directive)
	if s.Directive != nil && s.Directive.Scan != nil {
		v.fail(s.At, "a scan that is no loop")
	}
	v.body(s.Body)
}

func (v *verifier) directive(d *ir.Directive) {
	if d == nil {
		return
	}
	if d.Parts == 0 {
		v.fail(d.At, "a directive without a construct")
	}
	for _, e := range []ir.Expr{d.NumTeams, d.ThreadLimit, d.NumThreads, d.Schedule.Chunk, d.DistSchedule.Chunk} {
		if e != nil {
			v.integer(e, "clause")
		}
	}
	if d.If != nil {
		v.boolean(d.If, "if clause")
	}
	for _, list := range [][]*ir.Var{d.Private, d.Firstprivate, d.Lastprivate, d.Shared} {
		for _, x := range list {
			v.use(x, d.At)
		}
	}
	for _, r := range d.Reductions {
		v.reduction(r)
	}
	for _, a := range d.DistArrays {
		v.use(a.Var, a.At)
		v.integer(a.Chunk, "chunk")
	}
}

func (v *verifier) reduction(r ir.Reduction) {
	v.expr(r.Place)
	located := r.Op == ir.MinLoc || r.Op == ir.MaxLoc
	switch {
	case located && r.Index == nil:
		v.fail(r.At, "reduction %s without an index", r.Op)
	case located:
		v.place(r.Index, "reduction index")
	}
}
