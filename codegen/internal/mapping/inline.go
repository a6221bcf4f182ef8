package mapping

import (
	"github.com/gompss/gompss/codegen/ir"
	"github.com/gompss/gompss/codegen/ir/build"
	"github.com/gompss/gompss/codegen/ir/query"
)

// An Inliner puts the bodies of functions in place of their calls; local makes a new local
// variable.
type Inliner struct {
	Local func(name string, t *ir.Type, at ir.Pos) *ir.Var
}

// Inline returns a block with the body of the function that c calls. Where that returns before its
// end, the block has a label.
func (in *Inliner) Inline(c *ir.Call) *ir.Block {
	f := c.Fn
	var out []ir.Stmt
	params := map[*ir.Var]*ir.Var{}
	changed := ir.Assigned(f.Body)
	for _, v := range ir.AddressTaken(f.Body).List() {
		changed.Add(v)
	}
	for i, p := range f.Params {
		if r, ok := c.Args[i].(*ir.Ref); ok && r.Var.Space == ir.Param && r.Var.Type.Kind == ir.Slice && !changed.Has(p) {
			params[p] = r.Var // facts about a parameter of the kernel hold here, too
			continue
		}
		v := in.Local(p.Name, p.Type, c.At)
		params[p] = v
		out = append(out, build.Decl(v, c.Args[i], c.At))
	}
	own := ir.Fresh(f.Body, func(v *ir.Var) *ir.Var { return in.Local(v.Name, v.Type, v.At) }).CopyStmts(f.Body)
	body := build.WithVars(params).CopyStmts(own)
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

// results assigns what ret returns to where c wants it, all values being computed before any is
// assigned.
func (in *Inliner) results(c *ir.Call, ret *ir.Return) []ir.Stmt {
	var temps, stores []ir.Stmt
	for i, v := range c.Results {
		if v == nil { // a value that nothing reads may still fail
			if query.Checks(ret.Results[i]) {
				temps = append(temps, build.Decl(in.Local("_", ret.Results[i].Type(), ret.At), ret.Results[i], ret.At))
			}
			continue
		}
		t := in.Local(v.Name, v.Type, ret.At)
		temps = append(temps, build.Decl(t, ret.Results[i], ret.At))
		stores = append(stores, build.Assign(build.Ref(v, ret.At), build.Ref(t, ret.At), ret.At))
	}
	if len(temps) == 1 && len(stores) == 1 {
		init := temps[0].(*ir.Decl).Init
		return []ir.Stmt{build.Assign(stores[0].(*ir.Assign).Place, init, ret.At)}
	}
	return append(temps, stores...)
}
