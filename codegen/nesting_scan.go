package codegen

import (
	"maps"
	"slices"

	"github.com/gompss/gompss/codegen/ir"
)

// scanPhases returns the two phases of the body of f, a loop that scans; ok is false where the body could not be built.
func scanPhases(f *ir.For) (first []ir.Stmt, second *ir.Block, ok bool) {
	last := len(f.Body) - 1
	if last < 0 {
		return nil, nil, false
	}
	second, ok = f.Body[last].(*ir.Block)
	return f.Body[:last], second, ok
}

// inputPhase returns the statements of f that update what it scans, and scanPhase those that read it.
func inputPhase(f *ir.For) []ir.Stmt {
	first, second, ok := scanPhases(f)
	if ok && f.Directive.Scan.Exclusive {
		return second.Body
	}
	return first
}

func scanPhase(f *ir.For) []ir.Stmt {
	first, second, ok := scanPhases(f)
	if ok && !f.Directive.Scan.Exclusive {
		return second.Body
	}
	return first
}

// scanPlace reports a scan that would have to wait for the other teams of its league.
func (c *nestingCheck) scanPlace(d *ir.Directive, ctx context) {
	if d.Scan == nil || d.Parts&ir.Loop == 0 || d.Parts&(ir.Teams|ir.Parallel) != 0 || d.Bind == ir.BindParallel || d.Bind == ir.BindThread {
		return
	}
	if ctx.teams && !ctx.distribute && !ctx.parallel && ctx.inner == "" {
		c.fail(d.Reductions[0].At, "clause reduction(inscan)", "the teams that share the loop cannot wait for one another inside teams"+ctx.origin(),
			"write //omp:teams loop, or bind(parallel)")
	}
}

// phases checks that the input phase only updates what is combined, and that the scan phase only reads it.
func (c *reductionCheck) phases(f *ir.For) {
	if _, _, ok := scanPhases(f); !ok {
		return
	}
	c.stmts(inputPhase(f))
	which := "first"
	if !f.Directive.Scan.Exclusive {
		which = "second"
	}
	c.changes(scanPhase(f), func(v *ir.Var, at ir.Pos) {
		c.fail(at, "reduction(inscan, "+c.r.Op.String()+") of "+sourceText(c.r.Place), v.Name+" is changed in the "+which+
			" phase of the scan at "+f.Directive.Scan.At.String()+", which reads it", "update it in the other phase alone, on the other side of //omp:scan")
	})
	if c.index != nil {
		c.downwards(f)
	}
}

// changes calls f for what list changes of the variable, or of the index of a pair.
func (c *reductionCheck) changes(list []ir.Stmt, f func(v *ir.Var, at ir.Pos)) {
	mine := func(e ir.Expr) *ir.Var {
		v := baseVar(e)
		switch {
		case v == nil || v != c.v && v != c.index || c.elsewhere(e):
			return nil
		case e.Type().Kind == ir.Slice || e.Type().Kind == ir.Pointer:
			return v
		case baseVar(c.r.Place) == v && !touchesPlace(e, c.r.Place) && (c.r.Index == nil || !touchesPlace(e, c.r.Index)):
			return nil
		}
		return v
	}
	see := func(e ir.Expr, at ir.Pos) {
		if v := mine(e); v != nil {
			f(v, at)
		}
	}
	ir.WalkStmts(list, func(s ir.Stmt) bool {
		switch s := s.(type) {
		case *ir.Assign:
			see(s.Place, s.At)
		case *ir.Atomic:
			if s.Kind != ir.AtomicRead {
				see(s.Place, s.At)
			}
			if s.Old != nil {
				see(s.Old, s.At)
			}
		case *ir.Call:
			for _, v := range s.Results {
				if v != nil {
					see(&ir.Ref{Var: v, At: s.At}, s.At)
				}
			}
		}
		if d := ir.DirectiveOf(s); d != nil {
			for _, r := range d.Reductions {
				see(r.Place, r.At)
			}
		}
		for _, e := range directExprs(s) {
			ir.WalkExpr(e, func(x ir.Expr) bool {
				if a, ok := x.(*ir.AddrOf); ok {
					see(a.X, a.At)
				}
				return true
			})
		}
		return true
	})
}

// touchesPlace reports whether writing e may change place, which lies in the same variable or behind the same pointer.
func touchesPlace(e, place ir.Expr) bool { return !disjoint(e, place) }

