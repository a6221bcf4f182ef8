// Package clock reads the time that has passed since a moment, several times cheaper than the
// system does where the processor allows.
//
// A task that is recorded is three readings of the clock, and the system's take most of what
// recording costs. So on Linux on amd64, while the kernel itself trusts the counter of the
// processor (its clock source is "tsc": the counter runs at one rate and is the same on all
// processors), a Clock reads that and works out nanoseconds along a line, which it compares with
// the system's clock every second. Elsewhere, and from the moment on at which the two do not fit
// together, it asks the system.
//
// Invariants: what one goroutine reads never goes back, nor, but for Early, what is read after
// something another goroutine did after its own reading; a Clock is the system's monotonic clock to
// within some hundred nanoseconds, and to within the drift of a second of the counter (a few
// microseconds) where the system's clock is being corrected.
package clock
