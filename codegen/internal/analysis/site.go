package analysis

import (
	"slices"

	"github.com/gompss/gompss/codegen/ir"
	"github.com/gompss/gompss/codegen/ir/query"
)

// A Site is an operation that is checked: an index, a slice expression, or a division or shift by
// what may not fit. Needs are not negative where it is right.
type Site struct {
	At    ir.Expr
	Needs []Affine
	Loops []LoopRange // around, outermost first
	Conds []Fact      // what holds where it happens
}

// A SiteFinder is what a collector that looks for sites knows besides: lengths of slices, and what
// is derived from forms by operations that are not affine.
type SiteFinder struct {
	lengths  map[*ir.Var]Affine // of slices that the kernel makes
	set      map[*ir.Var]Affine // 1 for pointers that the kernel makes
	counters map[*ir.Var]bool   // variables that only the ends of loops around change
	frozen   map[*ir.Var]Affine // what variables that change hold in the statement that is looked at, which does not change them
	Derived  map[*ir.Var]*Derivation
	Order    []*Derivation // as they were made: later ones may hold earlier ones
	List     []Site
	Open     map[ir.Expr]bool // sites without forms in some run of their code
	calls    int
	Reaches  bool // what is touched is looked for, and sites are not
}

// maxCalls bounds the calls that are followed: each may be one of many that a call makes.
const maxCalls = 4096

// A Derivation is a variable that stands for an operation on forms.
type Derivation struct {
	Var  *ir.Var
	Op   DerivedOp
	X, Y Affine
	T    *ir.Type // of the operation
	Host ir.Expr  // its value over parameters; nil where it is none
}

// A DerivedOp is an operation whose result is not affine, but lies in known bounds.
type DerivedOp uint8

const (
	DerivedDiv    DerivedOp = iota // x / y
	DerivedRem                     // x % y
	DerivedShr                     // x >> y, y a constant
	DerivedAnd                     // x & y, y a constant that is not negative
	DerivedMin                     // min(x, y)
	DerivedMax                     // max(x, y)
	DerivedNarrow                  // x in type t, which it has to fit
	DerivedAny                     // a value from x to y, constants
)

// FindSites returns the sites of k with their forms, and those that have none in some run of their
// code.
func FindSites(k *ir.Kernel) *SiteFinder {
	c := NewCollector(k)
	c.Sites = NewSiteFinder()
	c.Stmts(k.Body)
	return c.Sites
}

// NewSiteFinder returns a finder without any site.
func NewSiteFinder() *SiteFinder {
	return &SiteFinder{lengths: map[*ir.Var]Affine{}, set: map[*ir.Var]Affine{}, counters: map[*ir.Var]bool{}, frozen: map[*ir.Var]Affine{}, Derived: map[*ir.Var]*Derivation{}, Open: map[ir.Expr]bool{}}
}

// TooMany reports whether so many calls were followed that nothing is known.
func (f *SiteFinder) TooMany() bool { return f.calls > maxCalls }

// A checker notes the checked operations that the code of a collector makes, where checks are of
// interest.
type checker struct{ of *Collector }

// site notes that the checked operation at happens here, and is right where needs are not negative.
func (k checker) site(at ir.Expr, needs ...Affine) {
	if k.of.Sites == nil || k.of.Sites.Reaches {
		return
	}
	for _, a := range needs {
		if !a.Known() {
			k.of.Sites.Open[at] = true
			return
		}
	}
	k.of.Sites.List = append(k.of.Sites.List, Site{At: at, Needs: needs, Loops: slices.Clone(k.of.Loops), Conds: k.of.factsWithSides(k.of.branches.conds)})
}

// checkedIndex notes the check of an index.
func (k checker) checkedIndex(e *ir.Index) {
	if k.of.Sites != nil && e.Checked {
		i := k.of.form(e.I)
		k.site(e, i, k.of.lengthOf(e.X).AddConst(-1).Sub(i))
	}
}

// checkedReslice notes the check of a slice expression.
func (k checker) checkedReslice(e *ir.Reslice) {
	if k.of.Sites == nil || !e.Checked {
		return
	}
	capacity := k.of.lengthOf(e.X) // or more
	if v := query.RefVar(e.X); v != nil && v.Space == ir.Param && v.Type.Kind == ir.Slice && !k.of.Mutable.Has(v) && k.of.ofKernel(v) {
		capacity = AtomAffine(Atom{Var: v, Of: CapOf})
	}
	lo, hi := k.of.partOf(e)
	needs := []Affine{lo, hi.Sub(lo)}
	if e.Max != nil {
		limit := k.of.form(e.Max)
		needs, hi = append(needs, limit.Sub(hi)), limit
	}
	if e.Hi != nil || e.Max != nil {
		needs = append(needs, capacity.Sub(hi))
	}
	k.site(e, needs...)
}

// checkedBinary notes the check of a divisor or of the count of a shift.
func (k checker) checkedBinary(e *ir.Binary) {
	if k.of.Sites == nil || !e.Checked {
		return
	}
	y := k.of.form(e.Y)
	if e.Op == ir.Div || e.Op == ir.Rem {
		y = y.AddConst(-1)
	}
	k.site(e, y)
}

// partOf returns the bounds of a slice expression.
func (c *Collector) partOf(e *ir.Reslice) (lo, hi Affine) {
	if e.Lo != nil {
		lo = c.form(e.Lo)
	}
	if e.Hi != nil {
		return lo, c.form(e.Hi)
	}
	return lo, c.lengthOf(e.X)
}

