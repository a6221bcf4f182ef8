package codegen

import "github.com/gompss/gompss/codegen/ir"

// A reach is one use of memory by code: a load or store of an element of the memory that base refers to, or of the
// array variable base.
type reach struct {
	base    *ir.Var // a parameter of the kernel, or a local array or pointer that nothing more is known of
	index   Affine  // in elements of base; unknown where it depends on data
	write   bool
	atomic  bool
	certain bool        // it happens whenever the loops around come to it
	loops   []loopRange // around, outermost first
	conds   []ir.Expr   // of the Ifs around
	in      []ir.Stmt   // directives around, outermost first: Fors and Constructs
	at      ir.Pos      // of the access
	expr    ir.Expr     // as written
}

// A view is what a slice or pointer variable refers to: base from element off on.
type view struct {
	base *ir.Var
	off  Affine
}

// A collector finds the reaches of code, through the functions that it calls.
type collector struct {
	defs    definitions
	views   map[*ir.Var]view
	mutable *ir.VarSet // variables with more than one value during their life
	jumps   bool       // a break, continue or return makes what follows uncertain
	loops   []loopRange
	conds   []ir.Expr
	in      []ir.Stmt
	out     []reach
}

// collect returns the reaches of list, a part of k, in program order.
func collect(k *ir.Kernel, list []ir.Stmt) []reach {
	c := newCollector(k)
	c.define(k.Body)
	c.stmts(list)
	return c.out
}

func newCollector(k *ir.Kernel) *collector {
	c := &collector{defs: definitions{}, views: map[*ir.Var]view{}, mutable: ir.Assigned(k.Body)}
	for _, v := range ir.AddressTaken(k.Body).List() {
		c.mutable.Add(v)
	}
	for _, f := range k.Funcs {
		for _, set := range []*ir.VarSet{ir.Assigned(f.Body), ir.AddressTaken(f.Body)} {
			for _, v := range set.List() {
				c.mutable.Add(v)
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
	switch s.Var.Type.Kind {
	case ir.Slice, ir.Pointer:
		if v, ok := c.viewOf(s.Init); ok {
			c.views[s.Var] = v
		}
	default:
		if a := c.form(s.Init); a.Known() {
			c.defs[s.Var] = a
		}
	}
}

// form returns e over parameters, lengths and loop variables; unknown where a variable in it changes.
func (c *collector) form(e ir.Expr) Affine {
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
		return v, ok
	case *ir.AddrOf:
		v, ok := c.viewOf(e.X)
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
	for _, s := range list {
		c.stmt(s)
	}
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
	case *ir.Atomic:
		c.atomic(s)
	case *ir.Call:
		c.call(s)
	case *ir.If:
		c.read(s.Cond)
		c.conds = append(c.conds, s.Cond)
		c.stmts(s.Then)
		c.stmts(s.Else)
		c.conds = c.conds[:len(c.conds)-1]
	case *ir.While:
		c.conds = append(c.conds, s.Cond)
		c.nest(s)
		c.conds = c.conds[:len(c.conds)-1]
	case *ir.For:
		c.forLoop(s)
	case *ir.Construct:
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
	c.loops = append(c.loops, c.rangeOf(s))
	if s.Directive != nil {
		c.in = append(c.in, s)
	}
	outer := c.jumps
	c.stmts(s.Body)
	c.jumps = outer || c.jumps
	if s.Directive != nil {
		c.in = c.in[:len(c.in)-1]
	}
	c.loops = c.loops[:len(c.loops)-1]
}

func (c *collector) atomic(s *ir.Atomic) {
	c.read(s.Value)
	c.read(s.Compare)
	c.place(s.Place, s.Kind != ir.AtomicRead, true)
	if s.Kind != ir.AtomicWrite {
		c.place(s.Place, false, true)
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
	c.stmts(s.Fn.Body)
	c.jumps = jumps || conditionalReturn(s.Fn.Body)
}

// conditionalReturn reports whether a function can end before its last statement.
func conditionalReturn(list []ir.Stmt) bool {
	found := false
	for i, s := range list {
		if _, last := s.(*ir.Return); last && i == len(list)-1 {
			continue
		}
		ir.WalkStmts([]ir.Stmt{s}, func(t ir.Stmt) bool {
			_, ok := t.(*ir.Return)
			found = found || ok
			return true
		})
	}
	return found
}

func (c *collector) bind(param *ir.Var, arg ir.Expr) {
	delete(c.defs, param)
	delete(c.views, param)
	if c.mutable.Has(param) {
		return
	}
	switch param.Type.Kind {
	case ir.Slice, ir.Pointer:
		if v, ok := c.viewOf(arg); ok {
			c.views[param] = v
		}
	default:
		if a := c.form(arg); a.Known() {
			c.defs[param] = a
		}
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
	default:
		ir.Operands(e, c.read)
	}
}

func (c *collector) store(e ir.Expr, atomic bool) { c.place(e, true, atomic) }

// address collects the loads that computing the address of place e makes.
func (c *collector) address(e ir.Expr) {
	switch e := e.(type) {
	case *ir.Index:
		c.read(e.I)
		c.address(e.X)
	case *ir.Member:
		c.address(e.X)
	case *ir.Deref:
		c.read(e.X)
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
		return
	}
	c.out = append(c.out, reach{base: v.base, index: v.off, write: write, atomic: atomic, at: e.Pos(), expr: e,
		certain: len(c.conds) == 0 && !c.jumps && wholeElement(e),
		loops:   append([]loopRange(nil), c.loops...), conds: append([]ir.Expr(nil), c.conds...), in: append([]ir.Stmt(nil), c.in...)})
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
