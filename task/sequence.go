package task

import (
	"errors"
	"fmt"
	"slices"

	"github.com/gompss/gompss/codegen/ir"
	"github.com/gompss/gompss/deps"
	"github.com/gompss/gompss/devices"
	"github.com/gompss/gompss/internal/spin"
	"github.com/gompss/gompss/sched"
	"github.com/gompss/gompss/task/internal/cpucode"
	"github.com/gompss/gompss/task/internal/engine"
	"github.com/gompss/gompss/task/internal/kernels"
	"github.com/gompss/gompss/task/internal/life"
	"github.com/gompss/gompss/task/internal/memory"
)

// A KernelIteration is a recorded sequence of kernels that one accelerator runs as one task. On a
// GPU it is a graph of the driver, so that a kernel costs only as much as a node of such a graph.
// Its accesses are those of all steps, so that it is ordered with other tasks as the steps would
// be.
//
// It belongs to one runtime. Any goroutine may call its methods; the build function of a call must
// not.
type KernelIteration struct {
	rt *engine.Runtime
	mu spin.Mutex // serialises calls
	sequence
}

// A sequence contains the steps of a KernelIteration. It does not change.
type sequence struct {
	kernel       *kernels.Kernel
	steps        []devices.Step // those of kernel, with the latest arguments
	args         []devices.Arg  // of all steps
	reads        []reading      // the package variables that steps read
	accesses     []deps.Access
	buffers      []*memory.Buffer
	hold         *memory.Hold // of them, and of the buffers of args
	work         deps.Bytes
	places       sched.PlaceSet
	tokens       []sched.Tokens // by kind, the maximum that a step needs
	orderOnly    bool           // a step has other accesses for the transfers than for the order
	copyAccesses []deps.Access  // the accesses of all steps for the transfers, if orderOnly is set
}

// A reading is a step whose kernel reads package variables, with the recorded values.
type reading struct {
	kernel *kernels.Kernel
	args   []devices.Arg
}

// A KernelRecorder records the steps of a KernelIteration. Nothing runs meanwhile.
type KernelRecorder struct {
	rt    *engine.Runtime
	it    *sequence
	graph deps.Domain
	after int // 1 + the number of the step on which all later steps depend; 0 for none
	held  int // 1 + the number of the latest step that needs tokens
	err   error
}

// recordSequence calls build until no buffer grows meanwhile.
func recordSequence(rt *engine.Runtime, label string, build func(*KernelRecorder) error) (*sequence, error) {
	for range recordTries {
		before := rt.Root.Memory.Growths.Load()
		made, err := recordKernels(rt, label, build)
		if err != nil || rt.Root.Memory.Growths.Load() == before {
			return made, err
		}
	}
	return nil, &ChangedError{What: "whenever build was called, a step used memory around what an earlier step uses (Register the whole slice first)"}
}

// recordTries is the maximum number of times that RecordKernels calls build if buffers grow: a
// recording contains the addresses of the buffers before.
const recordTries = 3

func recordKernels(rt *engine.Runtime, label string, build func(*KernelRecorder) error) (*sequence, error) {
	places := rt.Topology.All
	if rt.Topology.Host >= 0 {
		places = places.Without(rt.Topology.Host)
	}
	r := &KernelRecorder{rt: rt, it: &sequence{places: places, kernel: &kernels.Kernel{Name: label,
		Device: devices.Kernel{Name: label}, IR: &ir.Kernel{Name: label, Target: ir.Target{Kinds: []string{string(devices.Acc)}}}}}}
	r.graph.Edges = func(succ deps.TaskID, preds []deps.TaskID) {
		s := &r.it.steps[succ-1]
		for _, p := range preds {
			s.After = append(s.After, int(p)-1)
		}
	}
	if err := build(r); err != nil {
		return nil, err
	}
	if r.err == nil && len(r.it.steps) == 0 {
		r.err = fmt.Errorf("task: record %s: no steps", label)
	}
	if r.err != nil {
		return nil, r.err
	}
	r.finish()
	return r.it, nil
}

// Submit records a step: see Kernel.Submit.
func (r *KernelRecorder) Submit(k *Kernel, args ...any) error {
	if r.err == nil {
		r.err = r.add(k.description, args)
	}
	return r.err
}

