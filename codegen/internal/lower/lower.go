// Package lower makes device IR of kernels in loop IR, by the list of passes in this file. Lower is
// for devices with teams and threads; ForCPU prepares a kernel for vector code.
package lower

import (
	"fmt"
	"strconv"

	"github.com/gompss/gompss/codegen/internal/analysis"
	"github.com/gompss/gompss/codegen/internal/diag"
	"github.com/gompss/gompss/codegen/internal/lower/arrays"
	"github.com/gompss/gompss/codegen/internal/lower/crews"
	"github.com/gompss/gompss/codegen/internal/lower/dist"
	"github.com/gompss/gompss/codegen/internal/lower/nested"
	"github.com/gompss/gompss/codegen/internal/lower/prepare"
	"github.com/gompss/gompss/codegen/internal/lower/spaces"
	"github.com/gompss/gompss/codegen/internal/lower/unroll"
	"github.com/gompss/gompss/codegen/internal/mapping"
	"github.com/gompss/gompss/codegen/ir"
	"github.com/gompss/gompss/codegen/ir/build"
	"github.com/gompss/gompss/codegen/ir/verify"
	"github.com/gompss/gompss/codegen/target"
)

// Options describes the capabilities of the device. The zero value is a GPU.
type Options = crews.Options

// A Result is what became of a kernel: its device IR, and what was decided on the way.
type Result struct {
	Kernel    *ir.Kernel // which was lowered
	Program   *ir.Program
	Decisions []mapping.Decision
	// Strategies are the names of what was made of the loops that threads share out, in the order
	// of the program.
	Strategies []string
	Notes      []diag.Diagnostic // what is slower than the author may expect
	open       *ir.Pos           // of a reduction whose order is not fixed
	openAround *ir.Pos           // of one that is not that of a nested loop
	varies     bool              // the number of lanes of a nested loop can, and lengths can be counted
}

// Lower makes device IR of k, which it leaves as it is. The result is the same in every run.
//
// Every launch is right for every number of teams and threads within its bounds. Errors: an
// ErrorList of all that the kernel asks for and device code does not do yet. Of a kernel with
// nested(cpu) the result is the Device of its Deferral. Source: Ozen, Compiler and Runtime Based
// Parallelization & Optimization for GPUs, 2017, sections 3.6 and 3.7; Ozen and Wolfe, Performant
// Portable OpenMP, 2022, sections 5 and 6.2; differs: reductions over the league end in the team
// that finishes last and combine in a fixed order, not by atomics.
func Lower(k *ir.Kernel, opt Options) (*Result, error) {
	if err := refuseCross(k); err != nil {
		return nil, err
	}
	whole, deferred := k, nestedAs(k, ir.NestedCPU)
	if both, err := DeferToCPU(k); err != nil {
		return nil, err
	} else if both != nil {
		k = both.Device
	}
	l := newLowering(k, opt)
	for _, g := range deferred {
		l.Decide(g.At, "loop "+g.Var.Text(), "CPU workers, which run iterations with long ones when the device has finished", "nested(cpu) says so", "nested(host)")
	}
	if err := l.run(); err != nil {
		return nil, err
	}
	out := &Result{Kernel: whole, Program: l.program, Strategies: l.strategies, Notes: l.Notes, open: l.sums.open(k, true), openAround: l.sums.open(k, false)}
	out.varies = len(l.varied) > 0 && l.varied[0].Uncounted == nil
	l.explainWidths(out)
	out.Decisions = l.Decided()
	return out, nil
}

// run makes the program of l.
func (l *lowering) run() error {
	for _, p := range passes {
		p.run(l)
		if len(l.Errors) > 0 {
			return diag.Sorted(l.Errors)
		}
		if err := p.check(l); err != nil {
			panic(fmt.Sprintf("gompss: bug: lower %s: after %q: %v", l.Kernel.Name, p.name, err))
		}
	}
	return nil
}

// A pass does one step; check looks at what it left.
type pass struct {
	name  string
	run   func(*lowering)
	check func(*lowering) error
}

