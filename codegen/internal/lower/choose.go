package lower

import (
	"fmt"
	"strings"

	"github.com/gompss/gompss/codegen/internal/diag"
	"github.com/gompss/gompss/codegen/ir"
)

// lowerLeague makes the launch of a construct. Where the mode is left open it is lowered in each
// that is right, and the one whose longest path costs least is kept; the first of equals is the
// simplest.
func (l *lowering) lowerLeague(s *segment) {
	d := ir.DirectiveOf(s.list[0])
	if s.oneTeam || d == nil || d.Parts&ir.Teams == 0 {
		l.lowerTeam(s, ir.ModeAuto)
		return
	}
	if d.Mode != ir.ModeAuto {
		t := l.lowerTeam(s, d.Mode)
		explainMode(t, d, "\"mode("+d.Mode.String()+")\" says so", "mode(auto)")
		return
	}
	best, least, tried := ir.ModeAuto, int64(0), []string{}
	for _, m := range []ir.TeamMode{ir.ModeAuto, ir.ModeBroadcast, ir.ModeControlLoop, ir.ModeWarpSpecialized} {
		c, ok := l.tryTeam(s, m)
		if !ok {
			break
		}
		if tried = append(tried, fmt.Sprintf("%s %d", costNames[m], c)); len(tried) == 1 || c < least {
			best, least = m, c
		}
	}
	t := l.lowerTeam(s, best)
	explainMode(t, d, "the cheapest, by barriers and statements on a path with loops of 8 turns: "+strings.Join(tried, ", "),
		"mode(control_loop)")
}

var costNames = map[ir.TeamMode]string{ir.ModeAuto: "thread 0 only where it must", ir.ModeBroadcast: "thread 0 always",
	ir.ModeControlLoop: "a control loop", ir.ModeWarpSpecialized: "a warp of its own"}

// explainMode says how the code of the team runs, and why.
func explainMode(t *team, d *ir.Directive, why, instead string) {
	if !t.sequential {
		return
	}
	where := "all threads alike (spmd)"
	switch {
	case t.Mode == ir.ModeControlLoop:
		where = "a control loop that thread 0 leads"
	case t.Mode == ir.ModeWarpSpecialized:
		where = "a warp of its own"
	case len(t.sent) > 0:
		where = "all threads, thread 0 where it changes what they share, with " + t.sent[0].Name + " broadcast (broadcast)"
	case t.guards > 0:
		where = "all threads alike, thread 0 where it changes what they share (spmd)"
	}
	t.Decide(d.At, "code of the team", where, why, instead)
}

// tryTeam lowers s in one mode and takes it back. It returns the cost; ok is false where the code
// of the team leaves nothing to choose, or the mode is refused.
func (l *lowering) tryTeam(s *segment, m ir.TeamMode) (cost int64, ok bool) {
	was, work := *l, *l.Work
	program, numVars := *l.program, l.Kernel.NumVars
	t := l.lowerTeam(s, m)
	ok = t.sequential && t.Mode == m && len(l.Errors) == len(work.Errors)
	cost = t.cost
	for v := range t.Shared {
		v.Space = ir.Local
	}
	s.tail = nil
	*l, *l.Work, *l.program, l.Kernel.NumVars = was, work, program, numVars
	return cost, ok
}

// What a path costs: a statement is 1.
const (
	barrierCost = 30
	callCost    = 200 // of a region, to a leader: another thread's values are read from memory, and proved by nothing
	loopTurns   = 8
)

// pathCost estimates what the longest path through list costs, without the parallel regions.
func (ld *leader) pathCost(list []ir.Stmt) int64 {
	var n int64
	for _, s := range list {
		if !ld.regions[s] {
			n += ld.stmtCost(s)
		}
	}
	return n
}

func (ld *leader) stmtCost(s ir.Stmt) int64 {
	switch s := s.(type) {
	case *ir.Barrier:
		return barrierCost
	case *ir.Construct: // a region that a leader calls
		return 2*barrierCost + callCost
	case *ir.If:
		return 1 + max(ld.pathCost(s.Then), ld.pathCost(s.Else))
	case *ir.Block:
		return ld.pathCost(s.Body)
	case *ir.While:
		return loopTurns * (1 + ld.pathCost(s.Pre) + ld.pathCost(s.Body) + ld.pathCost(s.Post))
	case *ir.For:
		return loopTurns * (1 + ld.pathCost(s.Body))
	}
	return 1
}

// Explain returns the decisions as text, one a line in source order, after the kernel's name and
// its launches.
func (r *Result) Explain() string {
	var b strings.Builder
	n := len(r.Program.Launches)
	fmt.Fprintf(&b, "kernel %s: %d %s", r.Program.Name, n, diag.Plural(n, "launch", "launches"))
	if s := len(r.Program.Scratch); s > 0 {
		fmt.Fprintf(&b, ", %d %s", s, diag.Plural(s, "piece of scratch memory", "pieces of scratch memory"))
	}
	b.WriteString("\n")
	for _, d := range r.Decisions {
		b.WriteString("  " + d.String() + "\n")
	}
	return b.String()
}
