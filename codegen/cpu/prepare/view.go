package prepare

import (
	"fmt"

	"github.com/gompss/gompss/codegen/ir"
)

// Within is X where 0 <= X < Y holds, and the error of an index out of range where it does not: the
// checks of parts of slices and arrays, whose elements are reached through the whole. It is an
// operator of this package alone.
const Within ir.Op = 100

// A view is a part of a slice parameter or of an array: element i of it is element off + i of base,
// for i below n.
type view struct {
	base        ir.Expr // a slice that stays, or a place that is an array
	off, n, cap ir.Expr
	vars        bool // off, n and cap are variables of this view alone: it is assigned to
}

// views replaces local slices by numbers and local pointers by the places that they point at.
type views struct {
	*Result
	assigned map[*ir.Var]bool      // more than declared
	values   map[*ir.Var][]ir.Expr // what slices are set to
	slices   map[*ir.Var]*view
	places   map[*ir.Var]ir.Expr // what pointers point at
	cuts     map[*ir.Var]bool    // whose capacity may matter
	used     map[*ir.Var]bool    // pointers whose memory is touched wherever they are declared
}

// cutViews leaves no local slice and no local pointer whose memory is known; the selection refuses
// the others.
func (p *Result) cutViews(body []ir.Stmt) []ir.Stmt {
	v := &views{Result: p, assigned: map[*ir.Var]bool{}, values: map[*ir.Var][]ir.Expr{}, slices: map[*ir.Var]*view{}, places: map[*ir.Var]ir.Expr{}, cuts: cutSlices(body),
		used: usedPointers(body)}
	for _, x := range ir.Assigned(body).List() {
		v.assigned[x] = true
	}
	ir.WalkStmts(body, func(s ir.Stmt) bool {
		switch s := s.(type) {
		case *ir.Assign:
			if r, ok := s.Place.(*ir.Ref); ok && r.Var.Type.Kind == ir.Slice {
				v.values[r.Var] = append(v.values[r.Var], s.Value)
			}
		case *ir.Decl:
			if s.Init != nil && s.Var.Type.Kind == ir.Slice {
				v.values[s.Var] = append(v.values[s.Var], s.Init)
			}
		}
		return true
	})
	r := &ir.Rewrite{Stmt: v.stmt, Expr: v.expr}
	return r.CopyStmts(body)
}

// ownSlices lets a kernel assign to a variable of its own instead of a slice parameter.
func (p *Result) ownSlices(params []*ir.Var, body []ir.Stmt) []ir.Stmt {
	own, assigned := map[*ir.Var]*ir.Var{}, ir.Assigned(body)
	var out []ir.Stmt
	for _, v := range params {
		if v.Type.Kind == ir.Slice && assigned.Has(v) {
			own[v] = p.local(v.Name, v.Type, v.At)
			out = append(out, &ir.Decl{Var: own[v], Init: &ir.Ref{Var: v, At: v.At}, At: v.At})
		}
	}
	if len(own) == 0 {
		return body
	}
	r := &ir.Rewrite{Var: func(v *ir.Var) *ir.Var {
		if w, ok := own[v]; ok {
			return w
		}
		return v
	}}
	return append(out, r.CopyStmts(body)...)
}

// plus is x + y, or x - y, of ints, computed where both are constants.
func plus(op ir.Op, x, y ir.Expr) ir.Expr {
	a, okA := ir.ConstInt(x)
	b, okB := ir.ConstInt(y)
	switch {
	case okA && okB && op == ir.Add:
		return ir.IntConst(a+b, x.Pos())
	case okA && okB:
		return ir.IntConst(a-b, x.Pos())
	case okB && b == 0:
		return x
	case okA && a == 0 && op == ir.Add:
		return y
	}
	return &ir.Binary{Op: op, X: x, Y: y, T: ir.IntType, At: x.Pos()}
}

func isZero(e ir.Expr) bool {
	c, ok := ir.ConstInt(e)
	return ok && c == 0
}

// checked is x with the check that it is below limit.
func (p *Result) checked(x, limit ir.Expr, name string, at ir.Pos) ir.Expr {
	a, okA := ir.ConstInt(x)
	b, okB := ir.ConstInt(limit)
	if okA && okB && 0 <= a && a < b {
		return x
	}
	p.Names[at] = name
	return &ir.Binary{Op: Within, X: x, Y: limit, T: ir.IntType, At: at}
}

