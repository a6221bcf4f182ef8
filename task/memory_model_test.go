package task_test

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
	"unsafe"

	"github.com/stretchr/testify/require"

	"github.com/gompss/gompss/deps"
	"github.com/gompss/gompss/sched"
	"github.com/gompss/gompss/task"
)

// This file is random programs over memory as programs have it: slices of slices, fields of
// structs, memory of Alloc, what is registered, given back, collected and made anew. What a program
// does is done at once to a second copy of the data. The copies must agree wherever the program may
// look, and what the documentation calls an error must be one.

//go:embed memory_kernels_test.go
var memorySource string

type memoryKernels struct {
	fill, mix, sum, atomic, shuffle, lens, pointer, view, divide *task.Kernel
}

func loadMemoryKernels(t testing.TB) memoryKernels {
	own := func(fn any) *task.Kernel {
		k, err := task.NewKernel(fn, task.SourceFile{Name: "memory_kernels_test.go", Text: memorySource})
		require.NoError(t, err)
		require.NoError(t, k.Refused())
		return k
	}
	return memoryKernels{kernelOf(t, Fill), kernelOf(t, Mix), kernelOf(t, ModelSum), kernelOf(t, ModelAtomic), kernelOf(t, Shuffle),
		own(MemLens), own(MemPointer), own(MemView), own(MemDivide)}
}

// A memArray is memory and what the interpreter has in its place. The slices by element say what
// the program may do with it.
type memArray struct {
	id        int
	kind      memKind
	got, want []uint32
	undefined []bool // a task that failed or was skipped should have written it
	used      []bool // by a task
	// writer and reader name the tasks since the program could look at the element last, and change
	// it: no group, one, or several.
	writer, reader []int
	freed          bool
	growths        int
	uncertain      bool // which elements the runtime knows is not known
}

const (
	noGroup = 0
	several = -1 // or a task in no group
)

func noteUser(of *int, group int) {
	if group == 0 || *of != noGroup && *of != group {
		group = several
	}
	*of = group
}

type memKind uint8

const (
	ordinary memKind = iota
	allocated
	ofStruct
	memKinds
)

type memFields struct {
	A [60]uint32
	B [100]uint32
	N uint32
	C [40]uint32
}

// sliceOfFields returns the fields as one slice.
func sliceOfFields(f *memFields) []uint32 { return unsafe.Slice(&f.A[0], unsafe.Sizeof(*f)/4) }

// bytesOf returns x as elements of another size.
func bytesOf(x []uint32) []byte { return unsafe.Slice((*byte)(unsafe.Pointer(&x[0])), 4*len(x)) }

// reachingBeyond returns a slice that begins in x and reaches beyond its end.
func reachingBeyond(x []uint32) []uint32 { return unsafe.Slice(&x[len(x)-1], 2000) }

// A memAct is a task: what it accesses, and how it is submitted. do is its work on a copy of the
// data.
type memAct struct {
	name   string
	accs   []area
	do     func(x func(a *memArray) []uint32)
	submit func(at task.Submitter) (task.Task, error)
	fails  error     // nil where it does not
	names  *memArray // of which it uses no element, nil for none
}

// A memTask is a task that was submitted, and how it ends.
type memTask struct {
	t    task.Task
	want error
	line int // of the text
}

// A memGroup is an open group.
type memGroup struct {
	id              int
	g               *task.Group
	failed, skipped int
	untold          struct{ failed, skipped int } // by a wait for all
	wrote           []area
}

// A memIteration is a recorded iteration.
type memIteration struct {
	it    *task.Iteration
	acts  []memAct
	build func(r *task.Recorder) error
	k     *task.Arg[uint32] // nil without: of the first step, as x is
	x     *task.Arg[[]uint32]
	n     int
	last  *memArray // that x has named
	grown int       // how often the arrays had grown before the last replay
}

// growths returns how often the arrays of it have grown.
func (m *memRun) growths(it *memIteration) (n int) {
	for _, act := range it.acts {
		for _, c := range act.accs {
			n += m.all[c.buf].growths
		}
	}
	return n
}

