package task_test

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/gompss/gompss/deps"
	"github.com/gompss/gompss/sched"
	"github.com/gompss/gompss/task"
)

var modelSeeds = flag.Int("modelseeds", 2000, "random programs of all modes, nested, failing, to run")

// This file runs random programs of tasks in every mode, nested, in groups, with waits, failures and retries, and compares
// them with an interpreter that runs them one after the other: same values, same outcome of every task, each run once.

// A step is one thing that a program, or the body of a task, does.
type step struct {
	kind stepKind
	accs []area
	k    uint32
	body []step // of a nested task, or of a group

	fails  bool
	flaky  bool // fails once, and may be run again
	kernel bool
	tokens int
	once   bool // if(false)
	final  bool
	event  bool
	prio   int

	id   int  // of a task
	data bool // a wait compares what it has waited for
}

type stepKind uint8

const (
	plainTask stepKind = iota
	nestedTask
	groupOf // tasks without reductions, and a wait for them
	waitAll
	waitFor // accs[0]
)

// An area is a box of a matrix with an access mode. A vector is a matrix of one row.
type area struct {
	buf            int
	i0, i1, j0, j1 int
	mode           deps.Mode
	xor            bool // the operator of a reduction, or +
}

const modelRows, modelCols = 6, 40

func (a area) meets(b area) bool {
	return a.buf == b.buf && a.i0 < b.i1 && b.i0 < a.i1 && a.j0 < b.j1 && b.j0 < a.j1
}

// ordered reports whether tasks with these accesses come one after the other.
func (a area) ordered(b area) bool {
	if !a.meets(b) {
		return false
	}
	if a.mode == b.mode && (a.mode == deps.In || a.mode >= deps.Concurrent) {
		return a.mode == deps.Reduction && a.xor != b.xor
	}
	return true
}

func (a area) each(f func(i int)) {
	for i := a.i0; i < a.i1; i++ {
		for j := a.j0; j < a.j1; j++ {
			f(i*modelCols + j)
		}
	}
}

// --- making programs

type maker struct {
	rng    *rand.Rand
	next   int
	bufs   int
	faults bool
}

func (m *maker) steps(n, depth int, inside []area) (out []step) {
	for range n {
		if s, ok := m.step(depth, inside); ok {
			out = append(out, s)
		}
	}
	return out
}

func (m *maker) step(depth int, inside []area) (step, bool) {
	switch p := m.rng.IntN(20); {
	case p < 2:
		return step{kind: waitAll, data: true}, true
	case p < 4:
		a, ok := m.area(inside, []deps.Mode{deps.In, deps.InOut})
		return step{kind: waitFor, accs: []area{a}, data: true}, ok
	case p < 5 && depth > 0:
		g := step{kind: groupOf}
		for range 1 + m.rng.IntN(5) {
			if t, ok := m.task(depth-1, inside, false); ok {
				g.body = append(g.body, t)
			}
		}
		return g, len(g.body) > 0
	}
	return m.task(depth, inside, true)
}

var modelModes = []deps.Mode{deps.In, deps.In, deps.Out, deps.InOut, deps.InOut, deps.Concurrent, deps.Commutative, deps.Commutative, deps.Reduction, deps.Reduction}

func (m *maker) task(depth int, inside []area, reductions bool) (step, bool) {
	modes := modelModes
	if !reductions {
		modes = modes[:len(modes)-2]
	}
	s := step{k: m.rng.Uint32() | 1, id: m.next, prio: m.rng.IntN(3) - 1}
	for range 1 + m.rng.IntN(3) {
		if a, ok := m.area(inside, modes); ok && !meetsAny(s.accs, a) {
			s.accs = append(s.accs, a)
		}
	}
	if len(s.accs) == 0 {
		return s, false
	}
	m.next++
	if m.rng.IntN(8) == 0 {
		s.tokens = 10 + m.rng.IntN(90)
	}
	s.once, s.final = m.rng.IntN(10) == 0, m.rng.IntN(6) == 0
	s.event = m.rng.IntN(12) == 0
	s.kernel = m.isKernel(&s) && !(hasMode(inside, deps.Concurrent) && hasMode(s.accs, deps.Concurrent))
	switch {
	case s.kernel:
	case m.rng.IntN(20) == 0:
		s.flaky = !hasMode(s.accs, deps.Concurrent)
	case m.faults && m.rng.IntN(12) == 0:
		s.fails = true
	case depth > 0 && m.rng.IntN(3) == 0:
		s.kind = nestedTask
		var mine []area
		for _, a := range s.accs {
			if a.mode != deps.Reduction {
				mine = append(mine, a)
			}
		}
		if len(mine) > 0 {
			s.body = m.steps(1+m.rng.IntN(6), depth-1, mine)
		}
	}
	return s, true
}

