package codegen

import (
	"slices"

	"github.com/gompss/gompss/codegen/ir"
)

// A reach is one use of memory by code: a load or store of an element of the memory that base refers to, or of the
// array variable base.
type reach struct {
	base    *ir.Var  // a parameter of the kernel, or a local array or pointer that nothing more is known of
	index   Affine   // in elements of base; unknown where it depends on data
	inside  []Affine // the indices of arrays in the element, outermost first
	write   bool
	atomic  bool
	always  bool        // it happens in every iteration of the loops around, and these run to their end
	certain bool        // always, and it is all of an element
	sure    bool        // certain, but for conds
	whole   bool        // index is checked against the length of base itself
	loops   []loopRange // around, outermost first
	conds   []ir.Expr   // of the Ifs around, and of those before that jump to the next iteration
	sides   []side      // of the branches that each of conds decides
	facts   []fact      // what is not negative, as the conditions say
	part    bytePart    // of the element
	in      []ir.Stmt   // directives around, outermost first: Fors and Constructs
	at      ir.Pos      // of the access
	expr    ir.Expr     // as written
	through *ir.Var     // the slice or pointer that is assigned in several places, through which base may be reached; else nil
	maybe   bool        // it may refer to something else there
}

// A bytePart is what a place is of an element that index names: size bytes, off bytes behind its start.
type bytePart struct {
	off  Affine
	size int64
}

// A view is what a slice or pointer variable refers to: base from element off on.
type view struct {
	base *ir.Var
	off  Affine
	cut  bool // it is only a part
}

// A collector finds the reaches of code, through the functions that it calls.
type collector struct {
	defs       definitions
	views      map[*ir.Var]view
	mutable    *ir.VarSet // variables with more than one value during their life
	jumps      bool       // a break, continue or return makes what follows uncertain
	lost       bool       // a place is reached in a way that is not followed
	unfollowed []reach    // such places, without a base
	loops      []loopRange
	conds      []ir.Expr
	sides      []side // of the branches that each of conds decides
	tests      int    // how many conditions were met
	passed     side   // of the If that was left last

	negations map[ir.Expr]ir.Expr // one for each condition, in all runs of its code
	in        []ir.Stmt
	out       []reach
	parts     []distPart  // of the arrays of dist_ clauses
	once      *ir.VarSet  // variables that get their value at one place, behind their declaration
	params    []*ir.Var   // of the kernel
	taken     *ir.VarSet  // variables whose address is taken
	helpers   *ir.VarSet  // variables of the functions that the kernel calls
	sites     *siteFinder // nil where checks are of no interest
}

// collect returns the reaches of list, a part of k, in program order.
func collect(k *ir.Kernel, list []ir.Stmt) []reach {
	c := newCollector(k)
	c.define(k.Body)
	c.stmts(list)
	return c.out
}

func newCollector(k *ir.Kernel) *collector {
	c := &collector{defs: definitions{}, views: map[*ir.Var]view{}, negations: map[ir.Expr]ir.Expr{}, mutable: &ir.VarSet{}, once: valuesOnce(k), params: k.Params, taken: &ir.VarSet{}, helpers: &ir.VarSet{}}
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
					c.mutable.Add(v)
				}
			}
		}
	}
	return c
}

// define notes the locals of list that keep their first value, so that a part of list can be looked at by itself.
func (c *collector) define(list []ir.Stmt) {
	ir.WalkStmts(list, func(s ir.Stmt) bool {
		if d, ok := s.(*ir.Decl); ok {
			c.decl(d)
		}
		return true
	})
}

func (c *collector) decl(s *ir.Decl) {
	if s.Init == nil || c.mutable.Has(s.Var) {
		return
	}
	c.set(s.Var, s.Init)
}

// set notes the value of a variable that keeps it, or that nothing is known of it: a function may have been called before with other arguments.
func (c *collector) set(v *ir.Var, value ir.Expr) {
	c.length(v, value)
	switch v.Type.Kind {
	case ir.Slice, ir.Pointer:
		w, ok := c.viewOf(value)
		if delete(c.views, v); ok {
			c.views[v] = w
		}
	default:
		a := c.form(value)
		if delete(c.defs, v); a.Known() {
			c.defs[v] = a
		}
	}
}

