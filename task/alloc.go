package task

import (
	"errors"
	"fmt"
	"reflect"
	"runtime"

	"github.com/gompss/gompss/deps"
	"github.com/gompss/gompss/devices/smp"
	"github.com/gompss/gompss/internal/hostmem"
	"github.com/gompss/gompss/task/internal/engine"
	"github.com/gompss/gompss/task/internal/life"
	"github.com/gompss/gompss/task/internal/memory"
	"github.com/gompss/gompss/task/internal/values"
)

// Alloc returns a slice of n zero elements for tasks to work on. It lies outside the Go heap and is
// aligned to pages; it lives until Free or the runtime's Close, and must not be used afterwards.
// Tasks of other runtimes cannot use it. Both are errors of the submission that uses it, as long as
// nothing else lies where the slice was.
//
// Errors: elements that hold Go pointers, no memory.
func Alloc[T any](rt *Runtime, n int) ([]T, error) {
	if !rt.usable() {
		return nil, rt.unusable("Alloc")
	}
	t := reflect.TypeFor[T]()
	if err := values.CheckNoPointers(t); err != nil {
		return nil, fmt.Errorf("task: alloc: %w: it cannot lie outside the Go heap", err)
	}
	size := int(t.Size())
	if n < 0 || size > 0 && n > (1<<62)/size {
		return nil, fmt.Errorf("task: alloc: %d elements of %s: not a size", n, t)
	}
	if rt.core.Refuses() {
		return nil, engine.ErrClosed
	}
	if n == 0 || size == 0 {
		return make([]T, n), nil
	}
	pages, err := hostmem.Map(n * size)
	if err != nil {
		return nil, fmt.Errorf("task: alloc: %d elements of %s: %w", n, t, err)
	}
	x := values.SliceOfPages[T](pages, n)
	if _, err := rt.core.Buffers.Register(values.MemoryOf(x), pages, &rt.core.Root.Memory, false); err != nil {
		return nil, fmt.Errorf("task: alloc: %w", errors.Join(err, hostmem.Unmap(pages)))
	}
	return x, nil
}

// Free waits for the tasks that use x, a slice of Alloc, and gives its memory back. x and its parts
// must not be used afterwards.
func Free[T any](rt *Runtime, x []T) error {
	if !rt.usable() {
		return rt.unusable("Free")
	}
	return dropMemory(&rt.core, "free", values.MemoryOf(x), true)
}

// Register makes an ordinary slice, up to its capacity, a buffer: it stays where it is and is kept
// alive until Unregister or the runtime's Close. The first use of a slice in a task makes it a
// buffer too, up to the next one, which lasts as long as tasks or the program use the slice: when
// the collector has freed that, the runtime forgets the buffer, with what devices have of it.
// Register saves what it costs to make parts that were used first part of the whole, and is needed
// for slices of which tasks use parts and their children the whole.
//
// Errors: a slice that overlaps memory of Alloc without lying in it, elements of another size.
func Register[T any](rt *Runtime, x []T) error {
	if !rt.usable() {
		return rt.unusable("Register")
	}
	if rt.core.Refuses() {
		return engine.ErrClosed
	}
	if cap(x) == 0 {
		return nil
	}
	rt.core.Callers.Enter()
	defer rt.core.Callers.Leave()
	b, _, err := rt.core.Buffers.Locate(values.MemoryOf(x[:cap(x)]), &rt.core.Root.Memory)
	if err != nil {
		return fmt.Errorf("task: register: %w", err)
	}
	b.Kept.Store(true)
	return nil
}

// Unregister waits for the tasks that use x and forgets the buffer that begins with it.
func Unregister[T any](rt *Runtime, x []T) error {
	if !rt.usable() {
		return rt.unusable("Unregister")
	}
	return dropMemory(&rt.core, "unregister", values.MemoryOf(x), false)
}

