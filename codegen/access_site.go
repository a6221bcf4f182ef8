package codegen

import (
	"slices"

	"github.com/gompss/gompss/codegen/ir"
)

// A site is an operation that is checked: an index, a slice expression, or a division or shift by what may not fit. Needs
// are not negative where it is right.
type site struct {
	at    ir.Expr
	needs []Affine
	loops []loopRange // around, outermost first
	conds []fact      // what holds where it happens
}

// A siteFinder is what a collector that looks for sites knows besides: lengths of slices, and what is derived from forms
// by operations that are not affine.
type siteFinder struct {
	lengths  map[*ir.Var]Affine // of slices that the kernel makes
	set      map[*ir.Var]Affine // 1 for pointers that the kernel makes
	counters map[*ir.Var]bool   // variables that only the ends of loops around change
	frozen   map[*ir.Var]Affine // what variables that change hold in the statement that is looked at, which does not change them
	derived  map[*ir.Var]*derivation
	order    []*derivation // as they were made: later ones may hold earlier ones
	list     []site
	open     map[ir.Expr]bool // sites without forms in some run of their code
	calls    int
	reaches  bool // what is touched is looked for, and sites are not
}

// maxCalls bounds the calls that are followed: each may be one of many that a call makes.
const maxCalls = 4096

// A derivation is a variable that stands for an operation on forms.
type derivation struct {
	v    *ir.Var
	op   derivedOp
	x, y Affine
	t    *ir.Type // of the operation
	host ir.Expr  // its value over parameters; nil where it is none
}

// A derivedOp is an operation whose result is not affine, but lies in known bounds.
type derivedOp uint8

const (
	derivedDiv    derivedOp = iota // x / y
	derivedRem                     // x % y
	derivedShr                     // x >> y, y a constant
	derivedAnd                     // x & y, y a constant that is not negative
	derivedMin                     // min(x, y)
	derivedMax                     // max(x, y)
	derivedNarrow                  // x in type t, which it has to fit
	derivedAny                     // a value from x to y, constants
)

// findSites returns the sites of k with their forms, and those that have none in some run of their code.
func findSites(k *ir.Kernel) *siteFinder {
	c := newCollector(k)
	c.sites = newSiteFinder()
	c.stmts(k.Body)
	return c.sites
}

func newSiteFinder() *siteFinder {
	return &siteFinder{lengths: map[*ir.Var]Affine{}, set: map[*ir.Var]Affine{}, counters: map[*ir.Var]bool{}, frozen: map[*ir.Var]Affine{}, derived: map[*ir.Var]*derivation{}, open: map[ir.Expr]bool{}}
}

// tooMany reports whether so many calls were followed that nothing is known.
func (f *siteFinder) tooMany() bool { return f.calls > maxCalls }

// site notes that the checked operation at happens here, and is right where needs are not negative.
func (c *collector) site(at ir.Expr, needs ...Affine) {
	if c.sites == nil || c.sites.reaches {
		return
	}
	for _, a := range needs {
		if !a.Known() {
			c.sites.open[at] = true
			return
		}
	}
	c.sites.list = append(c.sites.list, site{at: at, needs: needs, loops: slices.Clone(c.loops), conds: c.factsWithSides(c.conds)})
}

// checkedIndex notes the check of an index.
func (c *collector) checkedIndex(e *ir.Index) {
	if c.sites != nil && e.Checked {
		i := c.form(e.I)
		c.site(e, i, c.lengthOf(e.X).AddConst(-1).Sub(i))
	}
}

// checkedReslice notes the check of a slice expression.
func (c *collector) checkedReslice(e *ir.Reslice) {
	if c.sites == nil || !e.Checked {
		return
	}
	capacity := c.lengthOf(e.X) // or more
	if v := refVar(e.X); v != nil && v.Space == ir.Param && v.Type.Kind == ir.Slice && !c.mutable.Has(v) && c.ofKernel(v) {
		capacity = atomAffine(Atom{Var: v, Of: CapOf})
	}
	lo, hi := c.partOf(e)
	needs := []Affine{lo, hi.Sub(lo)}
	if e.Max != nil {
		limit := c.form(e.Max)
		needs, hi = append(needs, limit.Sub(hi)), limit
	}
	if e.Hi != nil || e.Max != nil {
		needs = append(needs, capacity.Sub(hi))
	}
	c.site(e, needs...)
}