// form returns e over parameters, lengths and loop variables; unknown where a variable in it changes.
func (c *collector) form(e ir.Expr) Affine {
	if c.sites != nil {
		return c.deriving(e)
	}
	a := c.resolve(c.defs.form(e))
	for _, x := range a.Atoms() {
		if c.mutable.Has(x.Var) {
			return Affine{unknown: true}
		}
	}
	return a
}

// resolve leaves no lengths of local slices in a form: theirs are not known.
func (c *collector) resolve(a Affine) Affine {
	for _, x := range a.Atoms() {
		if x.Of != ValueOf && x.Var.Space != ir.Param {
			return Affine{unknown: true}
		}
	}
	return a
}

// viewOf returns what the slice or pointer value e refers to.
func (c *collector) viewOf(e ir.Expr) (view, bool) {
	switch e := e.(type) {
	case *ir.Ref:
		if v, ok := c.views[e.Var]; ok {
			return v, true
		}
		k := e.Var.Type.Kind
		return view{base: e.Var}, k == ir.Slice || k == ir.Pointer || k == ir.Array
	case *ir.Reslice:
		v, ok := c.viewOf(e.X)
		if e.X.Type().Kind == ir.Array && refVar(e.X) == nil {
			v.off = Affine{unknown: true} // a slice of an array in an element: its elements are smaller
		} else if ok && e.Lo != nil {
			v.off = v.off.Add(c.form(e.Lo))
		}
		v.cut = v.cut || e.Lo != nil || e.Hi != nil
		return v, ok
	case *ir.AddrOf:
		v, ok := c.viewOf(e.X)
		v.cut = true
		if !wholeElement(e.X) {
			v.off = Affine{unknown: true}
		}
		return v, ok
	case *ir.Index:
		v, ok := c.viewOf(e.X)
		if e.X.Type().Kind == ir.Slice || refVar(e.X) != nil {
			v.off = v.off.Add(c.form(e.I)) // else a part of the element that e.X is
		}
		return v, ok
	case *ir.Member:
		return c.viewOf(e.X)
	case *ir.Deref:
		return c.viewOf(e.X)
	}
	return view{}, false
}

func (c *collector) stmts(list []ir.Stmt) {
	for i, s := range list {
		if w, ok := s.(*ir.While); ok && i > 0 && c.sites != nil && c.counted(list[i-1], w) {
			continue
		}
		undo := c.freeze(s)
		jumps := c.jumps
		c.stmt(s)
		undo()
		if skips, ok := s.(*ir.If); ok && (c.sites == nil || c.sites.reaches) && !jumps && len(skips.Else) == 0 && onlyContinues(skips.Then) {
			c.jumps = false
			c.turn(skips.Cond, c.passed)
			c.stmts(list[i+1:])
			c.pop()
			c.jumps = true
			return
		}
	}
}

// onlyContinues reports whether list ends in a continue and has no other jump.
func onlyContinues(list []ir.Stmt) bool {
	if len(list) == 0 {
		return false
	}
	_, ok := list[len(list)-1].(*ir.Continue)
	return ok && !jumps(list[:len(list)-1]) && !slices.ContainsFunc(list, isHole)
}

