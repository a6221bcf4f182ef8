package task

import (
	"fmt"
	"slices"

	"github.com/gompss/gompss/codegen/ir"
	"github.com/gompss/gompss/deps"
	"github.com/gompss/gompss/devices"
	"github.com/gompss/gompss/sched"
)

// A KernelIteration is a recorded sequence of kernel tasks that one accelerator runs as one task: on a GPU as a graph of its
// driver, so that a kernel costs what the driver takes for a node and nothing else. Its accesses are those of all its steps,
// so that it is ordered with other tasks as the steps would be.
//
// It belongs to one runtime. Its methods may be called from any goroutine.
type KernelIteration struct {
	rt       *Runtime
	kernel   *Kernel
	args     []devices.Arg // of all steps
	accesses []deps.Access
	buffers  []*buffer
	work     deps.Bytes
	places   sched.PlaceSet
}

// A KernelRecorder takes the steps of a KernelIteration. Nothing runs while it does.
type KernelRecorder struct {
	rt    *Runtime
	it    *KernelIteration
	graph deps.Domain
	err   error
}

// RecordKernels calls build, which submits kernels to the recorder in place of a runtime, and returns the sequence. Arguments
// are what they are when they are recorded: scalars stay as they were.
//
// Errors: what build returns; those of Kernel.Submit; no accelerator that can run all of the kernels; ErrNotRecordable for
// kernels with reductions, no_copy_deps, other modes than in, out and inout, or tokens.
func (rt *Runtime) RecordKernels(label string, build func(*KernelRecorder) error) (*KernelIteration, error) {
	places := rt.all
	if rt.host >= 0 {
		places = places.Without(rt.host)
	}
	r := &KernelRecorder{rt: rt, it: &KernelIteration{rt: rt, places: places, kernel: &Kernel{name: label,
		device: devices.Kernel{Name: label}, ir: &ir.Kernel{Name: label, Target: ir.Target{Kinds: []string{string(devices.Acc)}}}}}}
	r.graph.Edge = func(pred, succ deps.TaskID) {
		s := &r.it.kernel.device.Steps[succ-1]
		s.After = append(s.After, int(pred)-1)
	}
	if err := build(r); err != nil {
		return nil, err
	}
	if r.err == nil && len(r.it.kernel.device.Steps) == 0 {
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
		r.err = r.add(k, args)
	}
	return r.err
}

func (r *KernelRecorder) add(k *Kernel, args []any) error {
	if err := k.checkArgs(args); err != nil {
		return err
	}
	s, g := r.rt.root.submitter()
	one, err := s.begin(g, kernelBody)
	if err != nil {
		return err
	}
	one.kernel, one.pos, one.label = k, k.pos, k.ir.Task.Label
	_, err = r.rt.describeKernel(one, args, nil)
	if err == nil {
		err = r.take(one, k)
	}
	_, err = s.giveUp(one, err) // it was only described
	return err
}

// take makes a step of a task that was described.
func (r *KernelRecorder) take(one *record, k *Kernel) error {
	if one.relaxed || one.apart || len(one.uses) > 0 || len(one.settings.tokens) > 0 {
		return fmt.Errorf("task: record: kernel %s: %w: reductions, no_copy_deps, tokens or modes that others share", k.name, ErrNotRecordable)
	}
	it := r.it
	if it.places &= one.item.Allowed; it.places == 0 {
		return fmt.Errorf("task: record: kernel %s: no accelerator can run it and the steps before it", k.name)
	}
	buffers, err := r.rt.keep(it.buffers, one.accesses)
	if err != nil {
		return err
	}
	it.buffers = buffers
	list := slices.Clone(one.args.List)
	it.kernel.device.Steps = append(it.kernel.device.Steps, devices.Step{Kernel: &k.device, Args: list})
	it.args = append(it.args, list...)
	it.work += one.work
	it.accesses = append(it.accesses, one.accesses...)
	r.graph.Submit(&deps.Node{}, one.accesses) // finds the edges
	return nil
}

func (r *KernelRecorder) finish() {
	it := r.it
	steps := it.kernel.device.Steps
	it.kernel.pos, it.kernel.device.Pos = ir.Pos{}, steps[0].Kernel.Pos
	it.kernel.device.Go = func(a *devices.Args) {
		for i := range steps {
			steps[i].Kernel.Go(&devices.Args{List: steps[i].Args, At: a.At})
		}
	}
	it.accesses = slices.Clone(together(it.accesses))
}

// Len returns the number of steps.
func (it *KernelIteration) Len() int { return len(it.kernel.device.Steps) }

// Replay submits the sequence as one task.
//
// Errors: those of Kernel.Submit; a *ChangedError when memory that the steps use is no buffer any more.
func (it *KernelIteration) Replay(options ...Option) (Task, error) {
	for _, b := range it.buffers {
		if b.gone.Load() {
			return Task{}, &ChangedError{What: fmt.Sprintf("buffer %d was freed", b.id)}
		}
	}
	rt := it.rt
	s, g := rt.root.submitter()
	r, err := s.begin(g, kernelBody)
	if err != nil {
		return Task{}, err
	}
	r.kernel, r.pos = it.kernel, it.kernel.device.Pos
	r.args.List = append(r.args.List, it.args...)
	r.accesses = append(r.accesses, it.accesses...)
	r.work = it.work
	if err := rt.kernelOptions(r, options); err != nil {
		return s.giveUp(r, r.refused(err))
	}
	if !r.settings.placed {
		r.settings.placed, r.settings.places = true, it.places
	} else {
		r.settings.places &= it.places
	}
	if err := rt.placeKernel(r); err != nil {
		return s.giveUp(r, err)
	}
	return s.commit(r), nil
}