func (r *KernelRecorder) add(k *kernels.Kernel, args []any) error {
	if err := k.CheckArgs(args); err != nil {
		return err
	}
	s := &r.rt.Root
	one, err := s.Begin(nil, engine.KernelBody)
	if err != nil {
		return err
	}
	one.Kernel, one.Pos, one.Label = k, k.Pos, k.IR.Task.Label
	wait, err := describeKernel(r.rt, one, args, nil)
	if err == nil {
		err = r.take(one, wait || one.Traits.Is(life.Undeferred))
	}
	_, err = s.Abort(one, err) // the record served only to describe the step
	return err
}

// take adds a described task as a step. If undeferred is set, all later steps depend on it.
func (r *KernelRecorder) take(one *engine.Record, undeferred bool) error {
	it := r.it
	if it.places &= one.Item.Allowed; it.places == 0 {
		return fmt.Errorf("task: record: %w", refusedKernel(one, errNoPlaceForAll))
	}
	if it.hold == nil {
		it.hold = memory.NewHold()
	}
	buffers, _, err := keepBuffers(&r.rt.Buffers, it.buffers, it.hold, one.Accesses, one.Args.List)
	if err != nil {
		return fmt.Errorf("task: record: %w", refusedKernel(one, err))
	}
	it.hold.AddArgs(&r.rt.Buffers, one.Args.List)
	it.buffers = buffers
	list := slices.Clone(one.Args.List)
	it.steps = append(it.steps, devices.Step{Kernel: &one.Kernel.Device, Args: list})
	it.args = append(it.args, list...)
	if len(one.Kernel.Variables) > 0 {
		it.reads = append(it.reads, reading{one.Kernel, list})
	}
	it.work += one.Work
	accesses := slices.Clone(one.Accesses)
	serializeCommutative(accesses)
	serializeReductions(accesses)
	it.accesses = append(it.accesses, accesses...)
	if it.copyAccesses = append(it.copyAccesses, accesses...); one.Traits.Is(life.OrderOnly) {
		it.orderOnly, it.copyAccesses = true, append(it.copyAccesses[:len(it.copyAccesses)-len(accesses)], one.CopyAccesses...)
	}
	r.order(accesses, r.needs(one), undeferred)
	return nil
}

var errNoPlaceForAll = errors.New("no accelerator can run it and the steps before it")

// needs adds the tokens of a step to those of the sequence, and reports whether there are any.
func (r *KernelRecorder) needs(one *engine.Record) (some bool) {
	it := r.it
	for p, place := range r.rt.Topology.Places {
		if place.Kind == devices.SMP || !one.Item.Allowed.Has(sched.PlaceID(p)) {
			continue
		}
		n := r.rt.Ready.Sched.Need(&one.Item, sched.PlaceID(p))
		i := slices.IndexFunc(it.tokens, func(t sched.Tokens) bool { return t.Kind == place.Kind })
		switch {
		case n == 0:
			continue
		case i < 0:
			it.tokens = append(it.tokens, sched.Tokens{Kind: place.Kind, Count: n})
		default:
			it.tokens[i].Count = max(n, it.tokens[i].Count)
		}
		some = true
	}
	return some
}

// order computes the predecessors of the latest step.
func (r *KernelRecorder) order(accesses []deps.Access, holds, undeferred bool) {
	steps := r.it.steps
	at := len(steps) - 1
	r.graph.Submit(&deps.Node{}, accesses) // computes the edges
	after := func(i int) {
		if i > 0 && !slices.Contains(steps[at].After, i-1) {
			steps[at].After = append(steps[at].After, i-1)
		}
	}
	after(r.after)
	if holds {
		after(r.held)
		r.held = at + 1
	}
	if undeferred {
		r.after = at + 1
	}
}