func (c *collector) stmt(s ir.Stmt) {
	switch s := s.(type) {
	case *ir.Decl:
		c.read(s.Init)
		c.decl(s)
		c.jumps = c.jumps || isHole(s) // it may stand for a jump
	case *ir.Assign:
		c.read(s.Value)
		c.store(s.Place, false)
		if r, ok := s.Place.(*ir.Ref); ok && c.once.Has(r.Var) {
			c.set(r.Var, s.Value)
		}
	case *ir.Atomic:
		c.atomic(s)
	case *ir.Call:
		c.call(s)
	case *ir.If:
		c.read(s.Cond)
		c.push(s.Cond)
		c.stmts(s.Then)
		c.turn(c.pop())
		c.stmts(s.Else)
		_, c.passed = c.pop()
	case *ir.While:
		c.push(s.Cond)
		outer := c.jumps
		c.nest(s)
		c.jumps = outer || leaves(s.Body, s.Label, false)
		c.pop()
	case *ir.For:
		c.forLoop(s)
	case *ir.Block:
		outer := c.jumps
		c.nest(s)
		c.jumps = outer || leaves(s.Body, s.Label, false)
	case *ir.Construct:
		c.checkedPlaces(s.Directive)
		c.in = append(c.in, s)
		c.nest(s)
		c.in = c.in[:len(c.in)-1]
	case *ir.Break, *ir.Continue, *ir.Return:
		c.nest(s)
		c.jumps = true
	default:
		c.nest(s)
	}
}

// nest collects the expressions of s itself and the statements in it.
func (c *collector) nest(s ir.Stmt) {
	for _, e := range directExprs(s) {
		c.read(e)
	}
	ir.Lists(s, c.stmts)
}

func (c *collector) forLoop(s *ir.For) {
	for _, e := range directExprs(s) {
		c.read(e)
	}
	c.checkedPlaces(s.Directive)
	c.checkedStep(s)
	c.loops = append(c.loops, c.rangeOf(s))
	if s.Directive != nil {
		c.in = append(c.in, s)
	}
	c.distParts(s)
	outer := c.jumps
	c.jumps = outer || leaves(s.Body, s.Label, true)
	c.stmts(s.Body)
	c.jumps = outer || leaves(s.Body, s.Label, false)
	if s.Directive != nil {
		c.in = c.in[:len(c.in)-1]
	}
	c.loops = c.loops[:len(c.loops)-1]
}

func (c *collector) atomic(s *ir.Atomic) {
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

// call goes into the function with its parameters bound to the arguments.
func (c *collector) call(s *ir.Call) {
	for i, arg := range s.Args {
		c.read(arg)
		c.bind(s.Fn.Params[i], arg)
	}
	jumps := c.jumps
	if c.sites != nil {
		if c.sites.calls++; c.sites.tooMany() {
			return
		}
	}
	c.stmts(s.Fn.Body)
	c.jumps = jumps // its returns end it alone
	c.returned(s)
}

// leaves reports whether a jump in list, the body of what has the label own, may lead out of it; a Continue of it does
// not, and its Break only where breaks count.
func leaves(list []ir.Stmt, own *ir.Label, breaks bool) bool {
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
			found = found || isHole(s)
		}
		return !found
	})
	return found
}

func (c *collector) bind(param *ir.Var, arg ir.Expr) {
	delete(c.defs, param)
	delete(c.views, param)
	if !c.mutable.Has(param) {
		c.set(param, arg)
	}
}

