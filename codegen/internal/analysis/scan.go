package analysis

import (
	"maps"
	"slices"

	"github.com/gompss/gompss/codegen/internal/diag"
	"github.com/gompss/gompss/codegen/ir"
	"github.com/gompss/gompss/codegen/ir/query"
)

// ScanPhases returns the two phases of the body of f, a loop with an inscan reduction. ok is false
// if the body has errors.
func ScanPhases(f *ir.For) (first []ir.Stmt, second *ir.Block, ok bool) {
	last := len(f.Body) - 1
	if last < 0 {
		return nil, nil, false
	}
	second, ok = f.Body[last].(*ir.Block)
	return f.Body[:last], second, ok
}

// InputPhase returns the statements of f that update the scanned variables.
func InputPhase(f *ir.For) []ir.Stmt {
	first, second, ok := ScanPhases(f)
	if ok && f.Directive.Scan.Exclusive {
		return second.Body
	}
	return first
}

// ScanPhase returns the statements of f that read the result of the scan; if f has no scan, its
// body.
func ScanPhase(f *ir.For) []ir.Stmt {
	first, second, ok := ScanPhases(f)
	if ok && !f.Directive.Scan.Exclusive {
		return second.Body
	}
	return first
}

// TouchesPlace reports whether an assignment to e may change place, which is in the same variable
// or behind the same pointer.
func TouchesPlace(e, place ir.Expr) bool { return !query.Disjoint(e, place) }

// ScannedVars returns the variables that d scans, or whose elements or targets d scans.
func ScannedVars(d *ir.Directive) *ir.VarSet {
	out := &ir.VarSet{}
	for _, r := range d.Reductions {
		out.Add(query.PlaceVar(r.Place))
		if r.Index != nil {
			out.Add(query.PlaceVar(r.Index))
		}
	}
	return out
}

// SliceOf returns the statements of first that compute the local variables that second uses. If
// these cannot be executed separately from the rest of first, before it or a second time, why is
// the reason.
func SliceOf(first, second []ir.Stmt, scanned *ir.VarSet) (part []ir.Stmt, why string, at ir.Pos) {
	declared := ir.Declared(first)
	want := map[*ir.Var]bool{}
	add := func(list []ir.Stmt) {
		for _, v := range ir.Free(list).List() {
			if declared.Has(v) {
				want[v] = true
			}
		}
	}
	add(second)
	keep := make([]bool, len(first))
	for changed := true; changed; {
		changed = false
		for i := len(first) - 1; i >= 0; i-- {
			s := first[i]
			if keep[i] || !definesAny(s, want) {
				continue
			}
			keep[i], changed = true, true
			add([]ir.Stmt{s})
		}
	}
	inside := ir.Declared(first)
	for i, s := range first {
		if !keep[i] {
			continue
		}
		name := "a local"
		if d, ok := s.(*ir.Decl); ok {
			name = d.Var.Name
		}
		for _, v := range ir.Used([]ir.Stmt{s}).List() {
			if scanned.Has(v) {
				return nil, name + ", which depends on " + v.Name + ", in front of //omp:scan", s.Pos()
			}
		}
		if at, effect := SideEffect([]ir.Stmt{s}, inside, nil); effect {
			return nil, name + ", whose computation in front of //omp:scan writes memory", at
		}
		part = append(part, s)
	}
	return part, "", ir.Pos{}
}

// definesAny reports whether s declares or changes a variable of vars.
func definesAny(s ir.Stmt, vars map[*ir.Var]bool) bool {
	if d, ok := s.(*ir.Decl); ok && vars[d.Var] {
		return true
	}
	return slices.ContainsFunc(ir.Assigned([]ir.Stmt{s}).List(), func(v *ir.Var) bool { return vars[v] })
}

// SideEffect returns the first effect of list other than a change of a variable of inner or of a
// place of d: a store through a slice or pointer, an atomic, a call that stores, or a barrier. d
// may be nil.
func SideEffect(list []ir.Stmt, inner *ir.VarSet, d *ir.Directive) (at ir.Pos, found bool) {
	e := &Effects{Shared: func(v *ir.Var) bool { return !inner.Has(v) }}
	ir.WalkStmts(list, func(s ir.Stmt) bool {
		if a, ok := s.(*ir.Assign); ok && isScanned(d, a.Place) {
			return false
		}
		var t Touch
		e.stmt(s, &t)
		if _, waits := s.(*ir.Barrier); !found && (waits || !t.Writes.Empty() || t.Atomics || t.Calls) {
			at, found = s.Pos(), true
		}
		return !found
	})
	return at, found
}

// isScanned reports whether d, which may be nil, scans place.
func isScanned(d *ir.Directive, place ir.Expr) bool {
	return d != nil && slices.ContainsFunc(d.Reductions, func(r ir.Reduction) bool {
		return query.Same(r.Place, place) || r.Index != nil && query.Same(r.Index, place)
	})
}

// WrittenBases returns the positions at which list writes memory, by the variable that contains the
// memory or refers to it.
func WrittenBases(list []ir.Stmt) map[*ir.Var]ir.Pos {
	out := map[*ir.Var]ir.Pos{}
	note := func(e ir.Expr, at ir.Pos) {
		if v := query.BaseVar(e); v != nil {
			if _, is := e.(*ir.Ref); !is {
				out[v] = at
			}
		}
	}
	ir.WalkStmts(list, func(s ir.Stmt) bool {
		switch s := s.(type) {
		case *ir.Assign:
			note(s.Place, s.At)
		case *ir.Atomic:
			note(s.Place, s.At)
		}
		return true
	})
	return out
}

// ScanFaults returns errors about data flow between the two phases of f other than that of the
// scanned variables.
func ScanFaults(f *ir.For) (out []diag.Diagnostic) {
	fail := func(at ir.Pos, what, why, instead string) {
		out = append(out, diag.Diagnostic{Pos: at, Severity: diag.Error, What: what, Why: why, Instead: instead})
	}
	first, second, ok := ScanPhases(f)
	if !ok || !f.Directive.Scan.Exclusive || query.HasBadStmt(f.Body, true) {
		return out
	}
	const what = "directive scan"
	part, why, at := SliceOf(first, second.Body, ScannedVars(f.Directive))
	if why != "" {
		fail(at, what, "the input phase uses "+why, "compute it behind //omp:scan exclusive, from what no statement before writes")
		return out
	}
	inner := ir.Declared(f.Body)
	for _, v := range f.Directive.Private {
		inner.Add(v)
	}
	for _, v := range f.Directive.Firstprivate {
		inner.Add(v)
	}
	if at, effect := SideEffect(second.Body, inner, f.Directive); effect {
		fail(at, what, "the input phase, behind //omp:scan exclusive, writes memory besides what it scans: it runs ahead of the scan phase in front of it",
			"put the statement in front of //omp:scan")
		return out
	}
	written := map[*ir.Var]ir.Pos{}
	reads := func(list []ir.Stmt) {
		for _, v := range ir.Used(list).List() {
			if w, ok := written[v]; ok && !ScannedVars(f.Directive).Has(v) {
				fail(w, what, "the scan phase writes "+v.Name+" here, which the input phase behind //omp:scan exclusive may read after it",
					"read it into a variable in front of this")
			}
		}
	}
	for _, s := range first {
		if slices.Contains(part, s) {
			reads([]ir.Stmt{s})
		}
		maps.Copy(written, WrittenBases([]ir.Stmt{s}))
	}
	reads(second.Body)
	return out
}