// A memRun is one program.
type memRun struct {
	rt, other *task.Runtime
	foreign   []uint32 // memory of other
	ks        memoryKernels
	rng       *rand.Rand
	calm      bool // nothing fails
	arrays    []*memArray
	all       []*memArray // by id, nil when it is gone
	groups    []*memGroup
	nextGroup int
	its       []*memIteration
	tasks     []memTask // since the last wait for all
	world     world     // of the interpreter: failures
	total     struct{ failed, skipped int }
	uncounted bool // a task was cancelled with some of its children
	classes   map[string]int
	text      []string
	bad       atomic.Pointer[error]
}

// memoryClasses are the things that programs do; every one is done in the short test.
var memoryClasses = strings.Fields(`
	part whole part-of-part capped-part overlapping same-slice-twice grows struct-field
	alloc free free-with-tasks-in-flight use-after-free register register-part unregister unregister-part collect drop
	lengths-only lengths-of-itself empty-slice nil-slice nil-pointer nil-pointer-used pointer view nested local-memory reduction concurrent commutative
	record replay replay-in-group replay-or-record replay-of-grown replay-of-freed replay-of-unregistered replay-other-memory
	group keep-on-device read-only wait wait-on wait-on-and-write wait-on-unused wait-on-failed group-write program-writes program-reads
	fails kernel-fails skipped cancelled submit-after-cancel bounds foreign not-the-beginning wrong-elements overlaps-alloc failed-then-unregister`)

func (m *memRun) class(names ...string) {
	for _, n := range names {
		m.classes[n]++
	}
}

func (m *memRun) note(format string, args ...any) {
	m.text = append(m.text, fmt.Sprintf(format, args...))
}

func (m *memRun) lines() string {
	var b strings.Builder
	for i, text := range m.text {
		fmt.Fprintf(&b, "%d: %s\n", i+1, text)
	}
	return b.String()
}

func runMemory(ks memoryKernels, seed uint64, classes map[string]int) (err error) {
	rng := rand.New(rand.NewPCG(seed, 16))
	policies := sched.Policies()
	o := task.Options{
		Devices: modelMachine(rng),
		Policy:  policies[rng.IntN(len(policies))],
		Seed:    seed,
		Window:  []int{0, 1, 3, 16}[rng.IntN(4)],
		Vector:  []string{task.VectorAuto, task.VectorOff}[rng.IntN(2)],
	}
	o.Machine.WriteThrough = rng.IntN(4) == 0
	m := &memRun{ks: ks, rng: rng, calm: rng.IntN(2) == 0, classes: classes}
	defer func() {
		if err != nil {
			err = fmt.Errorf("seed %d (%s, %s, window %d, vector %s): %w\n%s", seed, o.Devices, o.Policy, o.Window, o.Vector, err, m.lines())
		}
	}()
	if m.rt, err = task.New(o); err != nil {
		return err
	}
	if m.other, err = task.New(task.Options{Devices: "smp:1"}); err == nil {
		m.foreign, err = task.Alloc[uint32](m.other, 50)
		if err == nil {
			err = m.steps(20 + rng.IntN(60))
		}
		err = errors.Join(err, m.other.Close())
	}
	closed := m.rt.Close()
	if errors.Is(err, errReused) {
		return nil
	}
	return errors.Join(err, closed)
}

func (m *memRun) steps(n int) error {
	for range 2 + m.rng.IntN(3) {
		if err := m.make(); err != nil {
			return err
		}
	}
	for range n {
		if err := m.step(); err != nil {
			return err
		}
		if p := m.bad.Load(); p != nil {
			return *p
		}
	}
	for len(m.groups) > 0 {
		if err := m.waitGroup(); err != nil {
			return err
		}
	}
	if err := m.waitAll(0); err != nil {
		return err
	}
	if p := m.bad.Load(); p != nil {
		return *p
	}
	return m.counts()
}

