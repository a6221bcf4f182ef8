package lower

import (
	"slices"

	"github.com/gompss/gompss/codegen/internal/lower/crews"
	"github.com/gompss/gompss/codegen/internal/lower/forms"
	"github.com/gompss/gompss/codegen/ir"
	"github.com/gompss/gompss/codegen/ir/build"
	"github.com/gompss/gompss/codegen/ir/query"
)

// list lowers code of the team. Neighbours that thread 0 runs alone share one guard.
func (t *team) list(list []ir.Stmt) []ir.Stmt {
	if t.Leads() {
		return t.led(list)
	}
	var out, alone []ir.Stmt
	flush := func() {
		out = append(out, t.alone(alone)...)
		alone = nil
	}
	for i, s := range list {
		s = t.declared(s, list[i+1:], &out)
		if s == nil {
			continue
		}
		if t.forOne(s) {
			alone = append(alone, s)
			continue
		}
		flush()
		out = append(out, t.stmt(s)...)
	}
	flush()
	return out
}

// declared takes the declaration of a shared variable apart: it exists from the start of the
// launch, and its initial value is stored. Arrays are cleared by all threads together, unless what
// follows writes them first.
func (t *team) declared(s ir.Stmt, rest []ir.Stmt, out *[]ir.Stmt) ir.Stmt {
	d, ok := s.(*ir.Decl)
	if !ok {
		return s
	}
	switch {
	case t.Shared[d.Var] && d.Init == nil && (d.Unset || filled(d.Var, rest)):
		return nil
	case t.Shared[d.Var] && d.Init == nil && d.Var.Type.Kind == ir.Array:
		*out = append(*out, t.called(nil, t.clear(d), d.At)...)
		return nil
	case t.Shared[d.Var] && d.Init == nil:
		return build.Assign(build.Ref(d.Var, d.At), build.Zero(d.Var.Type, d.At), d.At)
	case t.Shared[d.Var]:
		return build.Assign(build.Ref(d.Var, d.At), d.Init, d.At)
	case t.Mode == ir.ModeBroadcast && d.Init != nil && !query.HasAddress(d.Var.Type):
		*out = append(*out, build.Decl(d.Var, nil, d.At))
		return build.Assign(build.Ref(d.Var, d.At), d.Init, d.At)
	}
	return s
}

// filled reports whether the first thing in list that touches array v is a loop over all of it that
// sets each element before it is read.
func filled(v *ir.Var, list []ir.Stmt) bool {
	if v.Type.Kind != ir.Array {
		return false
	}
	for _, s := range list {
		if !forms.Mentions([]ir.Stmt{s}, v) {
			continue
		}
		switch s := s.(type) {
		case *ir.Construct:
			d := s.Directive
			return d.Parts&ir.Parallel != 0 && d.If == nil && filled(v, s.Body)
		case *ir.For:
			return fills(s, v)
		}
		return false
	}
	return false
}

// fills reports whether f is a plain sweep over v whose body begins to use v by setting the element
// of the iteration.
func fills(f *ir.For, v *ir.Var) bool {
	lo, okLo := query.Int64(f.Lo)
	hi, okHi := query.Int64(f.Hi)
	step, okStep := query.Int64(f.Step)
	d := f.Directive
	if !okLo || !okHi || !okStep || lo != 0 || hi != v.Type.Len || step != 1 || f.Rel != ir.Lt || d != nil && d.Collapse > 1 {
		return false
	}
	for _, s := range f.Body {
		if a, ok := s.(*ir.Assign); ok {
			ix, ok := a.Place.(*ir.Index)
			if ok && query.Same(ix.X, build.Ref(v, s.Pos())) && query.Same(ix.I, build.Ref(f.Var, s.Pos())) && !ir.ExprVars(a.Value).Has(v) {
				return true
			}
		}
		if forms.Mentions([]ir.Stmt{s}, v) || query.JumpsOut(s) {
			return false
		}
	}
	return false
}

// alone lets thread 0 run list and gives the other threads the values that it computed.
func (t *team) alone(list []ir.Stmt) []ir.Stmt {
	if len(list) == 0 {
		return nil
	}
	if t.Leads() {
		return t.led(list)
	}
	at := list[0].Pos()
	x := t.Effects.Stmts(list)
	send := t.results(list)
	body := existing().CopyStmts(asMaster().CopyStmts(list))
	var receive []ir.Stmt
	for _, v := range send {
		box := t.Slot(crews.Slot{What: "broadcast", Of: v}, v.Type, v.Name, at)
		x.Writes.AddVar(box)
		body = append(body, build.Assign(build.Ref(box, at), build.Ref(v, at), at))
		receive = append(receive, build.Assign(build.Ref(v, at), build.Ref(box, at), at))
	}
	if len(send) > 0 && t.Mode == ir.ModeSPMD {
		t.Refuse(at, "mode(spmd)", "the value of "+send[0].Name+" depends on code that only one thread may run",
			"use mode(auto) or mode(broadcast)")
	}
	out := t.sync(x, true, at)
	t.open.solo.Add(x)
	t.guards++
	guard := &ir.If{Cond: build.Compare(ir.Eq, build.Query(ir.ThreadNum, at), build.Int(0, at), at), Then: body, At: at}
	t.Decide(at, "sequential code of the team", "thread 0", "it writes memory that the team shares", "")
	return append(append(out, guard), t.receive(send, receive, at)...)
}