// passes is the way from loop IR to device IR. The ones before "split into launches" work on the
// loop IR.
var passes = []pass{
	{"inline orphaned constructs", onWork(prepare.InlineOrphans), checkKernelIR},
	{"keep parameters", onWork(prepare.KeepParameters), checkKernelIR},
	{"order sums", (*lowering).OrderSums, checkKernelIR},
	{"deal chunks to teams", dealChunksToTeams, checkKernelIR},
	{"structure returns", onWork(prepare.StructureReturns), checkKernelIR},
	{"count loops", onKernel(analysis.CountLoops), checkKernelIR},
	{"split scans", (*lowering).splitScans, checkKernelIR},
	{"order dependent loops", onWork(mapping.OrderLoops), checkKernelIR},
	{"stage distributed arrays", func(l *lowering) { dist.Stage(l.Work, l.insisted) }, checkKernelIR},
	{"split numbers", (*lowering).SplitNumbers, checkKernelIR},
	{"collapse rows", (*lowering).CollapseRows, checkKernelIR},
	{"level dependent bounds", (*lowering).LevelDependent, checkKernelIR},
	{"shape nests", onWork(mapping.ShapeNests), checkKernelIR},
	{"map loops", onWork(mapping.MapLoops), checkKernelIR},
	{"give long rows teams", longRows, checkKernelIR},
	{"cut few loops of updates", fewUpdates, checkKernelIR},
	{"defer nested loops", (*lowering).deferNested, checkKernelIR},
	{"prove bounds", onKernel(analysis.ProveBounds), checkKernelIR},
	{"split into launches", (*lowering).split, checkNothing},
	{"lower launches", (*lowering).lowerSegments, checkNothing},
	{"limit teams", limitTeams, checkNothing},
	{"unroll loops", func(l *lowering) { unroll.Loops(l.Work, l.program, l.opt.GPU()) }, checkNothing},
	{"place arrays", func(l *lowering) { arrays.Place(l.Work, l.program) }, checkNothing},
	{"place scratch", (*lowering).placeScratch, checkNothing},
	{"number variables", (*lowering).number, checkProgramIR},
}

// longRows gives long rows teams where warps can add up.
func longRows(l *lowering) {
	if team := l.opt.GPU().Team; !l.opt.NoShuffles {
		mapping.RowsToTeams(l.Walker.Work, int64(team.Multiprocessors*team.Warps/2), l.rooms)
	}
}

// fewUpdates cuts loops of updates of which there are too few for the device.
func fewUpdates(l *lowering) {
	d := l.opt.GPU()
	threads, limits := d.Team.Multiprocessors*d.Team.Warps*d.Team.Warp, d.Tuning.Updates
	mapping.PartsOfUpdates(l.Walker.Work, int64(threads*limits.Waves), int64(limits.Least))
}

// onWork is a pass that needs the kernel and what was decided about it.
func onWork(f func(*mapping.Work)) func(*lowering) { return func(l *lowering) { f(l.Work) } }

// onKernel is a pass that needs the kernel alone.
func onKernel(f func(*ir.Kernel)) func(*lowering) { return func(l *lowering) { f(l.Kernel) } }

func checkKernelIR(l *lowering) error  { return verify.Kernel(l.Kernel) }
func checkProgramIR(l *lowering) error { return verify.Program(l.program) }
func checkNothing(*lowering) error     { return nil }

// lowering is the state of one run of Lower.
type lowering struct {
	spaces.Walker
	opt      crews.Options
	program  *ir.Program
	segments []*segment
	initial  values // of the segment that is lowered

	strategies []string // of the loops that threads share out
	sums       sumOrders

	insisted map[*ir.Var]string     // variables that a clause wants on chip, with its name
	rooms    map[*ir.Var]ir.Expr    // how much of an array in scratch memory is there
	perTeam  map[*ir.Var]bool       // variables in scratch memory of which each team has one
	fewTeams map[*ir.Launch]ir.Expr // bounds of num_teams that the device evaluates

	varied   []nested.Varied // nested loops whose number of lanes can vary
	counting *uncounted      // the lengths of nested loops, in place of what the kernel does; nil otherwise
}

func newLowering(k *ir.Kernel, opt Options) *lowering {
	if opt.Target == "" {
		opt.Target = "device code"
	}
	l := &lowering{Walker: spaces.Walker{Work: mapping.NewWork(k, opt.Target)}, opt: opt, sums: sumOrders{},
		insisted: map[*ir.Var]string{}, rooms: map[*ir.Var]ir.Expr{}, perTeam: map[*ir.Var]bool{}, fewTeams: map[*ir.Launch]ir.Expr{}}
	own := l.Kernel
	own.Body = prepare.FirstAndLast(l.Work, own.Body)
	l.program = &ir.Program{Name: k.Name, Kernel: k, Params: k.Params, NumVars: own.NumVars, FastMath: k.Target.FastMath}
	return l
}

