// Package opencl is the plug-in for devices with an OpenCL driver: GPUs of AMD, Intel and other
// vendors, and CPUs through PoCL. It opens the loader (libOpenCL.so.1) at run time, without cgo.
//
// A buffer has one mirror on a device, a memory object of the buffer's size. A device has three
// queues (copies to the device, copies to the host, kernels). Each queue has a goroutine that
// enqueues the submitted operations in order, and one that waits for the enqueued operations. An
// operation that depends on a copy, or on a kernel that cannot fail, waits for it on the device by
// an event of the driver; after any other operation it is enqueued when that one has finished. A
// kernel is printed by codegen/opencl, compiled by the driver and cached on disk, or is written by
// the user in OpenCL C.
//
// Invariants: an operation that depends on a failed one is not enqueued, or fails with the same
// error; an error of a queue takes the device out of service; every driver result is checked.
//
// Lock order: queue.mu and event.mu are leaves. Only mirror.mu is held during a driver call; it
// keeps the calls for one buffer in order.
package opencl
