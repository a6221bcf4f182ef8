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
// Tasks access buffers. A slice of Alloc is a buffer outside the Go heap until Free. An ordinary
// slice is a buffer from its first use until the garbage collector has freed it, or, with Register,
// until Unregister or Close. Sub-slices are parts of a buffer; all uses of a buffer have one
// element size. A kernel reads package variables with their values at submission. A program must
// not access the data of a submitted task before Wait, or WaitOn for that part, has returned.
//
// A body that makes tasks of its own takes a Scope (Runtime.GoScope). Its children are ordered
// among themselves, and access what their parent accesses. The parent has finished when its body
// has returned and its children have finished. A body that waits with its own Scope occupies no
// worker; a wait for the task itself returns ErrInsideTask.
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
