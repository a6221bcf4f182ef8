package machine_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gompss/gompss/deps"
	"github.com/gompss/gompss/devices"
	"github.com/gompss/gompss/devices/sim"
	"github.com/gompss/gompss/internal/machine"
)

// A program is a random sequence of jobs over some buffers; the same for equal seeds.
type program struct {
	sizes []int64
	jobs  []programJob
	// alone makes each job end before the next one is submitted: those behind a job that failed are
	// no longer skipped.
	alone bool
}

type programJob struct {
	space    devices.SpaceID
	accesses []deps.Access
}

const programColumns = 32

func randomProgram(seed uint64, jobs, spaces int) *program {
	rnd := rand.New(rand.NewPCG(seed, 1))
	p := &program{}
	for range 2 + rnd.IntN(3) {
		p.sizes = append(p.sizes, programColumns*(8+rnd.Int64N(40)))
	}
	modes := []deps.Mode{deps.In, deps.In, deps.Out, deps.InOut}
	for range jobs {
		j := programJob{space: devices.SpaceID{Device: uint16(rnd.IntN(spaces))}}
		for range 1 + rnd.IntN(3) {
			a := deps.Access{Region: p.region(rnd), Mode: modes[rnd.IntN(len(modes))]}
			j.accesses = append(j.accesses, a)
		}
		j.accesses = separate(j.accesses)
		p.jobs = append(p.jobs, j)
	}
	return p
}

// separate drops accesses that overlap an earlier one, unless both read.
func separate(accesses []deps.Access) []deps.Access {
	var out []deps.Access
next:
	for _, a := range accesses {
		for _, b := range out {
			if (a.Mode.Writes() || b.Mode.Writes()) && a.Region.Overlaps(b.Region) {
				continue next
			}
		}
		out = append(out, a)
	}
	return out
}

func (p *program) region(rnd *rand.Rand) deps.Region {
	b := rnd.IntN(len(p.sizes))
	n := p.sizes[b]
	if rnd.IntN(2) == 0 {
		lo := rnd.Int64N(n)
		return deps.Interval(deps.BufferID(b), lo, lo+1+rnd.Int64N(min(n-lo, 200)))
	}
	rows := n / programColumns
	r, c := rnd.Int64N(rows), rnd.Int64N(programColumns)
	return box(deps.BufferID(b), programColumns, r, r+1+rnd.Int64N(min(rows-r, 8)), c, c+1+rnd.Int64N(programColumns-c))
}

// work is the body of job n: what it writes depends on all that it reads.
func work(n int, accesses []deps.Access, see func(deps.BufferID) []int64) {
	sum := int64(n)
	for _, a := range accesses {
		if a.Mode.Reads() {
			x := see(a.Region.Buffer)
			each(a.Region, func(i int64) { sum = sum*31 + x[i] })
		}
	}
	for _, a := range accesses {
		if a.Mode.Writes() {
			x := see(a.Region.Buffer)
			each(a.Region, func(i int64) { x[i] = sum + i })
		}
	}
}

// sequential runs the program in order, leaving out the jobs that did not run, and says which
// elements are known. What a job writes that failed is undefined, and so is what others make of it:
// those that are submitted behind its end run.
func (p *program) sequential(ran func(n int) bool) (values [][]int64, known [][]bool) {
	for b, n := range p.sizes {
		values, known = append(values, make([]int64, n)), append(known, make([]bool, n))
		for i := range values[b] {
			values[b][i], known[b][i] = int64(i), true
		}
	}
	for n, j := range p.jobs {
		defined := ran(n)
		for _, a := range j.accesses {
			if a.Mode.Reads() {
				each(a.Region, func(i int64) { defined = defined && known[a.Region.Buffer][i] })
			}
		}
		if ran(n) {
			work(n, j.accesses, func(b deps.BufferID) []int64 { return values[b] })
		}
		for _, a := range j.accesses {
			if a.Mode.Writes() {
				each(a.Region, func(i int64) { known[a.Region.Buffer][i] = defined })
			}
		}
	}
	return values, known
}

// run runs the program on a rig and returns the number of jobs that failed or were skipped.
func (p *program) run(r *rig) (failed int) {
	for _, n := range p.sizes {
		r.filled(n)
	}
	for n, j := range p.jobs {
		r.submit(j.space, j.accesses, func(see func(deps.BufferID) []int64) { work(n, j.accesses, see) })
		if p.alone {
			r.jobs.Wait()
		}
	}
	r.jobs.Wait()
	for _, j := range r.list {
		if j.err != nil {
			failed++
		}
	}
	return failed
}

// check compares what is on the host with the sequential run of the jobs that ran.
func (p *program) check(r *rig, lost func(b deps.BufferID, i int64) bool) {
	r.t.Helper()
	values, known := p.sequential(func(n int) bool { return r.list[n].err == nil })
	for b := range values {
		for i, want := range values[b] {
			if known[b][i] && r.buffers[b][i] != want && !lost(deps.BufferID(b), int64(i)) {
				require.Equal(r.t, want, r.buffers[b][i], "element %d of buffer %d", i, b)
			}
		}
	}
}

func never(deps.BufferID, int64) bool { return false }

// tight is a device in which the larger working sets just fit.
var tight = sim.Options{Memory: 12 << 10, Granule: 512}