// isKernel makes s one of the kernels above, if its accesses are those of one.
func (m *maker) isKernel(s *step) bool {
	d := s.accs[0]
	if d.i1-d.i0 != 1 || d.mode == deps.In || d.xor || m.rng.IntN(3) == 0 {
		return false
	}
	if len(s.accs) == 2 {
		return d.mode == deps.InOut && s.accs[1].mode == deps.In && s.accs[1].i1-s.accs[1].i0 == 1
	}
	return len(s.accs) == 1 && d.mode != deps.InOut
}

func meetsAny(list []area, a area) bool {
	for _, b := range list {
		if a.meets(b) {
			return true
		}
	}
	return false
}

func hasMode(list []area, mode deps.Mode) bool {
	for _, a := range list {
		if a.mode == mode {
			return true
		}
	}
	return false
}

// area returns a part of one of inside, in a mode that this permits.
func (m *maker) area(inside []area, modes []deps.Mode) (area, bool) {
	p := inside[m.rng.IntN(len(inside))]
	a := area{buf: p.buf, mode: modes[m.rng.IntN(len(modes))], xor: m.rng.IntN(3) == 0}
	if p.mode == deps.In || p.mode == deps.Concurrent || p.mode == deps.Commutative {
		a.mode = p.mode // what is done in any order must come to the same
	}
	a.xor = a.xor && a.mode == deps.Reduction
	a.i0, a.i1 = m.part(p.i0, p.i1, 2)
	a.j0, a.j1 = m.part(p.j0, p.j1, 5)
	if a.mode == p.mode && !contains(modes, p.mode) {
		return a, false
	}
	return a, true
}

func contains(modes []deps.Mode, mode deps.Mode) bool {
	for _, m := range modes {
		if m == mode {
			return true
		}
	}
	return false
}

// part returns a part of [lo, hi): often one of the same tiles.
func (m *maker) part(lo, hi, tile int) (int, int) {
	switch m.rng.IntN(5) {
	case 0:
		return lo, hi
	case 1, 2:
		a := lo + m.rng.IntN((hi-lo+tile-1)/tile)*tile
		return a, min(hi, a+tile)
	}
	a := lo + m.rng.IntN(hi-lo)
	return a, a + 1 + m.rng.IntN(hi-a)
}

// --- what a task does

// contribution is what a task that reads ins adds or mixes in.
func contribution(s *step, at func(buf int) []uint32) uint32 {
	k := s.k
	for _, a := range s.accs {
		if a.mode == deps.In {
			a.each(func(i int) { k += at(a.buf)[i] })
		}
	}
	return k
}

func apply(a area, k uint32, x []uint32) {
	a.each(func(i int) {
		switch {
		case a.mode == deps.Out:
			x[i] = uint32(i)*2654435761 + k
		case a.mode == deps.InOut:
			x[i] = x[i]*31 + k
		case a.mode == deps.Concurrent:
			atomic.AddUint32(&x[i], k)
		case a.mode == deps.Reduction && a.xor:
			x[i] ^= k
		case a.mode != deps.In:
			x[i] += k
		}
	})
}

// --- the interpreter

type outcome uint8

const (
	notRun outcome = iota
	good
	failed
	skipped
)

type interpreter struct {
	x        [][]uint32
	outcomes []outcome
}

