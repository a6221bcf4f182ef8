package task_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/gompss/gompss/deps"
	"github.com/gompss/gompss/devices"
	"github.com/gompss/gompss/devices/sim"
	"github.com/gompss/gompss/task"
	"github.com/stretchr/testify/require"
)

// This file is devices that fail under random programs: an allocation, a copy and a launch somewhere, or the whole device with them.
// Whom that meets is chance, so the interpreter runs behind, from wait to wait, and is told which tasks a device has failed. What
// follows from it must be as it says: who is skipped, what every other task has done, what the waits tell, and that nothing leaks.

// A weather is what the devices of one program do.
type weather struct {
	faults sim.Faults
	met    bool     // somebody was
	lost   [][]bool // by buffer: elements that nobody has any more
	loose  bool     // a combination failed, of which no handle tells: values are not looked at any more
}

func (w *weather) String() string {
	if w == nil {
		return "no faults"
	}
	return fmt.Sprintf("faults %+v", w.faults)
}

// newWeather makes the devices of o fail, perhaps.
func newWeather(rng *rand.Rand, o *task.Options, virtual bool) *weather {
	if !strings.Contains(o.Devices, "sim") || rng.IntN(2) == 0 {
		return nil
	}
	w := &weather{}
	for _, n := range []*int64{&w.faults.Alloc, &w.faults.Transfer, &w.faults.Launch} {
		if rng.IntN(3) > 0 {
			*n = 1 + rng.Int64N(1+rng.Int64N(16))
		}
	}
	w.faults.Lose, w.faults.Late = rng.IntN(2) == 0, rng.IntN(2) == 0
	if virtual && w.faults.Lose && rng.IntN(2) == 0 { // in place of an allocation: no more than three things fail
		w.faults.Alloc, w.faults.LoseAt = 0, []time.Duration{time.Duration(1+rng.IntN(200)) * time.Microsecond}
	}
	o.Machine.ByKind = map[devices.Kind]any{"sim": sim.Options{Faults: w.faults}}
	o.Machine.WriteThrough = rng.IntN(4) == 0
	return w
}

// inWeather is top where devices fail.
func (m *modelRun) inWeather(steps []step) error {
	for range m.x {
		m.weather.lost = append(m.weather.lost, make([]bool, modelRows*modelCols))
	}
	fallBehind(steps)
	for i := range steps {
		dropWaits(steps[i : i+1])
	}
	from := 0
	for i := range steps {
		if steps[i].kind != waitAll {
			if err := m.one(&steps[i], m.rt); err != nil {
				return fmt.Errorf("step %d: %w", i, err)
			}
			continue
		}
		waited := m.rt.Wait(context.Background())
		m.events.Wait()
		if err := m.catchUp(steps[from:i+1], waited); err != nil {
			return fmt.Errorf("steps %d to %d: %w", from, i, err)
		}
		from = i + 1
	}
	return nil
}

// catchUp has the interpreter do what the program has done, and compares.
func (m *modelRun) catchUp(steps []step, waited error) error {
	if err := m.explained(waited); err != nil {
		return err
	}
	list := m.waited
	m.waited = nil
	for _, w := range list { // before the interpreter looks at values
		if err := m.explained(w.err); err != nil {
			return fmt.Errorf("group %d: %w", w.group.id, err)
		}
	}
	m.want.sees, m.want.looks = m.seesFaults, m.compareLooked
	m.want.run(steps, &m.wanted, 0)
	if m.weather.loose {
		return nil
	}
	for _, w := range append(list, waitedFor{&steps[len(steps)-1], waited}) {
		failed, skipped := failures(w.err)
		if failed != w.group.failed || skipped != w.group.skipped {
			return fmt.Errorf("a wait told of %d failures and %d skipped tasks, want %d and %d: %w", failed, skipped, w.group.failed, w.group.skipped, w.err)
		}
	}
	return m.compareElements()
}

func failures(err error) (failed, skipped int) {
	var f *task.FailedError
	if errors.As(err, &f) {
		return len(f.Failed), f.Skipped
	}
	return 0, 0
}

// combines reports whether the combination of a reduction is among the failures. Nobody has a handle of that.
func combines(f *task.FailedError) bool {
	return slices.ContainsFunc(f.Failed, func(e *task.Error) bool { return strings.HasPrefix(e.Label, "combine") })
}

// explained returns an error when what a wait tells is not all because of a device or a body that was made to fail.
func (m *modelRun) explained(waited error) error {
	var f *task.FailedError
	if errors.As(waited, &f) {
		m.weather.loose = m.weather.loose || combines(f)
		for _, e := range f.Failed {
			if err := m.cause(e); err != nil {
				return err
			}
		}
		return nil
	}
	if waited == nil {
		return nil
	}
	return m.cause(waited)
}

// cause returns an error when err comes neither from a device nor from a body that was made to fail.
func (m *modelRun) cause(err error) error {
	if errors.Is(err, errModel) || m.byDevice(err) {
		return nil
	}
	return fmt.Errorf("a failure without a cause: %w", err)
}

func (m *modelRun) byDevice(err error) bool {
	var device *devices.DeviceError
	var lost *devices.LostError
	met := errors.As(err, &device) || errors.As(err, &lost) || errors.Is(err, devices.ErrRetired)
	m.weather.met = m.weather.met || met
	return met
}