// of is the view that a slice-valued expression is; ok is false where it is not known what it is a
// part of.
func (v *views) of(e ir.Expr, out *[]ir.Stmt) (*view, bool) {
	switch e := e.(type) {
	case *ir.Ref:
		if x, ok := v.slices[e.Var]; ok {
			return x, true
		}
		if e.Var.Space == ir.Local && e.Var.Type.Kind == ir.Slice {
			return nil, false
		}
		n := &ir.Len{X: e, At: e.At}
		return &view{base: e, off: ir.IntConst(0, e.At), n: n, cap: v.capacity(e, n)}, true
	case *ir.Reslice:
		return v.part(e, out)
	}
	return nil, false
}

// capacity is that of a parameter, which the block holds where it is needed.
func (v *views) capacity(e *ir.Ref, n ir.Expr) ir.Expr {
	if e.Var.Space != ir.Param || !v.cuts[e.Var] {
		return n
	}
	c := v.Caps[e.Var]
	if c == nil {
		c = v.local(e.Var.Name+"_cap", ir.IntType, e.At)
		c.Space = ir.Param
		v.Caps[e.Var] = c
	}
	return &ir.Ref{Var: c, At: e.At}
}

// part is the view that e cuts. Where there is a list of statements, the bounds become variables,
// so that each is computed and checked once.
func (v *views) part(e *ir.Reslice, out *[]ir.Stmt) (*view, bool) {
	var from *view
	if t := e.X.Type(); t.Kind == ir.Array {
		n := ir.IntConst(t.Len, e.At)
		from = &view{base: e.X, off: ir.IntConst(0, e.At), n: n, cap: n}
	} else if x, ok := v.of(e.X, out); ok {
		from = x
	} else {
		return nil, false
	}
	name := ir.Source(e)
	lo, hi, most := ir.IntConst(0, e.At), from.n, from.cap
	if e.Max != nil {
		most = v.once(v.limited(e, ir.ToInt(e.Max), from.cap, name), out)
	}
	if e.Hi != nil {
		hi = v.once(v.limited(e, ir.ToInt(e.Hi), most, name), out)
	}
	if e.Lo != nil {
		lo = v.once(v.limited(e, ir.ToInt(e.Lo), hi, name), out)
	}
	return &view{base: from.base, off: plus(ir.Add, from.off, lo), n: plus(ir.Sub, hi, lo), cap: plus(ir.Sub, most, lo)}, true
}

// once is e, as a variable where that can be declared.
func (v *views) once(e ir.Expr, out *[]ir.Stmt) ir.Expr {
	if out == nil {
		return e
	}
	return v.fixed(e, "bound", out)
}

// limited is a bound of e that must not pass another one.
func (v *views) limited(e *ir.Reslice, x, limit ir.Expr, name string) ir.Expr {
	if !e.Checked {
		return x
	}
	v.Bounds[e.At] = true
	return v.checked(x, plus(ir.Add, limit, ir.IntConst(1, e.At)), name, e.At)
}

// element is element i of a view.
func (v *views) element(x *view, i ir.Expr, checked bool, name string, at ir.Pos) ir.Expr {
	if whole, ok := x.n.(*ir.Len); ok && isZero(x.off) && ir.ExprKey(whole.X) == ir.ExprKey(x.base) {
		return &ir.Index{X: (&ir.Rewrite{}).CopyExpr(x.base), I: i, Checked: checked, At: at}
	}
	if checked {
		if u, ok := unsigned64(i); ok {
			i = u
		}
		i = v.checked(ir.ToInt(i), x.n, name, at)
	}
	return &ir.Index{X: (&ir.Rewrite{}).CopyExpr(x.base), I: plus(ir.Add, x.off, ir.ToInt(i)), At: at}
}

// unsigned64 makes an int of a uint: the bits stay, and what is too large is below zero.
func unsigned64(i ir.Expr) (ir.Expr, bool) {
	if i.Type().Kind != ir.Uint64 {
		return nil, false
	}
	return &ir.Convert{T: ir.IntType, X: i, At: i.Pos()}, true
}

func (v *views) expr(e ir.Expr) ir.Expr {
	switch e := e.(type) {
	case *ir.Index:
		switch x := e.X.(type) {
		case *ir.Ref:
			if w, ok := v.slices[x.Var]; ok {
				return v.element(w, e.I, e.Checked, x.Var.Name, e.At)
			}
		case *ir.Reslice:
			if w, ok := v.part(x, nil); ok {
				return v.element(w, e.I, e.Checked, ir.Source(x), e.At)
			}
		}
	case *ir.Len:
		if w, ok := v.of(e.X, nil); ok && !sameLen(w.n, e) {
			return w.n
		}
	case *ir.Cap:
		if w, ok := v.of(e.X, nil); ok {
			if r, ok := e.X.(*ir.Reslice); ok && r.Checked && r.Hi != nil && r.Lo == nil {
				return plus(ir.Add, w.cap, v.checked(ir.IntConst(0, e.At), plus(ir.Add, w.n, ir.IntConst(1, e.At)), ir.Source(r), r.At)) // the end counts, too
			}
			return w.cap
		}
	case *ir.Deref:
		switch x := e.X.(type) {
		case *ir.Ref:
			if place, ok := v.places[x.Var]; ok {
				return (&ir.Rewrite{}).CopyExpr(place)
			}
		case *ir.AddrOf:
			return x.X
		}
	}
	return e
}