func (r *KernelRecorder) finish() {
	it := r.it
	steps := it.steps
	it.kernel.Device.Steps = steps
	it.kernel.Pos, it.kernel.Device.Pos = ir.Pos{}, steps[0].Kernel.Pos
	it.kernel.Device.Go = func(a *devices.Args) {
		list := a.List
		for i := range steps {
			own := len(steps[i].Args)
			steps[i].Kernel.Go(&devices.Args{List: list[:own], At: a.At})
			list = list[own:]
		}
	}
	it.accesses = slices.Clone(together(it.accesses))
	it.copyAccesses = slices.Clone(together(it.copyAccesses))
}

// Len returns the number of steps.
func (it *KernelIteration) Len() int {
	it.mu.Lock()
	defer it.mu.Unlock()
	return len(it.steps)
}

// Replay submits the sequence as one task.
//
// Errors: those of Kernel.Submit; a *ChangedError if memory that the steps use is not a buffer any
// more, or if a package variable that they read has changed since it was recorded.
func (it *KernelIteration) Replay(options ...Option) (Task, error) {
	it.mu.Lock()
	defer it.mu.Unlock()
	return it.replay(options)
}

// ReplayOrRecord calls build as RecordKernels does and replays the sequence with the arguments that
// build gives: other scalars, slices and package variables. While the kernels and the order of the
// steps are the recorded ones, a GPU keeps its graph, of which it replaces the kernels of the nodes
// that have other arguments. Otherwise the sequence is recorded anew, and changed is true; a device
// keeps the graphs of all recordings until the runtime is closed.
//
// A step is described as by Kernel.Submit, and not submitted. Replays that are in flight keep their
// arguments.
//
// Errors: those of RecordKernels, after which the sequence is what it was before; those of Replay.
func (it *KernelIteration) ReplayOrRecord(build func(*KernelRecorder) error, options ...Option) (t Task, changed bool, err error) {
	if build == nil {
		return Task{}, false, errNoBuild
	}
	it.mu.Lock()
	defer it.mu.Unlock()
	made, err := recordSequence(it.rt, it.kernel.Name, build)
	if err != nil {
		return Task{}, false, err
	}
	if changed = !made.sameGraph(&it.sequence); !changed {
		made.kernel = it.kernel
	}
	it.sequence = *made
	t, err = it.replay(options)
	return t, changed, err
}

// sameGraph reports whether s and o have the same kernels in the same order.
func (s *sequence) sameGraph(o *sequence) bool {
	return slices.EqualFunc(s.steps, o.steps, func(a, b devices.Step) bool {
		return a.Kernel == b.Kernel && len(a.Args) == len(b.Args) && slices.Equal(a.After, b.After)
	})
}

// replay is Replay. Requires: mu held.
func (it *KernelIteration) replay(options []Option) (Task, error) {
	rt := it.rt
	for _, x := range it.reads {
		if v := cpucode.VariableChanged(&rt.Buffers, x.kernel, x.args); v != nil {
			return Task{}, &ChangedError{What: fmt.Sprintf("package variable %s, which kernel %s reads, has changed", v.Name, x.kernel.Name)}
		}
	}
	s := &rt.Root
	r, err := s.Begin(nil, engine.KernelBody)
	if err != nil {
		return Task{}, err
	}
	if err := goneIn(it.buffers); err != nil { // from here on a caller that frees a buffer waits for r
		return handle(s.Abort(r, err))
	}
	r.Kernel, r.Pos = it.kernel, it.kernel.Device.Pos
	r.Args.List, r.Sequence = append(r.Args.List, it.args...), it.steps
	r.Accesses = append(r.Accesses, it.accesses...)
	r.Work = it.work
	if r.Traits.Set(life.OrderOnly, it.orderOnly); it.orderOnly {
		r.CopyAccesses = append(r.CopyAccesses, it.copyAccesses...)
	}
	r.Settings.Tokens = append(r.Settings.Tokens, it.tokens...)
	if err := kernelOptions(rt, r, options); err != nil {
		return handle(s.Abort(r, refusedKernel(r, err)))
	}
	if !r.Settings.Placed {
		r.Settings.Placed, r.Settings.Places = true, it.places
	} else {
		r.Settings.Places &= it.places
	}
	r.KeepUnordered()
	if err := errors.Join(placeKernel(rt, r), blocksWorker(r)); err != nil {
		return handle(s.Abort(r, err))
	}
	return Task{s.Commit(r)}, nil
}
