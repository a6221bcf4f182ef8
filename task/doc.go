// Package task runs Go functions and compiled kernels as tasks on every CPU core and accelerator of
// the machine.
//
// A program says what each task reads and writes. The runtime orders the tasks so that the result
// is that of running them one after the other, chooses a device for each, and moves the data there
// and back:
//
//	rt, err := task.New(task.Options{Devices: "smp,cuda?"}) // import _ ".../devices/all" for cuda
//	check(err)
//	defer rt.Close()
//	x, err := task.Alloc[float32](rt, 1<<20)
//	check(err)
//	_, err = rt.Go(func() error { return load(x) }, task.Out(x))
//	check(err)
//	_, err = scale.Submit(rt, float32(2), x) // a Kernel: gompss gen writes typed wrappers
//	check(err)
//	check(rt.Wait(context.Background())) // all tasks have finished, all data are valid here
//
// Tasks work on buffers: slices of Alloc, outside the Go heap until Free, or ordinary slices, which
// are buffers from their first use until tasks and the program use them no more and the collector
// has freed them, or, with Register, until Unregister or Close. Parts of a buffer are sub-slices of
// it; all uses of a buffer have one element size. Package variables that a kernel
// reads are arguments with their value at submission. A program does not touch what a submitted
// task uses before Wait, or WaitOn for that part.
//
// A body that makes tasks of its own takes a Scope (Runtime.GoScope). Its children are ordered
// among themselves, and access what their parent accesses. The parent has finished when its body
// has returned and its children have finished. Waiting with the own Scope costs no worker; a wait
// for the task itself is ErrInsideTask.
//
// In, Out and InOut order tasks. Tasks with Concurrent accesses to common elements run together,
// Commutative ones one at a time in any order, and those that Reduce with one operator run together
// on private copies. Labels, priorities, places, tokens, If, Final, Retry and NoCopyDeps are
// further options. A Group waits for and cancels a part of the graph, a Future has the value of a
// task, an Event keeps a task open until the program fulfills it, and an Iteration is recorded once
// and replayed.
//
// A task fails by its error, a panic, a failing device, or the context of the runtime. Its siblings
// continue. Tasks that depend on it fail with ErrSkipped and its cause, until Wait has returned the
// failure: then the program can repair the data. An error of a submission means that nothing was
// submitted.
//
// README.md of this folder has what an engineer of the runtime needs: where things are, the
// invariants, the order of locks.
package task
