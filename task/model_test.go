package task_test

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/gompss/gompss/deps"
	"github.com/gompss/gompss/sched"
	"github.com/gompss/gompss/task"
	"github.com/gompss/gompss/trace/probe"
	"github.com/stretchr/testify/require"
)

var modelSeeds = flag.Int("modelseeds", 5000, "random programs of all modes, nested, failing, to run")

// This file runs random programs of tasks in every mode, nested, in loops, shared by workers, in groups, with waits, failures,
// retries and cancellation, on machines of random speed, and compares them with an interpreter that runs them one after the
// other: same values, same outcome of every task, each run once. Which tasks a cancellation meets is chance, so there the
// interpreter runs behind and is told that, and nothing else: all that follows from it must be as it says.

var (
	errModel  = errors.New("made to fail")
	errCancel = errors.New("cancelled by the model")
)

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
	cancel  context.CancelCauseFunc // of the runtime's context
	meeting sync.Mutex
	waited  []waitedFor // while the interpreter is behind; guarded by meeting
	bad     atomic.Pointer[error]
	weather *weather // nil where devices do not fail
	groups  sync.Map // the groups of the program, which tasks outside of bodies are in
	// used are the elements that were submitted to tasks of the program; relaxed those that tasks outside of groups update in any order
	// since the last wait for all.
	used, relaxed [][]bool
	grows         bool // the buffers begin as parts of their slices
	inOrder       bool // what goroutines beside the program do, it does itself
}

// A modelSetup is how random programs run, where that is not left to their seeds.
type modelSetup struct {
	devices  string // where not empty
	virtual  bool   // the devices have a virtual time
	observer probe.Observer
	stats    func(task.Stats) // of a run that has ended
}

// apply changes o as s says.
func (s *modelSetup) apply(o *task.Options) {
	if s.devices != "" {
		o.Devices = s.devices
	}
	if s.observer != nil {
		o.Observer = s.observer
	}
}

// look looks at a run that has ended.
func (s *modelSetup) look(rt *task.Runtime) {
	if s.stats != nil {
		s.stats(rt.Stats())
	}
}

// outside reports whether at is the program or a group of it, and not the scope of a body.
func (m *modelRun) outside(at task.Submitter) (yes, grouped bool) {
	if _, ok := at.(*task.Runtime); ok {
		return true, false
	}
	_, yes = m.groups.Load(at)
	return yes, yes
}

// note notes the accesses of a task that was submitted.
func (m *modelRun) note(accs []area, at task.Submitter) {
	yes, grouped := m.outside(at)
	if !yes || m.used == nil {
		return
	}
	for _, a := range accs {
		a.each(func(i int) {
			m.used[a.buf][i] = true
			if !grouped && (a.mode == deps.Concurrent || a.mode == deps.Commutative) {
				m.relaxed[a.buf][i] = true
			}
		})
	}
}

// unused reports whether no task of the program has used an element of a.
func (m *modelRun) unused(a area) bool {
	found := false
	a.each(func(i int) { found = found || m.used[a.buf][i] })
	return !found
}

// grouped waits for a group of the program, and compares what its tasks have written, which the wait has brought back.
func (m *modelRun) grouped(s *step, g *task.Group) error {
	var options []task.WaitOption
	if s.reading {
		options = append(options, task.ReadOnly())
	}
	err := g.Wait(context.Background(), options...)
	if yes, _ := m.outside(g); !yes || s.behind || s.inner || m.weather != nil || s.cancel != cancelNothing {
		return err
	}
	m.lookAtAll(s.body, s.id)
	return err
}

// lookAtAll compares what tasks of a group were to write. A task does not itself write what it has a weak access to: its children do,
// if there are any, so that nothing orders the wait of the group after the earlier tasks there.
func (m *modelRun) lookAtAll(steps []step, group int) {
	for i := range steps {
		s := &steps[i]
		switch s.kind {
		case waitAll, waitFor:
			continue
		case groupOf, loopOf:
		default:
			if m.want.outcomes[s.id] == notRun {
				continue
			}
			for _, a := range s.strong() {
				m.lookAt(a, group)
			}
		}
		m.lookAtAll(s.body, group)
	}
}

