package analysis

import (
	"math"
	"slices"

	"github.com/gompss/gompss/codegen/internal/analysis/affine"
	"github.com/gompss/gompss/codegen/internal/integers"
	"github.com/gompss/gompss/codegen/ir"
	"github.com/gompss/gompss/codegen/ir/build"
	"github.com/gompss/gompss/codegen/ir/query"
)

// An AccessForm is one load or store in a loop: of element Form of the slice or array root.
type AccessForm struct {
	root  *ir.Var
	Form  affine.Form
	kinds uint32
	write bool
	Known bool
	Loops []*ir.For // the loops around the access and inside the analysed loop, outermost first
	// The bounds of their variables.
	ranges []bounds
	atomic bool // one of several atomic updates that commute
	at     ir.Pos
}

// Dependences analyses the dependences between iterations of the loops of a kernel, and between a
// loop and other statements.
type Dependences struct {
	k       *ir.Kernel
	Known   []ir.Expr    // enclosing conditions, which hold
	suppose *supposition // records the conditions under which a loop is parallel; nil: no condition may be assumed
}

// NewDependences returns an analysis of the loops of k.
func NewDependences(k *ir.Kernel) *Dependences { return &Dependences{k: k} }

// Dependent returns the reason why the iterations of f cannot be proved independent, "" if they are
// independent. Variables that the directive of f privatises or reduces do not count.
//
// Slices of the same element type may overlap, so a loop that writes one and accesses another has
// no proof.
func (m *Dependences) Dependent(f *ir.For) string { return m.DependentUnder(f, f.Directive) }

// DependentUnder is Dependent for a loop f under directive d.
func (m *Dependences) DependentUnder(f *ir.For, d *ir.Directive) string {
	if why := m.ScalarDependence(f, d); why != "" {
		return why
	}
	list, why := m.Touches(f, d)
	if why != "" {
		return why
	}
	return InPairs(WithReductions(list, d), func(w, a AccessForm) string { return m.Conflict(f, w, a) })
}

// InPairs calls conflict for each pair of a write and another access that may refer to the same
// element, and returns the first reason.
func InPairs(list []AccessForm, conflict func(w, a AccessForm) string) string {
	for i, w := range list {
		for j, a := range list {
			if !w.write || j < i && a.write || w.kinds&a.kinds == 0 || w.atomic && a.atomic {
				continue
			}
			if why := conflict(w, a); why != "" {
				return why
			}
		}
	}
	return ""
}

// ScalarDependence returns a reason why the iterations of f are ordered by a shared variable that
// they change, by a jump out of f, or by an effect; "" if there is none.
func (m *Dependences) ScalarDependence(f *ir.For, d *ir.Directive) string {
	if query.JumpsOut(f) {
		return "it can be left early"
	}
	declared := ir.Declared(f.Body)
	for _, v := range ir.Assigned(f.Body).List() {
		if !declared.Has(v) && !HasCopy(d, v) && !updatedAlone(f.Body, v) {
			return "every iteration changes " + v.Name
		}
	}
	if query.AsksForPlace(f.Body) {
		return "it asks for its place in the grid"
	}
	switch x := (&Effects{}).Stmts(f.Body); {
	case d == nil && (x.Atomics || x.Calls):
		return "it holds atomics or calls that write memory"
	case x.Atomics && !commute(atomicsIn(f.Body)):
		return "it holds atomics whose order matters"
	}
	leaves := false
	ir.WalkStmts(f.Body, func(s ir.Stmt) bool {
		if b, ok := s.(*ir.Break); ok && b.Label == f.Label && f.Label != nil {
			leaves = true
		}
		return true
	})
	if leaves {
		return "it can be left early"
	}
	return ""
}

