package analysis

import (
	"slices"

	"github.com/gompss/gompss/codegen/internal/analysis/affine"
	"github.com/gompss/gompss/codegen/ir"
	"github.com/gompss/gompss/codegen/ir/query"
)

// A Reach is one memory reference: a load or store of an element of the memory that Base refers to,
// or of the array variable Base.
type Reach struct {
	Base   *ir.Var       // a parameter of the kernel, or a local array or pointer of unknown origin
	Index  affine.Form   // in elements of Base; unknown if it depends on data
	Inside []affine.Form // the indices of arrays inside the element, outermost first
	Write  bool
	Atomic bool
	Extent Extent      // how much of the element it accesses, and how certainly
	Loops  []LoopRange // the enclosing loops, outermost first
	Conds  []ir.Expr   // the conditions under which it is executed: of enclosing and of earlier Ifs
	Sides  []side      // for each of Conds, the branch that is taken
	Facts  []Fact      // the non-negative forms that follow from Conds
	Part   bytePart    // of the element
	In     []ir.Stmt   // the enclosing directives, outermost first: Fors and Constructs
	Phase  int         // the number of the phase: the code between two barriers of a team
	At     ir.Pos      // of the access
	Expr   ir.Expr     // as written
	// Through is the slice or pointer through which Base may be accessed, if it is assigned in
	// several places; else nil.
	Through *ir.Var
}

// An Extent is a set of facts about how much of an element a Reach accesses, and how certainly.
type Extent uint8

// The elements of an Extent.
const (
	Always  Extent = 1 << iota // in every iteration of the enclosing loops, and these run to their end
	Certain                    // Always, and the access is to a whole element
	Sure                       // Certain, provided that Conds hold
	Whole                      // the index is checked against the length of Base itself
	Maybe                      // Through may refer to other memory there
	Reduced                    // the access of a reduction to its place
)

// Is reports whether the extent of r contains x.
func (r *Reach) Is(x Extent) bool { return r.Extent&x != 0 }

// With returns e with x if yes is true, else e without x.
func (e Extent) With(x Extent, yes bool) Extent {
	if yes {
		return e | x
	}
	return e &^ x
}

// A bytePart is the part of an element that a place denotes: Size bytes, from byte offset Off.
type bytePart struct {
	Off  affine.Form
	Size int64
}

// A view is what a slice or pointer variable refers to: base from element off on.
type view struct {
	Base *ir.Var
	Off  affine.Form
	cut  bool // the view is only a part of base
}

// A Collector finds the memory references of code, including those of the functions that the code
// calls.
type Collector struct {
	defs       affine.Definitions
	views      map[*ir.Var]view
	Mutable    *ir.VarSet // variables that have more than one value during their life
	jumps      bool       // after a break, continue or return: the following code may be skipped
	lost       bool       // a reference has no known base
	Unfollowed []Reach    // the references without a known base
	Loops      []LoopRange
	branches   branches
	passed     side // the last branch of the If that the collector left last

	enclosing
	Out     []Reach
	Parts   []DistPart  // of the arrays of dist_ clauses
	once    *ir.VarSet  // variables that are assigned at one place, after their declaration
	params  []*ir.Var   // of the kernel
	taken   *ir.VarSet  // variables whose address is taken
	helpers *ir.VarSet  // variables of the functions that the kernel calls
	Sites   *SiteFinder // nil if the caller does not need the checks

	instances int // of variables of functions, whose values are unknown
}

// Collect returns the memory references of list, a part of k, in program order.
func Collect(k *ir.Kernel, list []ir.Stmt) []Reach {
	c := NewCollector(k)
	c.Define(k.Body)
	c.Stmts(list)
	return c.Out
}