// scan checks what the two phases of f have to do with one another besides the scanned values.
func (c *nestingCheck) scan(f *ir.For) {
	first, second, ok := scanPhases(f)
	if !ok || !f.Directive.Scan.Exclusive || holesIn(f.Body, true) {
		return
	}
	const what = "directive scan"
	part, why, at := sliceOf(first, second.Body, scannedVars(f.Directive))
	if why != "" {
		c.fail(at, what, "the input phase uses "+why, "compute it behind //omp:scan exclusive, from what no statement before writes")
		return
	}
	inner := ir.Declared(f.Body)
	for _, v := range f.Directive.Private {
		inner.Add(v)
	}
	for _, v := range f.Directive.Firstprivate {
		inner.Add(v)
	}
	if at, effect := sideEffect(second.Body, inner, f.Directive); effect {
		c.fail(at, what, "the input phase, behind //omp:scan exclusive, writes memory besides what it scans: it runs ahead of the scan phase in front of it",
			"put the statement in front of //omp:scan")
		return
	}
	written := map[*ir.Var]ir.Pos{}
	reads := func(list []ir.Stmt) {
		for _, v := range ir.Used(list).List() {
			if w, ok := written[v]; ok && !scannedVars(f.Directive).Has(v) {
				c.fail(w, what, "the scan phase writes "+v.Name+" here, which the input phase behind //omp:scan exclusive may read after it",
					"read it into a variable in front of this")
			}
		}
	}
	for _, s := range first {
		if slices.Contains(part, s) {
			reads([]ir.Stmt{s})
		}
		maps.Copy(written, writtenBases([]ir.Stmt{s}))
	}
	reads(second.Body)
}

// scannedVars returns the variables that hold what d scans, or that it lies behind.
func scannedVars(d *ir.Directive) *ir.VarSet {
	out := &ir.VarSet{}
	for _, r := range d.Reductions {
		out.Add(placeVar(r.Place))
		if r.Index != nil {
			out.Add(placeVar(r.Index))
		}
	}
	return out
}

// sliceOf returns the statements of first that compute the locals which second uses. why says what keeps them from being
// run ahead of, or again beside, the rest of first.
func sliceOf(first, second []ir.Stmt, scanned *ir.VarSet) (part []ir.Stmt, why string, at ir.Pos) {
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
		if at, effect := sideEffect([]ir.Stmt{s}, inside, nil); effect {
			return nil, name + ", whose computation in front of //omp:scan writes memory", at
		}
		part = append(part, s)
	}
	return part, "", ir.Pos{}
}

// definesAny reports whether s declares or changes one of vars.
func definesAny(s ir.Stmt, vars map[*ir.Var]bool) bool {
	if d, ok := s.(*ir.Decl); ok && vars[d.Var] {
		return true
	}
	return slices.ContainsFunc(ir.Assigned([]ir.Stmt{s}).List(), func(v *ir.Var) bool { return vars[v] })
}

// sideEffect finds what list does beyond changing the variables of inner and the places of d, which may be nil: stores
// behind slices and pointers, atomics, calls that store, and barriers.
func sideEffect(list []ir.Stmt, inner *ir.VarSet, d *ir.Directive) (at ir.Pos, found bool) {
	e := &effects{shared: func(v *ir.Var) bool { return !inner.Has(v) }}
	ir.WalkStmts(list, func(s ir.Stmt) bool {
		if a, ok := s.(*ir.Assign); ok && isScanned(d, a.Place) {
			return false
		}
		var t touch
		e.stmt(s, &t)
		if _, waits := s.(*ir.Barrier); !found && (waits || !t.writes.empty() || t.atomics || t.calls) {
			at, found = s.Pos(), true
		}
		return !found
	})
	return at, found
}

// isScanned reports whether place is one that d, which may be nil, scans.
func isScanned(d *ir.Directive, place ir.Expr) bool {
	return d != nil && slices.ContainsFunc(d.Reductions, func(r ir.Reduction) bool {
		return sameExpr(r.Place, place) || r.Index != nil && sameExpr(r.Index, place)
	})
}

// writtenBases returns where list writes memory, by the variable that it lies in or behind.
func writtenBases(list []ir.Stmt) map[*ir.Var]ir.Pos {
	out := map[*ir.Var]ir.Pos{}
	note := func(e ir.Expr, at ir.Pos) {
		if v := baseVar(e); v != nil {
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