// lookAt compares what a task of a group was to write with what the host has.
func (m *modelRun) lookAt(a area, group int) {
	if a.mode == deps.In {
		return
	}
	a.each(func(i int) {
		if m.want.undefined[a.buf][i] || m.relaxed[a.buf][i] {
			return
		}
		if got, want := m.x[a.buf][i], m.want.x[a.buf][i]; got != want {
			m.complain("after the wait of group %d element %d of buffer %d is %#x, want %#x", group, i, a.buf, got, want)
		}
	})
}

// A waitedFor is what the wait of a group has returned.
type waitedFor struct {
	group *step
	err   error
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
		run := m.one
		if s.cancel == cancelNothing {
			m.want.run(steps[i:i+1], &m.wanted, 0)
		} else {
			run = m.cancelled
		}
		if err := run(s, m.rt); err != nil {
			return fmt.Errorf("step %d: %w", i, err)
		}
		if s.kind == waitAll {
			if err := m.compare(); err != nil {
				return fmt.Errorf("step %d: %w", i, err)
			}
		}
	}
	return nil
}

// cancelled runs a group that is cancelled meanwhile, and then the interpreter.
func (m *modelRun) cancelled(s *step, at task.Submitter) error {
	g := task.NewGroup(at)
	m.groups.Store(g, nil)
	var canceller sync.WaitGroup
	cancel := func() {
		delay(s.after)
		if s.cancel == cancelRuntime {
			m.cancel(errCancel)
		} else {
			g.Cancel(errCancel)
		}
	}
	if !m.inOrder {
		canceller.Go(cancel)
	}
	m.waited = nil
	fallBehind(s.body)
	half := 0
	if m.inOrder {
		half = s.after % (len(s.body) + 1)
	}
	err := m.all(s.body[:half], g)
	if m.inOrder {
		cancel()
	}
	if err == nil {
		err = m.all(s.body[half:], g)
	}
	if errors.Is(err, errCancel) {
		err = nil
	}
	program := []step{*s}
	waited := g.Wait(context.Background())
	m.meeting.Lock()
	m.waited = append(m.waited, waitedFor{&program[0], waited})
	list := m.waited
	m.meeting.Unlock()
	canceller.Wait()
	if err != nil {
		return err
	}
	m.want.sees = m.sees
	m.want.run(program, &m.wanted, 0)
	m.want.sees = nil
	for _, w := range list {
		if err := told(w.group, w.err); err != nil {
			return err
		}
	}
	return m.adopt()
}

// fallBehind marks the groups among steps and below.
func fallBehind(steps []step) {
	for i := range steps {
		steps[i].behind = true
		fallBehind(steps[i].body)
	}
}

// sees says what became of a task of a group that was cancelled.
func (m *modelRun) sees(s *step) sight {
	var none task.Task
	h := m.handles[s.id]
	if h == none {
		return notSubmitted
	}
	switch err := h.Err(); {
	case err == nil || errors.Is(err, task.ErrSkipped) && isFirst(err):
	case !errors.Is(err, errCancel) && !s.flaky: // one that has begun is not run again after the cancellation
	case m.ran[s.id].Load() == 0:
		return notBegun
	default:
		return begun
	}
	return asUsual
}

// adopt lets the interpreter continue with what there is where tasks were ended on their way. What depends on an earlier
// failure can be had after the next wait only.
func (m *modelRun) adopt() error {
	for b, undefined := range m.want.undefined {
		for lo := 0; lo < len(undefined); lo++ {
			if !undefined[lo] {
				continue
			}
			row, hi := lo/modelCols, lo+1
			for hi < (row+1)*modelCols && undefined[hi] {
				hi++
			}
			in := area{buf: b, i0: row, i1: row + 1, j0: lo % modelCols, j1: hi - row*modelCols, mode: deps.In}
			if err := m.adoptRun(in); err != nil {
				return err
			}
			lo = hi - 1
		}
	}
	return nil
}