// NewCollector returns a collector of the accesses of k.
func NewCollector(k *ir.Kernel) *Collector {
	c := &Collector{defs: affine.Definitions{}, views: map[*ir.Var]view{}, branches: branches{negations: map[ir.Expr]ir.Expr{}}, Mutable: &ir.VarSet{}, once: valuesOnce(k), params: k.Params, taken: &ir.VarSet{}, helpers: &ir.VarSet{}}
	bodies := [][]ir.Stmt{k.Body}
	for _, f := range k.Funcs {
		bodies = append(bodies, f.Body)
	}
	for i, body := range bodies {
		for _, v := range ir.AddressTaken(body).List() {
			c.taken.Add(v)
		}
		if i > 0 {
			for _, set := range []*ir.VarSet{ir.Declared(body), ir.Assigned(body)} {
				for _, v := range set.List() {
					c.helpers.Add(v)
				}
			}
			for _, v := range k.Funcs[i-1].Params {
				c.helpers.Add(v)
			}
		}
		for _, set := range []*ir.VarSet{ir.Assigned(body), ir.AddressTaken(body)} {
			for _, v := range set.List() {
				if !c.once.Has(v) {
					c.Mutable.Add(v)
				}
			}
		}
	}
	return c
}

// Define records the locals of list that keep their first value, so that a part of list can be
// collected by itself.
func (c *Collector) Define(list []ir.Stmt) {
	ir.WalkStmts(list, func(s ir.Stmt) bool {
		if d, ok := s.(*ir.Decl); ok {
			c.decl(d)
		}
		return true
	})
}

func (c *Collector) decl(s *ir.Decl) {
	if s.Init == nil || c.Mutable.Has(s.Var) {
		return
	}
	c.set(s.Var, s.Init)
}

// set records the value of a variable that keeps its value. If the value is unknown, set removes an
// earlier value: a parameter of a function has another value in each call.
func (c *Collector) set(v *ir.Var, value ir.Expr) {
	c.length(v, value)
	switch v.Type.Kind {
	case ir.Slice, ir.Pointer:
		w, ok := c.ViewOf(value)
		if delete(c.views, v); ok {
			c.views[v] = w
		}
	default:
		a := c.form(value)
		if delete(c.defs, v); a.Known() {
			c.defs[v] = a
			return
		}
		c.unknown(v)
	}
}

// unknown records that v has another value now, of which nothing is known but its type. Each call
// of a function gives its variables values of their own, so forms must not have one atom for them.
func (c *Collector) unknown(v *ir.Var) {
	delete(c.views, v)
	if delete(c.defs, v); !v.Type.IsInteger() || c.Mutable.Has(v) {
		return
	}
	if c.opens(v.Type) {
		c.defs[v] = deriver{c}.anyOf(v.Type)
		return
	}
	if c.inHelper(v) {
		c.instances++
		c.defs[v] = affine.OfVar(&ir.Var{Name: v.Name, Type: v.Type, Space: v.Space, ID: 2*derivedIDs + c.instances})
	}
}

// opens reports whether forms have variables for values of type t of which nothing is known.
func (c *Collector) opens(t *ir.Type) bool {
	return c.Sites != nil && !c.Sites.Reaches && t.IsInteger() && t.Kind != ir.Uint64 && len(c.Sites.Order) < MaxForms
}

// IsInstance reports whether v stands for the value of a variable in one call of its function.
func IsInstance(v *ir.Var) bool { return v.ID >= 2*derivedIDs }

// form returns e as an affine form of parameters, lengths and loop variables. The form is unknown
// if a variable in e changes.
func (c *Collector) form(e ir.Expr) affine.Form {
	if c.Sites != nil {
		return deriver{c}.deriving(e)
	}
	a := c.resolve(c.defs.Form(e))
	for _, x := range a.Atoms() {
		if c.Mutable.Has(x.Var) {
			return affine.Form{Unknown: true}
		}
	}
	return a
}

// resolve returns a, or the unknown form if a has the length of a local slice, which is unknown.
func (c *Collector) resolve(a affine.Form) affine.Form {
	for _, x := range a.Atoms() {
		if x.Of != affine.ValueOf && x.Var.Space != ir.Param {
			return affine.Form{Unknown: true}
		}
	}
	return a
}

