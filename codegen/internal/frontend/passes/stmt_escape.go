package passes

import (
	"github.com/gompss/gompss/codegen/internal/diag"
	"github.com/gompss/gompss/codegen/ir"
)

// An escape is the search for addresses of local variables that outlive them. Go moves such a
// variable to the heap; a device has none, so that the address would dangle.
//
// The memory behind slices and pointers holds no addresses (see typing), so that it is enough to
// follow the variables.
type escape struct {
	u      *Pass
	parent map[int]int // the scope around each scope
	scope  map[*ir.Var]int
	scopes int
	holds  map[*ir.Var]*ir.VarSet // the locals that a variable may hold addresses of
	flows  map[*ir.Var]*ir.VarSet // the variables whose addresses flow into a variable
	taken  map[*ir.Var]ir.Pos     // where the address of a local was taken first
	result *ir.VarSet             // the variables whose addresses are returned
	gives  *ir.VarSet             // the locals that are returned directly
}

// CheckEscapes reports addresses of locals that outlive them in a body.
func (u *Pass) CheckEscapes(params []*ir.Var, body []ir.Stmt) {
	e := &escape{u: u, parent: map[int]int{}, scope: map[*ir.Var]int{}, holds: map[*ir.Var]*ir.VarSet{},
		flows: map[*ir.Var]*ir.VarSet{}, taken: map[*ir.Var]ir.Pos{}, result: &ir.VarSet{}, gives: &ir.VarSet{}}
	for _, p := range params {
		e.scope[p] = 0
	}
	e.list(body, 0)
	e.spread()
	for _, p := range ir.Declared(body).List() {
		for _, v := range setOf(e.holds, p).List() {
			if !e.inside(e.scope[p], e.scope[v]) {
				e.report(v, p.Name+" keeps it beyond the body that "+v.Name+" is declared in")
			}
		}
	}
	for _, v := range e.gives.List() {
		e.report(v, "it is returned, and "+v.Name+" ends with the function")
	}
	for _, p := range e.result.List() {
		for _, v := range setOf(e.holds, p).List() {
			e.report(v, "it is returned, and "+v.Name+" ends with the function")
		}
	}
}

func (e *escape) report(v *ir.Var, why string) {
	if e.u.Temps[v] {
		e.u.Report(diag.Diagnostic{Pos: e.taken[v], What: "value made here", Why: "its address outlives the body, and there is no heap on a device",
			Instead: "pass a slice or pointer parameter that it is written to"})
		return
	}
	e.u.Report(diag.Diagnostic{Pos: e.taken[v], What: "address of " + v.Name, Why: why,
		Instead: "declare it further outside, or pass it as a parameter"})
}

func setOf(m map[*ir.Var]*ir.VarSet, v *ir.Var) *ir.VarSet {
	if m[v] == nil {
		m[v] = &ir.VarSet{}
	}
	return m[v]
}

// inside reports whether scope s is outer or inside of it.
func (e *escape) inside(s, outer int) bool {
	for ; s > outer; s = e.parent[s] {
	}
	return s == outer
}

func (e *escape) open(around int) int {
	e.scopes++
	e.parent[e.scopes] = around
	return e.scopes
}

func (e *escape) list(list []ir.Stmt, scope int) {
	for _, s := range list {
		switch s := s.(type) {
		case *ir.Decl:
			e.scope[s.Var] = scope
			e.flow(s.Var, s.Init)
		case *ir.Assign:
			e.flow(ir.RootVar(s.Place), s.Value)
		case *ir.Call:
			for _, r := range s.Results {
				for _, a := range s.Args {
					e.flow(r, a)
				}
			}
		case *ir.Return:
			for _, x := range s.Results {
				e.sources(x, e.gives, e.result)
			}
		case *ir.For:
			inner := e.open(scope)
			e.scope[s.Var] = inner
			e.list(s.Body, inner)
		case *ir.While:
			around := e.open(scope)
			e.list(s.Pre, around)
			e.list(s.Body, e.open(around))
			e.list(s.Post, e.open(around))
		default:
			ir.Lists(s, func(inner []ir.Stmt) { e.list(inner, e.open(scope)) })
		}
	}
}

// flow notes that v gets a value.
func (e *escape) flow(v *ir.Var, value ir.Expr) {
	if v != nil && value != nil && mayHold(v.Type) {
		e.sources(value, setOf(e.holds, v), setOf(e.flows, v))
	}
}

// mayHold reports whether values of type t may hold addresses.
func mayHold(t *ir.Type) bool { return !t.IsScalar() && t.Kind != ir.Array }

// sources adds the locals whose address is in x to direct, and the variables whose addresses are in
// x to from.
func (e *escape) sources(x ir.Expr, direct, from *ir.VarSet) {
	switch x := x.(type) {
	case *ir.AddrOf:
		e.place(x.X, x.At, direct, from)
	case *ir.Reslice:
		if x.X.Type().Kind == ir.Array {
			e.place(x.X, x.At, direct, from)
		} else {
			e.sources(x.X, direct, from)
		}
	case *ir.Ref:
		if mayHold(x.Var.Type) {
			from.Add(x.Var)
		}
	case *ir.Convert:
		e.sources(x.X, direct, from)
	case *ir.Member:
		e.sources(x.X, direct, from)
	case *ir.Composite:
		for _, el := range x.Elems {
			e.sources(el, direct, from)
		}
	}
}

// place adds the variables to which the address of a place refers: a local, or the targets of the
// pointer or slice through which the place is reached.
func (e *escape) place(p ir.Expr, at ir.Pos, direct, from *ir.VarSet) {
	if v := ir.RootVar(p); v != nil {
		direct.Add(v)
		if _, ok := e.taken[v]; !ok {
			e.taken[v] = at
		}
		return
	}
	switch p := p.(type) {
	case *ir.Deref:
		e.sources(p.X, direct, from)
	case *ir.Member:
		e.place(p.X, at, direct, from)
	case *ir.Index:
		if p.X.Type().Kind == ir.Array {
			e.place(p.X, at, direct, from)
		} else {
			e.sources(p.X, direct, from)
		}
	}
}

// spread follows the flows until nothing changes.
func (e *escape) spread() {
	for changed := true; changed; {
		changed = false
		for v, from := range e.flows {
			to := setOf(e.holds, v)
			before := to.Len()
			for _, f := range from.List() {
				if f == v {
					continue
				}
				for _, x := range setOf(e.holds, f).List() {
					to.Add(x)
				}
			}
			changed = changed || to.Len() > before
		}
	}
}
