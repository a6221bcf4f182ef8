package lower

import (
	"strconv"

	"github.com/gompss/gompss/codegen/ir"
	"github.com/gompss/gompss/codegen/ir/build"
)

// The numbers of named barriers: all threads of the team and its leader meet at the join barrier,
// the workers among themselves at another, and fewer threads than the team has, by num_threads, at
// a third.
const (
	joinBarrier = 1 + iota
	workBarrier
	partBarrier
)

// specialise gives the leader's code to the first lane of the last warp; the other warps wait for
// the regions that it calls, and it waits while they run.
// Source: 000_b59ec0d825952dbe, section V.
func (t *team) specialise(list []ir.Stmt, at ir.Pos) []ir.Stmt {
	t.launch.Warps, t.launch.ExtraWarps = true, 1
	workers := t.Local("workers", ir.IntType, at)
	c := t.newCall(countRegions(list), at)
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
	k := t.Local("region", ir.IntType, at)
	wait := call{box: c.box, turn: t.Local("turn", ir.IntType, at), step: c.step}
	loop.Body = append(append([]ir.Stmt{wait.next(at), join()}, wait.answer(k, loop.Label, at)...), choice(k, 1, regions, at)...)
	loop.Body = append(loop.Body, join())
	t.Decide(at, "code of the team", "a warp of its own", "mode(warp_specialized) says so: its first lane leads, the "+
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
