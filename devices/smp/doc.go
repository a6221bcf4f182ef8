// Package smp is the plug-in of the CPU: workers, which are goroutines that take work from a source
// and sleep when it has none.
//
// A worker that runs a parallel loop shares it (Share): idle workers wake and take chunks of it. A
// sleeping worker uses no processor time; Wake brings back as many as there is work for. Before
// going to sleep, one worker at a time looks for work for some microseconds more: waking it would
// take longer than the gaps between short tasks.
//
// Workers belong to the memory nodes of the machine, in proportion to their processors (Topology),
// and ask those of their own node for work first. The parameter bind=node of the device keeps them
// on its processors: off by default, since a bound worker takes longer to wake, and no
// machine with several nodes was measured.
//
// Invariants: a wake-up is never lost (a worker announces that it will sleep before it looks at the
// source a last time, and Wake looks for announcements after the work is in the source); Share
// returns only after the last chunk, and a panic in a chunk is a panic of the goroutine that
// shares.
//
// Lock order: Workers.mu guards the sleepers and the list of loops; nothing is called under it.
package smp