// A world is one nesting level of the interpreter.
type world struct {
	taints []stain
	open   []*pending
	untold int // failures that no wait has told of
}

type stain struct {
	area
	group int // of the task, 0 for none
}

// A pending is a reduction that has not been combined.
type pending struct {
	areas []area
	doing []func()
	buf   int
	xor   bool
}

func (w *world) tainted(accs []area) bool {
	for _, t := range w.taints {
		for _, a := range accs {
			if t.ordered(a) {
				return true
			}
		}
	}
	return false
}

func (w *world) taint(accs []area, group int) {
	for _, a := range accs {
		w.taints = append(w.taints, stain{a, group})
	}
}

// combine ends the reductions that accs meet, all of them with nil.
func (w *world) combine(accs []area) {
	kept := w.open[:0:0]
	for _, p := range w.open {
		hit := accs == nil
		for _, a := range accs {
			for _, b := range p.areas {
				hit = hit || b.ordered(a)
			}
		}
		if !hit {
			kept = append(kept, p)
			continue
		}
		all := make([]area, len(p.areas))
		for i, a := range p.areas {
			a.mode = deps.InOut
			all[i] = a
		}
		if w.tainted(all) {
			w.taint(all, 0)
			w.untold++
			continue
		}
		for _, f := range p.doing {
			f()
		}
	}
	w.open = kept
}

// join adds a reduction access to the open reductions.
func (w *world) join(a area, f func()) {
	mine := &pending{areas: []area{a}, buf: a.buf, xor: a.xor}
	kept := w.open[:0:0]
	for _, p := range w.open {
		if p.buf == a.buf && p.xor == a.xor && meetsAny(p.areas, a) {
			mine.areas = append(mine.areas, p.areas...)
			mine.doing = append(mine.doing, p.doing...)
		} else {
			kept = append(kept, p)
		}
	}
	if f != nil {
		mine.doing = append(mine.doing, f)
	}
	w.open = append(kept, mine)
}

func (in *interpreter) run(steps []step, w *world, group int) {
	for i := range steps {
		s := &steps[i]
		switch s.kind {
		case waitAll:
			w.combine(nil)
			w.taints, w.untold = nil, 0
		case waitFor:
			w.combine(waiting(s.accs))
		case groupOf:
			before := w.untold
			in.run(s.body, w, i+1)
			kept := w.taints[:0:0]
			for _, t := range w.taints {
				if t.group != i+1 {
					kept = append(kept, t)
				}
			}
			w.taints, w.untold = kept, before
		default:
			in.task(s, w, group)
		}
	}
}

func waiting(accs []area) []area {
	out := append([]area(nil), accs...)
	for i := range out {
		if out[i].mode != deps.In {
			out[i].mode = deps.InOut
		}
	}
	return out
}

func (in *interpreter) task(s *step, w *world, group int) {
	w.combine(s.accs)
	result := good
	if w.tainted(s.accs) {
		result = skipped
	} else if s.fails {
		result = failed
	}
	var k uint32
	if result == good {
		k = contribution(s, func(buf int) []uint32 { return in.x[buf] })
		for _, a := range s.accs {
			if a.mode != deps.Reduction {
				apply(a, k, in.x[a.buf])
			}
		}
		if s.kind == nestedTask {
			var inner world
			in.run(s.body, &inner, 0)
			inner.combine(nil)
			if inner.untold > 0 {
				result = failed
			}
		}
	}
	for _, a := range s.accs {
		if a.mode == deps.Reduction {
			var f func()
			if result == good {
				f = func() { apply(a, k, in.x[a.buf]) }
			}
			w.join(a, f)
		}
	}
	in.outcomes[s.id] = result
	if result != good {
		w.taint(s.accs, group)
		w.untold++
	}
}

// --- the runtime

var errModel = errors.New("made to fail")

type modelRun struct {
	rt      *task.Runtime
	ks      modelKernels
	x       [][]uint32
	want    *interpreter // one that runs ahead, step by step, at the top
	wanted  world
	handles []task.Task
	ran     []atomic.Int32
	tokens  atomic.Int64
	events  sync.WaitGroup
	bad     atomic.Pointer[error]
}