// read collects the loads of e.
func (c *collector) read(e ir.Expr) {
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
		c.checkedReslice(e)
	case *ir.Binary:
		c.checkedBinary(e)
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
func (c *collector) under(cond, e ir.Expr) {
	c.push(cond)
	c.read(e)
	c.pop()
}

// A side is one branch of a condition that code has come to.
type side struct {
	test  int  // the number of the condition
	not   bool // it does not hold
	depth int  // of loops around
}

// push notes that what follows happens only where cond holds.
func (c *collector) push(cond ir.Expr) {
	c.tests++
	c.conds, c.sides = append(c.conds, cond), append(c.sides, side{test: c.tests, depth: len(c.loops)})
}

// turn notes that what follows happens only where a condition that was met before does not hold.
func (c *collector) turn(cond ir.Expr, met side) {
	if c.negations[cond] == nil {
		c.negations[cond] = negation(cond)
	}
	met.not = true
	c.conds, c.sides = append(c.conds, c.negations[cond]), append(c.sides, met)
}

func (c *collector) pop() (ir.Expr, side) {
	n := len(c.conds) - 1
	cond, of := c.conds[n], c.sides[n]
	c.conds, c.sides = c.conds[:n], c.sides[:n]
	return cond, of
}

func negation(cond ir.Expr) ir.Expr { return &ir.Unary{Op: ir.Not, X: cond, At: cond.Pos()} }

func (c *collector) store(e ir.Expr, atomic bool) { c.place(e, true, atomic) }

// address collects the loads that computing the address of place e makes.
func (c *collector) address(e ir.Expr) {
	switch e := e.(type) {
	case *ir.Index:
		c.read(e.I)
		c.address(e.X)
		c.checkedIndex(e)
	case *ir.Member:
		c.address(e.X)
	case *ir.Deref:
		c.read(e.X)
		c.checkedDeref(e)
	default:
		c.read(e)
	}
}

// place collects the load or store of place e, if it is in memory that a slice or pointer refers to or in an array.
func (c *collector) place(e ir.Expr, write, atomic bool) {
	c.address(e)
	if _, whole := e.(*ir.Ref); whole && !write {
		return
	}
	v, ok := c.viewOf(e)
	if ref, isRef := e.(*ir.Ref); isRef {
		v, ok = view{base: ref.Var}, true
	}
	if m, isMember := e.(*ir.Member); isMember && !ok {
		v, ok = view{base: ir.RootVar(m)}, ir.RootVar(m) != nil
	}
	if !ok {
		c.lost = true
		c.unfollowed = append(c.unfollowed, reach{write: write, atomic: atomic, at: e.Pos(), expr: e, loops: slices.Clone(c.loops), in: slices.Clone(c.in)})
		return
	}
	c.out = append(c.out, reach{base: v.base, index: v.off, inside: c.indicesInside(e), write: write, atomic: atomic, at: e.Pos(), expr: e,
		facts: c.factsWithSides(c.conds), part: c.partOfElement(e), always: len(c.conds) == 0 && !c.jumps, certain: len(c.conds) == 0 && !c.jumps && wholeElement(e), sure: !c.jumps && wholeElement(e), whole: c.indexesWhole(e),
		loops: append([]loopRange(nil), c.loops...), conds: slices.Clone(c.conds), sides: slices.Clone(c.sides), in: append([]ir.Stmt(nil), c.in...)})
}

// partOfElement returns what place e is of an element of what it lies in.
func (c *collector) partOfElement(e ir.Expr) bytePart {
	p := bytePart{size: int64(e.Type().Size)}
	for {
		switch x := e.(type) {
		case *ir.Member:
			p.off = p.off.AddConst(int64(x.X.Type().Fields[x.Field].Offset))
			e = x.X
			continue
		case *ir.Index:
			if x.X.Type().Kind == ir.Array && refVar(x.X) == nil {
				p.off = p.off.Add(c.form(x.I).Mul(constAffine(int64(x.X.Type().Elem.Size))))
				e = x.X
				continue
			}
		}
		return p
	}
}

// indexesWhole reports whether place e is in an element of all of a slice that the kernel was given, not of a part.
func (c *collector) indexesWhole(e ir.Expr) bool {
	for {
		switch x := e.(type) {
		case *ir.Member:
			e = x.X
		case *ir.Index:
			if x.X.Type().Kind == ir.Slice {
				v, ok := c.viewOf(x.X)
				return ok && !v.cut && v.base.Type.Kind == ir.Slice
			}
			e = x.X
		default:
			return false
		}
	}
}

// indicesInside returns the indices that lead from an element of a slice, or from what a pointer is to, to place e in it.
func (c *collector) indicesInside(e ir.Expr) []Affine {
	switch e := e.(type) {
	case *ir.Member:
		return c.indicesInside(e.X)
	case *ir.Index:
		if e.X.Type().Kind == ir.Array && refVar(e.X) == nil {
			return append(c.indicesInside(e.X), c.form(e.I))
		}
	}
	return nil
}

// wholeElement reports whether e is all of an element, not a field or an element of it.
func wholeElement(e ir.Expr) bool {
	switch e := e.(type) {
	case *ir.Ref, *ir.Deref:
		return true
	case *ir.Index:
		return e.X.Type().Kind == ir.Slice || refVar(e.X) != nil
	}
	return false
}