// counts compares the statistics with what the interpreter has seen.
func (m *memRun) counts() error {
	if err := noneInFlight(m.rt); err != nil {
		return err
	}
	s := m.rt.Stats()
	if !m.uncounted && (s.Failed != int64(m.total.failed) || s.Skipped != int64(m.total.skipped)) {
		return fmt.Errorf("%d tasks failed and %d were skipped, want %d and %d", s.Failed, s.Skipped, m.total.failed, m.total.skipped)
	}
	return nil
}

func (m *memRun) step() error {
	switch p := m.rng.IntN(100); {
	case p < 50:
		return m.task()
	case p < 56:
		return m.waitOn()
	case p < 59:
		return m.waitAll(m.rng.IntN(3))
	case p < 63 && len(m.groups) < 3:
		m.nextGroup++
		m.groups = append(m.groups, &memGroup{id: m.nextGroup, g: task.NewGroup(m.rt)})
		m.class("group")
		m.note("group %d", m.nextGroup)
		return nil
	case p < 66 && len(m.groups) > 0:
		return m.waitGroup()
	case p < 68:
		return m.record()
	case p < 76 && len(m.its) > 0:
		return m.replay()
	case p < 79:
		return m.make()
	case p < 81:
		return m.free()
	case p < 83:
		return m.register()
	case p < 86:
		return m.unregister()
	case p < 88:
		return m.drop()
	case p < 92:
		return m.programWrites()
	case p < 95:
		return m.programReads()
	case p < 97 && !m.calm:
		return m.cancelled()
	}
	return m.wrong()
}

// --- iterations

func (m *memRun) record() error {
	it := &memIteration{}
	for range 1 + m.rng.IntN(4) {
		it.acts = append(it.acts, m.act(true))
	}
	dynamic := m.rng.IntN(2) == 0
	a := m.array()
	lo, hi := m.part(a)
	it.n, it.last = hi-lo, a
	it.build = func(r *task.Recorder) error {
		if dynamic {
			it.k, it.x = task.NewArg(r, uint32(1)), task.NewArg(r, a.got[lo:hi])
			if _, err := m.ks.fill.Submit(r, 0, it.n, it.k, it.x); err != nil {
				return err
			}
		}
		for _, act := range it.acts {
			if _, err := act.submit(r); err != nil {
				return err
			}
		}
		return nil
	}
	m.class("record")
	m.note("record %d, dynamic %v", len(m.its), dynamic)
	for _, act := range it.acts {
		m.note("\t%s %v", act.name, act.accs)
	}
	var err error
	if it.it, err = m.rt.Record(it.build); err != nil {
		return err
	}
	it.grown = m.growths(it)
	m.its = append(m.its, it)
	return nil
}

