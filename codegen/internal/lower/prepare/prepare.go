// Package prepare has the first passes of lowering, loop IR to loop IR: calls whose meaning depends
// on the construct around them are inlined, parameters keep their values, and control flow around
// constructs is structured.
package prepare

import (
	"slices"

	"github.com/gompss/gompss/codegen/internal/lower/forms"
	"github.com/gompss/gompss/codegen/internal/mapping"
	"github.com/gompss/gompss/codegen/ir"
	"github.com/gompss/gompss/codegen/ir/build"
)

// InlineOrphans replaces each call of a function whose meaning depends on the construct around the
// call - it holds directives, barriers or asks for its place in the grid - by the function's body,
// and each call of a short one: what reads the nest sees the same with a helper and without.
func InlineOrphans(l *mapping.Work) {
	orphaned, size := map[*ir.Func]bool{}, map[*ir.Func]int{}
	for _, f := range l.Kernel.Funcs { // callees come first
		size[f] = inlinedSize(f.Body, size)
		orphaned[f] = dependsOnPlace(f.Body, orphaned)
	}
	if inlinedSize(l.Kernel.Body, size) <= inlineKernel {
		for f, n := range size {
			orphaned[f] = orphaned[f] || n <= inlineShort
		}
	}
	l.Kernel.Body = FirstAndLast(l, inlineIn(l, l.Kernel.Body, orphaned))
}

const (
	inlineShort  = 40   // statements of a function that is short, calls in it counted with theirs
	inlineKernel = 1000 // of a kernel that has room for that
)

// inlinedSize counts the statements of list, calls with those of what they call.
func inlinedSize(list []ir.Stmt, size map[*ir.Func]int) int {
	n := 0
	ir.WalkStmts(list, func(s ir.Stmt) bool {
		n++
		if c, ok := s.(*ir.Call); ok {
			n += size[c.Fn]
		}
		return true
	})
	return n
}

func dependsOnPlace(list []ir.Stmt, orphaned map[*ir.Func]bool) bool {
	depends := false
	ir.Inspect(list, func(s ir.Stmt) {
		switch s := s.(type) {
		case *ir.Construct, *ir.Barrier:
			depends = true
		case *ir.For:
			depends = depends || s.Directive != nil && (s.Directive.Parts&^ir.Simd != 0 || s.Directive.Scan != nil)
		case *ir.Call:
			depends = depends || orphaned[s.Fn]
		}
	}, func(e ir.Expr) {
		if _, ok := e.(*ir.Query); ok {
			depends = true
		}
	})
	return depends
}

func inlineIn(l *mapping.Work, list []ir.Stmt, orphaned map[*ir.Func]bool) []ir.Stmt {
	in, unread := &mapping.Inliner{Local: l.Local}, unreadLocals(list)
	r := &ir.Rewrite{Stmt: func(s ir.Stmt) []ir.Stmt {
		c, ok := s.(*ir.Call)
		if !ok || !orphaned[c.Fn] {
			return []ir.Stmt{s}
		}
		if dependsOnPlace(c.Fn.Body, orphaned) {
			l.Decide(c.At, "call of "+c.Fn.Name, "inlined", "its directives belong to the construct around the call", "")
		}
		wanted := *c
		wanted.Results = slices.Clone(c.Results)
		for i, v := range wanted.Results {
			if unread(v) {
				wanted.Results[i] = nil
			}
		}
		return inlineIn(l, []ir.Stmt{in.Inline(&wanted)}, orphaned)
	}}
	return r.CopyStmts(list)
}

// unreadLocals returns a function that reports whether list declares a variable and neither an
// expression nor a directive of list has it: a result that the caller leaves out.
func unreadLocals(list []ir.Stmt) func(*ir.Var) bool {
	declared, used := ir.Declared(list), &ir.VarSet{}
	ir.Inspect(list, func(s ir.Stmt) {
		for _, v := range ir.UsedByDirective(s) {
			used.Add(v)
		}
	}, func(e ir.Expr) {
		if r, ok := e.(*ir.Ref); ok {
			used.Add(r.Var)
		}
	})
	return func(v *ir.Var) bool { return declared.Has(v) && !used.Has(v) }
}