func sameLen(n ir.Expr, e *ir.Len) bool {
	l, ok := n.(*ir.Len)
	return ok && ir.ExprKey(l) == ir.ExprKey(e)
}

func (v *views) stmt(s ir.Stmt) []ir.Stmt {
	switch s := s.(type) {
	case *ir.Decl:
		switch s.Var.Type.Kind {
		case ir.Slice:
			return v.declare(s)
		case ir.Pointer:
			return v.point(s)
		}
	case *ir.Assign:
		if r, ok := s.Place.(*ir.Ref); ok && r.Var.Type.Kind == ir.Slice {
			return v.assign(s, r.Var)
		}
	}
	return []ir.Stmt{s}
}

// fixed returns e as an expression whose value stays, with the declaration that it may need.
func (v *views) fixed(e ir.Expr, name string, out *[]ir.Stmt) ir.Expr {
	if _, ok := ir.ConstInt(e); ok {
		return e
	}
	if r, ok := e.(*ir.Ref); ok && !v.assigned[r.Var] {
		return e
	}
	if l, ok := e.(*ir.Len); ok {
		if r, ok := l.X.(*ir.Ref); ok && r.Var.Space == ir.Param && !v.assigned[r.Var] {
			return e
		}
	}
	t := v.local(name, e.Type(), e.Pos())
	*out = append(*out, &ir.Decl{Var: t, Init: e, At: e.Pos()})
	return &ir.Ref{Var: t, At: e.Pos()}
}

// fixedPlace is fixed for the indices of a place. Where check holds, the indices are checked here
// and not where the place is touched.
func (v *views) fixedPlace(e ir.Expr, name string, check bool, out *[]ir.Stmt) ir.Expr {
	switch e := e.(type) {
	case *ir.Member:
		return &ir.Member{X: v.fixedPlace(e.X, name, check, out), Field: e.Field, At: e.At}
	case *ir.Index:
		x, i, later := v.fixedPlace(e.X, name, check, out), e.I, e.Checked
		if check && e.Checked {
			i, later = v.checkedIndex(e), false
		}
		return &ir.Index{X: x, I: v.fixed(i, name+"_index", out), Checked: later, At: e.At}
	}
	return e
}

// checkedIndex is the index of e with its check.
func (v *views) checkedIndex(e *ir.Index) ir.Expr {
	n := ir.Expr(&ir.Len{X: (&ir.Rewrite{}).CopyExpr(e.X), At: e.At})
	if t := e.X.Type(); t.Kind == ir.Array {
		n = ir.IntConst(t.Len, e.At)
	}
	i := e.I
	if u, ok := unsigned64(i); ok {
		i = u
	}
	return v.checked(ir.ToInt(i), n, ir.Source(e.X), e.At)
}

func (v *views) declare(s *ir.Decl) []ir.Stmt {
	if s.Init == nil {
		return v.declareLater(s)
	}
	var out []ir.Stmt
	w, ok := v.of(s.Init, &out)
	if !ok {
		return []ir.Stmt{s}
	}
	if v.assigned[s.Var] {
		x := v.variables(s, w.base)
		v.slices[s.Var] = x
		return append(out, v.bind(x, w, s.Var.Name, true, s.At)...)
	}
	name := s.Var.Name
	x := &view{base: v.fixedPlace(w.base, name, true, &out)}
	x.off, x.n = v.fixed(w.off, name+"_at", &out), v.fixed(w.n, name+"_len", &out)
	x.cap = w.cap
	if v.cuts[s.Var] || w.vars {
		x.cap = v.fixed(w.cap, name+"_cap", &out)
	}
	v.slices[s.Var] = x
	return out
}

// variables gives a slice that is assigned to numbers of its own.
func (v *views) variables(s *ir.Decl, base ir.Expr) *view {
	ref := func(name string) ir.Expr {
		x := v.local(s.Var.Name+name, ir.IntType, s.At)
		v.assigned[x] = true
		return &ir.Ref{Var: x, At: s.At}
	}
	return &view{base: base, off: ref("_at"), n: ref("_len"), cap: ref("_cap"), vars: true}
}