func (m *memRun) replay() error {
	n := m.rng.IntN(len(m.its))
	it := m.its[n]
	acts := it.acts
	if it.k != nil { // its first step gets other memory
		k, a := m.rng.Uint32(), m.array()
		if len(a.got) < it.n {
			return nil
		}
		lo := m.rng.IntN(len(a.got) - it.n + 1)
		it.k.Set(k)
		it.x.Set(a.got[lo : lo+it.n])
		m.class("replay-other-memory")
		acts = append([]memAct{{name: "fill", accs: []area{a.area(lo, lo+it.n, deps.Out)}, do: func(x func(*memArray) []uint32) { Fill(0, it.n, k, x(a)[lo:lo+it.n]) }}}, acts...)
	}
	at, g := m.place()
	freed := slices.ContainsFunc(acts, func(act memAct) bool {
		return slices.ContainsFunc(act.accs, func(c area) bool { return m.all[c.buf].freed })
	})
	named := slices.ContainsFunc(acts, func(act memAct) bool { return act.names != nil && act.names.freed })
	var err error
	var t task.Task
	whole := memAct{name: fmt.Sprintf("replay %d", n)}
	again := it.k == nil && !freed && m.rng.IntN(3) == 0
	if again {
		at, g = m.rt, nil
		m.class("replay-or-record")
		t, _, err = it.it.ReplayOrRecord(it.build)
	} else if t, err = it.it.ReplayIn(at); g != nil {
		m.class("replay-in-group")
	}
	for _, act := range acts {
		for _, c := range act.accs { // as one task it writes what any step writes, in whatever mode
			if c.mode != deps.In {
				c.mode = deps.InOut
			}
			whole.accs = append(whole.accs, c)
		}
	}
	m.note("replay %d %v, again %v, in group %v: %v", n, whole.accs, again, g != nil, err)
	if err != nil {
		var changed *task.ChangedError
		switch {
		case freed:
			m.class("replay-of-freed")
		case named && (errors.As(err, &changed) || again && strings.Contains(err.Error(), "memory of Alloc")), // a step is refused again
			errors.As(err, &changed) && it.k != nil && it.last.freed: // a Go step may use a buffer of the same number
			m.class("replay-of-freed")
		case errors.As(err, &changed) && !again:
			m.class("replay-of-unregistered")
			if strings.Contains(err.Error(), "Free") {
				return err
			}
		default:
			return fmt.Errorf("replay: %w", err)
		}
		m.its = slices.Delete(m.its, n, n+1)
		return nil
	}
	if freed {
		return errors.New("a replay of what was freed is no error")
	}
	m.class("replay")
	if n := m.growths(it); n > it.grown {
		m.class("replay-of-grown")
	}
	defer func() { it.grown = m.growths(it) }()
	id := 0
	if g != nil {
		id = g.id
		g.wrote = append(g.wrote, whole.accs...)
	}
	if m.world.tainted(whole.accs) {
		m.interpret(whole, g, t)
		return nil
	}
	m.tasks = append(m.tasks, memTask{t, nil, len(m.text)})
	for _, act := range acts {
		m.use(act.accs, id)
		m.finish(act)
	}
	return nil
}

// --- waits

// forget removes the taints of a group that was waited for.
func (m *memRun) forget(group int) {
	m.world.taints = slices.DeleteFunc(m.world.taints, func(s stain) bool { return s.group == group })
}

// toldCounts compares what a wait tells.
func toldCounts(err error, failed, skipped int) error {
	f, s := failures(err)
	if f != failed || s != skipped || err != nil && f+s == 0 {
		return fmt.Errorf("a wait told of %d failures and %d skipped tasks, want %d and %d: %w", f, s, failed, skipped, err)
	}
	return nil
}

func (m *memRun) waitAll(how int) error {
	var options []task.WaitOption
	switch how {
	case 1:
		options = append(options, task.ReadOnly())
		m.class("read-only")
	case 2:
		options = append(options, task.KeepOnDevice())
		m.class("keep-on-device")
	default:
		m.class("wait")
	}
	m.note("wait, how %d", how)
	waited := m.rt.Wait(context.Background(), options...)
	for _, t := range m.tasks {
		if err := t.t.Err(); !errors.Is(err, t.want) || (t.want == nil) != (err == nil) || t.want != task.ErrSkipped && errors.Is(err, task.ErrSkipped) {
			return fmt.Errorf("the task of line %d ended with %v, want %v", t.line, err, t.want)
		}
	}
	m.tasks = nil
	if err := toldCounts(waited, m.world.failed, m.world.skipped); err != nil {
		return err
	}
	m.world.failed, m.world.skipped, m.world.taints = 0, 0, nil
	for _, g := range m.groups {
		g.untold.failed, g.untold.skipped = 0, 0
	}
	for _, a := range m.all {
		if a == nil || a.freed {
			continue
		}
		for i := range a.got {
			switch {
			case how == 0:
				a.writer[i], a.reader[i] = noGroup, noGroup
			case how == 1:
				a.writer[i] = noGroup
				noteAfter(&a.reader[i])
			default:
				noteAfter(&a.writer[i])
				noteAfter(&a.reader[i])
			}
			if a.undefined[i] && how != 2 {
				a.want[i], a.undefined[i] = a.got[i], false
			}
		}
		if err := m.visible(a, 0, len(a.got), "after Wait"); err != nil {
			return err
		}
	}
	return nil
}

// noteAfter makes what a group did before a wait something that no wait of the group brings back.
func noteAfter(of *int) {
	if *of != noGroup {
		*of = several
	}
}