// ViewOf returns the view of the slice or pointer value e: the memory that it refers to.
func (c *Collector) ViewOf(e ir.Expr) (view, bool) {
	switch e := e.(type) {
	case *ir.Ref:
		if v, ok := c.views[e.Var]; ok {
			return v, true
		}
		k := e.Var.Type.Kind
		return view{Base: e.Var}, k == ir.Slice || k == ir.Pointer || k == ir.Array
	case *ir.Reslice:
		v, ok := c.ViewOf(e.X)
		if e.X.Type().Kind == ir.Array && query.RefVar(e.X) == nil {
			v.Off = affine.Form{Unknown: true} // a slice of an array inside an element: other element size
		} else if ok && e.Lo != nil {
			v.Off = v.Off.Add(c.form(e.Lo))
		}
		v.cut = v.cut || e.Lo != nil || e.Hi != nil
		return v, ok
	case *ir.AddrOf:
		v, ok := c.ViewOf(e.X)
		v.cut = true
		if !wholeElement(e.X) {
			v.Off = affine.Form{Unknown: true}
		}
		return v, ok
	case *ir.Index:
		v, ok := c.ViewOf(e.X)
		if e.X.Type().Kind == ir.Slice || query.RefVar(e.X) != nil {
			v.Off = v.Off.Add(c.form(e.I)) // else e is a part of element e.X
		}
		return v, ok
	case *ir.Member:
		return c.ViewOf(e.X)
	case *ir.Deref:
		return c.ViewOf(e.X)
	}
	return view{}, false
}

// Stmts collects the accesses of list in order.
func (c *Collector) Stmts(list []ir.Stmt) {
	for i, s := range list {
		if w, ok := s.(*ir.While); ok && i > 0 && c.Sites != nil && (counterFinder{c}).counted(list[i-1], w) {
			valueFlow{c}.drop(w)
			continue
		}
		undo := c.freeze(s)
		jumps := c.jumps
		c.stmt(s)
		undo()
		if skips, ok := s.(*ir.If); ok && (c.Sites == nil || c.Sites.Reaches) && !jumps && len(skips.Else) == 0 && onlyContinues(skips.Then) {
			c.jumps = false
			var facts []Fact
			if c.Sites != nil {
				facts = c.Sites.passed[0]
			}
			c.branches.turn(skips.Cond, c.passed, facts)
			c.Stmts(list[i+1:])
			c.branches.pop()
			c.jumps = true
			return
		}
		if (valueFlow{c}).behind(s, list[i+1:]) {
			return
		}
	}
}

// onlyContinues reports whether list ends with a continue and has no other jump.
func onlyContinues(list []ir.Stmt) bool {
	if len(list) == 0 {
		return false
	}
	_, ok := list[len(list)-1].(*ir.Continue)
	return ok && !Jumps(list[:len(list)-1]) && !slices.ContainsFunc(list, query.IsBadStmt)
}

