package prepare

import (
	"fmt"

	"github.com/gompss/gompss/codegen/ir"
)

// maxUnrolled is how many iterations of a constant loop are written out where it indexes a local
// array.
const maxUnrolled = 32

// unroll writes out the constant loops whose counter indexes a local array, so that its elements
// become scalars.
func unroll(p *Result, body []ir.Stmt) []ir.Stmt {
	r := &ir.Rewrite{Stmt: func(s ir.Stmt) []ir.Stmt {
		f, ok := s.(*ir.For)
		if !ok || f.Directive != nil || !indexesArray(f.Body, f.Var) {
			return []ir.Stmt{s}
		}
		values, ok := constantTrips(f)
		if !ok || jumpsTo(f.Body, f.Label) {
			return []ir.Stmt{s}
		}
		var out []ir.Stmt
		for _, v := range values {
			copied := ir.Fresh(f.Body, func(v *ir.Var) *ir.Var { return p.local(v.Name, v.Type, v.At) }).CopyStmts(f.Body)
			out = append(out, foldConstants(ir.SubstStmts(copied, map[*ir.Var]ir.Expr{f.Var: &ir.Const{T: f.Var.Type, Bits: uint64(v), At: f.At}}))...)
			if p.size += len(copied); p.size > maxStatements {
				return []ir.Stmt{s}
			}
		}
		return out
	}}
	return r.CopyStmts(body)
}

// indexesArray reports whether v takes part in an index of an array that is not an element of a
// slice.
func indexesArray(body []ir.Stmt, v *ir.Var) bool {
	found := false
	ir.Inspect(body, nil, func(e ir.Expr) {
		if ix, ok := e.(*ir.Index); ok && ix.X.Type().Kind == ir.Array && ir.ExprVars(ix.I).Has(v) {
			found = true
		}
	})
	return found
}

func jumpsTo(body []ir.Stmt, l *ir.Label) bool {
	found := false
	ir.WalkStmts(body, func(s ir.Stmt) bool {
		switch s := s.(type) {
		case *ir.Break:
			found = found || s.Label == l
		case *ir.Continue:
			found = found || s.Label == l
		}
		return true
	})
	return found
}

// constantTrips lists the counter's values of a loop with constant bounds.
func constantTrips(f *ir.For) (values []int64, ok bool) {
	lo, ok1 := ir.ConstInt(f.Lo)
	hi, ok2 := ir.ConstInt(f.Hi)
	step, ok3 := ir.ConstStep(f)
	if !ok1 || !ok2 || !ok3 {
		return nil, false
	}
	for i := lo; ; i += step {
		if in := map[ir.Op]bool{ir.Lt: i < hi, ir.Le: i <= hi, ir.Gt: i > hi, ir.Ge: i >= hi, ir.Ne: i != hi}[f.Rel]; !in {
			return values, true
		}
		if values = append(values, i); len(values) > maxUnrolled {
			return nil, false
		}
	}
}

// foldConstants computes integer operations on constants, which indices of unrolled loops are.
func foldConstants(body []ir.Stmt) []ir.Stmt {
	r := &ir.Rewrite{Expr: func(e ir.Expr) ir.Expr {
		if e.Type().IsScalar() {
			if b, ok := e.(*ir.Binary); ok && b.Op == Within {
				return foldWithin(b)
			}
			switch e.(type) {
			case *ir.Binary, *ir.Convert:
				if v, err := ir.Eval(e, ir.Values{}); err == nil && len(ir.ExprVars(e).List()) == 0 && !readsMemory(e) && e.Type().IsInteger() {
					return &ir.Const{T: e.Type(), Bits: uint64(v), At: e.Pos()}
				}
			}
		}
		return e
	}}
	return r.CopyStmts(body)
}

// foldWithin takes away a check that a constant passes.
func foldWithin(b *ir.Binary) ir.Expr {
	x, okX := ir.ConstInt(b.X)
	n, okN := ir.ConstInt(b.Y)
	if okX && okN && 0 <= x && x < n {
		return b.X
	}
	return b
}

func readsMemory(e ir.Expr) bool {
	found := false
	ir.WalkExpr(e, func(x ir.Expr) bool {
		switch x.(type) {
		case *ir.Index, *ir.Deref:
			found = true
		}
		return !found
	})
	return found
}

