// Package task runs Go functions and compiled kernels as tasks on every CPU core and accelerator of the machine.
//
// A program says what each task reads and writes; the runtime orders the tasks so that the result is that of running
// them one after the other, chooses a device for each, and moves the data there and back:
//
//	//go:embed kernels.go
//	var source string // func Saxpy(a float32, x, y []float32), with its //omp:target and //omp:task lines
//
//	func main() {
//		saxpy, err := task.NewKernel(Saxpy, task.SourceFile{Name: "kernels.go", Text: source})
//		check(err)
//		rt, err := task.New(task.Options{Devices: "smp,sim:2"}) // import _ ".../devices/all" for sim
//		check(err)
//		defer rt.Close()
//		x, err := task.Alloc[float32](rt, 1<<20)
//		check(err)
//		y, err := task.Alloc[float32](rt, 1<<20)
//		check(err)
//		_, err = rt.Go(func() error { return load(x) }, task.Out(x))
//		check(err)
//		for i := 0; i < len(x); i += 1 << 16 { // tiles run at once, wherever there is room
//			_, err = saxpy.Submit(rt, float32(2), x[i:i+1<<16], y[i:i+1<<16])
//			check(err)
//		}
//		check(rt.Wait(context.Background())) // all tasks are over, all data are valid here
//		fmt.Println(y[0])
//	}
//
// gompss gen writes a typed SubmitSaxpy(rt, a, x, y, options...) that calls the function without reflection and shares
// its parallel loop between CPU workers. What it writes holds copies of code of the kernel: a program whose kernels were
// edited since then stops at its start and says so.
//
// # Data
//
// Tasks work on buffers: slices of Alloc, which lie outside the Go heap until Free, or ordinary slices, which become
// buffers up to their capacity on first use and are kept in place and alive until Unregister or Close: a program that goes on making new slices
// calls Unregister, when it is done with one, or Free, and Stats.Buffers counts those that are left. Memory that was first used in a
// Scope is forgotten with the task. Parts of a
// buffer are sub-slices of it. A buffer grows when memory around it is used: parts that were used first become part of the whole, which
// costs a task of the runtime that brings what devices have of them to the host; Register the whole first where that matters. What a task
// has in its body are the buffers as they were when it was submitted. All uses of a buffer have one element size. A program must not touch what a submitted task uses before Wait, or WaitOn for that part.
//
// Package variables that a kernel reads are arguments, too: see BindVariable, which generated wrappers do not need. Their values are those
// at submission, on every device. Arrays and structs of more than 1 KiB, and what slices and pointers among them refer to, are buffers in
// their own place, which the program must not change before the task is done. A replay of an Iteration takes new values; one of a KernelIteration reports a ChangedError.
//
// # Failures
//
// A task fails by its error, a panic, a failing device or the runtime's context. Its *Error has its label, and the line of its kernel or
// function. Its siblings go on. Tasks that depend on it, directly or through others, whether submitted before or after it failed, do not
// run and fail with ErrSkipped and its cause, until Wait has told of the failure: then the program has had its chance to repair the data.
//
// # Invariants
//
//   - of two tasks whose accesses conflict the one submitted first is over before the other starts, or both are on one
//     accelerator, which runs them in that order;
//   - an error of a submission means that nothing was submitted;
//   - a task that waits, for predecessors, tokens or memory, holds no tokens and no device memory, unless it is on an accelerator
//     behind its predecessors already;
//   - in the steady state, submitting and running a task allocates nothing but what boxing arguments for Submit takes.
//
// # Nesting
//
// A body that has work for tasks of its own takes a Scope (Runtime.GoScope) and submits them there. They are ordered
// among themselves; what they access must be inside what their parent accesses, or memory that was first used in the
// scope, which is forgotten with it. The parent is over, for its successors, when its body has returned and its children
// are over. Waiting in a body (Scope.Wait, Scope.WaitOn, Task.Wait with Scope.Context) costs no worker: see
// docs/decisions/005-waiting-costs-no-worker.md. A body waits with its own Scope: what would wait for itself, or keep a worker, is ErrInsideTask.
//
// Lock order: Scope.lending and Scope.waitMu, then Scope.submitting, before the locks of deps, Machine and buffers;
// Runtime.mu is held over calls of sched, but for those of tasks that bypass it (contention.go), and over deviceBacklog.mu, which is innermost. No lock
// but lending and turn is held over bodies, and none over observers of the runtime's own points, or calls of devices that start work. The
// program's submitting is held over the flush of Wait, which no task can need.
//
// # Relaxed accesses
//
// Tasks with Concurrent accesses to common elements run together, all in one address space at a time. Commutative tasks
// run one at a time: a task is given all its commutative regions when it is ready, or waits holding none. Tasks that reduce
// with one operator run together on private copies, one for each task that runs at the moment, in the address space where
// it runs; a task of the runtime combines the copies before the first other access, and before a wait.
//
// Kernels: concurrent ones of one region run together, but those that have atomics are alone on the host, where these are not made. A
// parameter of reduction (+ * min max, and & | ^ of integers) may have no other access in the same task. copy_in, copy_out
// and copy_inout order tasks as in, out and inout do; with no_copy_deps the accesses order only, and what no copy clause
// names must not be touched on an accelerator. final and untied change nothing: a kernel submits nothing and does not
// wait. The versions of implements(F) run on the kinds that they name, the first of several that fit, once the generated
// wrappers or Kernel.AddVersion have told of them.
//
// # Clauses
//
// Besides labels, priorities, places and tokens: If(false) waits for the task where it is submitted, Final does so for all
// that it submits, Retry runs it again where no other task can observe that, NoCopyDeps orders without moving data. A kernel may have
// several versions (implements, Kernel.AddVersion). Groups wait for and cancel a part of the graph, a Future is the value of
// a task, an Event keeps a task open until something outside has happened.
package task
