package lower

import (
	"strconv"

	"github.com/gompss/gompss/codegen/internal/lower/crews"
	"github.com/gompss/gompss/codegen/internal/lower/forms"
	"github.com/gompss/gompss/codegen/internal/lower/spaces"
	"github.com/gompss/gompss/codegen/ir"
	"github.com/gompss/gompss/codegen/ir/build"
)

// In two of the four modes one thread of the team leads: it alone runs the code outside parallel
// constructs, and the others wait for it to call them to a parallel region. In mode(control_loop)
// the leader is thread 0, which takes part in the regions; in mode(warp_specialized) it is a warp
// of its own, which waits while they run. What the regions need of the leader's variables lies in
// team memory.
//
// Lowering makes a list of the leader's code, in which each region is a construct (called), and
// gives that to controlLoop or specialise.

// leader makes the code of the team that one thread leads.
type leader struct {
	*teamLaunch
	sent    []*ir.Var        // what thread 0 broadcasts
	guards  int              // how often thread 0 runs something alone
	regions map[ir.Stmt]bool // statements of parallel regions
}

// led lowers code of the leader.
func (t *team) led(list []ir.Stmt) []ir.Stmt {
	var out []ir.Stmt
	for i, s := range list {
		s = t.declared(s, list[i+1:], &out)
		if s != nil {
			out = append(out, t.stmt(s)...)
		}
	}
	return out
}

// ledLoop lowers a loop of the leader around regions.
func (t *team) ledLoop(s *ir.For) []ir.Stmt {
	c := *s
	c.Lo, c.Hi, c.Step = forms.MasterOf(s.Lo), forms.MasterOf(s.Hi), forms.MasterOf(s.Step)
	sp := &spaces.Space{Loops: []*ir.For{&c}, Order: []int{0}, Label: s.Label, At: s.At}
	return t.Walk(sp, spaces.Portion{First: build.Int(0, s.At), Stride: build.Int(1, s.At)}, t.list(s.Body), nil)
}

// called makes a parallel region of list, which begins after the barrier that it needs: where the
// team has a leader, one that the leader calls. What is in it costs the same in all modes, and is
// not counted.
func (ld *leader) called(barrier, list []ir.Stmt, at ir.Pos) []ir.Stmt {
	if !ld.Leads() || len(list) == 0 {
		for _, s := range list {
			ld.regions[s] = true
		}
		return append(barrier, list...)
	}
	return []ir.Stmt{&ir.Construct{Directive: &ir.Directive{Parts: ir.Parallel, At: at}, Body: list, At: at}}
}

// lead puts the leader's code, with its regions, into the form of the mode.
func (ld *leader) lead(list []ir.Stmt, at ir.Pos) []ir.Stmt {
	list = existing().CopyStmts(list)
	if ld.Mode == ir.ModeWarpSpecialized {
		return ld.specialise(list, at)
	}
	return ld.controlLoop(list, at)
}

// existing makes assignments of the declarations of what is in team memory, and exists already.
func existing() *ir.Rewrite {
	return &ir.Rewrite{Stmt: func(s ir.Stmt) []ir.Stmt {
		if d, ok := s.(*ir.Decl); ok && d.Var.Space == ir.Team {
			return []ir.Stmt{firstValue(d)}
		}
		return []ir.Stmt{s}
	}}
}

// firstValue is the declaration of a variable that exists already.
func firstValue(d *ir.Decl) ir.Stmt {
	if d.Init == nil {
		return build.Assign(build.Ref(d.Var, d.At), build.Zero(d.Var.Type, d.At), d.At)
	}
	return build.Assign(build.Ref(d.Var, d.At), d.Init, d.At)
}

// A call is how the leader calls the team: it writes the number of a region, above that of its
// turn, into team memory. All threads count the turns. A leader that a failed check has ended
// leaves the number of an earlier turn, by which the others know that nothing more comes.
type call struct {
	box  *ir.Var // in team memory
	turn *ir.Var // of each thread: the turns so far, each as much as there are regions and one
	step int64
}

func (t *teamLaunch) newCall(regions int, at ir.Pos) call {
	return call{box: t.Slot(crews.Slot{What: "work"}, ir.IntType, "work", at), turn: t.Local("turn", ir.IntType, at),
		step: int64(regions) + 1}
}

// next begins a turn.
func (c call) next(at ir.Pos) ir.Stmt {
	return build.Assign(build.Ref(c.turn, at), build.Binary(ir.Add, build.Ref(c.turn, at), build.Int(c.step, at), at), at)
}

// ask calls for a region; 0 ends the work of the team.
func (c call) ask(region ir.Expr, at ir.Pos) ir.Stmt {
	return build.Assign(build.Ref(c.box, at), build.Binary(ir.Add, build.Ref(c.turn, at), region, at), at)
}

// reset is what the leader does first: should it never call, the others find turn 0.
func (c call) reset(at ir.Pos) ir.Stmt {
	return build.Assign(build.Ref(c.box, at), build.Int(0, at), at)
}

