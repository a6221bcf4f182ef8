// Package dist keeps on chip what iterations of a distribute loop own of the arrays of its dist_
// clauses.
package dist

import (
	"fmt"

	"github.com/gompss/gompss/codegen/internal/analysis/affine"
	"github.com/gompss/gompss/codegen/internal/lower/forms"
	"github.com/gompss/gompss/codegen/internal/mapping"
	"github.com/gompss/gompss/codegen/ir"
	"github.com/gompss/gompss/codegen/ir/build"
	"github.com/gompss/gompss/codegen/ir/query"
)

// Stage keeps on chip what iterations of a distribute loop own of the arrays of its dist_ clauses:
// an iteration whose part lies wholly in the array works on a copy, which is a variable of the
// team, and so in team memory when it is large; any other works on the array itself, so that what
// is out of range fails as it does in Go. Source: Ozen, Compiler and Runtime Based Parallelization
// & Optimization for GPUs, 2017, section 4.2.1; differs: chunks are written in the clause, and
// where an iteration is one thread's, the copy is the thread's.
func Stage(work *mapping.Work, insisted map[*ir.Var]string) {
	l := &stager{work, insisted}
	r := &ir.Rewrite{Stmt: func(s ir.Stmt) []ir.Stmt {
		if f, ok := s.(*ir.For); ok && f.Directive != nil && len(f.Directive.DistArrays) > 0 {
			l.stageIn(f)
		}
		return []ir.Stmt{s}
	}}
	l.Kernel.Body = r.CopyStmts(l.Kernel.Body)
}

// A stager finds the loops with dist_ clauses.
type stager struct {
	*mapping.Work
	insisted map[*ir.Var]string // copies that have to be on chip, with the clause
}

// An ownPart is one array of a dist_ clause with its copy.
type ownPart struct {
	ir.DistArray
	chunk int64
	copy  *ir.Var
}

// stageIn gives the body of f copies of the parts that its iterations own.
func (l *stager) stageIn(f *ir.For) {
	d := f.Directive
	var parts []ownPart
	for _, a := range d.DistArrays {
		chunk, why := int64(0), ""
		if c, ok := query.Int64(a.Chunk); ok {
			chunk = c
		} else {
			why = "its chunk is no constant, and memory on chip is laid out before the launch"
		}
		if why == "" && d.Collapse > 1 {
			why = "iterations of several loops have no part each"
		}
		if why == "" && !indexedOnly(f.Body, a.Var) {
			why = "it is used as a whole: only elements can be redirected to a copy"
		}
		if size := ir.Bytes(chunk) * a.Var.Type.Elem.Size; why == "" && size > forms.TeamLimit {
			l.Refuse(a.At, a.Kind.String()+" of "+a.Var.Name, fmt.Sprintf("a part of %d elements takes %d bytes, a team has %d", chunk,
				int64(size), int64(forms.TeamLimit)), "make the chunk smaller, or take it out of the clause")
			continue
		}
		if why != "" {
			instead := ""
			if c, ok := query.Int64(a.Chunk); !ok || c < 0 {
				instead = "a constant chunk, as in [64]" + a.Var.Name
			}
			l.Decide(a.At, "array "+a.Var.Name, "device memory", why, instead)
			continue
		}
		v := l.Local(a.Var.Name+"Part", ir.ArrayOf(a.Var.Type.Elem, chunk), a.At)
		v.Source = a.Part(f.Var)
		l.insisted[v] = a.Kind.String()
		parts = append(parts, ownPart{a, chunk, v})
		l.Decide(a.At, "array "+a.Var.Name, "on chip", fmt.Sprintf("each iteration works on a copy of the %d elements that it owns", chunk), "")
	}
	d.DistArrays = nil
	if len(parts) == 0 {
		return
	}
	whole := l.CopyOf(f.Body, &l.Kernel.NumVars)
	f.Body = []ir.Stmt{&ir.If{Cond: l.inside(f, parts), Then: l.onCopies(f, parts), Else: whole, At: f.At}}
}

// inside says that the parts of an iteration lie in their arrays.
func (l *stager) inside(f *ir.For, parts []ownPart) ir.Expr {
	at, i := f.At, build.ToInt(build.Ref(f.Var, f.At))
	cond := build.Compare(ir.Ge, i, build.Int(0, at), at)
	for _, p := range parts {
		end := build.Binary(ir.Mul, build.Binary(ir.Add, i, build.Int(1, at), at), build.Int(p.chunk, at), at)
		fits := build.Compare(ir.Le, end, &ir.Len{X: build.Ref(p.Var, at), At: at}, at)
		cond = build.Compare(ir.LAnd, cond, fits, at)
	}
	return cond
}

