package task_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"

	"github.com/gompss/gompss/devices"
	"github.com/gompss/gompss/devices/sim"
	"github.com/gompss/gompss/sched"
	"github.com/gompss/gompss/task"
	"github.com/stretchr/testify/require"
)

// A brittle policy breaks in the n-th call of one of its methods, in one of several ways.
type brittle struct {
	state   *sched.State
	items   []*sched.Item
	how     string
	left    int
	foreign *sched.Item
}

// breaks counts calls of a method down.
func (b *brittle) breaks(how string) bool {
	if b.how == how {
		b.left--
	}
	return b.how == how && b.left == 0
}

func (b *brittle) panics(how string) {
	if b.breaks(how) {
		panic(fmt.Errorf("%w in %s", errBoom, how))
	}
}

func (b *brittle) Push(it *sched.Item) {
	b.panics("Push")
	b.items = append(b.items, it)
	b.panics("Push, late")
}

func (b *brittle) Pop(p sched.PlaceID) *sched.Item {
	b.panics("Pop")
	for _, it := range b.items {
		if b.breaks("Pop, without asking") || b.state.Admit(it, p) {
			b.remove(it)
			b.foreign = it
			b.panics("Pop, late")
			return it
		}
	}
	if b.foreign != nil && b.breaks("Pop, twice") {
		return b.foreign
	}
	return nil
}

func (b *brittle) remove(it *sched.Item) {
	for i, x := range b.items {
		if x == it {
			b.items = append(b.items[:i:i], b.items[i+1:]...)
			return
		}
	}
}

func (b *brittle) Remove(it *sched.Item) { b.panics("Remove"); b.remove(it) }
func (b *brittle) Done(*sched.Item)      { b.panics("Done") }
func (b *brittle) Each(f func(*sched.Item)) {
	panic("nobody asks")
}
func (b *brittle) Len() int { panic("nobody asks") }

var nextBrittle struct {
	how  string
	left int
}

var registerBrittle = sync.OnceFunc(func() {
	sched.Register("brittle", func(s *sched.State) sched.Policy {
		if nextBrittle.how == "constructor" {
			panic(errBoom)
		}
		if nextBrittle.how == "nil" {
			return nil
		}
		return &brittle{state: s, how: nextBrittle.how, left: nextBrittle.left}
	})
})

// A policy of the user's that breaks, in any method and at any time, ends the runtime: what runs ends, the others fail with the cause, no
// wait hangs and nothing is lost sight of.
func TestPoliciesThatBreak(t *testing.T) {
	registerBrittle()
	fill := kernelOf(t, Fill)
	for _, how := range []string{"Push", "Push, late", "Pop", "Pop, late", "Pop, without asking", "Pop, twice", "Done"} {
		broke := 0
		for _, spec := range []string{"smp:1", "smp:2", "smp:2,sim:2(exec=cpu)"} {
			for _, left := range []int{1, 2, 5, 12, 30} {
				nextBrittle.how, nextBrittle.left = how, left
				name := fmt.Sprintf("%s on %s, call %d", how, spec, left)
				rt, err := task.New(task.Options{Devices: spec, Policy: "brittle", Tokens: map[devices.Kind]int{"smp": 2, "sim": 2}})
				require.NoError(t, err, name)
				x := make([]uint32, 64)
				require.NoError(t, task.Register(rt, x))
				var refused error
				for i := 0; i < 20 && refused == nil; i++ {
					part := x[i%8*8 : i%8*8+8]
					switch i % 4 {
					case 0:
						_, refused = rt.Go(nothing, task.InOut(part), task.Resources("smp", 1+i%8/4))
					case 1:
						_, refused = rt.GoScope(func(s *task.Scope) error {
							_, err := s.Go(nothing, task.InOut(part), task.Resources("smp", 2))
							if err != nil {
								return err
							}
							return s.Wait(context.Background())
						}, task.InOut(part), task.Resources("smp", 1))
					default:
						_, refused = fill.With(task.Resources("sim", 1)).Submit(rt, 0, 8, uint32(i), part)
					}
				}
				waited := rt.Wait(context.Background())
				_, after := rt.Go(nothing)
				closed := rt.Close()
				var leak *task.LeakError
				require.NotErrorAs(t, closed, &leak, name)
				var cause *sched.PolicyError
				if closed == nil { // it was not called so often
					require.NoError(t, errors.Join(refused, waited, after), name)
					continue
				}
				broke++
				for _, err := range []error{refused, waited, after, closed} {
					require.True(t, err == nil || errors.As(err, &cause), "%s: %v", name, err)
				}
				require.Equal(t, "brittle", cause.Policy)
				if how != "Pop, without asking" && how != "Pop, twice" {
					require.ErrorIs(t, closed, errBoom, name)
					require.NotEmpty(t, cause.Stack)
				}
			}
		}
		require.Positive(t, broke, how)
	}
	for _, how := range []string{"constructor", "nil"} {
		nextBrittle.how = how
		_, err := task.New(task.Options{Devices: "smp:1", Policy: "brittle"})
		var cause *sched.PolicyError
		require.ErrorAs(t, err, &cause)
		require.Equal(t, "constructor", cause.Method)
	}
}

// Items are taken out of a policy where the runtime's context ends before they run, or their device does.
func TestAPolicyThatBreaksWhileItemsAreTakenOut(t *testing.T) {
	registerBrittle()
	fill := kernelOf(t, Fill)
	for left := range 5 {
		nextBrittle.how, nextBrittle.left = "Remove", left
		ctx, cancel := context.WithCancelCause(t.Context())
		o := task.Options{Devices: "smp:1,sim:2(exec=cpu)", Policy: "brittle", Context: ctx}
		rt, err := task.New(o)
		require.NoError(t, err)
		gate, began := make(chan struct{}), make(chan struct{})
		_, err = rt.Go(func() error { close(began); <-gate; return nil })
		require.NoError(t, err)
		<-began
		for range 6 {
			_, err = rt.Go(nothing)
			require.NoError(t, err)
		}
		why := errors.New("enough")
		cancel(why)
		close(gate)
		_ = rt.Wait(context.Background())
		closed := rt.Close()
		var leak *task.LeakError
		require.NotErrorAs(t, closed, &leak)
		var cause *sched.PolicyError
		if errors.As(closed, &cause) {
			require.Equal(t, "Remove", cause.Method)
		} else {
			require.NoError(t, closed)
		}

		nextBrittle.left = left
		o = task.Options{Devices: "sim:2(exec=cpu,latency=1ms)", Policy: "brittle"}
		o.Machine.ByKind = map[devices.Kind]any{"sim": sim.Options{Faults: sim.Faults{Launch: 2, Lose: true}}}
		rt, err = task.New(o)
		require.NoError(t, err)
		x := make([]uint32, 64)
		require.NoError(t, task.Register(rt, x))
		for i := range 60 {
			if _, err = fill.Submit(rt, i, i+1, uint32(1), x); err != nil {
				break
			}
		}
		_ = rt.Wait(context.Background())
		require.NotErrorAs(t, rt.Close(), &leak)
	}
}