// accesses lists the loads and stores in the body of f.
func (m *Dependences) accesses(f *ir.For) (list []AccessForm, why string) {
	c := &AccessList{Defs: affine.Definitions{}, Changed: ir.Assigned(f.Body), Taken: ir.AddressTaken(f.Body)}
	c.Stmts(f.Body)
	for i := range c.List {
		ranges := boundsOfAll(c.List[i].Loops)
		for k := range ranges {
			ranges[k] = endsIn(ranges[k], f.Body)
		}
		c.List[i].ranges = ranges
	}
	return c.List, c.Why
}

// endsIn returns b with the variables that list declares and never changes replaced by their
// values, or by bounds of these.
func endsIn(b bounds, list []ir.Stmt) bounds {
	end := func(a affine.Form, greatest bool) affine.Form {
		for _, x := range a.Atoms() {
			coef, ok := a.Coef(x.Var)
			c, isConst := coef.Const()
			if x.Of != affine.ValueOf || !ok || !isConst {
				continue
			}
			if init := onlyValue(list, x.Var); init != nil {
				if e := EndOf(init, greatest == (c > 0)); e.Known() {
					a = a.Subst(x.Var, e)
				}
			}
		}
		return a
	}
	return bounds{Var: b.Var, Lo: end(b.Lo, false), Hi: end(b.Hi, true)}
}

// boundsOfAll returns the bounds of the variables of loops. For a bound that is the minimum or
// maximum of several values, it takes the first value that has a form: the loop does not exceed it.
func boundsOfAll(loops []*ir.For) (out []bounds) {
	p := &Prover{Changed: &ir.VarSet{}, Taken: &ir.VarSet{}, lengths: map[*ir.Var]affine.Form{}}
	for _, f := range loops {
		g := *f
		up, down := ir.IMin, ir.IMax
		downwards := f.Rel == ir.Gt || f.Rel == ir.Ge
		if downwards {
			up, down = down, up
		}
		g.Lo, g.Hi = beyond(oneEnd(f.Lo, down), downwards), beyond(oneEnd(f.Hi, up), !downwards)
		out = append(out, p.BoundsOf(&g))
	}
	return out
}

// oneEnd returns an argument of the call e of fn that has a form, or e if e is not such a call.
func oneEnd(e ir.Expr, fn ir.MathFn) ir.Expr {
	call, ok := e.(*ir.Math)
	if !ok || call.Fn != fn || !affine.NeverWraps(call.T) {
		return e
	}
	for i := len(call.Args) - 1; i >= 0; i-- { // the last argument is usually the length or zero
		if x := oneEnd(call.Args[i], fn); affine.Is(x) {
			return x
		}
	}
	return e
}

// beyond returns an expression with a form that is not less than e, or with up false not greater;
// e itself if it has a form, or none is known.
func beyond(e ir.Expr, up bool) ir.Expr {
	if affine.Is(e) {
		return e
	}
	if a := EndOf(e, up); a.Known() {
		return a.Expr(e.Pos())
	}
	return e
}

// EndOf returns a form that is not less than e, or with greatest false not greater than e. It knows
// sums of forms, remainders and masks; else the form is unknown.
func EndOf(e ir.Expr, greatest bool) affine.Form {
	if a, ok := affine.Of(e); ok {
		return a
	}
	b, ok := e.(*ir.Binary)
	if !ok || !affine.NeverWraps(b.T) {
		return affine.Form{Unknown: true}
	}
	c, isConst := query.Int64(b.Y)
	switch {
	case b.Op == ir.Add:
		return EndOf(b.X, greatest).Add(EndOf(b.Y, greatest))
	case b.Op == ir.Sub:
		return EndOf(b.X, greatest).Sub(EndOf(b.Y, !greatest))
	case b.Op == ir.Mul && isConst:
		return EndOf(b.X, greatest == (c >= 0)).Mul(affine.Constant(c))
	case b.Op == ir.Rem && isConst && c > 0 && greatest, b.Op == ir.And && isConst && c > 0 && greatest:
		if b.Op == ir.Rem {
			c--
		}
		return affine.Constant(c)
	case b.Op == ir.Rem && isConst && c > 0:
		return affine.Constant(1 - c)
	case b.Op == ir.And && isConst && c > 0:
		return affine.Constant(0)
	}
	return affine.Form{Unknown: true}
}