// number gives the variables of the program dense IDs in the order in which they appear, which is
// the same in every run, and collects the functions that are still called.
func (l *lowering) number() {
	next := 0
	give := func(v *ir.Var) {
		v.ID = next
		next++
	}
	mine := map[*ir.Var]*ir.Var{}
	l.program.Params = nil
	for _, p := range l.Kernel.Params {
		c := *p
		give(&c)
		mine[p] = &c
		l.program.Params = append(l.program.Params, &c)
	}
	for _, s := range l.program.Scratch {
		give(s.Var)
	}
	l.program.Funcs = l.functions(give)
	for _, g := range l.program.Launches {
		l.numberLaunch(g, give, mine)
	}
	for i := range l.program.Scratch {
		l.program.Scratch[i].Count = build.WithVars(mine).CopyExpr(l.program.Scratch[i].Count)
	}
	l.program.NumVars = next
}

// numberLaunch gives g variables of its own: launches share what they compute again.
func (l *lowering) numberLaunch(g *ir.Launch, give func(*ir.Var), params map[*ir.Var]*ir.Var) {
	for _, v := range g.Team {
		give(v)
	}
	fresh := ir.Fresh(g.Body, func(v *ir.Var) *ir.Var {
		c := *v
		give(&c)
		return &c
	})
	r := build.WithVars(params)
	g.When = r.CopyExpr(g.When)
	g.Trip, g.TeamTrip = r.CopyExpr(g.Trip), r.CopyExpr(g.TeamTrip)
	g.MaxTeams, g.MaxThreads = r.CopyExpr(g.MaxTeams), r.CopyExpr(g.MaxThreads)
	g.Body = r.CopyStmts(fresh.CopyStmts(g.Body))
}

// functions returns copies of the functions that the launches call, callees first, with the calls
// renewed.
func (l *lowering) functions(give func(*ir.Var)) []*ir.Func {
	copies := map[*ir.Func]*ir.Func{}
	var out []*ir.Func
	var renew func([]ir.Stmt)
	renew = func(list []ir.Stmt) {
		ir.WalkStmts(list, func(s ir.Stmt) bool {
			if c, ok := s.(*ir.Call); ok {
				if copies[c.Fn] == nil {
					copies[c.Fn] = l.function(c.Fn, give)
					renew(copies[c.Fn].Body)
					out = append(out, copies[c.Fn])
				}
				c.Fn = copies[c.Fn]
			}
			return true
		})
	}
	for _, g := range l.program.Launches {
		renew(g.Body)
	}
	return out
}

// function copies f for the device: no directive is left in it, its loops run in order.
func (l *lowering) function(f *ir.Func, give func(*ir.Var)) *ir.Func {
	c := &ir.Func{Name: f.Name, Results: f.Results, At: f.At}
	vars := map[*ir.Var]*ir.Var{}
	for _, p := range f.Params {
		q := *p
		give(&q)
		vars[p] = &q
		c.Params = append(c.Params, &q)
	}
	fresh := ir.Fresh(f.Body, func(v *ir.Var) *ir.Var {
		q := *v
		give(&q)
		return &q
	})
	fresh.Stmt = func(s ir.Stmt) []ir.Stmt {
		if loop, ok := s.(*ir.For); ok {
			loop.Directive = nil
		}
		return []ir.Stmt{s}
	}
	c.Body = build.WithVars(vars).CopyStmts(fresh.CopyStmts(f.Body))
	if l.Kernel.Target.FastMath {
		c.Body = (&ir.Rewrite{Expr: mapping.SumFirst}).CopyStmts(c.Body)
	}
	return c
}

func launchName(kernel string, n int) string { return kernel + "_" + strconv.Itoa(n) }

// deferNested defers nested loops, or counts their lengths.
func (l *lowering) deferNested() {
	if l.counting != nil {
		if l.counting.why = nested.Count(l.Work); l.counting.why != nil {
			l.Kernel.Body = nil
		}
		return
	}
	l.varied = nested.Defer(l.Work, l.rooms, l.opt.GPU(), target.Width(l.opt.Choice.Parameter(widthOfRows)))
}

// explainWidths says of each nested loop whose number of lanes can vary by what it follows from.
func (l *lowering) explainWidths(r *Result) {
	for _, v := range l.varied {
		where := "1, 4, 8 or 32 by the lengths that the last launch on a CUDA device met"
		why := "each leaves the same bits"
		switch shows := r.orderShows(r.openAround); {
		case v.Uncounted != nil:
			where, why = "by their mean length", "those that a launch met are not counted: "+v.Uncounted.Error()
		case shows != "":
			where, why = "by their mean length", "another number would leave other bits: "+shows
		case v.Rounds:
			where, why = "4, 8 or 32 by the lengths that the last launch on a CUDA device met", "one lane would add floats in another order"
		}
		l.Decide(v.Loop.At, "lanes of loop "+v.Loop.Var.Text(), where, why, "nested(inline), nested(warp), nested(host)")
	}
}
