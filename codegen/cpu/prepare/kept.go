package prepare

import "github.com/gompss/gompss/codegen/ir"

// A leaf is one scalar of the elements of an aggregate that is kept in memory: the fields on the
// way to it, the lengths of the arrays on the way, and the array that holds all of them in
// row-major order; without arrays on the way a plain variable.
type leaf struct {
	fields []int
	dims   []int64
	v      *ir.Var
}

func (a *aggregates) keep(v *ir.Var) []leaf {
	var out []leaf
	var walk func(t *ir.Type, name string, fields []int, dims []int64)
	walk = func(t *ir.Type, name string, fields []int, dims []int64) {
		switch t.Kind {
		case ir.Array:
			walk(t.Elem, name, fields, append(dims[:len(dims):len(dims)], t.Len))
		case ir.Struct:
			for i, f := range t.Fields {
				walk(f.Type, name+"_"+f.Name, append(fields[:len(fields):len(fields)], i), dims)
			}
		default:
			x := a.local(name, t, v.At)
			if len(dims) > 0 {
				n := int64(1)
				for _, d := range dims {
					n *= d
				}
				x.Type = ir.SliceOf(t)
				a.Arrays[x] = n
			}
			out = append(out, leaf{fields, dims, x})
		}
	}
	walk(v.Type, v.Name, nil, nil)
	return out
}

// keptPart is the element that a scalar part of a kept variable is, nil for all else.
func (a *aggregates) keptPart(e ir.Expr) ir.Expr {
	root := ir.RootVar(e)
	leaves, ok := a.kept[root]
	if !ok {
		return nil
	}
	var fields []int
	var indices []*ir.Index
	for x := e; ; {
		if m, ok := x.(*ir.Member); ok {
			fields, x = append([]int{m.Field}, fields...), m.X
			continue
		}
		if ix, ok := x.(*ir.Index); ok {
			indices, x = append([]*ir.Index{ix}, indices...), ix.X
			continue
		}
		break
	}
	for _, l := range leaves {
		if !equalInts(l.fields, fields) {
			continue
		}
		if len(l.dims) == 0 {
			return &ir.Ref{Var: l.v, At: e.Pos()}
		}
		return a.elementOf(l, indices, e)
	}
	return nil
}

func equalInts(x, y []int) bool {
	if len(x) != len(y) {
		return false
	}
	for i := range x {
		if x[i] != y[i] {
			return false
		}
	}
	return true
}

func (a *aggregates) elementOf(l leaf, indices []*ir.Index, e ir.Expr) ir.Expr {
	array := &ir.Ref{Var: l.v, At: e.Pos()}
	if len(indices) == 1 {
		return &ir.Index{X: array, I: indices[0].I, Checked: indices[0].Checked, At: indices[0].At}
	}
	sum := ir.IntConst(0, e.Pos())
	for i, ix := range indices {
		x := ir.ToInt(ix.I)
		if ix.Checked {
			x = a.checked(x, ir.IntConst(l.dims[i], ix.At), ir.Source(ix.X), ix.At)
		}
		stride := int64(1)
		for _, d := range l.dims[i+1:] {
			stride *= d
		}
		sum = plus(ir.Add, sum, Scaled(x, stride))
	}
	return &ir.Index{X: array, I: sum, At: e.Pos()}
}

// Scaled is x times a constant, of type int.
func Scaled(x ir.Expr, by int64) ir.Expr {
	if c, ok := ir.ConstInt(x); ok {
		return ir.IntConst(c*by, x.Pos())
	}
	if by == 1 {
		return x
	}
	return &ir.Binary{Op: ir.Mul, X: x, Y: ir.IntConst(by, x.Pos()), T: ir.IntType, At: x.Pos()}
}

// declareKept declares the leaves, all zero, and then gives them their values.
func (a *aggregates) declareKept(leaves []leaf, s *ir.Decl) []ir.Stmt {
	var out []ir.Stmt
	for _, l := range leaves {
		out = append(out, &ir.Decl{Var: l.v, At: s.At})
	}
	if s.Init == nil {
		return out
	}
	place := &ir.Ref{Var: s.Var, At: s.At}
	if !isComposite(s.Init) && leafCount(s.Var.Type) > 16 {
		return append(out, a.copyParts(place, s.Init, s.Var.Type, s.At)...)
	}
	places := a.parts(place)
	for i, x := range a.parts(s.Init) {
		if c, ok := x.(*ir.Const); ok && c.Bits == 0 {
			continue
		}
		out = append(out, &ir.Assign{Place: places[i], Value: x, At: s.At})
	}
	return out
}

// copyParts copies a value of type t scalar by scalar, arrays in loops. Two places of one type are
// one place or have nothing in common, so that the order does not matter.
func (a *aggregates) copyParts(to, from ir.Expr, t *ir.Type, at ir.Pos) []ir.Stmt {
	var out []ir.Stmt
	switch t.Kind {
	case ir.Struct:
		for i, f := range t.Fields {
			out = append(out, a.copyParts(&ir.Member{X: to, Field: i, At: at}, &ir.Member{X: from, Field: i, At: at}, f.Type, at)...)
		}
		return out
	case ir.Array:
		if a.leaves[ir.RootVar(to)] != nil || a.leaves[ir.RootVar(from)] != nil { // scalars have no number
			for i := range t.Len {
				out = append(out, a.copyParts(&ir.Index{X: to, I: ir.IntConst(i, at), At: at}, &ir.Index{X: from, I: ir.IntConst(i, at), At: at}, t.Elem, at)...)
			}
			return out
		}
		k := a.local("k", ir.IntType, at)
		i := &ir.Ref{Var: k, At: at}
		body := a.copyParts(&ir.Index{X: to, I: i, At: at}, &ir.Index{X: from, I: i, At: at}, t.Elem, at)
		return []ir.Stmt{&ir.For{Var: k, Lo: ir.IntConst(0, at), Hi: ir.IntConst(t.Len, at), Step: ir.IntConst(1, at), Rel: ir.Lt, Body: body, At: at}}
	}
	return []ir.Stmt{&ir.Assign{Place: a.expr(to), Value: a.expr(from), At: at}}
}

// clauses gives the leaves of reduced aggregates reductions of their own.
func (a *aggregates) clauses(d *ir.Directive) {
	var out []ir.Reduction
	for _, r := range d.Reductions {
		v := ir.RootVar(r.Place)
		leaves, ok := a.kept[v]
		if !ok || r.Place.Type().IsScalar() {
			out = append(out, r)
			continue
		}
		if _, whole := r.Place.(*ir.Ref); !whole {
			a.fail(r.At, "reduction of "+ir.Source(r.Place)+", a part of an array, has no form for lanes: reduce the whole array, or a variable of its own")
			return
		}
		for _, l := range leaves {
			out = append(out, ir.Reduction{Op: r.Op, Place: &ir.Ref{Var: l.v, At: r.At}, Block: r.Block, Blocks: r.Blocks, At: r.At})
		}
	}
	d.Reductions = out
	var last []*ir.Var
	for _, v := range d.Lastprivate {
		switch {
		case a.leaves[v] != nil:
			last = append(last, a.leaves[v]...)
		case a.kept[v] != nil:
			for _, l := range a.kept[v] {
				last = append(last, l.v)
			}
		default:
			last = append(last, v)
		}
	}
	d.Lastprivate = last
}