// An AccessList collects the loads and stores of statements, each with the loops around it.
type AccessList struct {
	Defs           affine.Definitions
	Changed, Taken *ir.VarSet
	loops          []*ir.For
	List           []AccessForm
	Why            string
}

// Stmts adds the loads and stores of list.
func (c *AccessList) Stmts(list []ir.Stmt) {
	for _, s := range list {
		c.stmt(s)
	}
}

func (c *AccessList) stmt(s ir.Stmt) {
	switch s := s.(type) {
	case *ir.Assign:
		c.place(s.Place, true)
		c.expr(s.Value)
		return
	case *ir.For:
		c.exprs(s.Lo, s.Hi, s.Step)
		c.loops = append(c.loops, s)
		c.Stmts(s.Body)
		c.loops = c.loops[:len(c.loops)-1]
		return
	case *ir.Decl:
		if form, ok := c.Defs.Of(s.Init); s.Init != nil && ok && !c.Changed.Has(s.Var) && !c.Taken.Has(s.Var) {
			c.Defs[s.Var] = form
		}
	case *ir.Atomic:
		c.Why = "it holds atomics"
	case *ir.Call:
		if x := (&Effects{}).Stmts([]ir.Stmt{s}); !x.Reads.Empty() || !x.Writes.Empty() || x.Atomics {
			c.Why = "it calls " + s.Fn.Name + ", which touches memory"
		}
	}
	ir.StmtExprs(s, c.expr)
	ir.Lists(s, c.Stmts)
}

func (c *AccessList) exprs(list ...ir.Expr) {
	for _, e := range list {
		if e != nil {
			c.expr(e)
		}
	}
}

func (c *AccessList) expr(e ir.Expr) {
	switch e := e.(type) {
	case *ir.Index, *ir.Member, *ir.Deref:
		c.place(e, false)
	case *ir.AddrOf, *ir.Reslice:
		c.Why = "it takes addresses"
	default:
		ir.Operands(e, c.expr)
	}
}

// place records the load or store of place e if e is in global memory.
func (c *AccessList) place(e ir.Expr, write bool) {
	switch x := e.(type) {
	case *ir.Member:
		c.within(x.X, e, write)
		return
	case *ir.Index:
		if x.X.Type().Kind == ir.Array {
			c.expr(x.I)
			c.within(x.X, e, write)
			return
		}
	}
	c.within(e, e, write)
}

// within records the load or store of the slice element or pointer target that contains place e.
// The kinds of the access are those of whole.
func (c *AccessList) within(e, whole ir.Expr, write bool) {
	a := AccessForm{kinds: KindsOf(whole.Type()), write: write, at: whole.Pos(), Loops: append([]*ir.For{}, c.loops...)}
	switch x := e.(type) {
	case *ir.Member:
		c.within(x.X, whole, write)
		return
	case *ir.Ref:
		return
	case *ir.Index:
		if x.X.Type().Kind == ir.Array {
			c.expr(x.I)
			c.within(x.X, whole, write)
			return
		}
		c.exprs(x.I)
		if r, ok := x.X.(*ir.Ref); ok {
			a.root = r.Var
			a.Form, a.Known = c.Defs.Of(x.I)
		}
	case *ir.Deref:
		if r, ok := x.X.(*ir.Ref); ok {
			a.root, a.Form, a.Known = r.Var, affine.Constant(0), true
		}
	default:
		c.expr(e)
		return
	}
	c.List = append(c.List, a)
}