// onCopies returns the body of f on copies.
func (l *stager) onCopies(f *ir.For, parts []ownPart) []ir.Stmt {
	var out []ir.Stmt
	mine := f.Directive.Parts&(ir.Parallel|ir.Workshare) != 0 // the iteration is a thread's
	for _, p := range parts {
		out = append(out, build.Decl(p.copy, nil, p.At))
	}
	out = append(out, l.moveAll(f, parts, mine, false)...)
	post := l.moveAll(f, parts, mine, true)
	body := (&ir.Rewrite{Expr: func(e ir.Expr) ir.Expr {
		ix, ok := e.(*ir.Index)
		if !ok {
			return e
		}
		for _, p := range parts {
			if r, ok := ix.X.(*ir.Ref); ok && r.Var == p.Var {
				return &ir.Index{X: build.Ref(p.copy, ix.At), I: l.relative(f, p, ix), Checked: true, At: ix.At}
			}
		}
		return e
	}}).CopyStmts(f.Body)
	if jumps := query.GoesOn(body, f.Label); jumps && len(post) > 0 {
		end := &ir.Label{} // what continued with the next iteration now leaves the body, to store the copies
		body = (&ir.Rewrite{Stmt: func(s ir.Stmt) []ir.Stmt {
			if c, ok := s.(*ir.Continue); ok && c.Label == f.Label {
				return []ir.Stmt{&ir.Break{Label: end, At: c.At}}
			}
			return []ir.Stmt{s}
		}}).CopyStmts(body)
		body = []ir.Stmt{&ir.Block{Label: end, Body: body, At: f.At}}
	}
	return append(append(out, body...), post...)
}

// relative is the place in the copy of an index of the array. What has an affine form is written as
// its difference to the start, of which bounds are proved easily.
func (l *stager) relative(f *ir.For, p ownPart, ix *ir.Index) ir.Expr {
	start := affine.OfVar(f.Var).Mul(affine.Constant(p.chunk))
	if form, ok := affine.Of(ix.I); ok {
		if rel := form.Sub(start); rel.Known() && !rel.Has(f.Var) {
			return rel.Expr(ix.At)
		}
	}
	base := build.Binary(ir.Mul, build.ToInt(build.Ref(f.Var, ix.At)), build.Int(p.chunk, ix.At), ix.At)
	return build.Binary(ir.Sub, build.ToInt(ix.I), base, ix.At)
}

// moveAll returns the loops that fill the copies, or store them, one for parts of one length.
// Threads of the team share them out, unless the iteration is one thread's.
func (l *stager) moveAll(f *ir.For, parts []ownPart, mine, store bool) []ir.Stmt {
	var out []ir.Stmt
	loops := map[int64]*ir.For{}
	for _, p := range parts {
		if p.Kind != ir.DistFirstLastprivate && (p.Kind == ir.DistPrivate || store != (p.Kind == ir.DistLastprivate)) {
			continue
		}
		loop := loops[p.chunk]
		if loop == nil {
			loop = &ir.For{Label: &ir.Label{}, Var: l.Local("e", ir.IntType, p.At), Lo: build.Int(0, p.At), Hi: build.Int(p.chunk, p.At),
				Step: build.Int(1, p.At), Rel: ir.Lt, At: p.At}
			if !mine {
				loop.Directive = &ir.Directive{Parts: ir.Parallel | ir.Workshare, Text: p.Kind.String(), At: p.At}
			}
			loops[p.chunk] = loop
			out = append(out, loop)
		}
		e := build.Ref(loop.Var, p.At)
		base := build.Binary(ir.Mul, build.ToInt(build.Ref(f.Var, p.At)), build.Int(p.chunk, p.At), p.At)
		to, from := ir.Expr(build.Index(build.Ref(p.copy, p.At), e, p.At)), ir.Expr(build.Index(build.Ref(p.Var, p.At), build.Binary(ir.Add, base, e, p.At), p.At))
		if store {
			to, from = from, to
		}
		loop.Body = append(loop.Body, build.Assign(to, from, p.At))
	}
	return out
}

// indexedOnly reports whether list uses the slice v for nothing but its elements and its length.
func indexedOnly(list []ir.Stmt, v *ir.Var) bool {
	uses, fine := 0, 0
	ir.Inspect(list, nil, func(e ir.Expr) {
		is := func(x ir.Expr) bool { r, ok := x.(*ir.Ref); return ok && r.Var == v }
		switch e := e.(type) {
		case *ir.Ref:
			if e.Var == v {
				uses++
			}
		case *ir.Index:
			if is(e.X) {
				fine++
			}
		case *ir.Len:
			if is(e.X) {
				fine++
			}
		}
	})
	return uses == fine && !ir.Assigned(list).Has(v) && !takesElement(list, v)
}

// takesElement reports whether list takes the address of an element of v, or a slice.
func takesElement(list []ir.Stmt, v *ir.Var) bool {
	taken := false
	ir.Inspect(list, nil, func(e ir.Expr) {
		if a, ok := e.(*ir.AddrOf); ok && ir.ExprVars(a).Has(v) {
			taken = true
		}
	})
	return taken
}