// aggregates are the local arrays and structs that are cut: into scalars, or, where an index is not
// a constant, into one array in memory for each scalar that an element has.
type aggregates struct {
	*Result
	leaves map[*ir.Var][]*ir.Var // in the order of their places
	kept   map[*ir.Var][]leaf
	read   map[*ir.Var]bool // the leaves of which something reads
}

// cutAggregates leaves no local array and struct but arrays of scalars in memory, which it makes
// slice variables of.
func cutAggregates(p *Result, body []ir.Stmt) []ir.Stmt {
	a := &aggregates{Result: p, leaves: map[*ir.Var][]*ir.Var{}, kept: map[*ir.Var][]leaf{}}
	taken, reduced := ir.AddressTaken(body), reducedVars(body)
	for _, v := range ir.Declared(body).List() {
		switch {
		case v.Type.Kind != ir.Struct && v.Type.Kind != ir.Array || taken.Has(v):
		case leafCount(v.Type) <= 256 && !variableIndex(body, v) && !(reduced[v] && v.Type.Kind == ir.Array):
			a.leaves[v] = a.scalars(v.Type, v.Name, v.At)
		default:
			a.kept[v] = a.keep(v)
		}
	}
	a.findRead(body)
	r := &ir.Rewrite{Stmt: a.stmt, Expr: a.expr}
	return r.CopyStmts(body)
}

// reducedVars are the variables that reductions name.
func reducedVars(body []ir.Stmt) map[*ir.Var]bool {
	out := map[*ir.Var]bool{}
	ir.WalkStmts(body, func(s ir.Stmt) bool {
		for _, r := range reductionsIn(s) {
			out[ir.RootVar(r.Place)] = true
		}
		return true
	})
	return out
}

func leafCount(t *ir.Type) int {
	switch t.Kind {
	case ir.Array:
		return int(t.Len) * leafCount(t.Elem)
	case ir.Struct:
		n := 0
		for _, f := range t.Fields {
			n += leafCount(f.Type)
		}
		return n
	}
	return 1
}

// variableIndex reports whether a part of v is reached by an index that is not constant.
func variableIndex(body []ir.Stmt, v *ir.Var) bool {
	found := false
	ir.Inspect(body, nil, func(e ir.Expr) {
		if ix, ok := e.(*ir.Index); ok && ix.X.Type().Kind == ir.Array && ir.RootVar(ix.X) == v {
			if c, ok := ir.ConstInt(ix.I); !ok || c < 0 || c >= ix.X.Type().Len {
				found = true
			}
		}
	})
	return found
}

func (a *aggregates) scalars(t *ir.Type, name string, at ir.Pos) []*ir.Var {
	switch t.Kind {
	case ir.Array:
		var out []*ir.Var
		for i := range t.Len {
			out = append(out, a.scalars(t.Elem, fmt.Sprintf("%s_%d", name, i), at)...)
		}
		return out
	case ir.Struct:
		var out []*ir.Var
		for _, f := range t.Fields {
			out = append(out, a.scalars(f.Type, name+"_"+f.Name, at)...)
		}
		return out
	}
	return []*ir.Var{a.local(name, t, at)}
}

// expr replaces a scalar part of a cut variable.
func (a *aggregates) expr(e ir.Expr) ir.Expr {
	if !e.Type().IsScalar() {
		return e
	}
	if v, first := a.part(e); v != nil {
		return &ir.Ref{Var: a.leaves[v][first], At: e.Pos()}
	}
	if x := a.keptPart(e); x != nil {
		return x
	}
	if m, ok := e.(*ir.Member); ok { // a field of a literal
		if c, ok := m.X.(*ir.Composite); ok {
			return c.Elems[m.Field]
		}
	}
	return e
}

// part is the cut variable that place e is a part of, and the number of its first scalar in it.
func (a *aggregates) part(e ir.Expr) (*ir.Var, int) {
	switch e := e.(type) {
	case *ir.Ref:
		if _, ok := a.leaves[e.Var]; ok {
			return e.Var, 0
		}
	case *ir.Member:
		if v, n := a.part(e.X); v != nil {
			for _, f := range e.X.Type().Fields[:e.Field] {
				n += leafCount(f.Type)
			}
			return v, n
		}
	case *ir.Index:
		if e.X.Type().Kind == ir.Array {
			if v, n := a.part(e.X); v != nil {
				c, _ := ir.ConstInt(e.I)
				return v, n + int(c)*leafCount(e.Type())
			}
		}
	}
	return nil, 0
}