// Conflict returns the reason why iterations i and i' of f may access the same element through w
// and a, "" if they cannot.
func (m *Dependences) Conflict(f *ir.For, w, a AccessForm) string {
	if w.root == nil || a.root == nil || w.root != a.root {
		if ownMemory(w.root, a.root) || m.SupposeApart(w.root, a.root) {
			return ""
		}
		return "the memory of " + rootName(w) + " and " + rootName(a) + " may overlap"
	}
	if !w.Known || !a.Known {
		return "an index of " + w.root.Text() + " is not affine in the loop variables"
	}
	if m.steppedOver(f, w, a) {
		return ""
	}
	w, a = w.fromZero(f), a.fromZero(f)
	why := m.meeting(f, w, a)
	for why != "" {
		var fewer bool
		if w, a, fewer = m.withoutEqual(f, w, a); !fewer {
			return why
		}
		why = m.meeting(f, w, a)
	}
	return why
}

// meeting is Conflict for affine accesses to one slice; it considers the stride of f only.
func (m *Dependences) meeting(f *ir.For, w, a AccessForm) string {
	cw, ok1 := w.Form.Coef(f.Var)
	ca, ok2 := a.Form.Coef(f.Var)
	why := "two iterations may touch the same element of " + w.root.Name
	if !ok1 || !ok2 || !cw.Equal(ca) || cw.Equal(affine.Form{}) || !m.keeps(f, cw) {
		return why
	}
	// w at i equals a at i' where c*(i-i') = rest(a) - rest(w); impossible for i != i' while
	// |difference| < |c|*step.
	diff, ok := m.restRange(w, a, f)
	if !ok {
		return why
	}
	if diff.lo.Equal(affine.Form{}) && diff.hi.Equal(affine.Form{}) {
		if !m.notZero(cw, f, w.Loops) && !m.SupposeAll(build.Compare(ir.Ne, cw.Expr(f.At), build.Int(0, f.At), f.At)) {
			return why + " where " + cw.String() + " is 0"
		}
		return m.wraps(f, cw, why) // the rests are equal, so i = i'
	}
	if !m.stepsBeyond(f, cw, diff) && !m.endsBefore(f, cw, diff) && !m.meetsNever(f, w, a, cw, diff) {
		return why
	}
	return m.wraps(f, cw, why)
}

// mostDistance is the largest number of steps between two iterations that meetsNever considers.
const mostDistance = 4

// meetsNever reports whether w and a could meet only in iterations of f at one distance from each
// other, and do not, because f or a loop inside f steps over the element.
func (m *Dependences) meetsNever(f *ir.For, w, a AccessForm, coef affine.Form, diff extent) bool {
	step, ok := query.Int64(f.Step)
	if !ok || integers.Magnitude(step) >= smallStride {
		return false
	}
	for distance := int64(-mostDistance); distance <= mostDistance; distance++ {
		by, known := coef.Mul(affine.Constant(distance*step)), len(m.supposed())
		// Where it steps beyond what is left, w's iteration is that far behind a's.
		if m.stepsBeyond(f, coef, extent{diff.lo.Sub(by), diff.hi.Sub(by)}) {
			l := &lattice{m: m, f: f, free: map[*ir.Var]bool{}}
			mine := affine.OfVar(f.Var)
			if l.apart(l.index(w, mine), l.index(a, mine.AddConst(-distance*step))) {
				return true
			}
		}
		m.unsuppose(known)
	}
	return false
}

// endsBefore reports whether an index with coefficient coef of f's variable changes by less than
// diff over all iterations of f.
func (m *Dependences) endsBefore(f *ir.For, coef affine.Form, diff extent) bool {
	c, isConst := coef.Const()
	if !isConst && !positiveTerms(coef) {
		return false
	}
	b, p := boundsOfAll([]*ir.For{f})[0], &Prover{}
	for _, b := range []bounds{b, endsIn(b, m.k.Body)} {
		way := coef.Mul(b.Hi.Sub(b.Lo))
		if isConst && c < 0 {
			way = affine.Form{}.Sub(way)
		}
		if way.Known() && (p.notNegative(diff.lo.Sub(way).AddConst(-1)) || p.notNegative(affine.Form{}.Sub(diff.hi).Sub(way).AddConst(-1))) {
			return true
		}
	}
	return false
}

