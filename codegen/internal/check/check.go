// Package check finds errors and suspicious code in a kernel in loop IR: misplaced directives,
// misuse of reductions and private copies, races, and accesses outside the regions of the task. It
// returns diagnostics and does not change the kernel, except that Absorb rewrites assignments.
package check

import (
	"slices"
	"strings"

	"github.com/gompss/gompss/codegen/internal/analysis"
	"github.com/gompss/gompss/codegen/internal/diag"
	"github.com/gompss/gompss/codegen/internal/mapping"
	"github.com/gompss/gompss/codegen/ir"
	"github.com/gompss/gompss/codegen/ir/query"
)

// Kernel checks the directives of k: placement of constructs, loops that cannot be collapsed,
// misuse of reductions and private variables, and, with warnings, racing writes and loops as far as
// the analysis recognises them. It checks functions that k calls in the context of each call.
//
// It does not report the placement of a directive in an unparsed range, nor properties that an
// erroneous statement in the body may change. A race is an error only if there are no other errors,
// because these may have changed the meaning of the kernel; sound is true if there were none
// before.
func Kernel(k *ir.Kernel, unparsed func(ir.Pos) bool, sound bool) []diag.Diagnostic {
	c := &Check{kernel: k, unparsed: unparsed}
	c.stmts(k.Body, context{})
	c.reductions(k.Body)
	c.private(k.Body)
	for _, f := range k.Funcs {
		c.reductions(f.Body)
		c.private(f.Body)
	}
	c.teamWrites(k)
	c.sound = sound && query.IsComplete(k) && !slices.ContainsFunc(c.diags, func(d diag.Diagnostic) bool { return d.Severity == diag.Error })
	c.dependences(k)
	analysis.Nowaits(k, func(s ir.Stmt, rest []analysis.FollowUp, around []ir.Stmt) { c.nowait(k, s, rest, around) })
	return dedup(c.diags)
}

// A context describes the constructs around a statement.
type context struct {
	constructs
	// inner is the enclosing construct that permits no team-wide construct inside: "for", "single",
	// "masked", "simd", "distribute"
	inner    string
	innerAt  ir.Pos
	helper   string // the function that contains the statement, "" for the kernel
	callAt   ir.Pos
	unparsed bool // the directives around the call are unknown because of errors
}

// constructs are the enclosing constructs of a statement.
type constructs struct{ teams, distribute, parallel bool }

// A Check collects the diagnostics of one kernel, except consequences of a reported error.
type Check struct {
	kernel   *ir.Kernel
	unparsed func(ir.Pos) bool
	diags    []diag.Diagnostic
	sound    bool // there are no errors

	scatters map[ir.Pos]bool // the reported updates by indices from data
}

func (c *Check) fail(at ir.Pos, what, why, instead string) {
	c.diags = append(c.diags, diag.Diagnostic{Pos: at, Severity: diag.Error, What: what, Why: why, Instead: instead})
}

func (c *Check) warn(at ir.Pos, what, why, instead string) {
	c.diags = append(c.diags, diag.Diagnostic{Pos: at, Severity: diag.Warning, What: what, Why: why, Instead: instead})
}

// warnOf is warn for a slice. It reports only the first warning of a kind for each slice.
func (c *Check) warnOf(slice *ir.Var, severity diag.Severity, at ir.Pos, what, why, instead string) {
	c.diags = append(c.diags, diag.Diagnostic{Pos: at, Severity: severity, What: what, Why: why, Instead: instead}.OfSlice(slice))
}

// dedup removes duplicates: a function called twice from similar contexts gives the same
// diagnostics twice.
func dedup(list []diag.Diagnostic) []diag.Diagnostic {
	var out []diag.Diagnostic
	for _, d := range list {
		if !slices.Contains(out, d) {
			out = append(out, d)
		}
	}
	return out
}

func (c *Check) stmts(list []ir.Stmt, ctx context) {
	for _, s := range list {
		c.stmt(s, ctx)
	}
}