// KeepParameters gives each parameter that the kernel assigns to a local variable in its place, so
// that parameters have one value in all launches.
func KeepParameters(l *mapping.Work) {
	assigned, taken := ir.Assigned(l.Kernel.Body), ir.AddressTaken(l.Kernel.Body)
	locals := map[*ir.Var]*ir.Var{}
	var decls []ir.Stmt
	for _, p := range l.Kernel.Params {
		if !assigned.Has(p) && !taken.Has(p) {
			continue
		}
		v := l.Local(p.Name, p.Type, p.At)
		locals[p] = v
		decls = append(decls, build.Decl(v, build.Ref(p, p.At), p.At))
	}
	l.Kernel.Body = append(decls, build.WithVars(locals).CopyStmts(l.Kernel.Body)...)
}

// StructureReturns turns a return in front of constructs into the Else of its If, so that control
// flow around constructs is structured.
func StructureReturns(l *mapping.Work) { l.Kernel.Body = structured(l.Kernel.Body) }

func structured(list []ir.Stmt) []ir.Stmt {
	for i, s := range list {
		switch s := s.(type) {
		case *ir.Return:
			return list[:i]
		case *ir.If:
			if !forms.Returns(s.Then) && !forms.Returns(s.Else) {
				continue
			}
			if fixed, ok := structuredIf(s, list[i+1:]); ok {
				return append(append([]ir.Stmt{}, list[:i]...), fixed)
			}
		}
	}
	return list
}

func structuredIf(s *ir.If, rest []ir.Stmt) (ir.Stmt, bool) {
	switch {
	case ends(s.Then) && !forms.Returns(s.Then[:len(s.Then)-1]):
		return &ir.If{Cond: s.Cond, Then: s.Then[:len(s.Then)-1], At: s.At,
			Else: structured(append(append([]ir.Stmt{}, s.Else...), rest...))}, true
	case ends(s.Else) && !forms.Returns(s.Else[:len(s.Else)-1]):
		return &ir.If{Cond: s.Cond, Else: s.Else[:len(s.Else)-1], At: s.At,
			Then: structured(append(append([]ir.Stmt{}, s.Then...), rest...))}, true
	}
	return nil, false
}

func ends(list []ir.Stmt) bool {
	if len(list) == 0 {
		return false
	}
	_, ok := list[len(list)-1].(*ir.Return)
	return ok
}

// FirstAndLast parts what is firstprivate and lastprivate, too: its first value moves to a variable
// of its own, with which every iteration begins, so that storing the last one meets no thread that
// still reads the first.
func FirstAndLast(l *mapping.Work, list []ir.Stmt) []ir.Stmt {
	r := &ir.Rewrite{Stmt: func(s ir.Stmt) []ir.Stmt {
		f, ok := s.(*ir.For)
		if !ok || f.Directive == nil {
			return []ir.Stmt{s}
		}
		d := *f.Directive
		d.Firstprivate = forms.FirstOnly(f.Directive)
		var out []ir.Stmt
		inner := f
		for range d.Collapse - 1 {
			inner = inner.Body[0].(*ir.For)
		}
		for _, v := range f.Directive.Firstprivate {
			if slices.Contains(d.Firstprivate, v) {
				continue
			}
			first := l.Local(v.Name, v.Type, f.At)
			out = append(out, build.Decl(first, build.Ref(v, f.At), f.At))
			inner.Body = append([]ir.Stmt{build.Assign(build.Ref(v, f.At), build.Ref(first, f.At), f.At)}, inner.Body...)
		}
		if len(out) == 0 {
			return []ir.Stmt{s}
		}
		if d.Parts&(ir.Workshare|ir.Parallel) == ir.Workshare {
			out = append(out, &ir.Barrier{At: f.At}) // the threads share v
		}
		f.Directive = &d
		return append(out, f)
	}}
	return r.CopyStmts(list)
}