// stepsBeyond reports whether an index with coefficient coef of f's variable changes by more than
// diff in one step of f.
func (m *Dependences) stepsBeyond(f *ir.For, coef affine.Form, diff extent) bool {
	step, ok := query.Int64(f.Step)
	if !ok {
		return false
	}
	if step < 0 {
		step = -step
	}
	reach := coef.Mul(affine.Constant(step))
	if c, ok := coef.Const(); ok && c < 0 {
		reach = affine.Form{}.Sub(reach)
	}
	p := &Prover{}
	above, beneath := reach.AddConst(-1).Sub(diff.hi), reach.AddConst(-1).Add(diff.lo)
	return p.notNegative(above) && p.notNegative(beneath) || m.stepIsCount(reach, diff) || m.supposeRoom(f, coef, reach, above, beneath)
}

// keeps reports whether the variables in forms have the same values in all iterations of f.
func keeps(f *ir.For, forms ...affine.Form) bool {
	declared, assigned := ir.Declared(f.Body), ir.Assigned(f.Body)
	for _, form := range forms {
		for _, x := range form.Atoms() {
			if declared.Has(x.Var) || assigned.Has(x.Var) {
				return false
			}
		}
	}
	return true
}

// notZero reports whether coef is non-zero wherever f runs and an access inside loops is made.
// Either coef is a constant, or it is greater than the last value of the variable of one of loops,
// or of a loop around f, whose first value is not negative.
func (m *Dependences) notZero(coef affine.Form, f *ir.For, loops []*ir.For) bool {
	if _, ok := coef.Const(); ok {
		return true
	}
	p := &Prover{Changed: &ir.VarSet{}, Taken: &ir.VarSet{}, lengths: map[*ir.Var]affine.Form{}, Defs: m.constants()}
	for _, x := range coef.Atoms() {
		if form, ok := p.Defs[x.Var]; ok && x.Of == affine.ValueOf {
			coef = coef.Subst(x.Var, form)
		}
	}
	for _, g := range append(loopsTo(m.k.Body, f), loops...) {
		b := p.BoundsOf(g)
		if b.Lo.Known() && b.Hi.Known() && keeps(g, coef, b.Lo, b.Hi) && p.notNegative(b.Lo) && p.notNegative(coef.AddConst(-1).Sub(b.Hi)) {
			return true
		}
	}
	return false
}

// constants returns the variables of the kernel that are always affine forms of its parameters.
func (m *Dependences) constants() affine.Definitions {
	body, out := m.k.Body, affine.Definitions{}
	changed, taken := ir.Assigned(body), ir.AddressTaken(body)
	fixed := func(v *ir.Var) bool { return v.Space == ir.Param && !changed.Has(v) && !taken.Has(v) }
	for _, s := range body {
		d, ok := s.(*ir.Decl)
		if !ok || d.Init == nil || changed.Has(d.Var) || taken.Has(d.Var) {
			continue
		}
		form, ok := out.Of(d.Init)
		if ok && !slices.ContainsFunc(form.Atoms(), func(x affine.Atom) bool { return !fixed(x.Var) }) {
			out[d.Var] = form
		}
	}
	return out
}

// loopsTo returns f and the loops in list around f.
func loopsTo(list []ir.Stmt, f *ir.For) []*ir.For {
	out := []*ir.For{f}
	ir.WalkStmts(list, func(s ir.Stmt) bool {
		g, ok := s.(*ir.For)
		if !ok || g == f {
			return g != f
		}
		ir.WalkStmts(g.Body, func(s ir.Stmt) bool {
			if s == ir.Stmt(f) {
				out = append(out, g)
			}
			return true
		})
		return true
	})
	return out
}

