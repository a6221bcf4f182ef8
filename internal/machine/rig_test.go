package machine_test

import (
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/gompss/gompss/deps"
	"github.com/gompss/gompss/devices"
	"github.com/gompss/gompss/devices/sim"
	_ "github.com/gompss/gompss/devices/smp"
	"github.com/gompss/gompss/internal/machine"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const elem = 8 // bytes: buffers of these tests hold int64

// A rig is a machine with buffers and the smallest runtime that can use it: jobs in the order of a
// deps.Domain.
type rig struct {
	failing sync.Mutex // guards poison of all jobs
	t       testing.TB
	m       *machine.Machine
	buffers [][]int64
	domain  deps.Domain

	jobs sync.WaitGroup
	list []*job

	starts   int // byLaunch, byStart or byBatch
	launched atomic.Int64
}

// A job is one task: its body gets each buffer as the place where it runs sees it.
type job struct {
	rig      *rig
	id       int64
	node     deps.Node
	set      machine.WorkingSet
	accesses []deps.Access
	space    devices.SpaceID
	body     func(see func(b deps.BufferID) []int64)
	err      error
	poison   error
}

var errSkipped = errors.New("skipped")

func newRig(t testing.TB, spec string, o sim.Options, more ...func(*machine.Options)) *rig {
	t.Helper()
	options := machine.Options{ByKind: map[devices.Kind]any{sim.Kind: o}}
	for _, f := range more {
		f(&options)
	}
	m, err := machine.Open(spec, options)
	require.NoError(t, err)
	r := &rig{t: t, m: m}
	t.Cleanup(func() { require.NoError(t, m.Close()) })
	return r
}

// buffer adds a buffer of n elements.
func (r *rig) buffer(n int64) deps.BufferID {
	r.t.Helper()
	b := deps.BufferID(len(r.buffers))
	x := make([]int64, n)
	r.buffers = append(r.buffers, x)
	require.NoError(r.t, r.m.AddBuffer(b, pointer(x), deps.Bytes(n)*elem, elem))
	return b
}

// filled adds a buffer of n elements that holds 0, 1, 2, ...
func (r *rig) filled(n int64) deps.BufferID {
	b := r.buffer(n)
	for i := range r.buffers[b] {
		r.buffers[b][i] = int64(i)
	}
	return b
}

// acc is the space of accelerator i.
func acc(i int) devices.SpaceID { return devices.SpaceID{Device: uint16(i + 1)} }

func in(r deps.Region) deps.Access    { return deps.Access{Region: r, Mode: deps.In} }
func out(r deps.Region) deps.Access   { return deps.Access{Region: r, Mode: deps.Out} }
func inout(r deps.Region) deps.Access { return deps.Access{Region: r, Mode: deps.InOut} }

// submit starts a job behind those before it that it conflicts with. Only one goroutine submits.
func (r *rig) submit(space devices.SpaceID, accesses []deps.Access, body func(see func(deps.BufferID) []int64)) *job {
	j := &job{rig: r, id: int64(len(r.list) + 1), accesses: accesses, space: space, body: body}
	j.node.Owner = j
	r.list = append(r.list, j)
	r.jobs.Add(1)
	if r.domain.Submit(&j.node, accesses) {
		several := starts{}
		j.start(several)
		several.start(r.m)
	}
	return j
}

// start starts j, or adds it to those that start together.
func (j *job) start(several starts) {
	if j.poison != nil {
		j.err = fmt.Errorf("%w: %w", errSkipped, j.poison)
		j.end()
		return
	}
	j.set = machine.WorkingSet{Accesses: j.accesses, Space: j.space, Label: fmt.Sprintf("job %d", j.id), Owner: j}
	if j.space == devices.Host {
		j.set.Ready = func(_ *machine.WorkingSet, err error) { go j.onHost(err) }
		if j.rig.m.Acquire(&j.set) {
			go j.onHost(nil)
		}
		return
	}
	j.set.Done = func(_ *machine.WorkingSet, err error) {
		j.err = err
		j.rig.m.ReleaseSet(&j.set, err)
		j.end()
	}
	l := &devices.Launch{
		Kernel: &devices.Kernel{Name: j.set.Label, Go: func(a *devices.Args) { j.body(j.rig.seer(a.At)) }},
		Args:   &devices.Args{},
	}
	switch j.rig.starts {
	case byLaunch:
		j.rig.m.Acquire(&j.set)
		j.rig.m.Launch(&j.set, l)
	case byStart:
		j.set.Launched = func(*machine.WorkingSet) { j.rig.launched.Add(1) }
		j.rig.m.Start(&j.set, l)
	case byBatch:
		j.set.Launched = func(*machine.WorkingSet) { j.rig.launched.Add(1) }
		several.add(machine.BatchItem{Set: &j.set, Launch: l})
	}
}

// How jobs are started on accelerators.
const (
	byLaunch = iota // Acquire and Launch
	byStart
	byBatch // StartBatch
)

// starts are working sets that are ready together, by accelerator.
type starts map[devices.SpaceID][]machine.BatchItem

func (s starts) add(one machine.BatchItem) { s[one.Set.Space] = append(s[one.Set.Space], one) }

func (s starts) start(m *machine.Machine) {
	for _, list := range s {
		for part := range slices.Chunk(list, machine.MaxBatch) {
			m.StartBatch(part)
		}
	}
}

func (j *job) onHost(err error) {
	if j.err = err; err == nil {
		j.body(j.rig.seer(j.rig.m.HostAt))
	}
	j.rig.m.ReleaseSet(&j.set, err)
	j.end()
}

// seer turns addresses into slices.
func (r *rig) seer(at func(deps.BufferID) unsafe.Pointer) func(deps.BufferID) []int64 {
	return func(b deps.BufferID) []int64 { return unsafe.Slice((*int64)(at(b)), len(r.buffers[b])) }
}

// end completes a job and starts its successors.
func (j *job) end() {
	var ready []*job
	j.rig.domain.Complete(&j.node, func(n *deps.Node, isReady bool) {
		s := n.Owner.(*job)
		if j.err != nil { // several predecessors may fail at once
			j.rig.failing.Lock()
			if s.poison == nil {
				s.poison = j.err
			}
			j.rig.failing.Unlock()
		}
		if isReady {
			ready = append(ready, s)
		}
	})
	several := starts{}
	for _, s := range ready {
		s.start(several)
	}
	several.start(j.rig.m)
	j.rig.jobs.Done()
}

// wait waits for all jobs, and returns their errors.
func (r *rig) wait() error {
	r.jobs.Wait()
	r.m.WaitForTransfers()
	var errs []error
	for _, j := range r.list {
		if j.err != nil && !errors.Is(j.err, errSkipped) {
			errs = append(errs, j.err)
		}
	}
	return errors.Join(errs...)
}

// fetch makes all buffers valid on the host.
func (r *rig) fetch() error {
	var all []deps.Access
	for b := range r.buffers {
		all = append(all, in(r.whole(deps.BufferID(b))))
	}
	done := make(chan error, 1)
	r.m.Fetch(all, func(err error) { done <- err })
	return <-done
}

// finish waits for everything, brings it home and looks for leaks.
func (r *rig) finish() {
	r.t.Helper()
	require.NoError(r.t, r.wait())
	require.NoError(r.t, r.fetch())
	require.Empty(r.t, r.m.Leak())
}

func (r *rig) whole(b deps.BufferID) deps.Region {
	return deps.Interval(b, 0, int64(len(r.buffers[b])))
}

// add is a body that adds v to the elements of a region.
func add(region deps.Region, v int64) func(func(deps.BufferID) []int64) {
	return func(see func(deps.BufferID) []int64) {
		x := see(region.Buffer)
		for lo, hi := range region.Runs() {
			for i := lo; i < hi; i++ {
				x[i] += v
			}
		}
	}
}

// each calls f for every element of r.
func each(r deps.Region, f func(i int64)) {
	for lo, hi := range r.Runs() {
		for i := lo; i < hi; i++ {
			f(i)
		}
	}
}

// box is rows [r0,r1) and columns [c0,c1) of a matrix with the given number of columns.
func box(b deps.BufferID, columns, r0, r1, c0, c1 int64) deps.Region {
	r, err := deps.Box(b, 0, []int64{-1, columns}, []int64{r0, c0}, []int64{r1, c1})
	if err != nil {
		panic(err)
	}
	return r
}

func pointer(x []int64) unsafe.Pointer { return unsafe.Pointer(unsafe.SliceData(x)) }
