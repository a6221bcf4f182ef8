package opencl

import (
	"slices"
	"strings"

	"github.com/gompss/gompss/codegen/internal/cprint"
	"github.com/gompss/gompss/codegen/ir"
)

// A meeting is a place where all threads of a team meet: a barrier, and behind it those of a team
// one of which has failed leave. A check that fails jumps forward to the next one, since a barrier
// must be reached by all threads.
//
// Which failures count at a meeting must not depend on how far others have run: each thread
// counts the meetings that it has passed, and a team remembers the least count at which a thread
// failed.
type meeting struct{ label string }

// meetings are where the team of a function meets, and what it remembers of that.
type meetings struct {
	meet             *meeting
	open             []*meeting       // checks jump there, and it is not printed yet
	meets            map[ir.Stmt]bool // statements in which the team meets
	barriers         map[ir.Stmt]bool // statements with a barrier in them
	meetsLater       bool             // the team meets somewhere
	checked          bool             // something may fail
	failedAt, passed string           // names of what a team remembers of its meetings
}

// survey finds out, before a body is printed, where its team meets and whether it checks anything.
func (p *meetings) survey(list []ir.Stmt) {
	p.meets, p.barriers = map[ir.Stmt]bool{}, map[ir.Stmt]bool{}
	p.checked = checksIn(list)
	var visit func(list []ir.Stmt) bool
	visit = func(list []ir.Stmt) bool {
		any := false
		for _, s := range list {
			meets := false
			if b, ok := s.(*ir.Barrier); ok {
				meets = b.Scope != ir.WarpBarrier
			}
			ir.Lists(s, func(inner []ir.Stmt) { meets = visit(inner) || meets })
			p.meets[s], p.barriers[s] = meets, meets
			any = any || meets
		}
		return any
	}
	p.meetsLater = visit(list)
	p.leavesMeeting(list, nil)
}

// leavesMeeting notes that what leaves a loop in which the team meets, or the kernel, is done by
// all of its threads.
func (p *meetings) leavesMeeting(list []ir.Stmt, loops []*ir.Label) bool {
	any := false
	for _, s := range list {
		inner, leaves := loops, false
		switch s := s.(type) {
		case *ir.Break:
			leaves = slices.Contains(loops, s.Label)
		case *ir.Return:
			leaves = p.meetsLater
		case *ir.For:
			if p.meets[s] {
				inner = append(slices.Clip(loops), s.Label)
			}
		case *ir.While:
			if p.meets[s] {
				inner = append(slices.Clip(loops), s.Label)
			}
		}
		ir.Lists(s, func(list []ir.Stmt) { leaves = p.leavesMeeting(list, inner) || leaves })
		p.meets[s] = p.meets[s] || leaves
		any = any || leaves
	}
	return any
}

// checksIn reports whether something in list, or in a function that it calls, may fail.
func checksIn(list []ir.Stmt) bool {
	found := false
	ir.WalkStmts(list, func(s ir.Stmt) bool {
		switch s := s.(type) {
		case *ir.For:
			_, isConst := s.Step.(*ir.Const)
			found = found || !isConst
		case *ir.Call:
			found = found || checksIn(s.Fn.Body)
		}
		ir.StmtExprs(s, func(e ir.Expr) { found = found || cprint.HasChecks(e) })
		return !found
	})
	return found
}

// meetsIn reports whether the team meets in s.
func (p *meetings) meetsIn(s ir.Stmt) bool { return p.meets[s] }

// meetsInList reports whether the team meets in one of list: a barrier, not only a jump that all
// threads make.
func (p *meetings) meetsInList(list []ir.Stmt) bool {
	return slices.ContainsFunc(list, func(s ir.Stmt) bool { return p.barriers[s] })
}

// runsOnce reports whether s is printed as loops that run once or not at all.
func (p *meetings) runsOnce(s *ir.If) bool { return p.meetsInList(s.Then) || p.meetsInList(s.Else) }

