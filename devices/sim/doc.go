// Package sim is the plug-in of simulated accelerators: devices with an address space, a memory
// limit, links, streams, a clock and faults of their own, on any machine.
//
// A device has four streams (host to device, device to host, device to device, kernels), each a
// goroutine that runs what was enqueued in order, behind events. Mirrors are reserved address
// ranges in which only backed granules can be touched, and a granule is filled with a poison
// pattern when it is backed, so that reading what was never copied shows: as NaN, or as the failure
// of the task when the granule is not there at all.
//
// Invariants: a copy moves exactly its region; every event happens once; work whose predecessor
// failed does not run; virtual time depends on what is enqueued and never on how fast it runs here
// (timeline.go, lane.go).
//
// Lock order: platform.mu (the mirrors of all devices of one machine), then event.mu; Device.mu
// guards counters only. No lock is held over a copy or a kernel.
package sim