func (m *memRun) waitGroup() error {
	n := m.rng.IntN(len(m.groups))
	g := m.groups[n]
	m.groups = slices.Delete(m.groups, n, n+1)
	how := m.rng.IntN(3)
	options := [][]task.WaitOption{nil, {task.ReadOnly()}, {task.KeepOnDevice()}}[how]
	m.note("wait of group %d, how %d", g.id, how)
	if err := toldCounts(g.g.Wait(context.Background(), options...), g.failed, g.skipped); err != nil {
		return fmt.Errorf("group %d: %w", g.id, err)
	}
	m.forget(g.id)
	m.world.failed -= g.untold.failed
	m.world.skipped -= g.untold.skipped
	for _, c := range g.wrote {
		a := m.all[c.buf]
		if a == nil || a.freed || how == 2 {
			continue
		}
		for i := c.j0; i < c.j1; i++ {
			if a.writer[i] != g.id {
				continue
			}
			a.writer[i] = noGroup
			if how == 0 && a.reader[i] == g.id {
				a.reader[i] = noGroup
				m.class("group-write")
			}
		}
		if err := m.visible(a, c.j0, c.j1, "after the wait of a group"); err != nil {
			return err
		}
	}
	return nil
}

func (m *memRun) waitOn() error {
	a := m.array()
	lo, hi := m.part(a)
	mode := []deps.Mode{deps.In, deps.InOut}[m.rng.IntN(2)]
	x, at := m.named(a, lo, hi)(a.got)
	x = x[at : at+hi-lo]
	option := task.In(x)
	if mode == deps.InOut {
		option = task.InOut(x)
	}
	err := m.rt.WaitOn(context.Background(), option)
	m.note("wait on %v: %v", a.area(lo, hi, mode), err)
	bad := m.world.tainted([]area{a.area(lo, hi, mode)})
	switch used := slices.Contains(a.used[lo:hi], true); {
	case errors.Is(err, task.ErrUnused):
		m.class("wait-on-unused")
		if used && !a.uncertain {
			return fmt.Errorf("tasks have used it: %w", err)
		}
		return nil
	case !used && !a.uncertain:
		return fmt.Errorf("no task has used it, and the wait returned %v", err)
	case !used && err == nil:
		m.note("the wait was let in")
	case bad:
		m.class("wait-on-failed")
		var e *task.Error
		if !errors.As(err, &e) {
			return fmt.Errorf("a wait on what a failed task should have written returned %v", err)
		}
		return nil
	case err != nil:
		return err
	}
	m.class("wait-on")
	for i := lo; i < hi; i++ {
		a.writer[i] = noGroup
		if mode == deps.InOut {
			a.reader[i] = noGroup
		} else {
			a.reader[i] = several // devices keep their copies
		}
	}
	if err := m.visible(a, lo, hi, "after WaitOn"); err != nil {
		return err
	}
	if mode == deps.InOut && m.rng.IntN(2) == 0 {
		m.class("wait-on-and-write")
		m.write(a, lo, hi)
	}
	return nil
}

func (m *memRun) write(a *memArray, lo, hi int) {
	m.note("the program writes %d[%d:%d]", a.id, lo, hi)
	for i := lo; i < hi; i++ {
		a.want[i], a.undefined[i] = m.rng.Uint32(), false
		a.got[i] = a.want[i]
	}
}

// programWrites has the program write what it may.
func (m *memRun) programWrites() error {
	a := m.array()
	lo, hi := m.part(a)
	for lo < hi && !a.idle(lo, lo+1) {
		lo++
	}
	end := lo
	for end < hi && a.idle(end, end+1) {
		end++
	}
	if lo < end {
		m.class("program-writes")
		m.write(a, lo, end)
	}
	return nil
}

func (m *memRun) programReads() error {
	a := m.array()
	m.class("program-reads")
	return m.visible(a, 0, len(a.got), "what the program may read")
}

// --- mistakes

