package analysis

import (
	"slices"

	"github.com/gompss/gompss/codegen/internal/analysis/affine"
	"github.com/gompss/gompss/codegen/ir"
	"github.com/gompss/gompss/codegen/ir/query"
)

// A Site is one execution of a checked operation: an index, a slice expression, a division, a
// shift, a dereference, or the step of a loop. The operation succeeds if no form of Needs is
// negative.
type Site struct {
	At    ir.Expr
	Needs []affine.Form
	Loops []LoopRange // the enclosing loops, outermost first
	Conds []Fact      // the facts that hold at the operation
}

// A SiteFinder is the part of a Collector that finds sites: their list, the lengths of slices, and
// variables for the results of operations that are not affine.
type SiteFinder struct {
	lengths  map[*ir.Var]affine.Form // of slice variables that the kernel declares
	set      map[*ir.Var]affine.Form // 1 for pointer variables that the kernel declares and that are not nil
	counters map[*ir.Var]bool        // variables that change only at the end of an enclosing loop
	frozen   map[*ir.Var]affine.Form // the current values of variables that change
	Derived  map[*ir.Var]*Derivation
	Order    []*Derivation // in order of creation: a derivation may refer to earlier ones
	List     []Site
	Open     map[ir.Expr]bool // sites whose needs are unknown in at least one execution
	calls    int
	// of the If that was left last: the facts where its condition does not hold, and where it does
	passed  [2][]Fact
	frames  []callFrame // of the functions that are visited, outermost first
	Reaches bool        // the collector looks for memory references only, and not for sites
}

// maxCalls limits the number of calls that a collector follows. Nested calls multiply: the body of
// a function is collected once for each chain of calls that leads to it.
const maxCalls = 4096

// A Derivation is a variable that represents the result of an operation on two forms.
type Derivation struct {
	Var    *ir.Var
	Op     DerivedOp
	X, Y   affine.Form
	T      *ir.Type      // the type of the operation
	Either []Alternative // of DerivedEither
	Host   ir.Expr       // the result as an expression of kernel parameters; nil if there is none
}

// A DerivedOp is an operation whose result is not affine, but has known bounds.
type DerivedOp uint8

const (
	DerivedDiv    DerivedOp = iota // x / y
	DerivedRem                     // x % y
	DerivedShr                     // x >> y, y a constant
	DerivedAnd                     // x & y, y a non-negative constant
	DerivedMin                     // min(x, y)
	DerivedMax                     // max(x, y)
	DerivedNarrow                  // x, which must fit in type t
	DerivedAny                     // any value from x to y, both constants
	DerivedEither                  // one of several values
)

// FindSites returns the sites of k: in List with their forms, in Open those whose needs are unknown
// in at least one execution.
func FindSites(k *ir.Kernel) *SiteFinder {
	c := NewCollector(k)
	c.Sites = NewSiteFinder()
	c.Stmts(k.Body)
	return c.Sites
}

// NewSiteFinder returns an empty SiteFinder.
func NewSiteFinder() *SiteFinder {
	return &SiteFinder{lengths: map[*ir.Var]affine.Form{}, set: map[*ir.Var]affine.Form{}, counters: map[*ir.Var]bool{}, frozen: map[*ir.Var]affine.Form{}, Derived: map[*ir.Var]*Derivation{}, Open: map[ir.Expr]bool{}}
}

// TooMany reports whether the collector stopped at maxCalls calls, so that the list of sites is
// incomplete.
func (f *SiteFinder) TooMany() bool { return f.calls > maxCalls }

// A checker records the checked operations of the code of a Collector. It records nothing if the
// collector has no SiteFinder.
type checker struct{ of *Collector }

// site records the checked operation at, which succeeds if no form of needs is negative.
func (k checker) site(at ir.Expr, needs ...affine.Form) {
	if k.of.Sites == nil || k.of.Sites.Reaches {
		return
	}
	for _, a := range needs {
		if !a.Known() {
			k.of.Sites.Open[at] = true
			return
		}
	}
	k.of.Sites.List = append(k.of.Sites.List, Site{At: at, Needs: needs, Loops: slices.Clone(k.of.Loops), Conds: slices.Concat(k.of.branches.facts...)})
}

// checkedIndex records the bounds check of an index.
func (k checker) checkedIndex(e *ir.Index) {
	if k.of.Sites != nil && e.Checked {
		i := k.of.form(e.I)
		k.site(e, i, k.of.lengthOf(e.X).AddConst(-1).Sub(i))
	}
}

