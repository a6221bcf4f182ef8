package codegen

import (
	"fmt"

	"github.com/gompss/gompss/codegen/ir"
)

// stageDistArrays keeps on chip what iterations of a distribute loop own of the arrays of its dist_ clauses: an
// iteration whose part lies wholly in the array works on a copy, which is a variable of the team, and so in team memory
// when it is large; any other works on the array itself, so that what is out of range fails as it does in Go.
// Source: 001_ab8d859d95f513d8, section 4.2.1; differs: chunks are written in the clause, and where an iteration is one
// thread's, the copy is the thread's.
func (l *lowering) stageDistArrays() {
	r := &ir.Rewrite{Stmt: func(s ir.Stmt) []ir.Stmt {
		if f, ok := s.(*ir.For); ok && f.Directive != nil && len(f.Directive.DistArrays) > 0 {
			l.stageIn(f)
		}
		return []ir.Stmt{s}
	}}
	l.kernel.Body = r.CopyStmts(l.kernel.Body)
}

// An ownPart is one array of a dist_ clause with its copy.
type ownPart struct {
	ir.DistArray
	chunk int64
	copy  *ir.Var
}

// stageIn gives the body of f copies of the parts that its iterations own.
func (l *lowering) stageIn(f *ir.For) {
	d := f.Directive
	var parts []ownPart
	for _, a := range d.DistArrays {
		chunk, why := int64(0), ""
		if c, ok := constInt(a.Chunk); ok {
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
		if size := ir.Bytes(chunk) * a.Var.Type.Elem.Size; why == "" && size > teamLimit {
			l.refuse(a.At, a.Kind.String()+" of "+a.Var.Name, fmt.Sprintf("a part of %d elements takes %d bytes, a team has %d", chunk,
				int64(size), int64(teamLimit)), "make the chunk smaller, or take it out of the clause")
			continue
		}
		if why != "" {
			instead := ""
			if c, ok := constInt(a.Chunk); !ok || c < 0 {
				instead = "a constant chunk, as in [64]" + a.Var.Name
			}
			l.decide(a.At, "array "+a.Var.Name, "device memory", why, instead)
			continue
		}
		v := l.local(a.Var.Name+"Part", ir.ArrayOf(a.Var.Type.Elem, chunk), a.At)
		v.Source = a.Part(f.Var)
		l.insisted[v] = a.Kind.String()
		parts = append(parts, ownPart{a, chunk, v})
		l.decide(a.At, "array "+a.Var.Name, "on chip", fmt.Sprintf("each iteration works on a copy of the %d elements that it owns", chunk), "")
	}
	d.DistArrays = nil
	if len(parts) == 0 {
		return
	}
	whole := l.copyOf(f.Body, &l.kernel.NumVars)
	f.Body = []ir.Stmt{&ir.If{Cond: l.inside(f, parts), Then: l.onCopies(f, parts), Else: whole, At: f.At}}
}

// inside says that the parts of an iteration lie in their arrays.
func (l *lowering) inside(f *ir.For, parts []ownPart) ir.Expr {
	at, i := f.At, asInt(ref(f.Var, f.At))
	cond := compare(ir.Ge, i, intConst(0, at), at)
	for _, p := range parts {
		end := binary(ir.Mul, binary(ir.Add, i, intConst(1, at), at), intConst(p.chunk, at), at)
		fits := compare(ir.Le, end, &ir.Len{X: ref(p.Var, at), At: at}, at)
		cond = compare(ir.LAnd, cond, fits, at)
	}
	return cond
}

// onCopies returns the body of f on copies.
func (l *lowering) onCopies(f *ir.For, parts []ownPart) []ir.Stmt {
	var out []ir.Stmt
	mine := f.Directive.Parts&(ir.Parallel|ir.Workshare) != 0 // the iteration is a thread's
	for _, p := range parts {
		out = append(out, decl(p.copy, nil, p.At))
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
				return &ir.Index{X: ref(p.copy, ix.At), I: l.relative(f, p, ix), Checked: true, At: ix.At}
			}
		}
		return e
	}}).CopyStmts(f.Body)
	if jumps := goesOn(body, f.Label); jumps && len(post) > 0 {
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

func goesOn(list []ir.Stmt, label *ir.Label) bool {
	found := false
	ir.WalkStmts(list, func(s ir.Stmt) bool {
		c, ok := s.(*ir.Continue)
		found = found || ok && c.Label == label
		return !found
	})
	return found
}

// relative is the place in the copy of an index of the array. What has an affine form is written as its difference to
// the start, of which bounds are proved easily.
func (l *lowering) relative(f *ir.For, p ownPart, ix *ir.Index) ir.Expr {
	start := varAffine(f.Var).Mul(constAffine(p.chunk))
	if form, ok := affineOf(ix.I); ok {
		if rel := form.Sub(start); rel.Known() && !rel.Has(f.Var) {
			return rel.Expr(ix.At)
		}
	}
	base := binary(ir.Mul, asInt(ref(f.Var, ix.At)), intConst(p.chunk, ix.At), ix.At)
	return binary(ir.Sub, asInt(ix.I), base, ix.At)
}

// moveAll returns the loops that fill the copies, or store them, one for parts of one length. Threads of the team share
// them out, unless the iteration is one thread's.
func (l *lowering) moveAll(f *ir.For, parts []ownPart, mine, store bool) []ir.Stmt {
	var out []ir.Stmt
	loops := map[int64]*ir.For{}
	for _, p := range parts {
		if p.Kind != ir.DistFirstLastprivate && (p.Kind == ir.DistPrivate || store != (p.Kind == ir.DistLastprivate)) {
			continue
		}
		loop := loops[p.chunk]
		if loop == nil {
			loop = &ir.For{Label: &ir.Label{}, Var: l.local("e", ir.IntType, p.At), Lo: intConst(0, p.At), Hi: intConst(p.chunk, p.At),
				Step: intConst(1, p.At), Rel: ir.Lt, At: p.At}
			if !mine {
				loop.Directive = &ir.Directive{Parts: ir.Parallel | ir.Workshare, Text: p.Kind.String(), At: p.At}
			}
			loops[p.chunk] = loop
			out = append(out, loop)
		}
		e := ref(loop.Var, p.At)
		base := binary(ir.Mul, asInt(ref(f.Var, p.At)), intConst(p.chunk, p.At), p.At)
		to, from := ir.Expr(index(ref(p.copy, p.At), e, p.At)), ir.Expr(index(ref(p.Var, p.At), binary(ir.Add, base, e, p.At), p.At))
		if store {
			to, from = from, to
		}
		loop.Body = append(loop.Body, assign(to, from, p.At))
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