// checkedBinary notes the check of a divisor or of the count of a shift.
func (c *collector) checkedBinary(e *ir.Binary) {
	if c.sites == nil || !e.Checked {
		return
	}
	y := c.form(e.Y)
	if e.Op == ir.Div || e.Op == ir.Rem {
		y = y.AddConst(-1)
	}
	c.site(e, y)
}

// partOf returns the bounds of a slice expression.
func (c *collector) partOf(e *ir.Reslice) (lo, hi Affine) {
	if e.Lo != nil {
		lo = c.form(e.Lo)
	}
	if e.Hi != nil {
		return lo, c.form(e.Hi)
	}
	return lo, c.lengthOf(e.X)
}

// lengthOf returns the length of a slice or array as a form.
func (c *collector) lengthOf(x ir.Expr) Affine {
	if x.Type().Kind == ir.Array {
		return constAffine(x.Type().Len)
	}
	switch x := x.(type) {
	case *ir.Reslice:
		lo, hi := c.partOf(x)
		return hi.Sub(lo)
	case *ir.Ref:
		if n, ok := c.sites.lengths[x.Var]; ok {
			return n
		}
		if c.ofKernel(x.Var) && !c.mutable.Has(x.Var) {
			return atomAffine(Atom{Var: x.Var, Of: LenOf})
		}
	}
	return Affine{unknown: true}
}

// ofKernel reports whether v is a parameter of the kernel itself.
func (c *collector) ofKernel(v *ir.Var) bool { return slices.Contains(c.params, v) }

// checkedDeref notes the check of a pointer.
func (c *collector) checkedDeref(e *ir.Deref) {
	if c.sites != nil && e.Checked {
		c.site(e, c.pointer(e.X).AddConst(-1))
	}
}

// pointer returns 1 as a form where e, a pointer, is not nil.
func (c *collector) pointer(e ir.Expr) Affine {
	switch e := e.(type) {
	case *ir.AddrOf:
		return constAffine(1)
	case *ir.Ref:
		if a, ok := c.sites.set[e.Var]; ok {
			return a
		}
		if c.ofKernel(e.Var) && !c.mutable.Has(e.Var) {
			return atomAffine(Atom{Var: e.Var, Of: SetOf})
		}
	}
	return Affine{unknown: true}
}

// checkedStep notes the check of the step of a loop that counts up, whose step is not a constant.
func (c *collector) checkedStep(s *ir.For) {
	if _, constant := constInt(s.Step); c.sites != nil && !constant && (s.Rel == ir.Lt || s.Rel == ir.Le) {
		c.site(s.Step, c.form(s.Step).AddConst(-1))
	}
}

// checkedPlaces notes the checks of the places of reductions.
func (c *collector) checkedPlaces(d *ir.Directive) {
	if c.sites == nil || d == nil {
		return
	}
	for _, r := range d.Reductions {
		c.address(r.Place)
		if r.Index != nil {
			c.address(r.Index)
		}
	}
}

// length notes how long a slice variable is that keeps its value, and that a pointer variable is not nil.
func (c *collector) length(v *ir.Var, value ir.Expr) {
	if c.sites == nil {
		return
	}
	if delete(c.sites.set, v); v.Type.Kind == ir.Pointer {
		if a := c.pointer(value); a.Known() {
			c.sites.set[v] = a
		}
	}
	if v.Type.Kind != ir.Slice {
		return
	}
	delete(c.sites.lengths, v)
	if n := c.lengthOf(value); n.Known() && !c.mutable.Has(v) {
		c.sites.lengths[v] = n
	}
}