type modelKernels struct{ out, inout, add, atomic, sum *task.Kernel }

func (m *modelRun) complain(format string, args ...any) {
	err := fmt.Errorf(format, args...)
	m.bad.CompareAndSwap(nil, &err)
}

// top runs the steps of the program, the interpreter beside it.
func (m *modelRun) top(steps []step) error {
	for i := range steps {
		s := &steps[i]
		m.want.run(steps[i:i+1], &m.wanted, 0)
		err := m.one(s, m.rt)
		if err != nil {
			return fmt.Errorf("step %d: %w", i, err)
		}
		if s.kind == waitAll {
			if err := m.compare(area{}); err != nil {
				return fmt.Errorf("step %d: %w", i, err)
			}
		}
	}
	return nil
}

func (m *modelRun) compare(only area) error {
	for b := range m.x {
		for i := range m.x[b] {
			if m.x[b][i] != m.want.x[b][i] {
				return fmt.Errorf("element %d of buffer %d is %#x, want %#x", i, b, m.x[b][i], m.want.x[b][i])
			}
		}
	}
	return nil
}

func (m *modelRun) one(s *step, at task.Submitter) error {
	switch s.kind {
	case waitAll:
		return m.told(waitIn(at))
	case waitFor:
		if sc, ok := at.(*task.Scope); ok {
			return m.told(sc.WaitOn(sc.Context(), m.option(s.accs[0])))
		}
		bad := m.wanted.tainted(waiting(s.accs))
		err := m.rt.WaitOn(context.Background(), m.option(s.accs[0]))
		if (err != nil) != bad {
			return fmt.Errorf("wait on %v returned %v", s.accs[0], err)
		}
		if err == nil {
			s.accs[0].each(func(i int) {
				b := s.accs[0].buf
				if m.x[b][i] != m.want.x[b][i] {
					m.complain("after the wait element %d of buffer %d is %#x, want %#x", i, b, m.x[b][i], m.want.x[b][i])
				}
			})
		}
		return nil
	case groupOf:
		g := task.NewGroup(at)
		for i := range s.body {
			if err := m.one(&s.body[i], g); err != nil {
				return err
			}
		}
		return m.told(g.Wait())
	}
	return m.submit(s, at)
}

func waitIn(at task.Submitter) error {
	if s, ok := at.(*task.Scope); ok {
		return s.Wait()
	}
	return at.(*task.Runtime).Wait()
}

// told lets only those failures pass that the program has not asked for.
func (m *modelRun) told(err error) error {
	var f *task.FailedError
	if err == nil || errors.Is(err, errModel) || errors.As(err, &f) && len(f.Failed) == 0 {
		return nil
	}
	return err
}

func (m *modelRun) option(a area) task.Option {
	x := m.x[a.buf]
	var o task.Option
	switch {
	case a.mode == deps.In:
		o = task.In(x)
	case a.mode == deps.Out:
		o = task.Out(x)
	case a.mode == deps.InOut:
		o = task.InOut(x)
	case a.mode == deps.Concurrent:
		o = task.Concurrent(x)
	case a.mode == deps.Commutative:
		o = task.Commutative(x)
	case a.xor:
		o = task.Reduce(x, task.Xor[uint32]())
	default:
		o = task.Reduce(x, task.Sum[uint32]())
	}
	return o.Box([]int{modelRows, modelCols}, []int{a.i0, a.j0}, []int{a.i1, a.j1})
}

func (m *modelRun) submit(s *step, at task.Submitter) error {
	options := []task.Option{task.Label(fmt.Sprint("task ", s.id)), task.Priority(s.prio), task.If(!s.once), task.Final(s.final)}
	if s.tokens > 0 {
		options = append(options, task.Resources("smp", s.tokens))
	}
	if s.flaky {
		options = append(options, task.Retry(1))
	}
	var err error
	if s.kernel {
		m.handles[s.id], err = m.submitKernel(s, at, options)
		m.ran[s.id].Store(1)
		return err
	}
	for _, a := range s.accs {
		options = append(options, m.option(a))
	}
	body := func(sc *task.Scope) error { return m.body(s, sc) }
	switch at := at.(type) {
	case *task.Runtime:
		m.handles[s.id], err = at.GoScope(body, options...)
	case *task.Scope:
		m.handles[s.id], err = at.GoScope(body, options...)
	case *task.Group:
		m.handles[s.id], err = at.GoScope(body, options...)
	}
	return err
}

