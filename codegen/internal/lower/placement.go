package lower

import (
	"fmt"

	"github.com/gompss/gompss/codegen/internal/analysis"
	"github.com/gompss/gompss/codegen/internal/lower/forms"
	"github.com/gompss/gompss/codegen/ir"
	"github.com/gompss/gompss/codegen/ir/build"
	"github.com/gompss/gompss/codegen/ir/query"
)

// placement says which variables a team shares and which each thread has a copy of.
type placement struct {
	*teamLaunch
	own    ir.VarSet            // variables that each team has for itself
	mine   *ir.VarSet           // those of them that the kernel's text declares
	needed map[*ir.Var]bool     // read by code that all threads run
	first  analysis.FirstValues // of variables that never change
}

// maxReplicated is the size up to which each thread keeps its own copy of an array of the team.
const maxReplicated = 64

// place decides which variables of the team are shared.
func (p *placement) place(list []ir.Stmt, apart func(*ir.Construct) bool) {
	var region func(list []ir.Stmt)
	region = func(list []ir.Stmt) {
		for _, s := range list {
			switch s := s.(type) {
			case *ir.Decl:
				p.own.Add(s.Var)
			case *ir.For:
				p.own.Add(s.Var)
			}
			if forms.ForThreads(s) {
				p.placeIn(s, apart)
				continue
			}
			ir.Lists(s, region)
		}
	}
	region(list)
	for _, v := range ir.AddressTaken(list).List() {
		p.share(v, "its address is taken")
	}
	for _, v := range p.own.List() {
		if v.Type.Kind == ir.Array && v.Type.Size > maxReplicated {
			p.share(v, "it is too large for a copy in each thread")
		}
	}
}

// placeIn shares the variables of the team that the threads of s write.
func (p *placement) placeIn(s ir.Stmt, apart func(*ir.Construct) bool) {
	d := ir.DirectiveOf(s)
	private := map[*ir.Var]bool{}
	for _, v := range d.Firstprivate {
		private[v] = true
	}
	reduced := map[*ir.Var]bool{}
	if c, ok := s.(*ir.Construct); ok && apart(c) {
		reducedBy(d, reduced) // loops inside reduce for a part of the threads, and all need to know
	} else {
		reducedIn([]ir.Stmt{s}, reduced)
	}
	written := ir.Assigned(forms.BodyOf(s))
	for _, v := range d.Lastprivate {
		written.Add(v)
		delete(private, v)
	}
	for _, v := range written.List() {
		if p.own.Has(v) && !private[v] && !reduced[v] {
			p.share(v, "threads of the team write it")
		}
	}
}

// reducedIn finds the variables that constructs in list reduce into; the threads write copies of
// them.
func reducedIn(list []ir.Stmt, into map[*ir.Var]bool) {
	ir.WalkStmts(list, func(s ir.Stmt) bool {
		if d := ir.DirectiveOf(s); d != nil {
			reducedBy(d, into)
		}
		return true
	})
}

func reducedBy(d *ir.Directive, into map[*ir.Var]bool) {
	for _, r := range d.Reductions {
		into[ir.RootVar(r.Place)] = true
		if r.Index != nil {
			into[ir.RootVar(r.Index)] = true
		}
	}
}

func (p *placement) share(v *ir.Var, why string) {
	if !p.own.Has(v) || p.Shared[v] {
		return
	}
	if w := p.seg.whole; w != nil {
		w.share(p.teamLaunch, v, why)
		return
	}
	if p.spill(v) {
		return
	}
	p.Shared[v] = true
	v.Space = ir.Team
	p.Launch.Team = append(p.Launch.Team, v)
	p.Decide(v.At, "variable "+v.Text(), "team memory", why, "declare it inside the parallel construct to make it private")
}

// spill keeps a variable of the team in device memory where it does not fit into team memory any
// more; what a clause wants on chip is refused then.
func (p *placement) spill(v *ir.Var) bool {
	size := v.Type.Size
	for _, w := range p.Launch.Team {
		size += w.Type.Size
	}
	if size <= forms.TeamLimit {
		return false
	}
	if clause := p.lowering.insisted[v]; clause != "" {
		p.Refuse(v.At, clause, fmt.Sprintf("the team needs %d bytes of memory on chip with %s, it has %d", int64(size), ir.Source(&ir.Ref{Var: v}),
			int64(forms.TeamLimit)), "make the chunk smaller, or take an array out of the clause")
	}
	p.lowering.perTeam[v] = true
	p.Scratch[v] = p.pad(v.Name, v.Type, build.Query(ir.NumTeams, v.At), v.At)
	p.Shared[v] = true
	p.Decide(v.At, "variable "+v.Text(), "device memory, one for each team",
		fmt.Sprintf("with it the team would need %d bytes on chip, it has %d", int64(size), int64(forms.TeamLimit)), "make it smaller")
	return true
}

// exact returns the shared variables that no pointer reaches.
func exact(list []ir.Stmt) map[*ir.Var]bool {
	taken, out := ir.AddressTaken(list), map[*ir.Var]bool{}
	for _, v := range append(ir.Used(list).List(), ir.Declared(list).List()...) {
		if !taken.Has(v) {
			out[v] = true
		}
	}
	return out
}

