// Package bodies rewrites bodies of iterations, of which a thread executes several: it interleaves
// copies, propagates values, and folds branches. It also answers what strategies ask of bodies.
package bodies

import (
	"github.com/gompss/gompss/codegen/internal/lower/crews"
	"github.com/gompss/gompss/codegen/ir"
	"github.com/gompss/gompss/codegen/ir/build"
	"github.com/gompss/gompss/codegen/ir/query"
)

// Interleave interleaves copies of a body statement by statement; for each statement, the loads of
// all copies precede the stores.
func Interleave(t *crews.Crew, copies [][]ir.Stmt) []ir.Stmt {
	var out []ir.Stmt
	for k := range copies[0] {
		var stores []ir.Stmt
		for u := range copies {
			a, ok := copies[u][k].(*ir.Assign)
			if !ok || query.IsRef(a.Place) {
				out = append(out, copies[u][k])
				continue
			}
			v := t.Local("value", a.Value.Type(), a.At)
			out = append(out, build.Decl(v, a.Value, a.At))
			stores = append(stores, build.Assign(a.Place, build.Ref(v, a.At), a.At))
		}
		out = append(out, stores...)
	}
	return out
}

// Fuse interleaves the copies like interleave, and fuses the loops at the same position of all
// copies into one loop.
func Fuse(t *crews.Crew, copies [][]ir.Stmt) []ir.Stmt {
	var out []ir.Stmt
	for k, s := range copies[0] {
		f, ok := s.(*ir.For)
		if !ok {
			one := make([][]ir.Stmt, len(copies))
			for u := range copies {
				one[u] = copies[u][k : k+1]
			}
			out = append(out, Interleave(t, one)...)
			continue
		}
		bodies := make([][]ir.Stmt, len(copies))
		for u := range copies {
			g := copies[u][k].(*ir.For)
			bodies[u] = build.WithVars(map[*ir.Var]*ir.Var{g.Var: f.Var}).CopyStmts(query.Flatten(g.Body))
		}
		one := *f
		one.Label = &ir.Label{}
		if one.Unroll != 1 {
			one.Unroll = t.Device().Tuning.Blocks.Unroll
		}
		one.Body = Fuse(t, bodies)
		out = append(out, &one)
	}
	return out
}
