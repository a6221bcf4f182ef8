package task_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"testing"

	"github.com/gompss/gompss/task"
	"github.com/stretchr/testify/require"
)

// here returns the file and line of its caller, as messages have it.
func here() string {
	_, _, line, _ := runtime.Caller(1)
	return fmt.Sprintf("usererror_test.go:%d", line)
}

// issue 16 4: WaitOn of memory that no task has used returned nil at once.

func TestWaitOn_UnusedMemory(t *testing.T) {
	for _, devices := range []string{"smp:1", "smp:1,sim:1(exec=cpu)"} {
		rt := open(t, task.Options{Devices: devices})
		x, y, registered := make([]int32, 100), make([]int32, 100), make([]int32, 100)
		require.NoError(t, task.Register(rt, registered))
		allocated, err := task.Alloc[int32](rt, 100)
		require.NoError(t, err)
		_, err = rt.Go(nothing, task.InOut(x[10:20]))
		require.NoError(t, err)
		unused := func(want string, o ...task.Option) {
			t.Helper()
			err := rt.WaitOn(t.Context(), o...)
			require.ErrorIs(t, err, task.ErrUnused)
			require.ErrorContains(t, err, want)
		}
		err = rt.WaitOn(t.Context(), task.In(y))
		require.ErrorContains(t, err, "task: Runtime.WaitOn ("+before(1)+"): access 1 (in of 100 elements of 4 bytes")
		require.ErrorContains(t, err, "check the slice")
		unused("in no buffer", task.InOut(y))
		unused("access 2", task.In(x[10:11]), task.In(y))
		unused("other elements, or none", task.In(registered))
		unused("other elements, or none", task.In(allocated))
		unused("other elements, or none", task.In(x[20:]))
		unused("other elements, or none", task.In(x[10:]).Box([]int{9, 10}, []int{1, 0}, []int{9, 10}))
		require.EqualValues(t, 3, rt.Stats().Buffers, "a wait that is refused registers nothing")
		require.ErrorContains(t, rt.WaitOn(t.Context()), "no access is given")

		require.NoError(t, rt.WaitOn(t.Context(), task.In(x[19:])), "a part that was used is enough")
		require.NoError(t, rt.WaitOn(t.Context(), task.In(y[:0])), "no elements")
		require.NoError(t, rt.Wait(context.Background()))
		require.NoError(t, rt.WaitOn(t.Context(), task.In(x[10:20])), "tasks that have finished count")
		require.NoError(t, task.Unregister(rt, x[10:]))
		unused("in no buffer", task.In(x[10:20]))
		require.NoError(t, task.Free(rt, allocated))
		require.Error(t, rt.WaitOn(t.Context(), task.In(allocated)))
	}
}

// before returns the place n lines before its caller.
func before(n int) string {
	_, _, line, _ := runtime.Caller(1)
	return fmt.Sprintf("usererror_test.go:%d", line-n)
}

// In a body, what the task itself declares is used by it.
func TestWaitOn_UnusedMemoryInABody(t *testing.T) {
	rt := open(t, task.Options{Devices: "smp:2"})
	x, y := make([]int32, 100), make([]int32, 100)
	var own, child, local, other error
	_, err := rt.GoScope(func(s *task.Scope) error {
		own = s.WaitOn(s.Context(), task.In(x[5:6]))
		fresh := make([]int32, 10)
		local = s.WaitOn(s.Context(), task.In(fresh))
		_, err := s.Go(nothing, task.InOut(fresh))
		child = s.WaitOn(s.Context(), task.In(fresh))
		other = s.WaitOn(s.Context(), task.In(y))
		return err
	}, task.InOut(x[:10]))
	require.NoError(t, err)
	require.NoError(t, rt.Wait(context.Background()))
	require.NoError(t, own)
	require.NoError(t, child)
	require.ErrorIs(t, local, task.ErrUnused)
	require.ErrorIs(t, other, task.ErrUnused)
	require.ErrorContains(t, other, "in a body counts what its task declares and what its children use")
}

