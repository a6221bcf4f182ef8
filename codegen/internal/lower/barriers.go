package lower

import (
	"github.com/gompss/gompss/codegen/internal/analysis"
	"github.com/gompss/gompss/codegen/internal/lower/forms"
	"github.com/gompss/gompss/codegen/ir"
	"github.com/gompss/gompss/codegen/ir/build"
)

// barriers decides where the threads of a team synchronise.
type barriers struct {
	*teamLaunch
	open       open
	jumps      map[*ir.Label]*jump
	depth      int // of team loops that may repeat a construct
	iterations int // those of them whose iterations are distributed over the teams
}

// open contains the accesses since the last barrier: by thread 0 alone, and by any thread.
type open struct{ solo, all analysis.Touch }

func (o open) clone() open { return open{o.solo.Clone(), o.all.Clone()} }

func (o *open) add(other open) {
	o.solo.Add(other.solo)
	o.all.Add(other.all)
}

func (o open) within(other open) bool { return o.solo.Within(other.solo) && o.all.Within(other.all) }

// beyondTeam reports whether threads other than thread 0 accessed memory that other teams can
// access.
func (o open) beyondTeam() bool {
	for _, m := range []analysis.Memory{o.all.Reads, o.all.Writes} {
		if m.Kinds != 0 {
			return true
		}
		for v := range m.Vars {
			if v.Space != ir.Team {
				return true
			}
		}
	}
	return false
}

// teamOnly removes accesses to memory that other teams can access too. For memory behind pointers
// it keeps the kinds that occur in team memory.
func (o open) teamOnly(pointedAt uint32) open {
	for _, m := range []*analysis.Memory{&o.solo.Reads, &o.solo.Writes, &o.all.Reads, &o.all.Writes} {
		m.Kinds &= pointedAt
		for v := range m.Vars {
			if v.Space != ir.Team {
				delete(m.Vars, v)
			}
		}
	}
	return o
}

// pointedAt returns the kinds of the scalars in team memory that pointers may refer to.
func pointedAt(t *teamLaunch) (kinds uint32) {
	for v := range t.Shared {
		if v.Space == ir.Team && !t.Effects.Exact[v] {
			kinds |= analysis.KindsOf(v.Type)
		}
	}
	return kinds
}

// jump collects the open accesses at the breaks and continues of one label.
type jump struct{ breaks, continues open }

// sync returns the barrier that is necessary before x, if any. solo is true if only thread 0
// executes x.
func (b *barriers) sync(x analysis.Touch, solo bool, at ir.Pos) []ir.Stmt {
	if b.Leads() {
		return nil // barriers surround each region
	}
	if b.open.all.Conflicts(x) || !solo && b.open.solo.Conflicts(x) {
		return b.barrier(at)
	}
	return nil
}

func (b *barriers) barrier(at ir.Pos) []ir.Stmt {
	b.open = open{}
	return []ir.Stmt{build.Barrier(at)}
}

// reads returns the barrier before expressions that all threads read alike.
func (b *barriers) reads(at ir.Pos, exprs ...ir.Expr) []ir.Stmt {
	var x analysis.Touch
	b.Effects.Exprs(&x, exprs...)
	out := b.sync(x, false, at)
	b.open.all.Add(x)
	return out
}

func (b *barriers) jump(l *ir.Label) *jump {
	if b.jumps[l] == nil {
		b.jumps[l] = &jump{}
	}
	return b.jumps[l]
}

// repeat lowers the body of a loop again until the open accesses at its end are a subset of those
// assumed at its start. The iterations of a distribute loop share only the memory of the team.
func (b *barriers) repeat(label *ir.Label, distribute bool, body func()) {
	b.depth++
	defer func() { b.depth-- }()
	if distribute {
		b.iterations++
		defer func() { b.iterations-- }()
	}
	if b.Leads() {
		body()
		return
	}
	head := b.open.clone()
	for rounds := 0; ; rounds++ {
		if rounds > 100 {
			panic("gompss: bug: the barriers of a loop do not settle")
		}
		b.open = head.clone()
		delete(b.jumps, label)
		body()
		back := b.open.clone()
		if distribute {
			back = back.teamOnly(pointedAt(b.teamLaunch))
		}
		if back.within(head) {
			break
		}
		head.add(back)
	}
	b.open.add(head)
	if label != nil {
		b.open.add(b.jump(label).breaks)
		delete(b.jumps, label)
	}
}