// adoptRun is adopt for some neighbours. An earlier failure that keeps some of them back says nothing of the others: those are had
// apart, as the program may look at them.
func (m *modelRun) adoptRun(in area) error {
	err := m.rt.WaitOn(context.Background(), m.option(in))
	if errors.Is(err, task.ErrUnused) && (m.used == nil || m.unused(in)) {
		err = nil // they are as they were
	}
	if errors.Is(err, task.ErrSkipped) {
		if in.j1-in.j0 == 1 {
			return nil
		}
		left, right := in, in
		left.j1 = in.j0 + (in.j1-in.j0)/2
		right.j0 = left.j1
		if err := m.adoptRun(left); err != nil {
			return err
		}
		return m.adoptRun(right)
	}
	if err == nil {
		in.each(func(i int) { m.want.x[in.buf][i], m.want.undefined[in.buf][i] = m.x[in.buf][i], false })
	}
	return err
}

func (m *modelRun) compare() error {
	if err := m.adopt(); err != nil {
		return err
	}
	for b := range m.x {
		for i := range m.x[b] {
			if m.x[b][i] != m.want.x[b][i] {
				return fmt.Errorf("element %d of buffer %d is %#x, want %#x", i, b, m.x[b][i], m.want.x[b][i])
			}
		}
	}
	return nil
}

// all runs steps until one cannot be submitted.
func (m *modelRun) all(steps []step, at task.Submitter) error {
	for i := range steps {
		if err := m.one(&steps[i], at); err != nil {
			return err
		}
	}
	return nil
}

func (m *modelRun) one(s *step, at task.Submitter) error {
	switch s.kind {
	case waitAll:
		err := told(s, waitIn(at))
		if yes, _ := m.outside(at); yes {
			for b := range m.relaxed {
				clear(m.relaxed[b])
			}
		}
		return err
	case waitFor:
		return m.waitFor(s, at)
	case groupOf:
		g := task.NewGroup(at)
		if yes, _ := m.outside(at); yes {
			m.groups.Store(g, nil)
		}
		err := m.all(s.body, g)
		waited := m.grouped(s, g)
		if s.behind {
			m.meeting.Lock()
			m.waited = append(m.waited, waitedFor{s, waited})
			m.meeting.Unlock()
			return err
		}
		return errors.Join(err, told(s, waited))
	case loopOf:
		return m.loop(s, at)
	}
	return m.submit(s, at)
}

func waitIn(at task.Submitter) error {
	if s, ok := at.(*task.Scope); ok {
		return s.Wait(context.Background())
	}
	return at.(*task.Runtime).Wait(context.Background())
}

// told compares what a wait has returned with what the interpreter says.
func told(s *step, err error) error {
	var f *task.FailedError
	failed, skipped := 0, 0
	if errors.As(err, &f) {
		failed, skipped = len(f.Failed), f.Skipped
	}
	if failed != s.failed || skipped != s.skipped || (err != nil) != (failed+skipped > 0) {
		return fmt.Errorf("a wait told of %d failures and %d skipped tasks, want %d and %d: %w", failed, skipped, s.failed, s.skipped, err)
	}
	return nil
}

func (m *modelRun) waitFor(s *step, at task.Submitter) error {
	a := s.accs[0]
	if sc, ok := at.(*task.Scope); ok {
		if err := sc.WaitOn(sc.Context(), m.option(a)); (err != nil) != s.bad {
			return fmt.Errorf("wait on %v in a task returned %v", a, err)
		}
		return nil // the interpreter is at the end of the task already, and has not kept what was here
	}
	err := m.rt.WaitOn(context.Background(), m.option(a))
	if m.unused(a) {
		if !errors.Is(err, task.ErrUnused) {
			return fmt.Errorf("wait on %v, which no task has used, returned %v", a, err)
		}
		return nil
	}
	if m.weather != nil {
		s.seen = &looked{err: err}
		if err == nil {
			a.each(func(i int) { s.seen.values = append(s.seen.values, m.x[a.buf][i]) })
		}
		return nil
	}
	if (err != nil) != s.bad {
		return fmt.Errorf("wait on %v returned %v", a, err)
	}
	if err == nil {
		a.each(func(i int) {
			if m.want.undefined[a.buf][i] {
				m.complain("the wait gave element %d of buffer %d, which adopt had to leave", i, a.buf)
			}
			if m.x[a.buf][i] != m.want.x[a.buf][i] {
				m.complain("after the wait element %d of buffer %d is %#x, want %#x", i, a.buf, m.x[a.buf][i], m.want.x[a.buf][i])
			}
		})
	}
	return nil
}

