package task

import (
	"context"
	"errors"

	"github.com/gompss/gompss/trace/probe"
)

// Close waits for all tasks, makes all data valid on the host, ends the workers and gives
// everything back: slices of Alloc must not be used any more. It returns what Wait would, and a
// *LeakError if the runtime has lost sight of something. Calls after the first return nil, also
// while that one waits. A task body must not call it: there it is ErrInsideTask, and nothing is
// closed.
//
// From its beginning on the runtime takes no more tasks of the program: what goroutines submit to
// it is ErrClosed. Running bodies continue to submit, to it and to their Scope, and Close waits for
// what they submit. That is the bodies alone, and not goroutines that they started.
func (rt *Runtime) Close() error {
	if !rt.usable() {
		return rt.unusable("Runtime.Close")
	}
	if !rt.closed.Load() && rt.window.Live() > 0 && insideBody() {
		return misuse("Runtime.Close", errInBody)
	}
	if rt.closed.Swap(true) {
		return nil
	}
	began := rt.observers.now()
	err := rt.finish()
	if rt.world != nil {
		err = rt.world.Close(err)
	}
	rt.samples.stop()
	openRuntimes.remove(rt)
	rt.callers.Wait()
	rt.sweeps.EndSweeps()
	rt.unhook()
	rt.cancel(nil)
	rt.observers.session.ShowStatus(nil)
	if rt.pool.workers != nil {
		rt.pool.workers.Close()
	}
	rt.pool.simple.Close()
	rt.virtual.EndJobs()
	rt.cleaning.Wait()
	rt.checkNone()
	err = errors.Join(err, rt.leak())
	known := rt.buffers.Sum()
	for _, b := range rt.buffers.TakeFreed() {
		err = errors.Join(err, rt.buffers.Free(b))
	}
	for _, b := range rt.buffers.Close(ErrClosed) {
		rt.buffers.Remove(b)
		err = errors.Join(err, rt.buffers.Free(b))
	}
	err = errors.Join(err, rt.topology.leakOfMemory(), rt.learned.save(), rt.log.leaks, rt.vectors.close(), rt.topology.machine.Close())
	rt.virtual.Close()
	if rt.observers.watched() {
		rt.observePhase(probe.PhaseClose, began, known)
	}
	return errors.Join(err, rt.broke.err(), rt.observers.session.Close())
}

// finish waits until nothing is in flight whose body could submit more, and takes nothing from
// there on, of the bodies of other runtimes either.
func (rt *Runtime) finish() error {
	for !rt.finished.Load() {
		rt.root.endReductions()
		if err := rt.window.Wait(0, nil); err != nil {
			return err
		}
		rt.root.submitting.Lock()
		rt.finished.Store(rt.window.Live() == 0 && len(rt.root.reductions) == 0)
		rt.root.submitting.Unlock()
	}
	return rt.Wait(context.Background(), ReadOnly())
}

// refuses reports whether the caller may submit nothing any more.
func (l *lifecycle) refuses() bool {
	return l.closed.Load() && (l.finished.Load() || !insideBody())
}
