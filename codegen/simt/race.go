package simt

import (
	"fmt"
	"maps"
	"slices"

	"github.com/gompss/gompss/codegen/ir"
)

// detector finds data races: it remembers for each piece of memory the thread that touched it last,
// and whether that came before what happens now.
//
// Every thread has a clock. A barrier of the team ends a phase: all threads get one clock, above
// all earlier ones, so what the team did before phase is known to all of it. Other knowledge - from
// barriers of fewer threads, and from ordered atomics - is written down in each thread. Plain
// atomics and shuffles order nothing. For each piece the last write and two reads and two atomics
// by different threads are kept; a race with an access that was pushed out by two others is missed,
// which needs three threads and a barrier of fewer than the team.
type detector struct {
	m       *machine
	phase   uint32
	shadows []shadow              // by segment
	sync    map[uint64]*knowledge // what an ordered atomic tells, by address
	seen    map[[2]int32]bool     // pairs of instructions already reported
	lines   map[linePair]bool     // of the source, already reported
	errs    []error
}

// knowledge is what a thread knows of others: of a thread, all up to and with a clock; of a team,
// all before a clock. It is never changed once made.
type knowledge struct {
	threads map[uint32]uint32
	teams   map[uint32]uint32
}

// stamp is one access: thread is its number in the grid plus one, so that the zero stamp is none.
type stamp struct {
	thread, clock uint32
	pc            int32
	writes        bool
}

// cell is the access history of one piece of memory, grain bytes.
type cell struct {
	write   stamp
	reads   [2]stamp
	atomics [2]stamp
}

const pageCells = 256

// shadow is the cells of one segment, in pages made when touched.
type shadow map[int64]*[pageCells]cell

func newDetector(m *machine) *detector {
	d := &detector{m: m, shadows: make([]shadow, len(m.segments)), sync: map[uint64]*knowledge{}, seen: map[[2]int32]bool{}, lines: map[linePair]bool{}}
	for i := range d.shadows {
		d.shadows[i] = shadow{}
	}
	return d
}

func (d *detector) startTeam() {
	d.phase = 1
	clear(d.shadows[teamSegment])
}

// number is that of the running thread in the grid.
func (d *detector) number(t *thread) uint32 { return uint32(d.m.team*d.m.grid.Threads + t.id) }

func (d *detector) now(pc int, writes bool) stamp {
	t := d.m.current
	return stamp{thread: d.number(t) + 1, clock: t.clock, pc: int32(pc), writes: writes}
}

// before reports whether access s comes before what the running thread does now.
func (d *detector) before(s stamp) bool {
	t := d.m.current
	n, width := s.thread-1, uint32(d.m.grid.Threads)
	switch {
	case s.thread == 0 || n == d.number(t):
		return true
	case n/width == uint32(d.m.team) && s.clock < d.phase:
		return true
	case t.known == nil:
		return false
	}
	return t.known.threads[n] >= s.clock || t.known.teams[n/width] > s.clock
}

// cells calls f for the cells of size bytes at p; memory of the thread's own has none.
func (d *detector) cells(p uint64, size int64, f func(c *cell, off int64)) {
	segment := int64(p >> segmentShift)
	if segment == privateSegment {
		return
	}
	grain, off := d.m.code.grain, int64(p&offsetMask)
	for i := off / grain; i*grain < off+size; i++ {
		page := d.shadows[segment][i/pageCells]
		if page == nil {
			page = new([pageCells]cell)
			d.shadows[segment][i/pageCells] = page
		}
		f(&page[i%pageCells], i*grain)
	}
}

func (d *detector) read(p uint64, size int64, pc int) {
	if p>>segmentShift == privateSegment {
		return
	}
	s := d.now(pc, false)
	d.cells(p, size, func(c *cell, off int64) {
		if p>>segmentShift == teamSegment && c.write.thread == 0 && c.atomics[0].thread == 0 && !d.m.code.isPadding(off) {
			d.unset(pc)
		}
		d.against(c.write, s, p, off)
		for _, a := range c.atomics {
			if a.writes {
				d.against(a, s, p, off)
			}
		}
		d.keep(&c.reads, s)
	})
}

func (d *detector) write(p uint64, size int64, pc int) {
	if p>>segmentShift == privateSegment {
		return
	}
	s := d.now(pc, true)
	d.cells(p, size, func(c *cell, off int64) {
		d.against(c.write, s, p, off)
		for i := range c.reads {
			d.against(c.reads[i], s, p, off)
			d.against(c.atomics[i], s, p, off)
		}
		c.write = s
	})
}

func (d *detector) atomic(p uint64, size int64, pc int, writes, ordered bool) {
	s := d.now(pc, writes)
	d.cells(p, size, func(c *cell, off int64) {
		if p>>segmentShift == teamSegment && c.write.thread == 0 && c.atomics[0].thread == 0 &&
			d.m.code.atomics[d.m.code.ins[pc].imm].Kind != ir.AtomicWrite {
			d.unset(pc)
		}
		d.against(c.write, s, p, off)
		if writes {
			d.against(c.reads[0], s, p, off)
			d.against(c.reads[1], s, p, off)
		}
		d.keep(&c.atomics, s)
	})
	if ordered {
		d.order(p)
	}
}

// keep remembers s, for preference in place of an access that came before it.
func (d *detector) keep(list *[2]stamp, s stamp) {
	if d.before(list[0]) {
		list[0] = s
	} else {
		list[1] = s
	}
}