func (m *modelRun) option(a area) task.Option {
	return m.access(a, m.grows && a.i1-a.i0 == 1)
}

// optionOf is option for an access of s. Kernels in the body of s are given whole slices, so that s uses those, too.
func (m *modelRun) optionOf(s *step, a area) task.Option {
	return m.access(a, m.grows && a.i1-a.i0 == 1 && !hasKernels(s.body))
}

func hasKernels(steps []step) bool {
	return slices.ContainsFunc(steps, func(s step) bool { return s.kernel || hasKernels(s.body) })
}

// access returns the access to a as a box of its slice, or as a part of that, where a is of one row.
func (m *modelRun) access(a area, part bool) task.Option {
	x := m.x[a.buf]
	weak := a.weak
	if part {
		lo, hi := a.i0*modelCols+a.j0, a.i0*modelCols+a.j1
		x = x[lo:hi:hi]
	}
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
	if weak {
		o = o.Weak()
	}
	if part {
		return o
	}
	return o.Box([]int{modelRows, modelCols}, []int{a.i0, a.j0}, []int{a.i1, a.j1})
}

// loop submits a loop; its parts find themselves by where they begin.
func (m *modelRun) loop(s *step, at task.Submitter) error {
	part := func(lo int) *step {
		for i := range s.body {
			if s.body[i].accs[0].j0 == lo {
				return &s.body[i]
			}
		}
		panic(fmt.Sprintf("a loop of %d parts has one that begins at %d", len(s.body), lo))
	}
	how := task.Grain(s.grain)
	if s.number {
		how = task.Tasks(s.grain)
	}
	list, err := task.Taskloop(at, s.accs[0].j0, s.accs[0].j1,
		func(sc *task.Scope, lo, hi int) error { return m.body(part(lo), sc) }, how, task.WithOptions(task.Priority(s.prio)),
		task.PerChunk(func(lo, hi int) (options []task.Option) {
			for _, a := range part(lo).accs {
				options = append(options, m.option(a))
			}
			return options
		}))
	for i, t := range list {
		m.handles[s.body[i].id] = t
		m.note(s.body[i].accs, at)
	}
	if err == nil && len(list) != len(s.body) {
		return fmt.Errorf("a loop became %d tasks, want %d", len(list), len(s.body))
	}
	return err
}

func (m *modelRun) submit(s *step, at task.Submitter) error {
	err := m.submitTask(s, at)
	if err == nil {
		m.note(s.accs, at)
	}
	return err
}