// answer reads the number of the region into k, or leaves the loop.
func (c call) answer(k *ir.Var, loop *ir.Label, at ir.Pos) []ir.Stmt {
	return []ir.Stmt{
		build.Decl(k, build.Binary(ir.Sub, build.Ref(c.box, at), build.Ref(c.turn, at), at), at),
		&ir.If{Cond: build.Compare(ir.Lt, build.Ref(k, at), build.Int(1, at), at), Then: []ir.Stmt{&ir.Break{Label: loop, At: at}}, At: at},
	}
}

// choice runs list number k, of those numbered from first: the indirect call of a region, as a
// chain of direct ones. Source: Jacob et al., Efficient Fork-Join on GPUs through Warp
// Specialization, 2017, section V.B.
func choice(k *ir.Var, first int, lists [][]ir.Stmt, at ir.Pos) []ir.Stmt {
	var out []ir.Stmt
	for i := len(lists) - 1; i >= 0; i-- {
		if i == len(lists)-1 {
			out = lists[i]
			continue
		}
		is := build.Compare(ir.Eq, build.Ref(k, at), build.Int(int64(first+i), at), at)
		out = []ir.Stmt{&ir.If{Cond: is, Then: lists[i], Else: out, At: at}}
	}
	return out
}

// confine makes list, written for all threads of the team, right for the first count of them, whole
// warps that meet at barrier number id.
func confine(list []ir.Stmt, count ir.Expr, id int) []ir.Stmt {
	return (&ir.Rewrite{
		Expr: func(e ir.Expr) ir.Expr {
			if q, ok := e.(*ir.Query); ok && q.What == ir.NumThreads {
				return count
			}
			return e
		},
		Stmt: func(s ir.Stmt) []ir.Stmt {
			if b, ok := s.(*ir.Barrier); ok && b.Scope == ir.TeamBarrier {
				return []ir.Stmt{&ir.Barrier{Scope: ir.NamedBarrier, ID: id, Count: count, At: b.At}}
			}
			return []ir.Stmt{s}
		},
	}).CopyStmts(list)
}

// The numbers of named barriers: all threads of the team and its leader meet at the join barrier,
// the workers among themselves at another, and fewer threads than the team has, by num_threads, at
// a third.
const (
	joinBarrier = 1 + iota
	workBarrier
	partBarrier
)

// specialise gives the leader's code to the first lane of the last warp; the other warps wait for
// the regions that it calls, and it waits while they run. Source: Jacob et al., Efficient Fork-Join
// on GPUs through Warp Specialization, 2017, section V.
func (ld *leader) specialise(list []ir.Stmt, at ir.Pos) []ir.Stmt {
	ld.Launch.Warps, ld.Launch.ExtraWarps = true, 1
	workers := ld.Local("workers", ir.IntType, at)
	c := ld.newCall(countRegions(list), at)
	join := func() ir.Stmt {
		return &ir.Barrier{Scope: ir.NamedBarrier, ID: joinBarrier, Count: build.Query(ir.NumThreads, at), At: at}
	}
	var regions [][]ir.Stmt
	leader := (&ir.Rewrite{Stmt: func(s ir.Stmt) []ir.Stmt {
		r, ok := s.(*ir.Construct)
		if !ok {
			return []ir.Stmt{s}
		}
		regions = append(regions, confine(r.Body, build.Ref(workers, at), workBarrier))
		return []ir.Stmt{c.next(r.At), c.ask(build.Int(int64(len(regions)), at), r.At), join(), join()}
	}}).CopyStmts(list)
	leader = append([]ir.Stmt{build.Decl(c.turn, build.Int(0, at), at), c.reset(at)}, leader...)
	leader = append(leader, c.next(at), c.ask(build.Int(0, at), at), join())

	loop := &ir.While{Label: &ir.Label{}, At: at}
	k := ld.Local("region", ir.IntType, at)
	wait := call{box: c.box, turn: ld.Local("turn", ir.IntType, at), step: c.step}
	loop.Body = append(append([]ir.Stmt{wait.next(at), join()}, wait.answer(k, loop.Label, at)...), choice(k, 1, regions, at)...)
	loop.Body = append(loop.Body, join())
	ld.Decide(at, "code of the team", "a warp of its own", "mode(warp_specialized) says so: its first lane leads, the "+
		"other warps wait for the "+strconv.Itoa(len(regions))+" parallel regions that it calls", "mode(auto)")
	leads := build.Compare(ir.Eq, build.Query(ir.ThreadNum, at), build.Ref(workers, at), at)
	idle := build.Compare(ir.Gt, build.Query(ir.ThreadNum, at), build.Ref(workers, at), at)
	return []ir.Stmt{
		build.Decl(workers, build.Binary(ir.Sub, build.Query(ir.NumThreads, at), build.Query(ir.WarpSize, at), at), at),
		&ir.If{Cond: idle, Then: []ir.Stmt{&ir.Return{At: at}}, At: at},
		&ir.If{Cond: leads, Then: leader, Else: []ir.Stmt{build.Decl(wait.turn, build.Int(0, at), at), loop}, At: at},
	}
}

func countRegions(list []ir.Stmt) int {
	n := 0
	ir.WalkStmts(list, func(s ir.Stmt) bool {
		if _, ok := s.(*ir.Construct); ok {
			n++
		}
		return true
	})
	return n
}
