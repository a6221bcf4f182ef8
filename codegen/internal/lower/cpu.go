package lower

import (
	"slices"

	"github.com/gompss/gompss/codegen/internal/lower/crews"
	"github.com/gompss/gompss/codegen/internal/lower/prepare"
	"github.com/gompss/gompss/codegen/internal/mapping"
	"github.com/gompss/gompss/codegen/ir"
	"github.com/gompss/gompss/codegen/ir/query"
)

// ForCPU is k with what the compiler finds on its own about its loops for the vector code of CPUs:
// the provably independent outermost loops of a kernel without directives on statements become
// parallel, and loops inside descriptive ones that are provably independent may become lanes. Where
// that takes that slices do not overlap, there is a second version and a test. k stays as it is.
func ForCPU(k *ir.Kernel) *ir.Kernel {
	l := newLowering(k, crews.Options{})
	m := mapping.NewMapper(l.Work)
	m.Sequential = true
	if describes(k.Funcs) {
		prepare.InlineOrphans(l.Work)
	}
	l.orderScans()
	m.OrderIn(l.Kernel.Body, mapping.InKernel, nil)
	if k.Target.Present && !mapping.AnyDirective(k.Body) {
		m.Undirected(l.Kernel.Body)
	}
	m.LaneLoops(l.Kernel.Body)
	m.OneAfterAnother(l.Kernel.Body)
	mapping.InMemory(l.Kernel)
	return l.Kernel
}

// describes reports whether functions hold scans, or descriptive loops, whose independence is that
// of the loops around the calls.
func describes(list []*ir.Func) bool {
	found := false
	for _, f := range list {
		ir.WalkStmts(f.Body, func(s ir.Stmt) bool {
			d := ir.DirectiveOf(s)
			found = found || d != nil && (d.Parts&ir.Loop != 0 || d.Scan != nil)
			return !found
		})
	}
	return found
}

// Independent returns why the iterations of the parallel loop at the end of k may not be cut into
// parts that run at once, "" where they may if all conditions hold; these name parameters alone.
func Independent(k *ir.Kernel) (conds []ir.Expr, why string) {
	l := newLowering(k, crews.Options{})
	f, why := SplitLoop(l.Kernel)
	if f == nil || f.Directive.Parts&ir.Loop == 0 {
		return nil, why
	}
	m := mapping.NewMapper(l.Work)
	m.Sequential = true
	if why = m.OrderedBy(f); why == "" {
		return nil, ""
	}
	conds, ok := m.Supposing(f, func() bool { return m.OrderedBy(f) == "" })
	fixed := func(v *ir.Var) bool {
		return v.Space == ir.Param && !ir.Assigned(k.Body).Has(v) && !ir.AddressTaken(k.Body).Has(v)
	}
	for _, c := range conds {
		ok = ok && !slices.ContainsFunc(ir.ExprVars(c).List(), func(v *ir.Var) bool { return !fixed(v) })
	}
	if !ok {
		return nil, why
	}
	return conds, ""
}

// SplitLoop returns the loop of k that may be cut: the one parallel loop, at the end, behind local
// declarations only.
func SplitLoop(k *ir.Kernel) (*ir.For, string) {
	loop, _, why := lastLoop(k)
	if loop != nil && query.HasAtomic(k) {
		return nil, atomicsInGo
	}
	return loop, why
}

// PartLoop is SplitLoop for a loop whose parts one worker runs, one after the other.
func PartLoop(k *ir.Kernel) (*ir.For, string) {
	loop, _, why := lastLoop(k)
	return loop, why
}

const atomicsInGo = "it has atomics, which its Go code does not make"

// lastLoop returns the one parallel loop of k, and the declarations before it.
func lastLoop(k *ir.Kernel) (loop *ir.For, before []ir.Stmt, why string) {
	list := query.Flatten(k.Body)
	for {
		if len(list) == 0 {
			return nil, nil, "it has no parallel loop"
		}
		for _, s := range list[:len(list)-1] {
			if !declaresLocal(s) {
				return nil, nil, "it does more than declare variables before its last loop"
			}
			before = append(before, s)
		}
		last := list[len(list)-1]
		c, ok := last.(*ir.Construct)
		if !ok {
			break
		}
		if c.Directive.Parts != ir.Teams {
			return nil, nil, "its " + c.Directive.Parts.String() + " is no loop"
		}
		if len(c.Directive.Reductions) > 0 {
			return nil, nil, "it ends in a reduction"
		}
		list = query.Flatten(c.Body)
	}
	loop, ok := list[len(list)-1].(*ir.For)
	switch {
	case !ok || loop.Directive == nil || loop.Directive.Parts&(ir.Distribute|ir.Workshare|ir.Loop) == 0:
		return nil, nil, "it has no parallel loop at its end"
	case len(loop.Directive.Reductions) > 0:
		return nil, nil, "its loop ends in a reduction"
	case len(loop.Directive.Lastprivate) > 0:
		return nil, nil, "its loop has lastprivate variables"
	case loop.Directive.Parts == ir.Loop && loop.Directive.Bind == ir.BindThread:
		return nil, nil, "its loop is bound to one thread"
	}
	return loop, before, ""
}

// declaresLocal reports whether running s once per chunk instead of once changes nothing.
func declaresLocal(s ir.Stmt) bool {
	switch s := s.(type) {
	case *ir.Decl:
		return true
	case *ir.Assign:
		v := ir.RootVar(s.Place)
		return v != nil && v.Type.Kind != ir.Array
	}
	return false
}
