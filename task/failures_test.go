package task_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/gompss/gompss/sched"
	"github.com/gompss/gompss/task"
	"github.com/stretchr/testify/require"
)

var errBoom = errors.New("boom")

// TestRandomFailures runs random programs in which some bodies fail. Which tasks run, fail and are skipped must be what a
// model says that looks at single elements and knows nothing of time: whoever conflicts with a task that failed or was
// skipped is skipped, until Wait. What ran must have had its effect and what did not none, on any device.
func TestRandomFailures(t *testing.T) {
	n := 300
	if testing.Short() || raceEnabled {
		n = 50
	}
	fill, mix := kernelOf(t, Fill), kernelOf(t, Mix)
	policies := sched.Policies()
	for seed := range uint64(n) {
		rng := rand.New(rand.NewPCG(seed, 7))
		rt, err := task.New(task.Options{Devices: "smp:2,sim:2(exec=cpu)", Policy: policies[seed%uint64(len(policies))], Seed: seed})
		require.NoError(t, err)
		m := &failureModel{rt: rt, rng: rng, fill: fill, mix: mix}
		for range 2 {
			length := 8 + rng.IntN(120)
			v := &failureVector{pair{got: make([]uint32, length), want: make([]uint32, length)}, make([]taintKind, length)}
			require.NoError(t, task.Register(rt, v.got))
			m.vectors = append(m.vectors, v)
		}
		for range 3 {
			if err := m.round(); err != nil {
				t.Fatalf("seed %d: %v", seed, err)
			}
		}
		require.NoError(t, rt.Close())
	}
}

type taintKind uint8

const (
	taintRead taintKind = 1 << iota
	taintWritten
)

type failureVector struct {
	pair
	taint []taintKind
}

type failureModel struct {
	rt        *task.Runtime
	rng       *rand.Rand
	fill, mix *task.Kernel
	vectors   []*failureVector
	expected  []expectation
}

// An expectation is what the model says of a task.
type expectation struct {
	task task.Task
	want error
	what string
}

// round submits tasks, waits, and compares everything with the model.
func (m *failureModel) round() error {
	m.expected = m.expected[:0]
	for range 5 + m.rng.IntN(40) {
		if err := m.step(); err != nil {
			return err
		}
	}
	waited := m.rt.Wait(context.Background())
	failed := false
	for _, e := range m.expected {
		failed = failed || e.want != nil
		if err := e.task.Err(); !errors.Is(err, e.want) || (err == nil) != (e.want == nil) {
			return fmt.Errorf("task %d, %s: error %v, want %v", e.task.ID(), e.what, err, e.want)
		}
	}
	if (waited != nil) != failed {
		return fmt.Errorf("wait: %v", waited)
	}
	for _, v := range m.vectors {
		clear(v.taint)
		if err := same(v.got, v.want, 0, len(v.want)); err != nil {
			return err
		}
	}
	return nil
}

func (m *failureModel) step() error {
	d, s := m.vectors[m.rng.IntN(2)], m.vectors[m.rng.IntN(2)]
	lo, hi := m.part(len(d.got))
	a, b := m.part(len(s.got))
	k := m.rng.Uint32()
	fill, fails := m.rng.IntN(3) == 0, m.rng.IntN(12) == 0
	want := m.judge(d, lo, hi, s, a, b, fill, fails)
	var one task.Task
	var err error
	switch {
	case fails && fill:
		one, err = m.rt.Go(func() error { return errBoom }, task.Out(d.got[lo:hi]))
	case fails:
		one, err = m.rt.Go(func() error { return errBoom }, task.InOut(d.got[lo:hi]), task.In(s.got[a:b]))
	case fill:
		one, err = m.fill.Submit(m.rt, lo, hi, k, d.got)
	case d == s && lo < b && a < hi: // no parallel loop
		one, err = m.rt.Go(func() error { Mix(lo, hi, a, b, k, d.got, s.got); return nil }, task.InOut(d.got[lo:hi]), task.In(s.got[a:b]))
	default:
		one, err = m.mix.Submit(m.rt, lo, hi, a, b, k, d.got, s.got)
	}
	if want == nil && fill {
		Fill(lo, hi, k, d.want)
	} else if want == nil {
		Mix(lo, hi, a, b, k, d.want, s.want)
	}
	m.expected = append(m.expected, expectation{one, want, fmt.Sprintf("fill %v, [%d:%d] of %d, [%d:%d] of %d", fill, lo, hi, len(d.got), a, b, len(s.got))})
	if err == nil && m.rng.IntN(8) == 0 {
		err = m.look(d, lo, hi)
	}
	return err
}

// judge says what becomes of a task that writes [lo:hi) of d and, if it does not fill, reads [a:b) of s.
func (m *failureModel) judge(d *failureVector, lo, hi int, s *failureVector, a, b int, fill, fails bool) error {
	var want error
	if fails {
		want = errBoom
	}
	for i := lo; i < hi; i++ {
		if d.taint[i] != 0 {
			want = task.ErrSkipped
		}
	}
	for i := a; i < b && !fill; i++ {
		if s.taint[i]&taintWritten != 0 {
			want = task.ErrSkipped
		}
	}
	if want == nil {
		return nil
	}
	for i := lo; i < hi; i++ {
		d.taint[i] |= taintWritten
	}
	for i := a; i < b && !fill; i++ {
		s.taint[i] |= taintRead
	}
	return want
}

// look waits for a part and reads it, in the middle of the program.
func (m *failureModel) look(d *failureVector, lo, hi int) error {
	tainted := false
	for i := lo; i < hi; i++ {
		tainted = tainted || d.taint[i]&taintWritten != 0
	}
	err := m.rt.WaitOn(context.Background(), task.In(d.got[lo:hi]))
	if errors.Is(err, task.ErrSkipped) != tainted {
		return fmt.Errorf("wait on [%d:%d]: %v, tainted %v", lo, hi, err, tainted)
	}
	if tainted {
		return nil
	}
	return same(d.got, d.want, lo, hi)
}

func (m *failureModel) part(n int) (lo, hi int) {
	lo = m.rng.IntN(n)
	return lo, lo + 1 + m.rng.IntN(min(n-lo, 1+n/3))
}

// A context with many children ends them one after the other: what is stopped meanwhile has the cause nevertheless.
func TestACancelledProgramSaysWhy(t *testing.T) {
	why := errors.New("enough")
	for range 5 {
		parent, cancel := context.WithCancelCause(context.Background())
		rt, err := task.New(task.Options{Devices: "smp:1", Context: parent})
		require.NoError(t, err)
		for range 20_000 {
			_, end := context.WithCancel(parent)
			defer end()
		}
		running, gate := make(chan struct{}), make(chan struct{})
		_, err = rt.Go(func() error { close(running); <-gate; return nil })
		require.NoError(t, err)
		<-running
		var waiting []task.Task
		for range 10 {
			one, err := rt.Go(nothing, task.Priority(1)) // the scheduler holds it
			require.NoError(t, err)
			waiting = append(waiting, one)
		}
		cancel(why)
		for _, one := range waiting {
			<-one.Done()
			require.ErrorIs(t, one.Err(), why)
		}
		close(gate)
		require.ErrorIs(t, rt.Close(), why)
	}
}