// supposeRoom reports whether all forms may be assumed not to be negative, by means of runtime
// tests: a row of coef elements is longer than the part of it that an iteration accesses. The tests
// also exclude wrapping, so forms may have only few variables. They are of no use if a form is
// negative where reach, the distance of a step, is positive, or f has two iterations.
func (m *Dependences) supposeRoom(f *ir.For, coef, reach affine.Form, forms ...affine.Form) bool {
	if _, isConst := coef.Const(); isConst {
		return false // the test would compare with the length of the loop
	}
	b := boundsOfAll([]*ir.For{f})[0]
	way := b.Hi.Sub(b.Lo)
	var conds []ir.Expr
	for _, a := range forms {
		if c, isConst := a.Const(); isConst && c >= 0 {
			continue
		} else if isConst || len(a.Terms) > 6 || negativeBeyond(a, reach) || negativeBeyond(a, way) {
			return false
		}
		for _, t := range a.Terms {
			if len(t.Atoms) > 1 || integers.Magnitude(t.Coef) > 1<<20 {
				return false
			}
			for _, x := range t.Atoms {
				if v := x.Expr(f.At); x.Of == affine.ValueOf && x.Var.Type.Size == 8 {
					conds = append(conds, build.Compare(ir.Lt, v, build.Int(1<<40, f.At), f.At), build.Compare(ir.Lt, build.Int(-1<<40, f.At), v, f.At))
				}
			}
		}
		conds = append(conds, NotNegativeTest(a, f.At))
	}
	return m.SupposeAll(conds...)
}

// negativeBeyond reports whether a is negative wherever b is positive: a = c - k*b, with c < k.
func negativeBeyond(a, b affine.Form) bool {
	for _, r := range b.Terms {
		for _, t := range a.Terms {
			if len(r.Atoms) == 0 || !slices.Equal(r.Atoms, t.Atoms) {
				continue
			}
			k := -(t.Coef / r.Coef)
			c, isConst := a.Add(b.Mul(affine.Constant(k))).Const()
			return k > 0 && isConst && c < k
		}
	}
	return false
}

// NotNegativeTest returns the condition a >= 0, with negative terms moved to the other side.
func NotNegativeTest(a affine.Form, at ir.Pos) ir.Expr {
	var left, right []affine.Term
	for _, t := range a.Terms {
		if t.Coef < 0 {
			right = append(right, affine.Term{Coef: -t.Coef, Atoms: t.Atoms})
		} else {
			left = append(left, t)
		}
	}
	return build.Compare(ir.Le, affine.Form{Terms: right}.Expr(at), affine.Form{Terms: left}.Expr(at), at)
}

// smallStride is a stride at which a loop would run for hours before an index wraps: 2^44
// iterations in 64 bits.
const smallStride = 1 << 20

// wraps returns the reason why two iterations of f may have equal multiples of coef although coef
// is not 0: the product wraps in 64 bits. It returns "" if that is impossible or excluded by a
// runtime test.
func (m *Dependences) wraps(f *ir.For, coef affine.Form, why string) string {
	if c, ok := coef.Const(); ok && integers.Magnitude(c) <= smallStride || m.counted(f, coef) {
		return ""
	}
	at, asFloat := f.At, func(e ir.Expr) ir.Expr { return &ir.Convert{T: ir.Float64Type, X: e, At: f.At} }
	trips := &ir.Binary{Op: ir.Sub, X: asFloat(f.Hi), Y: asFloat(f.Lo), T: ir.Float64Type, At: at}
	reach := &ir.Binary{Op: ir.Mul, X: asFloat(coef.Expr(at)), Y: trips, T: ir.Float64Type, At: at}
	limit := func(x float64) ir.Expr { return &ir.Const{T: ir.Float64Type, Bits: math.Float64bits(x), At: at} }
	if !m.SupposeAll(build.Compare(ir.Lt, reach, limit(1<<62), at), build.Compare(ir.Gt, reach, limit(-1<<62), at)) {
		return why + " where " + coef.String() + " is so large that an index wraps"
	}
	return ""
}