func (c *Check) stmt(s ir.Stmt, ctx context) {
	inside := ctx
	switch s := s.(type) {
	case *ir.For:
		if s.Directive != nil {
			inside = c.enter(s.Directive, ctx)
			c.collapse(s)
			c.distArrays(s)
			scanPlace(c, s.Directive, ctx)
		}
	case *ir.Construct:
		inside = c.enter(s.Directive, ctx)
	case *ir.Barrier:
		c.barrier(s, ctx)
	case *ir.Call:
		called := ctx
		called.helper, called.callAt, called.unparsed = s.Fn.Name, s.At, ctx.unparsed || c.unparsed(s.At)
		c.stmts(s.Fn.Body, called)
	}
	ir.Lists(s, func(inner []ir.Stmt) { c.stmts(inner, inside) })
}

// enter checks that d is permitted in ctx and returns the context of its body.
func (c *Check) enter(d *ir.Directive, ctx context) context {
	name := "directive " + d.Parts.String()
	hidden := ctx.unparsed || c.unparsed(d.At)
	for _, rule := range placement {
		if d.Parts&rule.parts != 0 && !hidden {
			if why, instead := rule.wrong(d, ctx); why != "" {
				c.fail(d.At, name, why+ctx.origin(), instead)
				break
			}
		}
	}
	if d.Nested.Kind != ir.NestedNone && !hidden && !ctx.parallel && ctx.inner != "loop" {
		c.warn(d.At, "clause nested", "this loop is nested in no parallel one, so that there is nothing to nest"+ctx.origin(),
			"leave the clause out, or put it on a parallel for inside a parallel loop")
	}
	return ctx.within(d)
}

// within returns the context of the body of d.
func (ctx context) within(d *ir.Directive) context {
	p := d.Parts
	if p&ir.Teams != 0 {
		ctx.teams = true
	}
	if p&ir.Distribute != 0 {
		ctx.distribute, ctx.inner, ctx.innerAt = true, "distribute", d.At
	}
	if p&ir.Parallel != 0 {
		ctx.parallel, ctx.inner = true, ""
	}
	for _, part := range []ir.Parts{ir.Workshare, ir.Single, ir.Masked, ir.Simd, ir.Loop} {
		if p&part != 0 {
			ctx.inner, ctx.innerAt = part.String(), d.At
		}
	}
	return ctx
}

// origin describes the call that leads to the statement.
func (ctx context) origin() string {
	if ctx.helper == "" {
		return ""
	}
	return " (in " + ctx.helper + ", called at " + ctx.callAt.String() + ")"
}

// A placementRule describes contexts in which constructs with certain parts are not permitted.
type placementRule struct {
	parts ir.Parts
	wrong func(d *ir.Directive, ctx context) (why, instead string)
}

// placement lists the rules in the order of the checks; the first broken rule is reported.
var placement = []placementRule{
	{ir.Teams, teamsPlace},
	{ir.Teams | ir.Distribute | ir.Parallel | ir.Workshare | ir.Simd | ir.Loop | ir.Single | ir.Masked, notInSimd},
	{ir.Distribute, distributePlace},
	{ir.Workshare | ir.Single | ir.Masked, sharingPlace},
	{ir.Loop, loopPlace},
}

func teamsPlace(_ *ir.Directive, ctx context) (why, instead string) {
	switch {
	case ctx.helper != "":
		return "a league of teams cannot start in a function that a kernel calls", "put teams into the kernel itself"
	case ctx.teams:
		return "it stands inside teams", "a kernel has one league at a time: leave the word teams out here"
	case ctx.parallel || ctx.inner != "":
		return "it stands inside " + ctx.around(), "teams is the outermost construct of a kernel"
	}
	return "", ""
}

// around returns the name of the innermost construct for a message.
func (ctx context) around() string {
	switch {
	case ctx.inner != "":
		return ctx.inner + " (" + ctx.innerAt.String() + ")"
	case ctx.parallel:
		return "parallel"
	case ctx.teams:
		return "teams"
	}
	return "no construct"
}