func TestRandomProgramsAreSequentiallyConsistent(t *testing.T) {
	for seed := range uint64(60) {
		o := tight
		o.NoPeer = seed%3 == 0
		through := func(m *machine.Options) { m.WriteThrough = seed%5 == 0 }
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			r := newRig(t, "smp:1,sim:3", o, through)
			r.starts = int(seed/6) % 3
			p := randomProgram(seed, 150, 4)
			require.Zero(t, p.run(r), "%v", r.wait())
			if r.starts != byLaunch && seed%5 != 0 {
				require.Positive(t, r.launched.Load(), "kernels that count as having written from their launch on")
			}
			require.NoError(t, r.fetch())
			p.check(r, never)
			require.Empty(t, r.m.Leak())
			for _, d := range r.m.Accelerators() {
				require.LessOrEqual(t, d.(*sim.Device).Backed(), tight.Memory)
			}
		})
	}
}

// faultsOf runs a program with the n-th operation failing, for n from 1 until it is not reached any
// more; short tests take every third.
func faultsOf(t *testing.T, name string, starts int, set func(f *sim.Faults, n int64)) {
	for _, alone := range []bool{false, true} {
		faultsOfProgram(t, name, starts, alone, set)
	}
}

func faultsOfProgram(t *testing.T, name string, starts int, alone bool, set func(f *sim.Faults, n int64)) {
	first, step := int64(1), int64(1)
	if testing.Short() {
		step = 3
		first += int64(starts) % step // so that all have their turn
	}
	for n := first; ; n += step {
		o := tight
		set(&o.Faults, n)
		r := newRig(t, "smp:1,sim:2", o)
		r.starts = starts
		p := randomProgram(7, 40, 3)
		p.alone = alone
		failed := p.run(r)
		lost := never
		if err := r.fetch(); err != nil { // the fault may have been met by the fetch
			require.ErrorIs(t, err, sim.ErrInjected, "%s %d", name, n)
			if o.Faults.Lose {
				lost = func(b deps.BufferID, i int64) bool { return r.isLost(b, i) }
			} else {
				require.NoError(t, r.fetch(), "%s %d", name, n)
			}
		} else if failed == 0 {
			require.Greater(t, n, first)
			p.check(r, never)
			return // not reached
		}
		for _, j := range r.list {
			if j.err != nil {
				require.ErrorIs(t, j.err, sim.ErrInjected, "%s %d", name, n)
			}
		}
		p.check(r, lost)
		require.Empty(t, r.m.Leak(), "%s %d", name, n)
	}
}

// isLost asks the machine for one element.
func (r *rig) isLost(b deps.BufferID, i int64) bool {
	done := make(chan error, 1)
	r.m.Fetch([]deps.Access{in(deps.Interval(b, i, i+1))}, func(err error) { done <- err })
	err := <-done
	var lost *devices.LostError
	if errors.As(err, &lost) {
		require.ErrorIs(r.t, err, devices.ErrLost)
		return true
	}
	require.NoError(r.t, err)
	return false
}

func TestEveryFaultIsSurvived(t *testing.T) {
	for _, lose := range []bool{false, true} {
		name := map[bool]string{false: "failing", true: "losing the device at"}[lose]
		for starts, how := range []string{byLaunch: "", byStart: ", started in one", byBatch: ", started together"} {
			t.Run(name+" an allocation"+how, func(t *testing.T) {
				faultsOf(t, name, starts, func(f *sim.Faults, n int64) { f.Alloc, f.Lose = n, lose })
			})
			t.Run(name+" a transfer"+how, func(t *testing.T) {
				faultsOf(t, name, starts, func(f *sim.Faults, n int64) { f.Transfer, f.Lose = n, lose })
			})
			t.Run(name+" a launch"+how, func(t *testing.T) {
				faultsOf(t, name, starts, func(f *sim.Faults, n int64) { f.Launch, f.Lose = n, lose })
			})
		}
	}
}

// A kernel that is launched when a copy from another device for it has failed already does not
// count as having written: that device still has what it was to change.
func TestWhatHasFailedToComeIsNotWritten(t *testing.T) {
	r := newRig(t, "smp:1,sim:2", sim.Options{Faults: sim.Faults{Transfer: 1}})
	b := r.buffer(8)
	r.once(acc(1), out(r.whole(b)), func(see func(deps.BufferID) []int64) {
		for i := range see(b) {
			see(b)[i] = 7
		}
	})
	failed, done := make(chan error, 1), make(chan error, 1)
	ws := machine.WorkingSet{Space: acc(0), Accesses: []deps.Access{inout(r.whole(b))}, Label: "fails",
		Ready:    func(_ *machine.WorkingSet, err error) { failed <- err },
		Launched: func(*machine.WorkingSet) { t.Error("it counts as written") },
		Done:     func(_ *machine.WorkingSet, err error) { done <- err }}
	r.m.Acquire(&ws)
	require.ErrorIs(t, <-failed, sim.ErrInjected)
	r.m.Launch(&ws, &devices.Launch{Kernel: &devices.Kernel{Name: "fails", Go: func(*devices.Args) { t.Error("it ran") }}, Args: &devices.Args{}})
	err := <-done
	require.ErrorIs(t, err, sim.ErrInjected)
	r.m.ReleaseSet(&ws, err)
	require.NoError(t, r.fetch())
	require.Equal(t, []int64{7, 7, 7, 7, 7, 7, 7, 7}, r.buffers[b])
}