// checkedReslice records the bounds check of a slice expression.
func (k checker) checkedReslice(e *ir.Reslice) {
	if k.of.Sites == nil || !e.Checked {
		return
	}
	capacity := k.of.lengthOf(e.X) // a lower bound of the capacity
	if v := query.RefVar(e.X); v != nil && v.Space == ir.Param && v.Type.Kind == ir.Slice && !k.of.Mutable.Has(v) && k.of.ofKernel(v) {
		capacity = affine.OfAtom(affine.Atom{Var: v, Of: affine.CapOf})
	}
	lo, hi := k.of.partOf(e)
	needs := []affine.Form{lo, hi.Sub(lo)}
	if e.Max != nil {
		limit := k.of.form(e.Max)
		needs, hi = append(needs, limit.Sub(hi)), limit
	}
	if e.Hi != nil || e.Max != nil {
		needs = append(needs, capacity.Sub(hi))
	}
	k.site(e, needs...)
}

// checkedBinary records the check of a divisor or of a shift count.
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

// partOf returns the low and the high bound of a slice expression.
func (c *Collector) partOf(e *ir.Reslice) (lo, hi affine.Form) {
	if e.Lo != nil {
		lo = c.form(e.Lo)
	}
	if e.Hi != nil {
		return lo, c.form(e.Hi)
	}
	return lo, c.lengthOf(e.X)
}

// lengthOf returns the length of slice or array x as a form; the form is unknown if the length is.
func (c *Collector) lengthOf(x ir.Expr) affine.Form {
	if x.Type().Kind == ir.Array {
		return affine.Constant(x.Type().Len)
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
			return affine.OfAtom(affine.Atom{Var: x.Var, Of: affine.LenOf})
		}
	}
	return affine.Form{Unknown: true}
}

// ofKernel reports whether v is a parameter of the kernel itself.
func (c *Collector) ofKernel(v *ir.Var) bool { return slices.Contains(c.params, v) }

// checkedDeref records the nil check of a pointer.
func (k checker) checkedDeref(e *ir.Deref) {
	if k.of.Sites != nil && e.Checked {
		k.site(e, k.of.pointer(e.X).AddConst(-1))
	}
}

// pointer returns a form that is 1 if pointer e is not nil, and 0 if it is nil.
func (c *Collector) pointer(e ir.Expr) affine.Form {
	switch e := e.(type) {
	case *ir.AddrOf:
		return affine.Constant(1)
	case *ir.Ref:
		if a, ok := c.Sites.set[e.Var]; ok {
			return a
		}
		if c.ofKernel(e.Var) && !c.Mutable.Has(e.Var) {
			return affine.OfAtom(affine.Atom{Var: e.Var, Of: affine.SetOf})
		}
	}
	return affine.Form{Unknown: true}
}

// checkedStep records the check that the step of a loop leads towards its bound, if the step is not
// a constant.
func (k checker) checkedStep(s *ir.For) {
	if _, constant := query.Int64(s.Step); k.of.Sites == nil || constant {
		return
	}
	switch by := k.of.form(s.Step); s.Rel {
	case ir.Lt, ir.Le:
		k.site(s.Step, by.AddConst(-1))
	case ir.Gt, ir.Ge:
		k.site(s.Step, affine.Constant(-1).Sub(by))
	}
}

// checkedPlaces records the checks of the places of reductions.
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

// length records the length of slice variable v, and that pointer variable v is not nil, after the
// assignment of value.
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

// returned records the results of a call as forms, if the only return of the called function is its
// last statement. Otherwise it removes the earlier forms.
func (c *Collector) returned(s *ir.Call) {
	values, forms := resultsOf(s.Fn.Body), valueFlow{c}.leave(s)
	for i, v := range s.Results {
		switch {
		case v == nil:
		case !c.once.Has(v):
			if c.Sites != nil {
				valueFlow{c}.set(v, forms[i])
			}
		case values != nil:
			c.set(v, values[i])
		default:
			if c.unknown(v); forms[i].Known() {
				c.defs[v] = forms[i]
			}
		}
	}
}

// resultsOf returns the results of a function body whose only return is its last statement, else
// nil.
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

// valuesOnce returns the variables whose declaration has no value and which are assigned once, by
// the statement that follows their declaration: by a call, or at the end of a block. Declarations
// of other such variables may be in between.
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

// valuedBehind returns the variables in list that the statement after their declaration assigns.
func valuedBehind(list []ir.Stmt) []*ir.Var {
	f := &firstValues{}
	f.list(list)
	return f.behind
}

// firstValues collects the variables that the statement after their declaration assigns.
type firstValues struct {
	valued []*ir.Var // variables that the statements so far assign in every execution
	behind []*ir.Var // variables that the statement after their declaration assigns
}

// list visits the statements of list and reports whether they contain a jump.
func (f *firstValues) list(list []ir.Stmt) (jumps bool) {
	declared := map[*ir.Var]bool{} // the variables that the directly preceding statements declare without a value
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

// stmt adds the variables that s assigns in every execution, and reports whether s contains a jump.
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

// Jumps reports whether list contains a break, a continue or a return.
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

// shallow returns s without the statements inside s.
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
