// Package devices knows the machine: which devices there are, what each address space holds, and how data get there.
//
// A Machine owns the opened devices and the memory questions. A task's accesses become a WorkingSet, which is acquired
// in an address space (room is made for all of it at once, what is missing is copied, once for all who need it),
// launched behind its transfers, and released, which commits what was written. The Directory (which elements are
// valid where) and the residency of a device (which granules are backed, who uses them, which goes next) are pure:
// they give back plans, and the Machine carries them out.
//
// Invariants:
//   - the newest value of every element is valid in at least one address space, or is known to be lost with a device;
//   - nothing is copied into, read from or unmapped at a place that a copy or a working set in flight uses otherwise;
//   - a working set holds all of its granules or none; one that waits holds nothing, so waiting cannot deadlock;
//   - accesses that conflict are ordered by the caller (package deps): they are not acquired at the same time, but for working
//     sets of one accelerator, the later of which may be acquired once Launched was called for the earlier one. A kernel under
//     way is a Flight to the Directory, so that what is enqueued behind it waits for its event.
//
// Lock order: Machine.mu, whose last parts are the locks of the spaces in their order (beside.go: a kernel that concerns one space alone
// takes that one), then the locks inside a plug-in's events. Machine.mu guards directory, residencies and
// queues and is never held over a method of a Device, a callback or a copy: steps for devices are appended to one
// queue under the lock, and whoever finds no one at it carries them out in order, without the lock. That order is
// what makes events work: a step only ever waits for events of steps before it. A kernel that needs nothing of the steps (its data
// are there, what it waits for is enqueued: Start) is launched past them, by several goroutines at once.
package devices