func (c *Collector) stmt(s ir.Stmt) {
	defer c.behind(s, c.phase())
	switch s := s.(type) {
	case *ir.Decl:
		c.read(s.Init)
		c.decl(s)
		valueFlow{c}.assign(s.Var, s.Init)
		c.jumps = c.jumps || query.IsBadStmt(s) // the source of a BadStmt may be a jump
	case *ir.Assign:
		c.read(s.Value)
		c.store(s.Place, false)
		if r, ok := s.Place.(*ir.Ref); ok && c.once.Has(r.Var) {
			c.set(r.Var, s.Value)
		} else if ok {
			valueFlow{c}.assign(r.Var, s.Value)
		}
	case *ir.Atomic:
		c.atomic(s)
		valueFlow{c}.drop(s)
	case *ir.Call:
		c.call(s)
	case *ir.If:
		c.read(s.Cond)
		valueFlow{c}.branch(s)
	case *ir.While:
		valueFlow{c}.drop(s)
		c.branches.push(s.Cond, len(c.Loops), valueFlow{c}.facts(s.Cond, true))
		outer := c.jumps
		valueFlow{c}.whileLoop(s)
		c.jumps = outer || Leaves(s.Body, s.Label, false)
		c.branches.pop()
		valueFlow{c}.drop(s)
	case *ir.For:
		c.forLoop(s)
		valueFlow{c}.drop(s)
	case *ir.Block:
		outer := c.jumps
		c.nest(s)
		valueFlow{c}.dropBroken(s)
		c.jumps = outer || Leaves(s.Body, s.Label, false)
	case *ir.Construct:
		checker{c}.checkedPlaces(s.Directive)
		valueFlow{c}.drop(s)
		c.in = append(c.in, s)
		c.nest(s)
		c.in = c.in[:len(c.in)-1]
		valueFlow{c}.drop(s)
	case *ir.Break, *ir.Continue, *ir.Return:
		c.nest(s)
		if r, ok := s.(*ir.Return); ok {
			valueFlow{c}.returns(r)
		}
		c.jumps = true
	default:
		c.nest(s)
		valueFlow{c}.drop(s)
	}
}

// nest collects the expressions of s and the statements inside s.
func (c *Collector) nest(s ir.Stmt) {
	for _, e := range query.DirectExprs(s) {
		c.read(e)
	}
	ir.Lists(s, c.Stmts)
}

func (c *Collector) forLoop(s *ir.For) {
	for _, e := range query.DirectExprs(s) {
		c.read(e)
	}
	checker{c}.checkedPlaces(s.Directive)
	checker{c}.checkedStep(s)
	c.Loops = append(c.Loops, c.RangeOf(s))
	valueFlow{c}.drop(s)
	if s.Directive != nil {
		c.in = append(c.in, s)
	}
	c.distParts(s)
	outer := c.jumps
	c.jumps = outer || Leaves(s.Body, s.Label, true)
	c.Stmts(s.Body)
	c.jumps = outer || Leaves(s.Body, s.Label, false)
	if s.Directive != nil {
		c.in = c.in[:len(c.in)-1]
	}
	c.Loops = c.Loops[:len(c.Loops)-1]
}

func (c *Collector) atomic(s *ir.Atomic) {
	c.read(s.Value)
	c.read(s.Compare)
	if s.Kind != ir.AtomicWrite {
		c.place(s.Place, false, true)
	}
	if s.Kind != ir.AtomicRead {
		c.place(s.Place, true, true)
	}
	if s.Old != nil {
		c.store(s.Old, false)
	}
}

// call collects the body of the called function, with its parameters bound to the arguments.
func (c *Collector) call(s *ir.Call) {
	for i, arg := range s.Args {
		c.read(arg)
		c.bind(s.Fn.Params[i], arg)
	}
	jumps := c.jumps
	if c.Sites != nil {
		if c.Sites.calls++; c.Sites.TooMany() {
			return
		}
	}
	valueFlow{c}.enter(len(s.Results))
	c.Stmts(s.Fn.Body)
	c.jumps = jumps // a return in the function only ends the function
	c.returned(s)
}

// Leaves reports whether a jump in list may leave list, which is the body of the statement with
// label own. A Continue with label own does not leave it; a Break with label own counts only if
// breaks is true.
func Leaves(list []ir.Stmt, own *ir.Label, breaks bool) bool {
	inside := map[*ir.Label]bool{}
	ir.WalkStmts(list, func(s ir.Stmt) bool {
		switch s := s.(type) {
		case *ir.For:
			inside[s.Label] = true
		case *ir.While:
			inside[s.Label] = true
		case *ir.Block:
			inside[s.Label] = true
		}
		return true
	})
	found := false
	ir.WalkStmts(list, func(s ir.Stmt) bool {
		switch s := s.(type) {
		case *ir.Return:
			found = true
		case *ir.Break:
			found = found || !inside[s.Label] && (s.Label != own || breaks)
		case *ir.Continue:
			found = found || !inside[s.Label] && s.Label != own
		default:
			found = found || query.IsBadStmt(s)
		}
		return !found
	})
	return found
}