func TestNilContext_IsRefused(t *testing.T) {
	rt := open(t, task.Options{Devices: "smp:1"})
	x := make([]int32, 10)
	var none context.Context
	one, err := rt.Go(nothing, task.InOut(x))
	require.NoError(t, err)
	value, err := task.GoValue(rt, func() (int, error) { return 1, nil })
	require.NoError(t, err)
	g := task.NewGroup(rt)
	inside := make(chan error, 2)
	_, err = rt.GoScope(func(s *task.Scope) error {
		inside <- s.WaitOn(none, task.In(x))
		inside <- s.Wait(none)
		return nil
	}, task.In(x))
	require.NoError(t, err)
	_, failed := value.Get(none)
	for call, err := range map[string]error{
		"Runtime.WaitOn": rt.WaitOn(none, task.In(x)),
		"Runtime.Wait":   rt.Wait(none),
		"Group.Wait":     g.Wait(none),
		"Task.Wait":      one.Wait(none),
		"Future.Get":     failed,
		"Scope.WaitOn":   <-inside,
		"Scope.Wait":     <-inside,
	} {
		require.ErrorContains(t, err, "task: "+call+" (usererror_test.go:")
		require.ErrorContains(t, err, "the context is nil")
	}
	require.NoError(t, g.Wait(context.Background()))
	require.NoError(t, rt.Wait(context.Background()))
}

// issue 16 25: calls on a nil or zero Runtime, and on others that the runtime has not returned, name the call and its line.
func TestCallsOnNilAndZero_NameTheCall(t *testing.T) {
	x := make([]uint32, 4)
	fill := kernelOf(t, Fill)
	good := open(t, task.Options{Devices: "smp:1"})
	for what, rt := range map[string]*task.Runtime{"the Runtime is nil": nil, "the Runtime is a zero value": {}} {
		check := func(call string, err error) {
			t.Helper()
			require.ErrorContains(t, err, "task: "+call+" (usererror_test.go:")
			require.ErrorContains(t, err, what)
		}
		_, err := rt.Go(nothing)
		require.ErrorContains(t, err, "task: Runtime.Go ("+before(1)+"): "+what)
		check("Runtime.Go", err)
		_, err = rt.GoScope(func(*task.Scope) error { return nil })
		check("Runtime.GoScope", err)
		_, err = rt.GoContext(func(context.Context) error { return nil })
		check("Runtime.GoContext", err)
		check("Runtime.Wait", rt.Wait(context.Background()))
		check("Runtime.WaitOn", rt.WaitOn(t.Context(), task.In(x)))
		check("Runtime.Close", rt.Close())
		check("Register", task.Register(rt, x))
		check("Unregister", task.Unregister(rt, x))
		check("Free", task.Free(rt, x))
		_, err = task.Alloc[int](rt, 4)
		check("Alloc", err)
		_, err = task.GoValue(rt, func() (int, error) { return 0, nil })
		check("GoValue", err)
		_, err = task.Taskloop(rt, 0, 4, func(*task.Scope, int, int) error { return nil })
		check("Taskloop", err)
		_, err = task.ParallelFor(rt, 0, 4, 1, func(int, int) error { return nil })
		check("ParallelFor", err)
		_, err = fill.Submit(rt, 0, 4, uint32(1), x)
		check("Kernel.Submit of Fill", err)
		_, err = rt.Record(func(*task.Recorder) error { return nil })
		check("Runtime.Record", err)
		_, err = rt.RecordKernels("none", nil)
		check("Runtime.RecordKernels", err)
		for call, f := range map[string]func(){
			"Runtime.Stats": func() { rt.Stats() }, "Runtime.Live": func() { rt.Live() }, "Runtime.Machine": func() { rt.Machine() },
			"NewGroup": func() { task.NewGroup(rt) },
		} {
			check(call, panicOf(f))
		}
	}
	var scope *task.Scope
	var group *task.Group
	var kernel *task.Kernel
	var future *task.Future[int]
	var it *task.Iteration
	var event *task.Event
	for want, f := range map[string]func() error{
		"Kernel.Submit of Fill (": func() error { _, err := fill.Submit(nil, 0, 4, uint32(1), x); return err },
		"Kernel.Submit (":         func() error { _, err := kernel.Submit(good, 0, 4, uint32(1), x); return err },
		"Scope.Go (":              func() error { _, err := scope.Go(nothing); return err },
		"Scope.GoScope (":         func() error { _, err := new(task.Scope).GoScope(nil); return err },
		"Scope.Wait (":            func() error { return new(task.Scope).Wait(context.Background()) },
		"Scope.WaitOn (":          func() error { return scope.WaitOn(t.Context(), task.In(x)) },
		"Scope.Event (":           func() error { _, err := scope.Event(); return err },
		"Group.Go (":              func() error { _, err := group.Go(nothing); return err },
		"Group.GoScope (":         func() error { _, err := new(task.Group).GoScope(nil); return err },
		"Group.Wait (":            func() error { return new(task.Group).Wait(context.Background()) },
		"Future.Get (":            func() error { _, err := future.Get(t.Context()); return err },
		"Iteration.Replay (":      func() error { _, err := it.Replay(); return err },
		"Event.Fulfill (":         func() error { return event.Fulfill(nil) },
		"NewGroup (":              func() error { return panicOf(func() { task.NewGroup(scope) }) },
		"GoValue (":               func() error { _, err := task.GoValue[int](new(task.Recorder), nil); return err },
	} {
		require.ErrorContains(t, f(), "task: "+want+"usererror_test.go:")
	}
}