// counted reports whether each iteration of f runs a complete inner loop of about coef iterations.
// Then f would have to run for years before the multiple of coef wraps.
func (m *Dependences) counted(f *ir.For, coef affine.Form) bool {
	p := &Prover{Changed: &ir.VarSet{}, Taken: &ir.VarSet{}, lengths: map[*ir.Var]affine.Form{}}
	for _, s := range f.Body {
		if query.JumpsOut(s) {
			return false // the jump may start the next iteration
		}
		g, ok := s.(*ir.For)
		if !ok || query.LeavesLoop(g) {
			continue
		}
		b := p.BoundsOf(g)
		if step, ok := query.Int64(g.Step); !ok || step != 1 || !b.Lo.Known() || !b.Hi.Known() {
			continue
		}
		if c, ok := coef.Sub(b.Hi).Add(b.Lo).Const(); ok && integers.Magnitude(c) < smallStride {
			return true
		}
	}
	return false
}

func rootName(a AccessForm) string {
	if a.root == nil {
		return "a slice made in the loop"
	}
	return a.root.Text()
}

// ownMemory reports whether x and y are different variables and at least one of them is an array,
// which overlaps with no other variable.
func ownMemory(x, y *ir.Var) bool {
	return x != nil && y != nil && x != y && (x.Type.Kind == ir.Array || y.Type.Kind == ir.Array)
}

// An extent is the range of a form over the iterations of the inner loops.
type extent struct{ lo, hi affine.Form }

// restRange returns the range of rest(a) - rest(w), where the inner loop variables of a and w are
// independent of each other.
func (m *Dependences) restRange(w, a AccessForm, f *ir.For) (extent, bool) {
	rw, ok1 := m.rangeOf(w.Form.Without(f.Var), w.ranges, f)
	ra, ok2 := m.rangeOf(a.Form.Without(f.Var), a.ranges, f)
	if !ok1 || !ok2 {
		return extent{}, false
	}
	s := extent{lo: ra.lo.Sub(rw.hi), hi: ra.hi.Sub(rw.lo)}
	return s, s.lo.Known() && s.hi.Known()
}

// rangeOf returns the range of form over ranges, in any iteration of f.
func (m *Dependences) rangeOf(form affine.Form, ranges []bounds, f *ir.For) (extent, bool) {
	whole := boundsOfAll([]*ir.For{f})
	s, ok := spread(form, append(whole, ranges...))
	return s, ok && m.keeps(f, s.lo, s.hi)
}

// spread returns the range of form over ranges, outermost first.
func spread(form affine.Form, ranges []bounds) (extent, bool) {
	s := extent{form, form}
	for k := len(ranges) - 1; k >= 0; k-- {
		b := ranges[k]
		if !s.lo.Has(b.Var) && !s.hi.Has(b.Var) {
			continue
		}
		var ok1, ok2 bool
		s.lo, ok1 = toEnd(s.lo, b.Var, b.Lo, b.Hi)
		s.hi, ok2 = toEnd(s.hi, b.Var, b.Hi, b.Lo)
		if !ok1 || !ok2 {
			return extent{}, false
		}
	}
	return s, s.lo.Known() && s.hi.Known()
}

// toEnd returns a with v replaced by up if the coefficient of v is not negative, by down if it is
// negative; ok is false if the sign is unknown.
func toEnd(a affine.Form, v *ir.Var, up, down affine.Form) (out affine.Form, ok bool) {
	coef, ok := a.Coef(v)
	c, isConst := coef.Const()
	switch {
	case !ok || !isConst && !positiveTerms(coef):
		return a, false
	case isConst && c < 0:
		up = down
	}
	return a.Subst(v, up), up.Known()
}