// order makes the running thread learn what earlier ordered atomics at p told, and tell what it
// knows.
func (d *detector) order(p uint64) {
	t := d.m.current
	k := newKnowledge(t.known, d.sync[p])
	t.known = k
	told := newKnowledge(k)
	told.threads[d.number(t)] = t.clock
	told.teams[uint32(d.m.team)] = d.phase
	d.sync[p] = told
	t.clock++
}

func newKnowledge(of ...*knowledge) *knowledge {
	k := &knowledge{threads: map[uint32]uint32{}, teams: map[uint32]uint32{}}
	for _, o := range of {
		if o != nil {
			join(k.threads, o.threads)
			join(k.teams, o.teams)
		}
	}
	return k
}

func join(to, from map[uint32]uint32) {
	for n, c := range from {
		to[n] = max(to[n], c)
	}
}

// meet makes the threads of list, which have met, know what each of them knows.
func (d *detector) meet(list []*thread) {
	k := &knowledge{threads: map[uint32]uint32{}, teams: map[uint32]uint32{}}
	var last *knowledge
	for _, t := range list {
		if t.known != nil && t.known != last { // lanes that have met before share one
			join(k.threads, t.known.threads)
			join(k.teams, t.known.teams)
			last = t.known
		}
		k.threads[d.number(t)] = t.clock
	}
	for _, t := range list {
		t.known = k
		t.clock++
	}
}

// teamBarrier begins a new phase.
func (d *detector) teamBarrier(list []*thread) {
	d.m.current = list[0]
	d.meet(list)
	k := list[0].known
	first := d.number(list[0])
	maps.DeleteFunc(k.threads, func(n, _ uint32) bool { return n >= first && n < first+uint32(len(list)) })
	if len(k.threads) == 0 && len(k.teams) == 0 {
		k = nil
	}
	for _, t := range list {
		d.phase = max(d.phase, t.clock)
	}
	for _, t := range list {
		t.known, t.clock = k, d.phase
	}
}

// against reports a race unless the earlier access came before the one now.
func (d *detector) against(earlier, now stamp, p uint64, off int64) {
	if d.before(earlier) || len(d.errs) >= maxErrors {
		return
	}
	pair := [2]int32{min(earlier.pc, now.pc), max(earlier.pc, now.pc)}
	if d.seen[pair] {
		return
	}
	d.seen[pair] = true
	e := &RaceError{Kernel: d.m.program.Name, Launch: d.m.code.launch.Name, Memory: d.m.names[p>>segmentShift], Offset: off,
		First: d.access(earlier), Second: d.access(now)}
	param, element := d.element(p, off, now, earlier)
	e.Element = element
	lines := pairOf(param, e.First.At, e.Second.At)
	if d.lines[lines] {
		return
	}
	d.lines[lines] = true
	d.errs = append(d.errs, e)
}

// A linePair is two lines that race for the memory of a parameter, in order: the lowering may make
// several instructions of one access.
type linePair struct {
	param string
	lines [2]ir.Pos
}

func pairOf(param string, a, b ir.Pos) linePair {
	a.Col, b.Col = 0, 0
	if b.File < a.File || b.File == a.File && b.Line < a.Line {
		a, b = b, a
	}
	return linePair{param, [2]ir.Pos{a, b}}
}

// element returns the parameter that byte off of p's segment belongs to, and its element there, as
// "x[3]" or "*s"; of parameters that overlap, the one that an access names. Both are "" in other
// memory.
func (d *detector) element(p uint64, off int64, accesses ...stamp) (param, element string) {
	at := pointer(int64(p>>segmentShift), off)
	for i, v := range d.m.program.Params {
		if v.Type.Kind != ir.Slice && v.Type.Kind != ir.Pointer || d.m.bases[i] == 0 || v.Type.Elem.Size == 0 {
			continue
		}
		size, n := uint64(v.Type.Elem.Size), uint64(d.m.args[i].Cap)
		if v.Type.Kind == ir.Pointer {
			n = 1
		}
		if at < d.m.bases[i] || at >= d.m.bases[i]+n*size {
			continue
		}
		named := slices.ContainsFunc(accesses, func(s stamp) bool { return baseOf(d.m.code.site[s.pc]) == v })
		if param != "" && !named {
			continue
		}
		param, element = v.Name, fmt.Sprintf("%s[%d]", v.Name, (at-d.m.bases[i])/size)
		if v.Type.Kind == ir.Pointer {
			element = "*" + v.Name
		}
		if named {
			break
		}
	}
	return param, element
}

// baseOf returns the variable that place e is in, or that refers to its memory, nil for none.
func baseOf(e ir.Expr) *ir.Var {
	switch e := e.(type) {
	case *ir.Ref:
		return e.Var
	case *ir.Deref:
		return baseOf(e.X)
	case *ir.Member:
		return baseOf(e.X)
	case *ir.Index:
		return baseOf(e.X)
	}
	return nil
}

func (d *detector) access(s stamp) Access {
	pc, n := s.pc, int(s.thread-1)
	a := Access{At: d.m.code.at[pc], Team: n / d.m.grid.Threads, Thread: n % d.m.grid.Threads, Write: s.writes,
		Atomic: d.m.code.ins[pc].op == opAtomic}
	if e := d.m.code.site[pc]; e != nil {
		a.Place = ir.Source(e)
	}
	return a
}

// unset reports a read of team memory that was not written.
func (d *detector) unset(pc int) {
	pair := [2]int32{int32(pc), -1}
	if d.seen[pair] || len(d.errs) >= maxErrors {
		return
	}
	d.seen[pair] = true
	e := &UnsetError{Where: d.m.where(d.m.current, pc)}
	if x := d.m.code.site[pc]; x != nil {
		e.Place = ir.Source(x)
	}
	d.errs = append(d.errs, e)
}