// panicOf returns what f panics with.
func panicOf(f func()) (err error) {
	defer func() { err, _ = recover().(error) }()
	f()
	return nil
}

func TestWaitsInABody_NameTheCall(t *testing.T) {
	rt := open(t, task.Options{Devices: "smp:1"})
	x := make([]int32, 4)
	_, err := rt.Go(nothing, task.InOut(x))
	require.NoError(t, err)
	got := map[string]error{}
	_, err = rt.Go(func() error {
		later, err := rt.Go(nothing, task.InOut(x))
		got["Task.Wait ("+here()+")"] = later.Wait(context.Background())
		got["Runtime.Wait ("+here()+")"] = rt.Wait(context.Background())
		got["Runtime.WaitOn ("+here()+")"] = rt.WaitOn(context.Background(), task.In(x))
		got["Runtime.Close ("+here()+")"] = rt.Close()
		_, now := rt.Go(nothing, task.If(false))
		got["If(false) ("+before(1)+")"] = now
		return err
	}, task.InOut(x))
	require.NoError(t, err)
	require.NoError(t, rt.Wait(context.Background()))
	require.Len(t, got, 5)
	for want, err := range got {
		require.ErrorIs(t, err, task.ErrInsideTask)
		require.ErrorContains(t, err, want+": called in the body of a task")
	}
}

// A Go task without a label has the line of its function in all messages that are about it, also as the reason of others.
func TestUnlabelledTask_HasItsLine(t *testing.T) {
	rt := open(t, task.Options{Devices: "smp:1"})
	x, boom := make([]int32, 4), errors.New("boom")
	at := here()
	_, err := rt.Go(func() error { return boom }, task.InOut(x))
	require.NoError(t, err)
	second, err := rt.Go(func() error { return nil }, task.In(x), task.Out(make([]int32, 1)))
	require.NoError(t, err)
	y := make([]int32, 1)
	via := here()
	_, err = rt.Go(func() error { return nil }, task.In(x), task.Out(y))
	require.NoError(t, err)
	third, err := rt.Go(func() error { return nil }, task.In(y))
	require.NoError(t, err)
	<-third.Done()
	require.ErrorContains(t, second.Err(), "skipped: predecessor failed: task: go task (usererror_test.go:")
	require.ErrorContains(t, third.Err(), "skipped: predecessor go task (usererror_test.go:")
	require.NotEqual(t, at, via)
	require.ErrorIs(t, rt.Wait(context.Background()), boom)
	_, err = rt.Go(func() error { return nil }, task.OnDevice("moon"))
	require.ErrorContains(t, err, "task: go task ("+before(1)+"): no device")
}

// What callers branch on is in package task, and is the same on every device.
func TestSentinels_OnEveryDevice(t *testing.T) {
	fill := kernelOf(t, Fill)
	rt := open(t, task.Options{Devices: "smp:1,sim:1"})
	_, err := fill.Submit(rt, 0, 5, uint32(1), make([]uint32, 4))
	var region *task.RegionError
	require.ErrorAs(t, err, &region)
	_, err = kernelOf(t, Bump).Submit(rt, make([]int32, 1))
	require.ErrorIs(t, err, task.ErrBounds)
	var access *task.AccessError
	require.ErrorAs(t, err, &access)
	var none *struct{ x int }
	_, err = rt.Go(func() error { none.x++; return nil })
	require.NoError(t, err)
	require.ErrorIs(t, rt.Wait(context.Background()), task.ErrNil)
	zero := 0
	_, err = rt.Go(func() error { zero = 1 / zero; return nil })
	require.NoError(t, err)
	require.ErrorIs(t, rt.Wait(context.Background()), task.ErrDivide)
	var id task.TaskID = 1
	require.EqualValues(t, 1, id)
	require.Equal(t, task.Kind("sim"), task.Sim)
}