func (m *modelRun) submitKernel(s *step, at task.Submitter, options []task.Option) (task.Task, error) {
	d := s.accs[0]
	x := m.x[d.buf]
	lo, hi := d.i0*modelCols+d.j0, d.i0*modelCols+d.j1
	switch d.mode {
	case deps.Out:
		return m.ks.out.With(options...).Submit(at, lo, hi, s.k, x)
	case deps.InOut:
		f := s.accs[1]
		return m.ks.inout.With(options...).Submit(at, lo, hi, f.i0*modelCols+f.j0, f.i0*modelCols+f.j1, s.k, x, m.x[f.buf])
	case deps.Commutative:
		return m.ks.add.With(options...).Submit(at, lo, hi, s.k, x)
	case deps.Concurrent:
		return m.ks.atomic.With(options...).Submit(at, lo, hi, s.k, x)
	}
	return m.ks.sum.With(options...).Submit(at, lo, hi, s.k, x)
}

func (m *modelRun) body(s *step, sc *task.Scope) error {
	n := m.ran[s.id].Add(1)
	if s.fails {
		return errModel
	}
	if s.flaky && n == 1 {
		for _, a := range s.accs {
			if a.mode != deps.In && a.mode != deps.Reduction {
				a.each(func(i int) { m.x[a.buf][i] = 0xbad })
			}
		}
		return errModel
	}
	if s.tokens > 0 && s.kind == plainTask {
		if m.tokens.Add(int64(s.tokens)) > 100 {
			m.complain("more tokens are out than there are")
		}
		defer m.tokens.Add(-int64(s.tokens))
	}
	delay(int(s.k>>20) % 2000)
	k := contribution(s, func(buf int) []uint32 { return m.x[buf] })
	for _, a := range s.accs {
		x := m.x[a.buf]
		if a.mode == deps.Reduction {
			lo := a.i0*modelCols + a.j0
			own := task.Private(sc, x[lo:(a.i1-1)*modelCols+a.j1])
			whole := make([]uint32, len(x))
			apply(a, k, whole)
			a.each(func(i int) {
				if a.xor {
					own[i-lo] ^= whole[i]
				} else {
					own[i-lo] += whole[i]
				}
			})
			continue
		}
		apply(a, k, x)
	}
	if s.event {
		e, err := sc.Event()
		if err != nil {
			return err
		}
		m.events.Go(func() {
			delay(500)
			if err := e.Happened(nil); err != nil {
				m.complain("event: %w", err)
			}
		})
	}
	for i := range s.body {
		if err := m.one(&s.body[i], sc); err != nil {
			m.complain("task %d: %w", s.id, err)
			return err
		}
	}
	return nil
}