// stepIsCount recognises an index i*n + j with 0 <= j < n: the range has width n-1, and n is at
// least 1 whenever the inner loop runs.
func (m *Dependences) stepIsCount(reach affine.Form, s extent) bool {
	return reach.AddConst(-1).Equal(s.hi) && reach.AddConst(-1).Equal(affine.Form{}.Sub(s.lo))
}

// Stride1 returns the number of accesses in list whose address changes by one element with v, minus
// the number of those whose address changes by more. An access in an inner loop counts four times.
func (m *Dependences) Stride1(list []ir.Stmt, v *ir.Var) int {
	return stride1(list, v, func(AccessForm) bool { return true })
}

// Stride1In is Stride1 of the body of a loop over inner, without the accesses whose address is the
// same in all of its iterations: a thread makes them once.
func (m *Dependences) Stride1In(list []ir.Stmt, v, inner *ir.Var) int {
	return stride1(list, v, func(a AccessForm) bool { return a.Form.Has(inner) })
}

func stride1(list []ir.Stmt, v *ir.Var, counts func(a AccessForm) bool) int {
	c := &AccessList{Defs: affine.Definitions{}, Changed: ir.Assigned(list), Taken: ir.AddressTaken(list)}
	c.Stmts(list)
	score := 0
	for _, a := range c.List {
		weight := 1
		for range a.Loops {
			weight *= 4
		}
		if !a.Known || !counts(a) {
			continue
		}
		coef, ok := a.Form.Coef(v)
		n, isConst := coef.Const()
		switch {
		case ok && isConst && (n == 1 || n == -1):
			score += weight
		case !ok || !isConst || n != 0:
			score -= weight
		}
	}
	return score
}

// A rereadRow is a contiguous row of elements that several loops of a team read.
type rereadRow struct {
	root  *ir.Var
	start affine.Form
	first *ir.For
	again bool // a second loop reads it too
}

// RereadBytes returns the number of bytes that one iteration of the worksharing loops in body reads
// from device memory although another of these loops reads them too. It counts rows that belong to
// one iteration of the enclosing loop of v.
func RereadBytes(body []ir.Stmt, v *ir.Var) ir.Bytes {
	c := &AccessList{Defs: affine.Definitions{}, Changed: ir.Assigned(body), Taken: ir.AddressTaken(body)}
	c.Stmts(body)
	var rows []rereadRow
	for _, a := range c.List {
		f := worksharedAlong(a)
		if f == nil {
			continue
		}
		start := a.Form.Without(f.Var)
		if !start.Has(v) {
			continue
		}
		same := func(r rereadRow) bool { return r.root == a.root && r.start.Equal(start) }
		if i := slices.IndexFunc(rows, same); i >= 0 {
			rows[i].again = rows[i].again || rows[i].first != f
		} else {
			rows = append(rows, rereadRow{root: a.root, start: start, first: f})
		}
	}
	var sum ir.Bytes
	for _, r := range rows {
		if r.again {
			sum += r.root.Type.Elem.Size
		}
	}
	return sum
}

// worksharedAlong returns the worksharing loop whose variable moves the read a by one element, nil
// if there is none.
func worksharedAlong(a AccessForm) *ir.For {
	if a.write || !a.Known || a.root == nil || a.root.Type.Kind != ir.Slice {
		return nil
	}
	for _, f := range a.Loops {
		if f.Directive == nil || f.Directive.Parts&ir.Workshare == 0 {
			continue
		}
		coef, ok := a.Form.Coef(f.Var)
		if n, isConst := coef.Const(); ok && isConst && n == 1 {
			return f
		}
	}
	return nil
}

// InsideRow returns a without the outermost of its loops.
func (a AccessForm) InsideRow() AccessForm {
	a.Loops, a.ranges = a.Loops[1:], a.ranges[1:]
	return a
}