func (m *modelRun) submitTask(s *step, at task.Submitter) error {
	options := []task.Option{task.Label(fmt.Sprint("task ", s.id)), task.Priority(s.prio), task.If(!s.once), task.Final(s.final)}
	if s.tokens > 0 {
		options = append(options, task.Resources("smp", s.tokens))
	}
	if s.early {
		options = append(options, task.EarlyRelease())
	}
	switch {
	case s.flaky && m.weather != nil:
		options = append(options, task.Retry(4)) // some for the devices
	case s.flaky:
		options = append(options, task.Retry(1))
	case s.again > 0:
		options = append(options, task.Retry(s.again))
	}
	var err error
	if s.kernel && s.away {
		options = append(options, task.OnDevice("sim"))
	}
	if s.kernel {
		m.handles[s.id], err = m.submitKernel(s, at, options)
		m.ran[s.id].Store(1)
		return err
	}
	for _, a := range s.accs {
		options = append(options, m.optionOf(s, a))
	}
	if s.kind == wideTask {
		m.handles[s.id], err = task.ParallelFor(at, s.accs[0].j0, s.accs[0].j1, s.grain, func(lo, hi int) error { return m.wide(s, lo, hi) }, options...)
		return err
	}
	body := func(sc *task.Scope) error { return m.body(s, sc) }
	switch at := at.(type) {
	case *task.Runtime:
		m.handles[s.id], err = at.GoScope(body, options...)
	case *task.Scope:
		m.handles[s.id], err = at.GoScope(body, options...)
	case *task.Group:
		m.handles[s.id], err = at.GoScope(body, options...)
	case *task.Recorder:
		err = at.GoScope(body, options...)
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

// wide is the body of a wide task for some of its columns; what is not cut is of the first part.
func (m *modelRun) wide(s *step, lo, hi int) error {
	first := lo == s.accs[0].j0
	if s.fails {
		m.ran[s.id].Store(1) // the first part may be one that does not begin because of another
		return errModel
	}
	if first {
		m.ran[s.id].Add(1)
	}
	delay(int(s.k>>20) % 500)
	k := contribution(s, func(buf int) []uint32 { return m.x[buf] })
	part := s.accs[0]
	part.j0, part.j1 = lo, hi
	apply(part, k, m.x[part.buf])
	for _, a := range s.accs[1:] {
		if first {
			apply(a, k, m.x[a.buf])
		}
	}
	return nil
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
		fulfill := func() {
			delay(500)
			if err := e.Fulfill(nil); err != nil {
				m.complain("event: %w", err)
			}
		}
		if m.inOrder {
			fulfill()
		} else {
			m.events.Go(fulfill)
		}
	}
	err := m.all(s.body, sc)
	if err != nil && !errors.Is(err, errCancel) {
		m.complain("task %d: %w", s.id, err)
	}
	return err
}

// modelMachine is one of those of the graphs, the CPU alone, and accelerators that take their time, each its own.
func modelMachine(rng *rand.Rand) string {
	specs := append([]string{"smp:1", "smp:2", "smp:4"}, graphSpecs...)
	if n := rng.IntN(len(specs) + 3); n < len(specs) {
		return specs[n]
	}
	sim := func() string {
		return fmt.Sprintf("sim(exec=cpu,speed=%dMB/s,bandwidth=%dMB/s,latency=%dus)", 5<<rng.IntN(8), 5<<rng.IntN(8), rng.IntN(40))
	}
	return fmt.Sprintf("smp:%d,%s", 1+rng.IntN(3), sim())
}

// A modelCase is a program, and what it runs on.
type modelCase struct {
	seed    uint64
	setup   modelSetup
	options task.Options
	storm   *weather
	bufs    int
	tasks   int  // ids of tasks are below that
	grows   bool // the buffers begin as parts of their slices
	program []step
	values  [][]uint32 // of the buffers at the beginning
}

// modelOf returns the case of a seed.
func modelOf(seed uint64) *modelCase { return modelOfAs(seed, &modelSetup{}) }

func modelOfAs(seed uint64, setup *modelSetup) *modelCase {
	rng := rand.New(rand.NewPCG(seed, 77))
	policies := sched.Policies()
	c := &modelCase{seed: seed, setup: *setup, bufs: 2, grows: seed%4 == 3}
	c.options = task.Options{
		Devices: modelMachine(rng),
		Policy:  policies[rng.IntN(len(policies))],
		Seed:    seed,
		Window:  []int{0, 1, 3, 16}[rng.IntN(4)],
		Vector:  []string{task.VectorAuto, task.VectorAVX2, task.VectorOff}[rng.IntN(3)],
	}
	setup.apply(&c.options)
	c.storm = newWeather(rng, &c.options, setup.virtual)
	mk := &maker{rng: rng, bufs: c.bufs, faults: rng.IntN(2) == 0, calm: c.storm != nil, links: c.storm == nil}
	var all []area
	for b := range mk.bufs {
		all = append(all, area{buf: b, i1: modelRows, j1: modelCols, mode: deps.InOut})
	}
	c.program, c.tasks = mk.program(all), mk.next
	for range mk.bufs {
		x := make([]uint32, modelRows*modelCols)
		for i := range x {
			x[i] = rng.Uint32()
		}
		c.values = append(c.values, x)
	}
	return c
}

func (c *modelCase) String() string {
	return fmt.Sprintf("seed %d (%s, %s, window %d, vector %s, %s)", c.seed, c.options.Devices, c.options.Policy, c.options.Window, c.options.Vector, c.storm)
}

func runModel(ks modelKernels, seed uint64) error { return modelOf(seed).run(ks) }

// run runs the case, which may be run again.
func (c *modelCase) run(ks modelKernels) error {
	_, err := c.runIn(ks)
	return err
}

// runIn is run; it also returns what the devices have done, nil where they do not fail.
func (c *modelCase) runIn(ks modelKernels) (storm *weather, err error) {
	ctx, cancel := context.WithCancelCause(context.Background())
	defer cancel(nil)
	o := c.options
	o.Context = ctx
	if c.storm != nil {
		storm = &weather{faults: c.storm.faults}
	}
	program := cloneSteps(c.program)
	rt, err := task.New(o)
	if err != nil {
		return storm, err
	}
	m := &modelRun{rt: rt, ks: ks, inOrder: c.setup.virtual, cancel: cancel, want: newInterpreter(c.tasks), handles: make([]task.Task, c.tasks), ran: make([]atomic.Int32, c.tasks), grows: c.grows}
	for b := range c.bufs {
		x := slices.Clone(c.values[b])
		m.want.add(x)
		m.x = append(m.x, x)
		m.used, m.relaxed = append(m.used, make([]bool, len(x))), append(m.relaxed, make([]bool, len(x)))
		if m.grows {
			continue
		}
		if err := task.Register(rt, x); err != nil {
			return storm, err
		}
	}
	if m.weather = storm; storm != nil {
		err = m.inWeather(program)
	} else {
		err = m.top(program)
	}
	m.events.Wait()
	if p := m.bad.Load(); err == nil && p != nil {
		err = *p
	}
	if err == nil && !(storm != nil && storm.loose) {
		err = m.outcomes(program)
	}
	if err == nil {
		err = noneInFlight(rt)
	}
	c.setup.look(rt)
	closed := rt.Close()
	if storm != nil {
		closed = storm.leak(closed)
	}
	if err == nil {
		err = closed
	}
	if err != nil {
		return storm, fmt.Errorf("%v: %w", c, err)
	}
	return storm, nil
}

// noneInFlight returns an error when tasks stay in flight. Who waits for a task is told a moment before it is counted out, and the last
// that a program does may be such a wait.
func noneInFlight(rt *task.Runtime) error {
	began := time.Now()
	for rt.Stats().InFlight != 0 {
		if time.Since(began) > 30*time.Second {
			return fmt.Errorf("%d tasks are in flight after the end", rt.Stats().InFlight)
		}
		time.Sleep(100 * time.Microsecond)
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
		if s.kind != groupOf && s.kind != loopOf {
			if m.want.cut[s.id] {
				if n := m.ran[s.id].Load(); n > 1 && !s.flaky || n > 2 {
					return fmt.Errorf("task %d, which was cancelled, ran %d times", s.id, n)
				}
				continue
			}
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

// TestAdoptLeavesOnlyWhatIsKeptBack has a failed task keep back the last of a row of elements that cannot be known.
func TestAdoptLeavesOnlyWhatIsKeptBack(t *testing.T) {
	rt, err := task.New(task.Options{Devices: "smp:1"})
	require.NoError(t, err)
	defer rt.Close()
	m := &modelRun{rt: rt, want: newInterpreter(0), x: [][]uint32{make([]uint32, modelRows*modelCols)}}
	m.want.add(m.x[0])
	require.NoError(t, task.Register(rt, m.x[0]))
	kept := area{i1: 1, j0: 35, j1: modelCols, mode: deps.Commutative}
	_, err = rt.Go(func() error { return errModel }, m.option(kept))
	require.NoError(t, err)
	for j := range modelCols {
		m.x[0][j], m.want.undefined[0][j] = uint32(j)+1, true
	}
	require.NoError(t, m.adopt())
	for j := range modelCols {
		require.Equal(t, j >= kept.j0, m.want.undefined[0][j], "column %d", j)
		require.Equal(t, j < kept.j0, m.want.x[0][j] == uint32(j)+1, "column %d", j)
	}
	require.ErrorIs(t, rt.Wait(context.Background()), errModel)
	require.NoError(t, m.compare())
	require.NotContains(t, m.want.undefined[0], true)
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
					if *modelShrink {
						small, err := modelOf(seed).shrink(func(c *modelCase) error { return c.fails(ks) })
						t.Errorf("smallest: %v: %v\n%s", small, err, textOf(small.program, "\t"))
					}
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