func runModel(ks modelKernels, seed uint64) error {
	rng := rand.New(rand.NewPCG(seed, 77))
	policies := sched.Policies()
	specs := append([]string{"smp:1", "smp:2", "smp:4"}, graphSpecs...)
	o := task.Options{
		Devices: specs[rng.IntN(len(specs))],
		Policy:  policies[rng.IntN(len(policies))],
		Seed:    seed,
		Window:  []int{0, 1, 3, 16}[rng.IntN(4)],
		Vector:  []string{task.VectorAuto, task.VectorOff}[rng.IntN(2)],
	}
	mk := &maker{rng: rng, bufs: 2, faults: rng.IntN(2) == 0}
	var all []area
	for b := range mk.bufs {
		all = append(all, area{buf: b, i1: modelRows, j1: modelCols, mode: deps.InOut})
	}
	program := append(mk.steps(5+rng.IntN(40), rng.IntN(4), all), step{kind: waitAll, data: true})
	rt, err := task.New(o)
	if err != nil {
		return err
	}
	m := &modelRun{rt: rt, ks: ks, want: &interpreter{outcomes: make([]outcome, mk.next)}, handles: make([]task.Task, mk.next), ran: make([]atomic.Int32, mk.next)}
	for range mk.bufs {
		x := make([]uint32, modelRows*modelCols)
		for i := range x {
			x[i] = rng.Uint32()
		}
		m.want.x = append(m.want.x, append([]uint32(nil), x...))
		m.x = append(m.x, x)
		if err := task.Register(rt, x); err != nil {
			return err
		}
	}
	err = m.top(program)
	m.events.Wait()
	if p := m.bad.Load(); err == nil && p != nil {
		err = *p
	}
	if err == nil {
		err = m.outcomes(program)
	}
	if s := rt.Stats(); err == nil && s.InFlight != 0 {
		err = fmt.Errorf("%d tasks are in flight after the end", s.InFlight)
	}
	if closed := rt.Close(); err == nil {
		err = closed
	}
	if err != nil {
		return fmt.Errorf("seed %d (%s, %s, window %d, vector %s): %w", seed, o.Devices, o.Policy, o.Window, o.Vector, err)
	}
	return nil
}

// outcomes compares how every task has ended, and how often it ran.
func (m *modelRun) outcomes(steps []step) error {
	for i := range steps {
		s := &steps[i]
		if s.kind == waitAll || s.kind == waitFor {
			continue
		}
		if s.kind != groupOf {
			got, runs := good, int32(1)
			switch err := m.handles[s.id].Err(); {
			case m.want.outcomes[s.id] == notRun:
				got, runs = notRun, 0 // inside a task that did not run
			case errors.Is(err, task.ErrSkipped) && isFirst(err):
				got, runs = skipped, 0
			case err != nil:
				got = failed
			}
			if s.flaky && got == good {
				runs = 2
			}
			if s.kernel {
				runs = m.ran[s.id].Load()
			}
			if want := m.want.outcomes[s.id]; got != want || m.ran[s.id].Load() != runs {
				return fmt.Errorf("task %d ran %d times and ended %d (%v), want %d times and %d", s.id, m.ran[s.id].Load(), got, m.handles[s.id].Err(), runs, want)
			}
			if m.want.outcomes[s.id] == skipped || m.want.outcomes[s.id] == notRun {
				continue
			}
		}
		if err := m.outcomes(s.body); err != nil {
			return err
		}
	}
	return nil
}

// isFirst reports whether the task itself was skipped, and not one inside it.
func isFirst(err error) bool {
	var e *task.Error
	if !errors.As(err, &e) {
		return false
	}
	_, ok := e.Cause.(*task.SkippedError)
	return ok
}

func loadModelKernels(t testing.TB) modelKernels {
	return modelKernels{kernelOf(t, Fill), kernelOf(t, ModelInOut), kernelOf(t, Shuffle), kernelOf(t, ModelAtomic), kernelOf(t, ModelSum)}
}

func TestRandomProgramsAreAsInterpreted(t *testing.T) {
	n := *modelSeeds
	if testing.Short() || raceEnabled {
		n = min(n, 150)
	}
	ks := loadModelKernels(t)
	next := make(chan uint64)
	var all sync.WaitGroup
	for range 2 {
		all.Go(func() {
			for seed := range next {
				late := time.AfterFunc(time.Minute, func() { panic(fmt.Sprintf("seed %d hangs", seed)) })
				err := runModel(ks, seed)
				late.Stop()
				if err != nil {
					t.Error(err)
				}
			}
		})
	}
	for i := range n {
		if t.Failed() {
			break
		}
		next <- *firstSeed + uint64(i)
	}
	close(next)
	all.Wait()
}

func FuzzPrograms(f *testing.F) {
	ks := loadModelKernels(f)
	for seed := range uint64(3) {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, seed uint64) {
		if err := runModel(ks, seed); err != nil {
			t.Error(err)
		}
	})
}
