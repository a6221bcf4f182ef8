package cuda_test

import (
	"errors"
	"fmt"
	"sync"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"

	"github.com/gompss/gompss/deps"
	"github.com/gompss/gompss/devices"
	"github.com/gompss/gompss/internal/machine"
)

const elem = 8 // bytes: the buffers hold int64

// A rig is a machine with buffers and the smallest runtime that can use it: jobs in the order of a
// deps.Domain.
type rig struct {
	failing sync.Mutex // guards poison of all jobs
	t       testing.TB
	suite   *suite
	m       *machine.Machine
	buffers [][]int64
	domain  deps.Domain
	jobs    sync.WaitGroup
	list    []*job
}

// A job is one task.
type job struct {
	rig      *rig
	node     deps.Node
	set      machine.WorkingSet
	accesses []deps.Access
	space    devices.SpaceID
	launch   *devices.Launch
	err      error
	poison   error
}

var errSkipped = errors.New("skipped")

func (s *suite) rig(t testing.TB, want shape) *rig {
	t.Helper()
	if want.Accelerators == 0 {
		want.Accelerators = 1
	}
	if want.Accelerators > s.Accelerators {
		t.Skipf("there are %d accelerators: the test is for %d", s.Accelerators, want.Accelerators)
	}
	if want.Granules == 0 {
		want.Granules = 64
	}
	r := &rig{t: t, suite: s, m: s.Open(t, want)}
	t.Cleanup(func() { require.NoError(t, r.m.Close()) })
	return r
}

// filled adds a buffer of n elements that holds 0, 1, 2, ...
func (r *rig) filled(n int64) deps.BufferID {
	r.t.Helper()
	b := deps.BufferID(len(r.buffers))
	x := make([]int64, n)
	for i := range x {
		x[i] = int64(i)
	}
	r.buffers = append(r.buffers, x)
	require.NoError(r.t, r.m.AddBuffer(b, unsafe.Pointer(unsafe.SliceData(x)), deps.Bytes(n)*elem, elem))
	return b
}

// granule is the number of elements of a granule.
func (r *rig) granule() int64 { return int64(r.suite.Granule / elem) }

func acc(i int) devices.SpaceID { return devices.SpaceID{Device: uint16(i + 1)} }

func in(r deps.Region) deps.Access    { return deps.Access{Region: r, Mode: deps.In} }
func out(r deps.Region) deps.Access   { return deps.Access{Region: r, Mode: deps.Out} }
func inout(r deps.Region) deps.Access { return deps.Access{Region: r, Mode: deps.InOut} }

func (r *rig) whole(b deps.BufferID) deps.Region {
	return deps.Interval(b, 0, int64(len(r.buffers[b])))
}

func (r *rig) slice(b deps.BufferID) devices.Arg { return part(b, 0, int64(len(r.buffers[b]))) }

// submit starts a job behind those before it that it conflicts with. Only one goroutine submits.
func (r *rig) submit(space devices.SpaceID, k *devices.Kernel, args []devices.Arg, accesses ...deps.Access) *job {
	r.t.Helper()
	if space != devices.Host {
		require.NoError(r.t, r.m.Accelerators()[space.Device-1].Prepare(k))
	}
	j := &job{rig: r, accesses: accesses, space: space,
		launch: &devices.Launch{Kernel: k, Args: &devices.Args{List: args}, Label: fmt.Sprintf("job %d", len(r.list)+1)}}
	j.node.Owner = j
	r.list = append(r.list, j)
	r.jobs.Add(1)
	if r.domain.Submit(&j.node, accesses) {
		j.start()
	}
	return j
}

// add submits addBox on a region of at most two dimensions.
func (r *rig) add(space devices.SpaceID, region deps.Region, v int64) *job {
	rows, columns, stride := int64(1), region.Dims[0].Count, int64(0)
	switch {
	case region.N == 1 && region.Dims[0].Stride > 1:
		rows, columns, stride = region.Dims[0].Count, 1, region.Dims[0].Stride
	case region.N == 2:
		rows, columns, stride = region.Dims[0].Count, region.Dims[1].Count, region.Dims[0].Stride
	}
	args := []devices.Arg{r.slice(region.Buffer), number(region.Offset), number(rows), number(columns), number(stride), value(v)}
	return r.submit(space, r.suite.kernels.addBox, args, inout(region))
}

func (j *job) start() {
	if j.poison != nil {
		j.err = fmt.Errorf("%w: %w", errSkipped, j.poison)
		j.end()
		return
	}
	j.set = machine.WorkingSet{Accesses: j.accesses, Space: j.space, Label: j.launch.Label, Owner: j}
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
	j.rig.m.Acquire(&j.set)
	j.rig.m.Launch(&j.set, j.launch)
}

func (j *job) onHost(err error) {
	if j.err = err; err == nil {
		j.launch.Args.At = j.rig.m.HostAt
		j.launch.Kernel.Go(j.launch.Args)
	}
	j.rig.m.ReleaseSet(&j.set, err)
	j.end()
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
	for _, s := range ready {
		s.start()
	}
	j.rig.jobs.Done()
}

// wait waits for all jobs, and returns their errors.
func (r *rig) wait() error {
	r.jobs.Wait()
	r.m.WaitForTransfers() // what moved is counted: the host may hear of a copy later than of the kernel behind it
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

// finish waits for everything and brings it home.
func (r *rig) finish() {
	r.t.Helper()
	require.NoError(r.t, r.wait())
	require.NoError(r.t, r.fetch())
}

// box is rows [r0,r1) and columns [c0,c1) of a matrix with the given number of columns.
func box(b deps.BufferID, columns, r0, r1, c0, c1 int64) deps.Region {
	r, err := deps.Box(b, 0, []int64{-1, columns}, []int64{r0, c0}, []int64{r1, c1})
	if err != nil {
		panic(err)
	}
	return r
}