func (c *Collector) bind(param *ir.Var, arg ir.Expr) {
	delete(c.defs, param)
	delete(c.views, param)
	if !c.Mutable.Has(param) {
		c.set(param, arg)
	} else {
		valueFlow{c}.assign(param, arg)
	}
}

// read collects the loads of e.
func (c *Collector) read(e ir.Expr) {
	switch e := e.(type) {
	case nil, *ir.Ref:
	case *ir.Index, *ir.Member, *ir.Deref:
		c.place(e, false, false)
	case *ir.AddrOf:
		c.address(e.X)
	case *ir.Reslice:
		c.address(e.X)
		c.read(e.Lo)
		c.read(e.Hi)
		c.read(e.Max)
		checker{c}.checkedReslice(e)
	case *ir.Binary:
		checker{c}.checkedBinary(e)
		c.read(e.X)
		if e.Op != ir.LAnd && e.Op != ir.LOr {
			c.read(e.Y)
			return
		}
		cond := e.X
		if e.Op == ir.LOr {
			cond = negation(cond)
		}
		c.under(cond, e.Y)
	case *ir.Select:
		c.read(e.Cond)
		c.under(e.Cond, e.X)
		c.under(negation(e.Cond), e.Y)
	default:
		ir.Operands(e, c.read)
	}
}

// under collects the loads of an expression that is evaluated only where cond holds.
func (c *Collector) under(cond, e ir.Expr) {
	c.branches.push(cond, len(c.Loops), valueFlow{c}.facts(cond, true))
	c.read(e)
	c.branches.pop()
}

// A side is one branch of a condition.
type side struct {
	Test  int  // the number of the condition
	Not   bool // the branch in which the condition does not hold
	Depth int  // the number of enclosing loops
}

// branches are the conditions under which code is reached, outermost first.
type branches struct {
	conds     []ir.Expr
	sides     []side              // the branch of each of conds
	facts     [][]Fact            // of each of conds, where values are followed
	tests     int                 // the number of conditions so far
	negations map[ir.Expr]ir.Expr // the same negation for each visit of a condition
}

// push records that the following code, inside depth loops, is executed only if cond holds.
func (b *branches) push(cond ir.Expr, depth int, facts []Fact) {
	b.tests++
	b.facts = append(b.facts, facts)
	b.conds, b.sides = append(b.conds, cond), append(b.sides, side{Test: b.tests, Depth: depth})
}

// turn records that the following code is executed only if cond, an earlier condition with branch
// met, does not hold.
func (b *branches) turn(cond ir.Expr, met side, facts []Fact) {
	b.facts = append(b.facts, facts)
	if b.negations[cond] == nil {
		b.negations[cond] = negation(cond)
	}
	met.Not = true
	b.conds, b.sides = append(b.conds, b.negations[cond]), append(b.sides, met)
}

// pop removes the condition of the last push or turn, and returns it with its branch.
func (b *branches) pop() (ir.Expr, side) {
	n := len(b.conds) - 1
	cond, of := b.conds[n], b.sides[n]
	b.conds, b.sides, b.facts = b.conds[:n], b.sides[:n], b.facts[:n]
	return cond, of
}

func negation(cond ir.Expr) ir.Expr { return &ir.Unary{Op: ir.Not, X: cond, At: cond.Pos()} }

func (c *Collector) store(e ir.Expr, atomic bool) { c.place(e, true, atomic) }

// address collects the loads that the computation of the address of place e makes.
func (c *Collector) address(e ir.Expr) {
	switch e := e.(type) {
	case *ir.Index:
		c.read(e.I)
		c.address(e.X)
		checker{c}.checkedIndex(e)
	case *ir.Member:
		c.address(e.X)
	case *ir.Deref:
		c.read(e.X)
		checker{c}.checkedDeref(e)
	default:
		c.read(e)
	}
}