// leavesOf returns the scalars of a part of a cut variable, nil of another place.
func (a *aggregates) leavesOf(place ir.Expr) []*ir.Var {
	v, first := a.part(place)
	if v == nil {
		return nil
	}
	return a.leaves[v][first : first+leafCount(place.Type())]
}

// parts takes a value apart into its scalars; nil where it cannot be.
func (a *aggregates) parts(e ir.Expr) []ir.Expr {
	t := e.Type()
	if v, first := a.part(e); v != nil {
		out := make([]ir.Expr, leafCount(t))
		for i := range out {
			out[i] = &ir.Ref{Var: a.leaves[v][first+i], At: e.Pos()}
		}
		return out
	}
	if t.IsScalar() {
		return []ir.Expr{a.expr(e)}
	}
	var out []ir.Expr
	switch {
	case isComposite(e):
		for _, x := range e.(*ir.Composite).Elems {
			out = append(out, a.parts(x)...)
		}
	case t.Kind == ir.Struct:
		for i := range t.Fields {
			out = append(out, a.parts(&ir.Member{X: e, Field: i, At: e.Pos()})...)
		}
	case t.Kind == ir.Array:
		for i := range t.Len {
			out = append(out, a.parts(&ir.Index{X: e, I: &ir.Const{T: ir.IntType, Bits: uint64(i), At: e.Pos()}, At: e.Pos()})...)
		}
	default:
		return []ir.Expr{e}
	}
	return out
}

func isComposite(e ir.Expr) bool {
	_, ok := e.(*ir.Composite)
	return ok
}

func (a *aggregates) stmt(s ir.Stmt) []ir.Stmt {
	switch s := s.(type) {
	case *ir.Decl:
		if leaves, ok := a.leaves[s.Var]; ok {
			return a.declare(leaves, s)
		}
		if leaves, ok := a.kept[s.Var]; ok {
			return a.declareKept(leaves, s)
		}
	case *ir.Assign:
		if t := s.Place.Type(); t.Kind == ir.Struct || t.Kind == ir.Array {
			return a.assign(s)
		}
	case *ir.For:
		if s.Directive != nil {
			a.clauses(s.Directive)
		}
	}
	return []ir.Stmt{s}
}

func (a *aggregates) declare(leaves []*ir.Var, s *ir.Decl) []ir.Stmt {
	var out []ir.Stmt
	var values []ir.Expr
	if s.Init != nil {
		values = a.parts(s.Init)
	}
	drop := a.dropped(leaves, s.Init)
	for i, v := range leaves {
		d := &ir.Decl{Var: v, At: s.At}
		if values != nil {
			d.Init = values[i]
		}
		if !drop[i] {
			out = append(out, d)
		}
	}
	return out
}

// once returns place with the indices that read memory in variables, and the declarations of these:
// the store of one scalar could change where the next one is found.
func (a *aggregates) once(place ir.Expr) (ir.Expr, []ir.Stmt) {
	switch x := place.(type) {
	case *ir.Member:
		own := *x
		var decls []ir.Stmt
		own.X, decls = a.once(x.X)
		return &own, decls
	case *ir.Index:
		own := *x
		var decls []ir.Stmt
		own.X, decls = a.once(x.X)
		if readsMemory(x.I) {
			at := a.local("at", x.I.Type(), x.At)
			decls = append(decls, &ir.Decl{Var: at, Init: a.expr(x.I), At: x.At})
			own.I = &ir.Ref{Var: at, At: x.At}
		}
		return &own, decls
	}
	return place, nil
}

// assign copies scalar by scalar, all being read before the first is written.
func (a *aggregates) assign(s *ir.Assign) []ir.Stmt {
	place, first := a.once(s.Place)
	if leafCount(place.Type()) > mostCopied && !isComposite(s.Value) {
		value, more := a.once(s.Value)
		return append(append(first, more...), a.copyParts(place, value, place.Type(), s.At)...)
	}
	var then []ir.Stmt
	places := a.parts(place)
	drop := a.dropped(a.leavesOf(place), s.Value)
	for i, v := range a.parts(s.Value) {
		if drop != nil && drop[i] {
			continue
		}
		t := a.local("part", v.Type(), s.At)
		first = append(first, &ir.Decl{Var: t, Init: v, At: s.At})
		then = append(then, &ir.Assign{Place: places[i], Value: &ir.Ref{Var: t, At: s.At}, At: s.At})
	}
	return append(first, then...)
}