func (t *team) receive(send []*ir.Var, copies []ir.Stmt, at ir.Pos) []ir.Stmt {
	if len(copies) == 0 {
		return nil
	}
	for _, v := range send {
		if !slices.Contains(t.sent, v) {
			t.sent = append(t.sent, v)
		}
		t.Decide(at, "variable "+v.Text(), "broadcast through team memory", "thread 0 computes it and all threads need it", "")
	}
	out := append(t.barrier(at), copies...)
	t.open.all.Add(t.Effects.Stmts(copies))
	return out
}

// asMaster makes the code of one thread.
func asMaster() *ir.Rewrite { return &ir.Rewrite{Expr: forms.MasterExpr, Stmt: undirect} }

// stmt lowers a statement that all threads run: alike, or as the code around parallel constructs,
// or as one of these.
func (t *team) stmt(s ir.Stmt) []ir.Stmt {
	if !forms.IsParallel(s) && !query.JumpsOut(s) {
		x := t.Effects.Stmts([]ir.Stmt{s})
		out := t.sync(x, false, s.Pos())
		t.open.all.Add(x)
		return append(out, asMaster().CopyStmt(s)...)
	}
	switch s := s.(type) {
	case *ir.If:
		return t.branch(s)
	case *ir.Block:
		return t.block(s)
	case *ir.While:
		return t.while(s)
	case *ir.For:
		return t.loop(s)
	case *ir.Construct:
		return t.construct(s)
	case *ir.Break:
		t.jump(s.Label).breaks.add(t.open.clone())
		return []ir.Stmt{s}
	case *ir.Continue:
		t.jump(s.Label).continues.add(t.open.clone())
		return []ir.Stmt{s}
	case *ir.Return:
		return []ir.Stmt{s}
	case *ir.Barrier:
		return nil // the team's code is one thread's: it does not wait
	}
	panic("gompss: bug: no lowering of this statement of a team")
}

// condition returns what all threads test: the condition itself, or what thread 0 found.
func (t *team) condition(cond ir.Expr, at ir.Pos) ([]ir.Stmt, ir.Expr) {
	if t.Mode != ir.ModeBroadcast {
		return t.reads(at, cond), forms.MasterOf(cond)
	}
	v := t.conds[cond] // lowering a loop again must find the same memory, or it would never settle
	if v == nil {
		v = t.Local("cond", ir.BoolType, at)
		t.conds[cond] = v
		t.needed[v] = true
	}
	out := []ir.Stmt{build.Decl(v, nil, at)}
	out = append(out, t.alone([]ir.Stmt{build.Assign(build.Ref(v, at), cond, at)})...)
	return out, build.Ref(v, at)
}

func (t *team) branch(s *ir.If) []ir.Stmt {
	t.depth++
	defer func() { t.depth-- }()
	out, cond := t.condition(s.Cond, s.At)
	before := t.open.clone()
	then := t.list(s.Then)
	after := t.open
	t.open = before
	els := t.list(s.Else)
	t.open.add(after)
	return append(out, &ir.If{Cond: cond, Then: then, Else: els, At: s.At})
}

func (t *team) block(s *ir.Block) []ir.Stmt {
	body := t.list(s.Body)
	if j := t.jumps[s.Label]; s.Label != nil && j != nil {
		t.open.add(j.breaks)
		delete(t.jumps, s.Label)
	}
	return []ir.Stmt{&ir.Block{Label: s.Label, Body: body, At: s.At}}
}

func (t *team) while(s *ir.While) []ir.Stmt {
	out := &ir.While{Label: s.Label, At: s.At}
	t.repeat(s.Label, false, func() {
		out.Pre = t.list(s.Pre)
		if s.Cond != nil {
			pre, cond := t.condition(s.Cond, s.At)
			out.Pre, out.Cond = append(out.Pre, pre...), cond
		}
		out.Body = t.list(s.Body)
		t.open.add(t.jump(s.Label).continues)
		out.Post = t.list(s.Post)
	})
	return []ir.Stmt{out}
}

// loop lowers a loop of the team: one that its threads share out, one that the teams share out, or
// a plain one.
func (t *team) loop(s *ir.For) []ir.Stmt {
	d := s.Directive
	switch {
	case d == nil || d.Parts&^(ir.Simd|ir.Workshare) == 0:
		return t.plainLoop(s)
	case forms.ForThreads(s):
		return t.shareLoop(s)
	case d.Parts&ir.Distribute != 0:
		return t.distribute(s)
	}
	panic("gompss: bug: no lowering of the loop directive " + d.Text)
}

func (t *team) plainLoop(s *ir.For) []ir.Stmt {
	if t.Leads() {
		return t.ledLoop(s)
	}
	out := t.reads(s.At, s.Lo, s.Hi, s.Step)
	loop := &ir.For{Label: s.Label, Var: s.Var, Lo: forms.MasterOf(s.Lo), Hi: forms.MasterOf(s.Hi), Step: forms.MasterOf(s.Step), Rel: s.Rel,
		At: s.At}
	t.repeat(s.Label, false, func() {
		loop.Body = t.list(s.Body)
		t.open.add(t.jump(s.Label).continues)
	})
	return append(out, loop)
}

// construct lowers a construct on a body in the code of a team.
func (t *team) construct(s *ir.Construct) []ir.Stmt {
	d := s.Directive
	switch {
	case d.Parts&ir.Parallel != 0:
		return t.parallel(s)
	case d.Parts&ir.Teams != 0, d.Parts&(ir.Single|ir.Masked) != 0:
		return []ir.Stmt{&ir.Block{Body: t.list(s.Body), At: s.At}}
	}
	panic("gompss: bug: no lowering of the directive " + d.Text)
}