// clear zeroes a team array, distributed over the threads.
func (b *barriers) clear(d *ir.Decl) []ir.Stmt {
	w := b.Effects.Stmts([]ir.Stmt{d})
	out := b.sync(w, false, d.At)
	k := b.Local("k", ir.IntType, d.At)
	elem := d.Var.Type.Elem
	body := clearElem(b.Local, build.Index(build.Ref(d.Var, d.At), build.Ref(k, d.At), d.At), elem, d.At)
	b.open.all.Add(w)
	return append(out, b.Stride(k, build.Int(d.Var.Type.Len, d.At), body, d.At)...)
}

// clearElem sets place, of type elem, to zero, with loops over arrays whose variables local makes.
func clearElem(local func(string, *ir.Type, ir.Pos) *ir.Var, place ir.Expr, elem *ir.Type, at ir.Pos) []ir.Stmt {
	if elem.Kind != ir.Array {
		return []ir.Stmt{build.Assign(place, build.Zero(elem, at), at)}
	}
	j := local("j", ir.IntType, at)
	return []ir.Stmt{&ir.For{Label: &ir.Label{}, Var: j, Lo: build.Int(0, at), Hi: build.Int(elem.Len, at),
		Step: build.Int(1, at), Rel: ir.Lt, Body: clearElem(local, build.Index(place, build.Ref(j, at), at), elem.Elem, at), At: at}}
}

// settled contains the code that computes the number of threads of a construct once: before the
// barrier in front of the construct, or inside.
type settled struct{ ahead, inside []ir.Stmt }

// settle makes every thread compute the number of threads of a construct, and the test for them,
// before a thread writes the variables that these read; if once is set, also if no thread writes
// them. x are the accesses of the construct.
func (b *barriers) settle(x analysis.Touch, once bool, count, only ir.Expr, at ir.Pos) (s settled, n, test ir.Expr) {
	v := b.settleValue(x, "active", count, &s, at)
	if v == nil && once {
		v = b.Local("active", ir.IntType, at)
		s.inside = []ir.Stmt{build.Decl(v, count, at)}
	}
	if v == nil {
		return s, count, only
	}
	return s, build.Ref(v, at), build.Compare(ir.Lt, build.Query(ir.ThreadNum, at), build.Ref(v, at), at)
}

// settleValue makes every thread compute e before a thread writes the variables that e reads. It
// returns nil if no thread writes them.
func (b *barriers) settleValue(x analysis.Touch, name string, e ir.Expr, s *settled, at ir.Pos) *ir.Var {
	var c analysis.Touch
	b.Effects.Exprs(&c, e)
	if !c.Reads.Overlaps(x.Writes) {
		return nil
	}
	v := b.Local(name, e.Type(), at)
	known := []ir.Stmt{build.Decl(v, e, at)}
	if b.Leads() {
		s.inside = append(append(s.inside, known...), b.barrier(at)...)
	} else {
		s.ahead = append(append(s.ahead, b.sync(c, false, at)...), known...)
		b.open.all.Add(c)
	}
	return v
}

// settleChunks returns d with a chunk size that each thread has computed before a thread writes the
// variables that it reads. x are the accesses of the loop.
func (b *barriers) settleChunks(d *ir.Directive, x analysis.Touch, at ir.Pos) (*ir.Directive, settled) {
	c := *d
	var s settled
	for _, e := range []*ir.Expr{&c.Schedule.Chunk, &c.DistSchedule.Chunk} {
		if *e == nil {
			continue
		}
		*e = forms.MasterOf(*e)
		if v := b.settleValue(x, "chunk", *e, &s, at); v != nil {
			*e = build.Ref(v, at)
		}
	}
	return &c, s
}