// wrong does what is an error, and changes nothing.
func (m *memRun) wrong() error {
	a := m.array()
	n := len(a.got)
	var err error
	what := []string{"bounds", "foreign", "not-the-beginning", "wrong-elements", "overlaps-alloc"}[m.rng.IntN(5)]
	switch what {
	case "bounds":
		if _, err = m.ks.fill.Submit(m.rt, 0, n+1, uint32(1), a.got); !errors.Is(err, task.ErrBounds) {
			return fmt.Errorf("a region that is too long returned %v", err)
		}
	case "foreign":
		_, err = m.rt.Go(nothing, task.In(m.foreign[5:9]))
	case "not-the-beginning":
		if a.kind != allocated {
			return nil
		}
		err = task.Free(m.rt, a.got[1:])
	case "wrong-elements":
		if !slices.Contains(a.used, true) || a.uncertain {
			return nil
		}
		_, err = m.rt.Go(nothing, task.In(bytesOf(a.got)))
	case "overlaps-alloc":
		if a.kind != allocated {
			return nil
		}
		err = task.Register(m.rt, reachingBeyond(a.got))
	}
	m.class(what)
	m.note("mistake %s on %d: %v", what, a.id, err)
	if err == nil {
		return fmt.Errorf("%s is no error", what)
	}
	return nil
}

// --- the tests

// memorySeeds gives the seeds of a run: n of them, or as many as fit into the time of the variable.
func memorySeeds(t *testing.T, n uint64) func(yield func(uint64) bool) {
	first, end := uint64(1), time.Time{}
	if text := os.Getenv("GOMPSS_RANDOM_MEMORY"); text != "" {
		d, err := time.ParseDuration(text)
		require.NoError(t, err)
		first, end, n = uint64(time.Now().UnixNano())%1_000_000_000, time.Now().Add(d), 1<<62
	}
	if text := os.Getenv("GOMPSS_RANDOM_SEED"); text != "" {
		var err error
		first, err = strconv.ParseUint(text, 10, 64)
		require.NoError(t, err)
	}
	return func(yield func(uint64) bool) {
		ran := uint64(0)
		for ; ran < n && (end.IsZero() || time.Now().Before(end)); ran++ {
			if !yield(first + ran) {
				break
			}
		}
		t.Logf("%d programs from seed %d on", ran, first)
	}
}

// TestRandomMemoryIsAsInterpreted runs random programs of memory. GOMPSS_RANDOM_MEMORY=10m runs
// them for so long, from a seed of the process's own on; GOMPSS_RANDOM_SEED=N begins at seed N.
func TestRandomMemoryIsAsInterpreted(t *testing.T) {
	n := uint64(300)
	if testing.Short() || raceEnabled {
		n = 120
	}
	ks := loadMemoryKernels(t)
	next := make(chan uint64)
	var all sync.WaitGroup
	var mu sync.Mutex
	classes := map[string]int{}
	for range 2 {
		all.Go(func() {
			mine := map[string]int{}
			for seed := range next {
				late := time.AfterFunc(2*time.Minute, func() { panic(fmt.Sprintf("seed %d hangs", seed)) })
				if err := runMemory(ks, seed, mine); err != nil {
					t.Error(err)
				}
				late.Stop()
			}
			mu.Lock()
			defer mu.Unlock()
			for name, count := range mine {
				classes[name] += count
			}
		})
	}
	for seed := range memorySeeds(t, n) {
		if t.Failed() {
			break
		}
		next <- seed
	}
	close(next)
	all.Wait()
	if t.Failed() || os.Getenv("GOMPSS_RANDOM_SEED")+os.Getenv("GOMPSS_RANDOM_MEMORY") != "" {
		return
	}
	for _, name := range memoryClasses {
		require.Positive(t, classes[name], "no program has: %s", name)
	}
	for name := range classes {
		require.Contains(t, memoryClasses, name)
	}
}

func FuzzMemory(f *testing.F) {
	ks := loadMemoryKernels(f)
	for seed := range uint64(3) {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, seed uint64) {
		if err := runMemory(ks, seed, map[string]int{}); err != nil {
			t.Error(err)
		}
	})
}