// returned notes the results of a call as forms: those of a function that only ends in a return.
func (c *collector) returned(s *ir.Call) {
	values := resultsOf(s.Fn.Body)
	for i, v := range s.Results {
		if v == nil || !c.once.Has(v) {
			continue
		}
		if values != nil {
			c.set(v, values[i])
		} else {
			delete(c.defs, v)
			delete(c.views, v)
		}
	}
}

// resultsOf returns what a function returns, nil where it may return at more than one place.
func resultsOf(body []ir.Stmt) []ir.Expr {
	if len(body) == 0 {
		return nil
	}
	last, ok := body[len(body)-1].(*ir.Return)
	if !ok {
		return nil
	}
	returns := 0
	ir.WalkStmts(body, func(s ir.Stmt) bool {
		if _, ok := s.(*ir.Return); ok {
			returns++
		}
		return true
	})
	if returns > 1 {
		return nil
	}
	return last.Results
}

// valuesOnce returns the variables that are declared without a value and get one at a single place, right behind: from a call, or at the end of a
// block. What is declared between is other such variables.
func valuesOnce(k *ir.Kernel) *ir.VarSet {
	times, out := map[*ir.Var]int{}, &ir.VarSet{}
	var candidates []*ir.Var
	bodies, taken := [][]ir.Stmt{k.Body}, &ir.VarSet{}
	for _, f := range k.Funcs {
		bodies = append(bodies, f.Body)
	}
	for _, body := range bodies {
		ir.WalkStmts(body, func(s ir.Stmt) bool {
			for _, v := range ir.Assigned([]ir.Stmt{shallow(s)}).List() {
				times[v]++
			}
			return true
		})
		candidates = append(candidates, valuedBehind(body)...)
		for _, v := range ir.AddressTaken(body).List() {
			taken.Add(v)
		}
	}
	for _, v := range candidates {
		if times[v] == 1 && !taken.Has(v) {
			out.Add(v)
		}
	}
	return out
}

// valuedBehind returns the variables in list that get a value right behind their declaration.
func valuedBehind(list []ir.Stmt) []*ir.Var {
	var out []*ir.Var
	for i, s := range list {
		ir.Lists(s, func(inner []ir.Stmt) { out = append(out, valuedBehind(inner)...) })
		for _, v := range valuedBy(s) {
			if declaredBehind(list[:i], v) {
				out = append(out, v)
			}
		}
	}
	return out
}

// valuedBy returns the variables that s, and each of its runs, gives a value.
func valuedBy(s ir.Stmt) (out []*ir.Var) {
	switch s := s.(type) {
	case *ir.Call:
		for _, v := range s.Results {
			if v != nil {
				out = append(out, v)
			}
		}
	case *ir.Assign:
		if r, ok := s.Place.(*ir.Ref); ok {
			out = append(out, r.Var)
		}
	case *ir.Block:
		if jumps(s.Body) {
			return nil
		}
		for _, inner := range s.Body {
			out = append(out, valuedBy(inner)...)
		}
	}
	return out
}

// jumps reports whether there is a jump in list.
func jumps(list []ir.Stmt) bool {
	found := false
	ir.WalkStmts(list, func(s ir.Stmt) bool {
		switch s.(type) {
		case *ir.Break, *ir.Continue, *ir.Return:
			found = true
		}
		return !found
	})
	return found
}

// shallow returns s without the statements in it.
func shallow(s ir.Stmt) ir.Stmt {
	switch s := s.(type) {
	case *ir.For:
		c := *s
		c.Body = nil
		return &c
	case *ir.Construct:
		c := *s
		c.Body = nil
		return &c
	case *ir.If, *ir.While, *ir.Block:
		return &ir.Block{}
	}
	return s
}

// declaredBehind reports whether list ends with declarations without values, one of them of v.
func declaredBehind(list []ir.Stmt, v *ir.Var) bool {
	for _, s := range slices.Backward(list) {
		d, ok := s.(*ir.Decl)
		switch {
		case !ok || d.Init != nil:
			return false
		case d.Var == v:
			return true
		}
	}
	return false
}
