package prepare

import "github.com/gompss/gompss/codegen/ir"

// constantArgs are the parameters of a call that are constants in the function called, with their
// values: facts about shifts, strides and loops hold inside, too.
func constantArgs(c *ir.Call) map[*ir.Var]ir.Expr {
	var out map[*ir.Var]ir.Expr
	for i, v := range c.Fn.Params {
		arg, ok := c.Args[i].(*ir.Const)
		if !ok || !v.Type.IsScalar() {
			continue
		}
		if out == nil {
			out = map[*ir.Var]ir.Expr{}
		}
		out[v] = arg
	}
	if out == nil {
		return nil
	}
	for _, set := range []*ir.VarSet{ir.Assigned(c.Fn.Body), ir.AddressTaken(c.Fn.Body), named(c.Fn.Body)} {
		for _, v := range set.List() {
			delete(out, v)
		}
	}
	return out
}

// named are the variables that directives name, for which no value can stand.
func named(body []ir.Stmt) *ir.VarSet {
	set := &ir.VarSet{}
	ir.WalkStmts(body, func(s ir.Stmt) bool {
		d := ir.DirectiveOf(s)
		if d == nil {
			return true
		}
		for _, list := range [][]*ir.Var{d.Private, d.Firstprivate, d.Lastprivate, d.Shared} {
			for _, v := range list {
				set.Add(v)
			}
		}
		for _, a := range d.DistArrays {
			set.Add(a.Var)
		}
		return true
	})
	return set
}

// withConstants is body with values for variables, and what they decide computed.
func withConstants(body []ir.Stmt, with map[*ir.Var]ir.Expr) []ir.Stmt {
	if len(with) == 0 {
		return body
	}
	return (&ir.Rewrite{Expr: folded}).CopyStmts(ir.SubstStmts(body, with))
}

// folded is an expression of integers that are all constants, computed.
func folded(e ir.Expr) ir.Expr {
	switch e := e.(type) {
	case *ir.Convert:
		if x, ok := e.X.(*ir.Const); ok && x.T.IsInteger() && e.T.IsScalar() && e.T.Kind != ir.Bool {
			return &ir.Const{T: e.T, Bits: uint64(ir.FoldConvert(e.T, x.T, ir.Bits(x.Bits))), At: e.At}
		}
	case *ir.Binary:
		x, isX := e.X.(*ir.Const)
		y, isY := e.Y.(*ir.Const)
		if !isX || !isY || !x.T.IsInteger() || !y.T.IsInteger() {
			return e
		}
		if v, err := ir.FoldBinary(e.Op, x.T, y.T, ir.Bits(x.Bits), ir.Bits(y.Bits)); err == nil {
			return &ir.Const{T: e.T, Bits: uint64(v), At: e.At}
		}
	}
	return e
}