// seesFaults says what became of a task.
func (m *modelRun) seesFaults(s *step) sight {
	err := m.handles[s.id].Err()
	var e *task.Error
	if !errors.As(err, &e) {
		return asUsual
	}
	var inner *task.FailedError
	switch {
	case errors.Is(err, task.ErrSkipped) && isFirst(err), s.fails && errors.Is(err, errModel):
		return asUsual
	case s.kind == nestedTask && errors.As(e.Cause, &inner) && !combines(inner):
		return asUsual // its children say it
	case !m.byDevice(err):
		m.complain("task %d: %w", s.id, m.cause(err))
	case s.again == 3 && !m.weather.faults.Lose:
		m.complain("task %d may run four times, and no more than three things fail: %w", s.id, err)
	}
	return begun
}

// compareLooked compares what a wait for an area has found with what the interpreter has there now.
func (m *modelRun) compareLooked(s *step) {
	a, at := s.accs[0], 0
	switch {
	case s.seen == nil || m.weather.loose:
	case s.seen.err != nil:
		if !s.bad && !m.byDevice(s.seen.err) {
			m.complain("wait on %v returned %w", a, s.seen.err)
		}
	case s.bad:
		m.complain("wait on %v returned nil", a)
	default:
		undefined := m.undefinedElements()
		a.each(func(i int) {
			if !undefined[a.buf][i] && s.seen.values[at] != m.want.x[a.buf][i] {
				m.complain("a wait found element %d of buffer %d to be %#x, want %#x", i, a.buf, s.seen.values[at], m.want.x[a.buf][i])
			}
			at++
		})
	}
}

// undefinedElements returns what nobody can know: what a failed task has perhaps written, what was made of it, and what was lost.
func (m *modelRun) undefinedElements() [][]bool {
	out := make([][]bool, len(m.x))
	for b := range out {
		out[b] = slices.Clone(m.want.undefined[b])
		for i, lost := range m.weather.lost[b] {
			out[b][i] = out[b][i] || lost
		}
	}
	return out
}

// compareElements compares all that can be had, after a wait, and takes over what is undefined. What is lost may be anywhere.
func (m *modelRun) compareElements() error {
	undefined := m.undefinedElements()
	for b := range m.x {
		clear(m.want.undefined[b])
		whole := area{buf: b, i1: modelRows, j1: modelCols, mode: deps.In}
		there := m.look(whole) == nil
		for i := range m.x[b] {
			if !there {
				one := area{buf: b, i0: i / modelCols, i1: i/modelCols + 1, j0: i % modelCols, j1: i%modelCols + 1, mode: deps.In}
				err := m.look(one)
				if m.weather.lost[b][i] = err != nil; err != nil {
					var lost *devices.LostError
					if !errors.As(err, &lost) {
						return err
					}
					continue
				}
			}
			switch {
			case undefined[b][i]:
				m.want.x[b][i] = m.x[b][i]
			case m.x[b][i] != m.want.x[b][i]:
				return fmt.Errorf("element %d of buffer %d is %#x, want %#x", i, b, m.x[b][i], m.want.x[b][i])
			}
			m.weather.lost[b][i] = false
		}
	}
	return nil
}

// look makes an area valid here; more than a few of the faults that are left cannot be in its way.
func (m *modelRun) look(a area) (err error) {
	for range 4 {
		var lost *devices.LostError
		if err = m.rt.WaitOn(context.Background(), m.option(a)); errors.Is(err, task.ErrUnused) {
			return nil // it is as it was
		}
		if err == nil || errors.As(err, &lost) {
			return err
		}
	}
	return err
}

// leak returns what Close says but for what the devices have lost.
func (w *weather) leak(closed error) error {
	var leak *task.LeakError
	var device *devices.DeviceError
	var lost *devices.LostError
	if closed == nil || !errors.As(closed, &leak) && (errors.As(closed, &device) || errors.As(closed, &lost)) {
		return nil
	}
	return closed
}

// TestWeather_LooksAtNothingThatWasNotCombined has the combination of the reductions of a group fail, and then a wait find what was there
// before: the wait of the group has told of the failure.
func TestWeather_LooksAtNothingThatWasNotCombined(t *testing.T) {
	ks := loadModelKernels(t)
	row := area{i1: 1, j1: modelCols}
	with := func(mode deps.Mode) []area { row.mode = mode; return []area{row} }
	loose := 0
	for n := range int64(6) {
		c := &modelCase{bufs: 1, tasks: 2, values: [][]uint32{make([]uint32, modelRows*modelCols)}, storm: &weather{faults: sim.Faults{Transfer: n + 1}}}
		c.options.Devices = "smp:1,sim:1(exec=cpu)"
		c.options.Machine.ByKind = map[devices.Kind]any{"sim": sim.Options{Faults: c.storm.faults}}
		c.program = []step{
			{id: 0, k: 3, accs: with(deps.Out)},
			{kind: groupOf, id: 1, body: []step{{id: 1, k: 5, accs: with(deps.Reduction), kernel: true, away: true}}},
			{kind: waitFor, accs: with(deps.InOut)},
			{kind: waitAll},
		}
		met, err := c.runIn(ks)
		require.NoError(t, err, "copy %d", n+1)
		if met != nil && met.loose {
			loose++
		}
	}
	require.Positive(t, loose, "a combination failed")
}
