// Package sim is the plug-in of simulated accelerators: devices with an address space, a memory
// limit, links, streams, a clock and faults of their own, on any machine.
//
// A device has four streams (host to device, device to host, device to device, kernels), each a
// goroutine that runs the enqueued operations in order, each after the events that it waits for.
// Mirrors are reserved address ranges in which only backed granules are accessible. A granule is
// filled with a poison pattern when it is backed. So a read of data that were never copied gives
// NaN, or, in a granule without backing, makes the task fail.
//
// Invariants: a copy moves exactly its region; every event happens once; work whose predecessor
// failed does not run; virtual time depends on what is enqueued and never on how fast it runs here
// (timeline.go, lane.go).
//
// Lock order: platform.mu (the mirrors of all devices of one machine), then event.mu; Device.mu
// guards counters only. No lock is held over a copy or a kernel.
package sim