// check prints what ends the thread where cond holds: the access behind it is not made.
func (p checksPrinter) check(at ir.Pos, cond string, kind ir.CheckKind, what string, unsigned bool, index, length string) {
	p.fault = true
	p.record()
	p.sites = append(p.sites, Site{Pos: at, Kind: kind, What: what, Unsigned: unsigned})
	if p.opt.Exits() {
		p.Printf(at, "if (%s)", cond)
		p.Printf(at, "\tgompss_fail(fault, %d, %s, %s);", len(p.sites), index, length)
		return
	}
	p.Printf(at, "if (%s) {", cond)
	p.Printf(at, "\tgompss_fail(fault, %d, %s, %s);", len(p.sites), index, length)
	p.end(at)
	p.Printf(at, "}")
}

// record returns the type of the fault record, and notes the function that fills it.
func (p checksPrinter) record() string {
	exit := ""
	if p.opt.Exits() {
		exit = "\tasm volatile(\"exit;\" ::: \"memory\");\n"
	}
	return p.piece("gompss_fault", strings.Replace(faultText, "EXIT", exit, 1))
}

// end prints how a thread that has failed ends.
func (p checksPrinter) end(at ir.Pos) {
	switch {
	case p.fn != nil:
		p.Printf(at, "\t*failed = true;")
		p.Printf(at, "\treturn%s;", cprint.Spaced(p.fn.zero(p.printer)))
	case p.meetsLater:
		if p.meet.label == "" {
			p.meet.label = p.jumps.Labels.Fresh("meet")
			p.open = append(slices.Clip(p.open), p.meet)
		} else if !slices.Contains(p.open, p.meet) {
			p.meet = &meeting{label: p.jumps.Labels.Fresh("meet")}
			p.open = append(slices.Clip(p.open), p.meet)
		}
		p.Printf(at, "\tatomic_min(&%s, %s);", p.failedAt, p.passed)
		p.Printf(at, "\tgoto %s;", p.meet.label)
	default:
		p.Printf(at, "\treturn;")
	}
}

// meetIfOpen prints a meeting where a check jumps to the next one.
func (p checksPrinter) meetIfOpen(at ir.Pos) {
	if len(p.open) > 0 {
		p.printMeeting(at)
	}
}

// printMeeting prints a barrier, and where checks jump to it, the way out. Other barriers have
// none: a compiler that runs the threads of a team as loops between barriers copies the rest of the
// kernel for each.
func (p checksPrinter) printMeeting(at ir.Pos) {
	awaited := len(p.open) > 0
	for _, m := range p.open {
		p.Printf(ir.Pos{}, "%s:;", m.label)
	}
	p.open, p.meet = nil, &meeting{}
	p.Printf(at, "barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);")
	if awaited {
		p.Printf(at, "if (%s < ++%s)", p.failedAt, p.passed)
		p.Printf(at, "\treturn;")
	}
}

func (p checksPrinter) barrier(s *ir.Barrier) {
	switch {
	case s.Scope == ir.WarpBarrier:
		p.values().warpBarrier(s.At)
		return
	case s.Scope != ir.TeamBarrier:
		p.fail(s.At, "a barrier of a part of a team: not supported by opencl")
	case p.fn != nil:
		p.fail(s.At, "a barrier in a function: not supported by opencl")
	}
	p.printMeeting(s.At)
}

// openMeetings declares what a kernel whose team meets beside checks remembers.
func (p checksPrinter) openMeetings(at ir.Pos) {
	if !p.meetsLater || !p.checked {
		return
	}
	p.failedAt, p.passed = p.Fresh("failed_at"), p.Fresh("passed")
	p.Printf(at, "volatile local int %s;", p.failedAt)
	p.Printf(at, "int %s = 0;", p.passed)
	p.Printf(at, "if (get_local_id(0) == 0)")
	p.Printf(at, "\t%s = 2147483647;", p.failedAt)
	p.Printf(at, "barrier(CLK_LOCAL_MEM_FENCE);")
}

// closeMeetings prints the end of a kernel to which checks jump that no meeting follows.
func (p checksPrinter) closeMeetings() {
	for _, m := range p.open {
		p.Printf(ir.Pos{}, "%s:;", m.label)
	}
}

func union(a, b []*meeting) []*meeting {
	out := slices.Clone(a)
	for _, m := range b {
		if !slices.Contains(out, m) {
			out = append(out, m)
		}
	}
	return out
}
