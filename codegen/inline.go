package codegen

import "github.com/gompss/gompss/codegen/ir"

// An inliner puts the bodies of functions in place of their calls; local makes a new local variable.
type inliner struct {
	local func(name string, t *ir.Type, at ir.Pos) *ir.Var
}

// inline returns a block with the body of the function that c calls. Where that returns before its end, the block has a label.
func (in *inliner) inline(c *ir.Call) *ir.Block {
	f := c.Fn
	var out []ir.Stmt
	params := map[*ir.Var]*ir.Var{}
	for i, p := range f.Params {
		v := in.local(p.Name, p.Type, c.At)
		params[p] = v
		out = append(out, decl(v, c.Args[i], c.At))
	}
	own := ir.Fresh(f.Body, func(v *ir.Var) *ir.Var { return in.local(v.Name, v.Type, v.At) }).CopyStmts(f.Body)
	body := paramsOf(params).CopyStmts(own)
	end := &ir.Label{}
	if n := len(body); n > 0 {
		if r, ok := body[n-1].(*ir.Return); ok {
			body = append(body[:n-1], in.results(c, r)...)
		}
	}
	jumps := false
	r := &ir.Rewrite{Stmt: func(s ir.Stmt) []ir.Stmt {
		if ret, ok := s.(*ir.Return); ok {
			jumps = true
			return append(in.results(c, ret), &ir.Break{Label: end, At: ret.At})
		}
		return []ir.Stmt{s}
	}}
	block := &ir.Block{Body: append(out, r.CopyStmts(body)...), At: c.At}
	if jumps {
		block.Label = end
	}
	return block
}

// results assigns what ret returns to where c wants it, all values being computed before any is assigned.
func (in *inliner) results(c *ir.Call, ret *ir.Return) []ir.Stmt {
	var temps, stores []ir.Stmt
	for i, v := range c.Results {
		if v == nil {
			continue
		}
		t := in.local(v.Name, v.Type, ret.At)
		temps = append(temps, decl(t, ret.Results[i], ret.At))
		stores = append(stores, assign(ref(v, ret.At), ref(t, ret.At), ret.At))
	}
	if len(temps) == 1 {
		init := temps[0].(*ir.Decl).Init
		return []ir.Stmt{assign(stores[0].(*ir.Assign).Place, init, ret.At)}
	}
	return append(temps, stores...)
}