// bind sets the numbers of x to those of w, all being read before the first is written.
func (v *views) bind(x, w *view, name string, fresh bool, at ir.Pos) []ir.Stmt {
	var first, then []ir.Stmt
	from, to := []ir.Expr{w.off, w.n, w.cap}, []ir.Expr{x.off, x.n, x.cap}
	for i := range to {
		t := v.local(name, ir.IntType, at)
		first = append(first, &ir.Decl{Var: t, Init: from[i], At: at})
		value := &ir.Ref{Var: t, At: at}
		if fresh {
			then = append(then, &ir.Decl{Var: to[i].(*ir.Ref).Var, Init: value, At: at})
		} else {
			then = append(then, &ir.Assign{Place: to[i], Value: value, At: at})
		}
	}
	return append(first, then...)
}

// declareLater declares a slice that is empty until it is set.
func (v *views) declareLater(s *ir.Decl) []ir.Stmt {
	base := v.baseOf(s.Var, 8)
	if base == nil {
		return []ir.Stmt{s}
	}
	x, none := v.variables(s, base), ir.IntConst(0, s.At)
	v.slices[s.Var] = x
	return v.bind(x, &view{off: none, n: none, cap: none}, s.Var.Name, true, s.At)
}

// baseOf looks for what a slice variable that is set later is a part of: a parameter or a whole
// local array.
func (v *views) baseOf(x *ir.Var, depth int) ir.Expr {
	for _, e := range v.values[x] {
		for {
			if r, ok := e.(*ir.Reslice); ok {
				e = r.X
				continue
			}
			break
		}
		r, ok := e.(*ir.Ref)
		switch {
		case !ok || depth == 0:
		case r.Var.Type.Kind == ir.Array || r.Var.Space == ir.Param:
			return &ir.Ref{Var: r.Var, At: r.At}
		case v.slices[r.Var] != nil:
			return v.slices[r.Var].base
		default:
			if b := v.baseOf(r.Var, depth-1); b != nil {
				return b
			}
		}
	}
	return nil
}

func (v *views) assign(s *ir.Assign, x *ir.Var) []ir.Stmt {
	have := v.slices[x]
	w, ok := v.of(s.Value, nil)
	if have == nil || !ok || !have.vars {
		return []ir.Stmt{s}
	}
	if ir.ExprKey(have.base) != ir.ExprKey(w.base) {
		v.fail(s.At, fmt.Sprintf("%s is a part of %s here and of %s elsewhere, and code for lanes must know the slice that it reads: use one variable for each, or an index into the whole",
			x.Name, ir.Source(w.base), ir.Source(have.base)))
		return nil
	}
	return v.bind(have, w, x.Name, false, s.At)
}

// point notes what a pointer points at.
func (v *views) point(s *ir.Decl) []ir.Stmt {
	if v.assigned[s.Var] || s.Init == nil {
		return []ir.Stmt{s}
	}
	var out []ir.Stmt
	switch x := s.Init.(type) {
	case *ir.AddrOf:
		v.places[s.Var] = v.fixedPlace(x.X, s.Var.Name, !v.used[s.Var], &out)
		return out
	case *ir.Ref:
		if place, ok := v.places[x.Var]; ok {
			v.places[s.Var] = place
			return nil
		}
		if x.Var.Type.Kind == ir.Slice { // a pointer parameter, see pointers
			v.places[s.Var] = &ir.Index{X: x, I: ir.IntConst(0, x.At), Checked: true, At: x.At}
			return nil
		}
	}
	return []ir.Stmt{s}
}

// cutSlices are the slice variables that are cut again, or asked for their capacity, or what others
// are set to.
func cutSlices(body []ir.Stmt) map[*ir.Var]bool {
	out := map[*ir.Var]bool{}
	ir.Inspect(body, func(s ir.Stmt) {
		var value ir.Expr
		switch s := s.(type) {
		case *ir.Decl:
			value = s.Init
		case *ir.Assign:
			value = s.Value
		}
		if r, ok := value.(*ir.Ref); ok && r.Var.Type.Kind == ir.Slice {
			out[r.Var] = true
		}
	}, func(e ir.Expr) {
		switch e := e.(type) {
		case *ir.Reslice:
			if r, ok := e.X.(*ir.Ref); ok {
				out[r.Var] = true
			}
		case *ir.Cap:
			if r, ok := e.X.(*ir.Ref); ok {
				out[r.Var] = true
			}
		}
	})
	return out
}
