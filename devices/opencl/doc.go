// Package opencl is the plug-in of devices with an OpenCL driver: AMD's, Intel's and others' GPUs,
// and CPUs by PoCL. The loader (libOpenCL.so.1) is opened at run time, without cgo.
//
// A buffer has one mirror on a device, a memory object of the buffer's size. A device has three
// queues (to the device, to the host, kernels), each with a goroutine that enqueues what is
// submitted, in order, and one that waits for what it has enqueued. What is behind a copy, or a
// kernel that cannot fail, waits for it on the device, by the driver's events; behind all else it
// is enqueued when that has happened. A kernel is printed by codegen/opencl, compiled by the driver
// and kept in a cache on disk; or the user has written it, in OpenCL C.
//
// Invariants: what is behind an operation that fails is not enqueued, or fails with its error; an
// error of a queue takes the device out of service; every result of the driver is looked at.
//
// Lock order: queue.mu and event.mu are leaves; no lock is held over a driver call but mirror.mu,
// which keeps one buffer's calls in order.
package opencl
