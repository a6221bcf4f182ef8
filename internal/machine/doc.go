// Package machine runs the opened devices: it brings data to where kernels need them and launches
// the kernels.
//
// A task's accesses become a WorkingSet. It is acquired in an address space: memory for all of it
// is reserved at once, and missing data are copied, once for all tasks that need them. Then its
// kernel is launched after its transfers, and ReleaseSet commits what was written. Package
// coherence decides which copies and evictions that takes; the planner takes working sets from
// state to state, under the lock, and the runner carries out what it decides, without.
//
// Invariants:
//   - the newest value of every element is valid in at least one address space, or is known to be
//     lost with a device;
//   - nothing is copied into, read from or unmapped where a pending copy or a working set uses it
//     otherwise;
//   - a working set holds all of its granules or none; one that waits holds nothing, so waiting
//     cannot deadlock;
//   - the caller orders accesses that conflict (package deps): such working sets are not acquired
//     at the same time, except on one accelerator, where the later one may be acquired once
//     Launched was called for the earlier. A kernel under way is a pending operation of the
//     directory, so that what is issued after it waits for its event.
//
// Lock order: Machine.mu, which consists of a lock of its own and those of the spaces in their
// order (single_space.go: a kernel that concerns a single space takes that one alone), then the
// locks inside a plug-in's events. Machine.mu guards the directory, the residencies and the queues.
// It is never held while a method of a Device, a callback or a copy runs: what devices must do is
// appended to a list of actions under the lock, and one goroutine at a time carries the actions out
// in order, without it. That order is what makes events work: an action only waits for events of
// actions before it. A kernel that needs no action (its data are available, what it waits for is
// issued: Start) is launched past the list, by several goroutines at once.
package machine
