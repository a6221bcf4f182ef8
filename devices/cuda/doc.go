// Package cuda is the plug-in for NVIDIA GPUs. It loads libcuda and NVRTC at run time, without cgo
// or a toolkit.
//
// A buffer has one mirror on each GPU: an address range of its size, into which physical memory is
// mapped granule by granule. Copies and kernels are enqueued on separate streams and ordered by
// events of the GPU, without the host. Each device has an engine, a goroutine that enqueues
// operations and polls for completions, and a completion thread, which reports them. The completion
// thread also launches dependent tasks for the runtime; if several goroutines submit, a launch
// thread does. All of them sleep when no operation is in flight. One more goroutine pins host
// memory for all GPUs, as long as there is memory to pin; only copies of that memory wait for it. A
// kernel is printed by codegen/cuda, compiled by NVRTC for the GPU in use and cached on disk; or
// the user has written it, in CUDA C++ or as a cubin.
//
// Invariants:
//   - every driver call is made with the device's context current on a locked thread, and every
//     result is checked;
//   - an operation after an event of this plug-in that cannot fail alone waits for it on the GPU.
//     After any other event it is enqueued when that event has happened, so that it does not run
//     if the event has failed;
//   - an operation after one that is known to fail is not enqueued and fails with its error. An
//     operation that failed after a part of it may have been enqueued happens when the stream has
//     passed it, so that nothing it uses is freed earlier. No operation happens before its
//     predecessors;
//   - an error after which CUDA gives no more answers (an illegal address, for example) takes the
//     device out of service: all operations in flight fail with it, and no further driver call is
//     made for that device;
//   - a CUevent is recorded again only when no operation waits for its last use; it may cover
//     several operations (mark);
//   - a pending operation of a stream (submit.go) counts as enqueued only for the engine; other
//     waiters wait until it is enqueued.
//
// Lock order: submitter.mu is held during the calls that enqueue one operation or batch; then
// graph.mu and stream.marking, which is held during the call that records; then all other locks.
// Those are leaves: none is held while another lock is taken, and none during a driver call.
package cuda