// dropMemory forgets the buffer that begins where m does.
func dropMemory(rt *engine.Runtime, what string, m values.Range, ours bool) error {
	if m.Cap == 0 {
		return nil
	}
	if rt.Window.Live() > 0 && smp.InBody() {
		return misuse(what, engine.ErrInBody)
	}
	m.Len = 1
	b, first, err := rt.Buffers.Find(m)
	switch {
	case err != nil:
	case b == nil || first != 0:
		err = fmt.Errorf("not the beginning of a buffer made by %s", map[bool]string{true: "Alloc", false: "Register, or by the first use of a slice"}[ours])
	case b.Pages == nil && ours:
		err = errors.New("not the beginning of a buffer made by Alloc, but an ordinary slice, which Unregister gives back")
	case b.Pages != nil && !ours:
		err = errors.New("not the beginning of a buffer made by Register, but memory of Alloc, which Free gives back")
	}
	if err != nil {
		return fmt.Errorf("task: %s: %w", what, err)
	}
	defer runtime.KeepAlive(m.Base)
	if err := beginDrop(rt, b); err != nil {
		return fmt.Errorf("task: %s: %w", what, err)
	}
	defer rt.Callers.Leave()
	behind, err := takeOut(rt, b)
	if err != nil {
		b.Dropping.Store(false)
		return fmt.Errorf("task: %s: %w", what, err)
	}
	if ours {
		behind = nil // the data are given up
	}
	if err := errors.Join(behind, rt.Buffers.Free(b)); err != nil {
		return fmt.Errorf("task: %s: %w", what, err)
	}
	return nil
}

// beginDrop has replays of what uses b refused from here on, and lets Close wait until
// describing.leave is called.
//
// Errors: ErrClosed; another caller has begun.
func beginDrop(rt *engine.Runtime, b *memory.Buffer) error {
	rt.Root.Submitting.Lock()
	defer rt.Root.Submitting.Unlock()
	if rt.Closed.Load() {
		return engine.ErrClosed
	}
	if b.Dropping.Swap(true) {
		return errDropped
	}
	rt.Callers.Enter()
	return nil
}

var errDropped = errors.New("done already")

// takeOutTries is the number of times that takeOut waits for tasks that others submitted while it
// was waiting.
const takeOutTries = 8

// takeOut waits for the tasks that use b, makes its data valid on the host and removes it from the
// table, in one step with other submissions: a goroutine that submits a task that uses it is either
// waited for, or finds no buffer. behind is why data did not become valid, nil where they have.
//
// Errors: Close was quicker; others submit tasks that use it again and again.
func takeOut(rt *engine.Runtime, b *memory.Buffer) (behind, err error) {
	for range takeOutTries {
		t, failed := submitOut(rt, b)
		if failed != nil {
			return nil, failed
		}
		rt.Root.AwaitTask(t.h, nil)
		behind = rt.Log.ForgetError(t.h)
		b.AwaitUnordered()
		if err = takeOutIdle(rt, b); !errors.Is(err, deps.ErrBusy) {
			return behind, err
		}
	}
	return nil, fmt.Errorf("other goroutines submit tasks that use it: %w", err)
}

// submitOut submits a wait for the tasks that use b and for its data. What failed before is no
// reason to keep the memory, nor to leave on devices what other tasks have written.
func submitOut(rt *engine.Runtime, b *memory.Buffer) (Task, error) {
	r, err := rt.Root.Begin(nil, engine.WaitBody)
	if err != nil {
		return Task{}, err
	}
	r.Traits.Set(life.IgnoresFailures, true)
	return submitGo(&rt.Root, r, []Option{accessTo(deps.InOut, b.Memory())})
}

func takeOutIdle(rt *engine.Runtime, b *memory.Buffer) error {
	rt.Root.Submitting.Lock()
	defer rt.Root.Submitting.Unlock()
	if b.Unordered() {
		return deps.ErrBusy
	}
	if d := rt.Root.Graph.Domain; d != nil && b.Owner.Program() && !b.Gone.Load() {
		if err := d.Forget(b.ID); err != nil {
			return err
		}
	}
	if !rt.Buffers.Remove(b) {
		return errDropped
	}
	return nil
}
