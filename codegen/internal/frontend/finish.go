package frontend

import (
	"github.com/gompss/gompss/codegen/internal/analysis"
	"github.com/gompss/gompss/codegen/internal/check"
	"github.com/gompss/gompss/codegen/internal/diag"
	"github.com/gompss/gompss/codegen/internal/frontend/fuse"
	"github.com/gompss/gompss/codegen/internal/frontend/passes"
	"github.com/gompss/gompss/codegen/ir"
	"github.com/gompss/gompss/codegen/ir/order"
)

// A finishing is a kernel under the passes of the front end.
type finishing struct {
	*passes.Pass
	shapes map[*ir.Var][]ir.Expr // of parameters, from shape directives
}

// finishingPasses are the passes of the front end, in their order.
var finishingPasses = []struct {
	name string
	run  func(f *finishing)
}{
	{"check escapes", func(f *finishing) { f.CheckEscapes(f.Kernel.Params, f.Kernel.Body) }},
	{"check types", (*finishing).checkTypes},
	{"check capacities", func(f *finishing) { passes.CheckCapacities(f.Pass) }},
	{"split structs", func(f *finishing) { f.SplitStructs() }},
	{"separate exchanges", func(f *finishing) { passes.SeparateExchanges(f.Pass) }},
	{"name slices", func(f *finishing) { f.NameSlices() }},
	{"place package variables", func(f *finishing) { f.PlaceGlobals() }},
	{"call once", func(f *finishing) { passes.CallsOnce(f.Pass) }},
	{"absorb values", (*finishing).absorb},
	{"check directives", (*finishing).checkDirectives},
	{"check accesses", (*finishing).checkAccesses},
	{"contract sums", (*finishing).contractSums},
	{"infer accesses", (*finishing).inferAccesses},
	{"mark sums", func(f *finishing) { order.Mark(f.Kernel) }},
}

// checkTypes reports the first expression without a type if there are no other errors: usually the
// cause is reported at its own position.
func (f *finishing) checkTypes() {
	if (f.Unknown == ir.Pos{}) || f.HasErrors() || len(f.Refused) > 0 {
		return
	}
	d, ok := f.Program.ForeignCause(f.Unknown)
	if !ok {
		d = diag.Diagnostic{Pos: f.Unknown, What: "expression", Why: "its type is not known", Instead: "write it in terms that go vet accepts"}
	}
	f.Report(d)
}

func (f *finishing) absorb() {
	check.Absorb(f.Kernel.Body)
	for _, fn := range f.Kernel.Funcs {
		check.Absorb(fn.Body)
	}
}

func (f *finishing) checkDirectives() {
	for _, d := range check.Kernel(f.Kernel, f.Program.InUnparsed, !f.HasErrors()) {
		f.Report(d)
	}
}

// accessesKnown reports whether all that accesses memory in a task of the kernel is in its body.
func (f *finishing) accessesKnown() bool {
	return f.Kernel.Task.Present && !f.Incomplete.All && f.Kernel.Target.Native == nil
}

// accessesWritten reports whether clauses name accesses.
func (f *finishing) accessesWritten() bool {
	return len(f.Kernel.Task.Accesses) > 0 || f.Incomplete.Any()
}

// checkAccesses compares the accesses that clauses name with those of the body.
func (f *finishing) checkAccesses() {
	if f.accessesKnown() && f.accessesWritten() {
		for _, d := range check.Accesses(f.Kernel, f.Incomplete) {
			f.Report(d)
		}
	}
}

// contractSums fuses products into sums where the clause contract allows it.
func (f *finishing) contractSums() {
	if f.Kernel.Target.Contract && !f.HasErrors() {
		fuse.Sums(f.Kernel)
	}
}

// inferAccesses finds the accesses of a task of which no clause names one.
func (f *finishing) inferAccesses() {
	if f.accessesKnown() && !f.accessesWritten() && !f.HasErrors() {
		f.Kernel.Task.Accesses, f.Kernel.Task.Inferred = analysis.Infer(f.Kernel, f.shapes), true
	}
}