// place collects the load or store of place e, if e is in an array or in memory that a slice or
// pointer refers to.
func (c *Collector) place(e ir.Expr, write, atomic bool) {
	c.address(e)
	if _, whole := e.(*ir.Ref); whole && !write {
		return
	}
	v, ok := c.ViewOf(e)
	if ref, isRef := e.(*ir.Ref); isRef {
		v, ok = view{Base: ref.Var}, true
	}
	if m, isMember := e.(*ir.Member); isMember && !ok {
		v, ok = view{Base: ir.RootVar(m)}, ir.RootVar(m) != nil
	}
	if !ok {
		c.lost = true
		c.Unfollowed = append(c.Unfollowed, Reach{Write: write, Atomic: atomic, At: e.Pos(), Expr: e, Loops: slices.Clone(c.Loops), In: slices.Clone(c.in), Phase: c.phase()})
		return
	}
	c.Out = append(c.Out, Reach{Base: v.Base, Index: v.Off, Inside: c.indicesInside(e), Write: write, Atomic: atomic, At: e.Pos(), Expr: e,
		Facts: valueFlow{c}.here(), Part: c.partOfElement(e), Extent: c.extentOf(e),
		Loops: append([]LoopRange(nil), c.Loops...), Conds: slices.Clone(c.branches.conds), Sides: slices.Clone(c.branches.sides), In: append([]ir.Stmt(nil), c.in...), Phase: c.phase()})
}

// extentOf returns the extent of a load or store of place e at the current position.
func (c *Collector) extentOf(e ir.Expr) Extent {
	always, all := len(c.branches.conds) == 0 && !c.jumps, wholeElement(e)
	return Extent(0).With(Always, always).With(Certain, always && all).With(Sure, !c.jumps && all).With(Whole, c.indexesWhole(e))
}

// partOfElement returns the part of the slice element that place e denotes.
func (c *Collector) partOfElement(e ir.Expr) bytePart {
	p := bytePart{Size: int64(e.Type().Size)}
	for {
		switch x := e.(type) {
		case *ir.Member:
			p.Off = p.Off.AddConst(int64(x.X.Type().Fields[x.Field].Offset))
			e = x.X
			continue
		case *ir.Index:
			if x.X.Type().Kind == ir.Array && query.RefVar(x.X) == nil {
				p.Off = p.Off.Add(c.form(x.I).Mul(affine.Constant(int64(x.X.Type().Elem.Size))))
				e = x.X
				continue
			}
		}
		return p
	}
}

// indexesWhole reports whether place e is in an element of a whole slice parameter, and not of a
// part of one.
func (c *Collector) indexesWhole(e ir.Expr) bool {
	for {
		switch x := e.(type) {
		case *ir.Member:
			e = x.X
		case *ir.Index:
			if x.X.Type().Kind == ir.Slice {
				v, ok := c.ViewOf(x.X)
				return ok && !v.cut && v.Base.Type.Kind == ir.Slice
			}
			e = x.X
		default:
			return false
		}
	}
}

// indicesInside returns the indices that select place e inside an element of a slice, or inside the
// variable that a pointer refers to.
func (c *Collector) indicesInside(e ir.Expr) []affine.Form {
	switch e := e.(type) {
	case *ir.Member:
		return c.indicesInside(e.X)
	case *ir.Index:
		if e.X.Type().Kind == ir.Array && query.RefVar(e.X) == nil {
			return append(c.indicesInside(e.X), c.form(e.I))
		}
	}
	return nil
}

// wholeElement reports whether e denotes a whole element, not a field or array element inside one.
func wholeElement(e ir.Expr) bool {
	switch e := e.(type) {
	case *ir.Ref, *ir.Deref:
		return true
	case *ir.Index:
		return e.X.Type().Kind == ir.Slice || query.RefVar(e.X) != nil
	}
	return false
}
