// Package cuda is the plug-in of NVIDIA GPUs: libcuda and NVRTC, opened at run time, without cgo or
// a toolkit.
//
// A buffer has one mirror on a GPU, an address range of its size that physical memory is mapped
// into granule by granule. Copies and kernels go to streams of their own and are ordered by events
// of the GPU, so that the host is not in the loop; one goroutine a device, its engine, enqueues
// them and polls for completions; another, the completion thread, reports these. It also does the
// work that the runtime leaves to the device between two reports, or, where several goroutines
// submit, a third does, the launch thread. All sleep when nothing is in flight. Memory of the
// program is page-locked by one more goroutine for all GPUs, which is there as long as there is
// some to lock; copies of that memory wait for it, and nothing else does. A kernel is printed by
// codegen/cuda, compiled by NVRTC for the GPU in use and kept in a cache on disk; or the user has
// written it, in CUDA C++ or as a cubin.
//
// Invariants:
//   - every driver call is made with the device's context current on a locked thread, and every
//     result is looked at;
//   - work that starts behind an event of this plug-in that cannot fail alone waits for it on the
//     GPU; behind all other events it is enqueued when they have happened, so that it does not run
//     when they have failed;
//   - what is behind an operation that is known to fail is not enqueued, and fails with its error;
//     an operation of which a part may be on its stream fails when that has finished, so that
//     nothing it uses goes earlier; and nothing has finished before what it was behind;
//   - an error after which CUDA gives no more answers (an illegal address, say) takes the device
//     out of service: all that is in flight fails with it, and nothing else is asked of the driver
//     for that device;
//   - a CUevent is recorded again only when nothing waits for what it stood for; it may stand for
//     several operations (mark);
//   - what is pending on a stream (batch.go) counts as enqueued for the engine alone: others wait
//     for it until it is.
//
// Lock order: submitter.mu is held over the calls that enqueue one operation or batch, then
// graph.mu and stream.marking, which is held over the call that records, then the rest, which are
// leaves: none is held while another is taken, and none over a driver call.
package cuda
