// Package exec runs machine code of kernels.
//
// An [Arena] is executable memory, a [Program] code in it, a [Runner] what calls a program with
// arguments, in calls of about 50 microseconds between which the goroutine can be stopped. Parallel
// loops are offered to other workers ([Loop]); code that yields is called again until it has run to
// its end. A Runner learns the time of an iteration, whether locked instructions pay, and chooses a
// variant by the size of the slices.
//
// Invariants: code runs on a block that no other goroutine uses meanwhile. A fault in it, at
// whatever address, is a [FaultError] of the call that it happened in: the code is a leaf below a
// Go frame, so Go's unwinder finds its way. A call that shares no loops does not allocate.
//
// Lock order: Loop.mu guards the sums of one launch; nothing is called under it.
package exec