// placeLed shares what regions use of the leader's variables, and the team's part of reductions
// over the league, which all threads combine.
func (p *placement) placeLed(list []ir.Stmt, ends ...*reductions) {
	const why = "the leader of the team sets it and the parallel regions use it"
	var find func([]ir.Stmt)
	find = func(list []ir.Stmt) {
		for _, s := range list {
			if !forms.ForThreads(s) {
				ir.Lists(s, find)
				continue
			}
			for _, v := range ir.Free([]ir.Stmt{s}).List() {
				p.share(v, why)
			}
		}
	}
	find(list)
	for _, r := range ends {
		for _, it := range r.items {
			p.share(it.acc, why)
			if it.idx != nil {
				p.share(it.idx, why)
			}
		}
	}
}

// findNeeded collects the variables of the team that code reads which all threads run: what thread
// 0 computes alone is sent to the others where it is one of these, and nowhere else. Source: Ozen
// and Wolfe, Performant Portable OpenMP, 2022, section 6.2.
func (p *placement) findNeeded(list []ir.Stmt) {
	for _, s := range list {
		switch {
		case forms.ForThreads(s):
			p.needAll(ir.Free([]ir.Stmt{s}))
		case p.byOne(s):
		case !forms.IsParallel(s) && !query.JumpsOut(s):
			p.needAll(ir.Used([]ir.Stmt{s}))
		default:
			if _, ok := s.(*ir.If); !ok || p.Mode != ir.ModeBroadcast {
				ir.StmtExprs(s, func(e ir.Expr) { p.needAll(ir.ExprVars(e)) })
			}
			ir.Lists(s, p.findNeeded)
		}
	}
}

func (p *placement) needAll(vars *ir.VarSet) {
	for _, v := range vars.List() {
		p.needed[v] = true
	}
}

// byOne reports whether thread 0 alone computes all that s assigns.
func (p *placement) byOne(s ir.Stmt) bool {
	d, ok := s.(*ir.Decl)
	if !ok {
		return p.forOne(s)
	}
	return p.Shared[d.Var] || d.Init == nil || p.Mode == ir.ModeBroadcast && !query.HasAddress(d.Var.Type)
}

// needEnds marks the parts of reductions that all threads apply, each to its copy of a variable.
func (p *placement) needEnds(ends ...*reductions) {
	for _, r := range ends {
		for _, it := range r.items {
			if v := ir.RootVar(it.Place); v == nil || p.IsShared(v) {
				continue
			}
			p.needed[it.acc] = true
			if it.idx != nil {
				p.needed[it.idx] = true
			}
		}
	}
}

// forOne reports whether thread 0 must run s for the team.
func (p *placement) forOne(s ir.Stmt) bool {
	if forms.IsParallel(s) || query.JumpsOut(s) {
		return false
	}
	if _, ok := s.(*ir.Decl); ok {
		return false
	}
	x := p.Effects.Stmts([]ir.Stmt{s})
	if !x.Writes.Empty() || x.Atomics || x.Calls {
		return true
	}
	return p.Mode == ir.ModeBroadcast && p.sendable(s)
}

// sendable reports whether what s assigns can be broadcast.
func (p *placement) sendable(s ir.Stmt) bool {
	out := p.results([]ir.Stmt{s})
	for _, v := range out {
		if query.HasAddress(v.Type) {
			return false
		}
	}
	return len(out) > 0
}

// results returns the replicated variables that list assigns and does not declare, and that all
// threads need.
func (p *placement) results(list []ir.Stmt) []*ir.Var {
	declared := ir.Declared(list)
	var out []*ir.Var
	for _, v := range ir.Assigned(list).List() {
		if !declared.Has(v) && !p.IsShared(v) && p.needed[v] {
			out = append(out, v)
		}
	}
	return out
}

// mixed tells items of the team's own from those of the league, where r has both; else it returns
// none.
func (p *placement) mixed(r *reductions) (own, others []item) {
	if !r.league || p.Single || p.ofTeam(r) {
		return nil, nil
	}
	for _, it := range r.items {
		if v := ir.RootVar(it.Place); v != nil && p.own.Has(v) {
			own = append(own, it)
		} else {
			others = append(others, it)
		}
	}
	return own, others
}

// ofTeam reports whether the places belong to the team, so that nothing is combined over the
// league.
func (p *placement) ofTeam(r *reductions) bool {
	for _, it := range r.items {
		v := ir.RootVar(it.Place)
		if v == nil || !p.own.Has(v) {
			return false
		}
	}
	return true
}

// haveAtomics reports whether every result of r is one that teams can add to by an atomic.
func (p *placement) haveAtomics(r *reductions) bool {
	for _, it := range r.items {
		v := ir.RootVar(it.Place)
		first := v != nil && p.lowering.initial[v] != nil // the place has no value yet: the first team brings it
		switch {
		case it.n > 0 || it.idx != nil || v != nil && p.own.Has(v):
			return false
		case it.acc.Type.Size < 4 || it.acc.Type.IsFloat() && it.Op != ir.Add:
			return false
		}
		switch it.Op {
		case ir.Add, ir.Or, ir.Xor:
		case ir.Min, ir.Max, ir.And:
			if first {
				return false
			}
		default:
			return false
		}
	}
	return true
}