func notInSimd(d *ir.Directive, ctx context) (why, instead string) {
	if ctx.inner != "simd" || d.Parts == ir.Loop && (d.Bind == ir.BindNone || d.Bind == ir.BindThread) {
		return "", ""
	}
	return "it stands inside " + ctx.around() + ", whose body one lane runs",
		"leave it out, or take simd off the outer loop"
}

func distributePlace(d *ir.Directive, ctx context) (why, instead string) {
	if d.Parts&ir.Teams != 0 {
		return "", ""
	}
	switch {
	case ctx.helper != "":
		return "a function that a kernel calls cannot share out its iterations to the teams", "put distribute into the kernel itself"
	case !ctx.teams:
		return "it stands outside teams", "write //omp:teams " + d.Parts.String()
	case ctx.parallel || ctx.inner != "":
		return "it stands inside " + ctx.around() + ", where a team is one of many already", "put it right inside teams"
	}
	return "", ""
}

func sharingPlace(d *ir.Directive, ctx context) (why, instead string) {
	if d.Parts&ir.Parallel != 0 {
		return "", ""
	}
	word := strings.Fields((d.Parts & (ir.Workshare | ir.Single | ir.Masked)).String())[0]
	switch {
	case ctx.inner == "for" || ctx.inner == "single" || ctx.inner == "masked" || ctx.inner == "loop":
		return "it stands inside " + ctx.around() + ", which only some threads of the team run", sharingFix(word)
	case !ctx.parallel:
		return "it stands outside parallel, where a team has one thread", outsideFix(word)
	}
	return "", ""
}

func sharingFix(word string) string {
	if word == "for" {
		return "write //omp:parallel for for nested parallelism, or //omp:simd"
	}
	return "put it between the loops, right inside parallel"
}

func outsideFix(word string) string {
	if word == "for" {
		return "write //omp:parallel for"
	}
	return "put it inside parallel, or leave it out"
}

func loopPlace(d *ir.Directive, ctx context) (why, instead string) {
	inParallel := ctx.parallel && d.Bind == ir.BindTeams
	inLoop := d.Bind == ir.BindTeams && (ctx.distribute || ctx.inner != "")
	if inParallel || inLoop {
		return "it binds to the teams inside " + ctx.around(), "write bind(parallel) or bind(thread)"
	}
	return "", ""
}

func (c *Check) barrier(s *ir.Barrier, ctx context) {
	const instead = "call kernel.Barrier where all threads of the team come by: right inside parallel"
	switch {
	case ctx.unparsed || c.unparsed(s.At):
	case !ctx.parallel:
		c.fail(s.At, "kernel.Barrier", "it is called outside parallel, where a team has one thread"+ctx.origin(),
			"leave it out, or put it inside parallel")
	case ctx.inner != "":
		c.fail(s.At, "kernel.Barrier", "it is called inside "+ctx.around()+", which the threads do not run together"+ctx.origin(), instead)
	}
}

// collapse checks that the loops that the collapse clause of s combines are perfectly nested, and
// rectangular or convertible to rectangular loops.
func (c *Check) collapse(s *ir.For) {
	nest := []*ir.For{s}
	for n, l := 1, s; n < s.Directive.Collapse; n++ {
		inner := query.OnlyLoop(l.Body)
		what := "clause collapse"
		if inner == nil {
			if query.HasBadStmt(l.Body, false) {
				return
			}
			c.fail(l.At, what, "the body of this loop is not one loop alone", "move the other statements into the innermost loop, or collapse fewer loops")
			return
		}
		if inner.Directive != nil {
			c.fail(inner.Directive.At, what, "this loop is collapsed into "+s.Directive.At.String()+" and has a directive of its own", "leave one of them out")
		}
		if len(mapping.OuterVars(nest, inner)) > 0 {
			if why, instead := mapping.DependentFault(nest, inner, s.Directive); why != "" {
				c.fail(inner.At, what, why, instead)
			}
		}
		nest, l = append(nest, inner), inner
	}
}