// lengthOf returns the length of a slice or array as a form.
func (c *Collector) lengthOf(x ir.Expr) Affine {
	if x.Type().Kind == ir.Array {
		return ConstAffine(x.Type().Len)
	}
	switch x := x.(type) {
	case *ir.Reslice:
		lo, hi := c.partOf(x)
		return hi.Sub(lo)
	case *ir.Ref:
		if n, ok := c.Sites.lengths[x.Var]; ok {
			return n
		}
		if c.ofKernel(x.Var) && !c.Mutable.Has(x.Var) {
			return AtomAffine(Atom{Var: x.Var, Of: LenOf})
		}
	}
	return Affine{Unknown: true}
}

// ofKernel reports whether v is a parameter of the kernel itself.
func (c *Collector) ofKernel(v *ir.Var) bool { return slices.Contains(c.params, v) }

// checkedDeref notes the check of a pointer.
func (k checker) checkedDeref(e *ir.Deref) {
	if k.of.Sites != nil && e.Checked {
		k.site(e, k.of.pointer(e.X).AddConst(-1))
	}
}

// pointer returns 1 as a form where e, a pointer, is not nil.
func (c *Collector) pointer(e ir.Expr) Affine {
	switch e := e.(type) {
	case *ir.AddrOf:
		return ConstAffine(1)
	case *ir.Ref:
		if a, ok := c.Sites.set[e.Var]; ok {
			return a
		}
		if c.ofKernel(e.Var) && !c.Mutable.Has(e.Var) {
			return AtomAffine(Atom{Var: e.Var, Of: SetOf})
		}
	}
	return Affine{Unknown: true}
}

// checkedStep notes the check of the step of a loop, where it is not a constant, that it leads to
// the bound.
func (k checker) checkedStep(s *ir.For) {
	if _, constant := query.Int64(s.Step); k.of.Sites == nil || constant {
		return
	}
	switch by := k.of.form(s.Step); s.Rel {
	case ir.Lt, ir.Le:
		k.site(s.Step, by.AddConst(-1))
	case ir.Gt, ir.Ge:
		k.site(s.Step, ConstAffine(-1).Sub(by))
	}
}

// checkedPlaces notes the checks of the places of reductions.
func (k checker) checkedPlaces(d *ir.Directive) {
	if k.of.Sites == nil || d == nil {
		return
	}
	for _, r := range d.Reductions {
		k.of.address(r.Place)
		if r.Index != nil {
			k.of.address(r.Index)
		}
	}
}

// length notes how long a slice variable is that keeps its value, and that a pointer variable is
// not nil.
func (c *Collector) length(v *ir.Var, value ir.Expr) {
	if c.Sites == nil {
		return
	}
	if delete(c.Sites.set, v); v.Type.Kind == ir.Pointer {
		if a := c.pointer(value); a.Known() {
			c.Sites.set[v] = a
		}
	}
	if v.Type.Kind != ir.Slice {
		return
	}
	delete(c.Sites.lengths, v)
	if n := c.lengthOf(value); n.Known() && !c.Mutable.Has(v) {
		c.Sites.lengths[v] = n
	}
}

// returned notes the results of a call as forms: those of a function that only ends in a return.
func (c *Collector) returned(s *ir.Call) {
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

// valuesOnce returns the variables that are declared without a value and get one at a single place,
// right behind: from a call, or at the end of a block. What is declared between is other such
// variables.
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
	f := &firstValues{}
	f.list(list)
	return f.behind
}

// firstValues looks for variables that get a value right behind their declaration.
type firstValues struct {
	valued []*ir.Var // what the statements so far, and each of their runs, give a value
	behind []*ir.Var // right behind its declaration
}

// list looks at the statements of a list and reports whether there is a jump in it.
func (f *firstValues) list(list []ir.Stmt) (jumps bool) {
	declared := map[*ir.Var]bool{} // without a value, by the statements just before
	for _, s := range list {
		if d, ok := s.(*ir.Decl); ok && d.Init == nil {
			declared[d.Var] = true
			continue
		}
		start := len(f.valued)
		jumps = f.stmt(s) || jumps
		if len(declared) == 0 {
			continue
		}
		for _, v := range f.valued[start:] {
			if declared[v] {
				f.behind = append(f.behind, v)
			}
		}
		clear(declared)
	}
	return jumps
}

// stmt adds what s, and each of its runs, gives a value, and reports whether there is a jump in s.
func (f *firstValues) stmt(s ir.Stmt) (jumps bool) {
	start := len(f.valued)
	ir.Lists(s, func(inner []ir.Stmt) { jumps = f.list(inner) || jumps })
	if _, ok := s.(*ir.Block); !ok || jumps {
		f.valued = f.valued[:start]
	}
	switch s := s.(type) {
	case *ir.Call:
		for _, v := range s.Results {
			if v != nil {
				f.valued = append(f.valued, v)
			}
		}
	case *ir.Assign:
		if r, ok := s.Place.(*ir.Ref); ok {
			f.valued = append(f.valued, r.Var)
		}
	case *ir.Break, *ir.Continue, *ir.Return:
		return true
	}
	return jumps
}

// Jumps reports whether there is a jump in list.
func Jumps(list []ir.Stmt) bool {
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
