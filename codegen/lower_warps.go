package codegen

import "github.com/gompss/gompss/codegen/ir"

// The numbers of named barriers: all threads of the team and its leader meet at the join barrier, the workers among
// themselves at another, and fewer threads than the team has, by num_threads, at a third.
const (
	joinBarrier = 1 + iota
	workBarrier
	partBarrier
)

// specialise gives the leader's code to the first lane of the last warp; the other warps wait for the regions that it
// calls, and it waits while they run.
// Source: 000_b59ec0d825952dbe, section V.
func (t *team) specialise(list []ir.Stmt, at ir.Pos) []ir.Stmt {
	t.launch.Warps, t.launch.ExtraWarps = true, 1
	workers := t.local("workers", ir.IntType, at)
	c := t.newCall(countRegions(list), at)
	join := func() ir.Stmt {
		return &ir.Barrier{Scope: ir.NamedBarrier, ID: joinBarrier, Count: query(ir.NumThreads, at), At: at}
	}
	var regions [][]ir.Stmt
	leader := (&ir.Rewrite{Stmt: func(s ir.Stmt) []ir.Stmt {
		r, ok := s.(*ir.Construct)
		if !ok {
			return []ir.Stmt{s}
		}
		regions = append(regions, confine(r.Body, ref(workers, at), workBarrier))
		return []ir.Stmt{c.next(r.At), c.ask(intConst(int64(len(regions)), at), r.At), join(), join()}
	}}).CopyStmts(list)
	leader = append([]ir.Stmt{decl(c.turn, intConst(0, at), at), c.reset(at)}, leader...)
	leader = append(leader, c.next(at), c.ask(intConst(0, at), at), join())

	loop := &ir.While{Label: &ir.Label{}, At: at}
	k := t.local("region", ir.IntType, at)
	wait := call{box: c.box, turn: t.local("turn", ir.IntType, at), step: c.step}
	loop.Body = append(append([]ir.Stmt{wait.next(at), join()}, wait.answer(k, loop.Label, at)...), choice(k, 1, regions, at)...)
	loop.Body = append(loop.Body, join())
	t.decide(at, "code of the team", "a warp of its own", "mode(warp_specialized) says so: its first lane leads, the "+
		"other warps wait for the "+itoa(len(regions))+" parallel regions that it calls", "mode(auto)")
	leads := compare(ir.Eq, query(ir.ThreadNum, at), ref(workers, at), at)
	idle := compare(ir.Gt, query(ir.ThreadNum, at), ref(workers, at), at)
	return []ir.Stmt{
		decl(workers, binary(ir.Sub, query(ir.NumThreads, at), query(ir.WarpSize, at), at), at),
		&ir.If{Cond: idle, Then: []ir.Stmt{&ir.Return{At: at}}, At: at},
		&ir.If{Cond: leads, Then: leader, Else: []ir.Stmt{decl(wait.turn, intConst(0, at), at), loop}, At: at},
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
