// Package dist runs one program on several ranks: processes, of one machine or many, that all
// submit the same tasks.
//
//	w, err := dist.Init(dist.Options{}) // mpirun, srun, gompss run; else one rank
//	check(err)
//	rt, err := task.New(task.Options{World: w})
//	check(err)
//	x, err := task.Alloc[float64](rt, n)
//	check(err)
//	check(dist.Distribute(rt, x, dist.Block(1)))
//	... // submit tasks as on one rank
//	check(rt.Wait(ctx))
//	check(rt.Close())
//	w.Exit(0)
//
// A task runs on the rank that owns what it writes; the others skip it. All ranks see all
// submissions, so that each derives the same messages: a rank that has the current version of some
// elements sends them to the rank of a task that reads them, and that one receives them. Sends and
// receives are tasks of the runtime, ordered by the same accesses as all others. A received version
// is kept until it is overwritten. Elements that many ranks read travel along a tree.
//
// A buffer has its full length on every rank, and memory of Alloc costs pages only where it is
// touched. Before the first task the contents are those of the owner. Wait copies no data between
// ranks: WaitOn copies the data that it names to all ranks, Gather to one.
//
// All ranks must submit the same tasks: the tasks must not depend on the rank, on addresses, on the
// time or on the iteration order of a map. This is checked; a difference is an error on all ranks
// that names both submissions. A rank that fails, dies or is silent ends the job.
//
// Lock order: World.mu (submission) before control.checking before control.mu; no lock is held over
// a call of the transport's callbacks.
package dist
