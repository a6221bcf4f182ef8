package task

import (
	"errors"
	"fmt"
	"reflect"

	"github.com/gompss/gompss/deps"
)

// Alloc returns a slice of n zero elements for tasks to work on. It lies outside the Go heap and is aligned to pages;
// it lives until Free or the runtime's Close, and must not be used afterwards.
//
// Errors: elements that hold Go pointers, no memory.
func Alloc[T any](rt *Runtime, n int) ([]T, error) {
	t := reflect.TypeFor[T]()
	if err := checkPlain(t); err != nil {
		return nil, fmt.Errorf("task: alloc: %w: it cannot lie outside the Go heap", err)
	}
	size := int(t.Size())
	if n < 0 || size > 0 && n > (1<<62)/size {
		return nil, fmt.Errorf("task: alloc: %d elements of %s: not a size", n, t)
	}
	if rt.closed.Load() {
		return nil, ErrClosed
	}
	if n == 0 || size == 0 {
		return make([]T, n), nil
	}
	pages, err := mapPages(n * size)
	if err != nil {
		return nil, fmt.Errorf("task: alloc: %d elements of %s: %w", n, t, err)
	}
	x := sliceOfPages[T](pages, n)
	if _, err := rt.buffers.register(memoryOf(x), pages, &rt.root); err != nil {
		return nil, fmt.Errorf("task: alloc: %w", errors.Join(err, unmapPages(pages)))
	}
	return x, nil
}

// Free waits for the tasks that use x, a slice of Alloc, and gives its memory back. x and its parts must not be used
// afterwards.
func Free[T any](rt *Runtime, x []T) error { return rt.drop("free", memoryOf(x), true) }

// Register makes an ordinary slice, up to its capacity, a buffer: it stays where it is and is kept alive until
// Unregister or the runtime's Close. The first use of a slice in a task does the same; Register is for slices whose
// parts are used first.
//
// Errors: a slice that overlaps a buffer without lying in it, elements of another size.
func Register[T any](rt *Runtime, x []T) error {
	if rt.closed.Load() {
		return ErrClosed
	}
	if cap(x) == 0 {
		return nil
	}
	if _, _, err := rt.buffers.locate(memoryOf(x[:cap(x)]), &rt.root); err != nil {
		return fmt.Errorf("task: register: %w", err)
	}
	return nil
}

// Unregister waits for the tasks that use x and forgets the buffer that begins with it.
func Unregister[T any](rt *Runtime, x []T) error { return rt.drop("unregister", memoryOf(x), false) }

// drop forgets the buffer that begins where m does.
func (rt *Runtime) drop(what string, m memory, ours bool) error {
	if m.cap == 0 {
		return nil
	}
	m.len = 1
	b, first, err := rt.buffers.find(m)
	if err == nil && (b == nil || first != 0 || (b.pages != nil) != ours) {
		err = fmt.Errorf("not the beginning of a buffer made by %s", map[bool]string{true: "Alloc", false: "Register"}[ours])
	}
	if err != nil {
		return fmt.Errorf("task: %s: %w", what, err)
	}
	// What failed before is no reason to keep the memory: the wait is for the order, and the data are given up.
	t, err := rt.root.submitWait([]Option{accessTo(deps.InOut, b.memory)})
	if err != nil {
		return err
	}
	<-t.Done()
	rt.forgetError(t)
	rt.root.submitting.Lock()
	again, _, _ := rt.buffers.find(b.memory)
	if again == b {
		rt.buffers.remove(b)
	}
	rt.root.submitting.Unlock()
	if again != b {
		return fmt.Errorf("task: %s: done already", what)
	}
	if err := rt.buffers.free(b); err != nil {
		return fmt.Errorf("task: %s: %w", what, err)
	}
	return nil
}
