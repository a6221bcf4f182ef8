package mapping

import (
	"github.com/gompss/gompss/codegen/ir"
	"github.com/gompss/gompss/codegen/ir/query"
)

// privatise gives constructs with a private clause variables of their own: a loop in every
// iteration, a body once.
func (l *Work) privatise(list []ir.Stmt) []ir.Stmt {
	r := &ir.Rewrite{Stmt: func(s ir.Stmt) []ir.Stmt {
		d := ir.DirectiveOf(s)
		if d == nil || len(d.Private) == 0 {
			return []ir.Stmt{s}
		}
		private := d.Private
		d.Private = nil
		switch s := s.(type) {
		case *ir.For:
			s.Body = l.privateIn(s, private, l.WithPrivate)
		case *ir.Construct:
			s.Body = l.WithPrivate(private, s.Body, s.At)
		}
		return []ir.Stmt{s}
	}}
	return r.CopyStmts(list)
}

// WithPrivate returns body with variables of its own for vars.
func (l *Work) WithPrivate(vars []*ir.Var, body []ir.Stmt, at ir.Pos) []ir.Stmt {
	decls, _, body := l.LastCopies(vars, body, at)
	return append(decls, body...)
}

// privateIn puts the copies into the innermost of the loops that the directive of f governs.
func (l *Work) privateIn(f *ir.For, vars []*ir.Var, own func([]*ir.Var, []ir.Stmt, ir.Pos) []ir.Stmt) []ir.Stmt {
	inner := f
	for k := 1; k < f.Directive.Collapse; k++ {
		_, next := query.Perfect(inner.Body)
		if next == nil {
			break
		}
		inner = next
	}
	if inner == f {
		return own(vars, f.Body, f.At)
	}
	inner.Body = own(vars, inner.Body, inner.At)
	return f.Body
}
