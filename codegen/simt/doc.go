// Package simt runs device IR on the host, exactly and suspiciously: it is the judge of the kernels
// that other back ends print.
//
// New compiles a program to a compact register code; Run executes its launches with real teams,
// threads, team memory, barriers, shuffles and atomics, one thread at a time on the calling
// goroutine. Every access is checked whatever the front end proved, and with Config.Races also for
// data races and for reads of team memory that was not written.
//
// Invariants:
//   - a thread is a program counter, registers and private memory, so it can stop at a barrier and
//     continue later;
//   - a pointer is a segment number and an offset; segment 0 is empty (nil), 1 is the thread's
//     own, 2 the team's;
//   - the result depends on the program, the arguments and Config alone: Seed chooses the order
//     of teams and threads;
//   - teams run one after another, and threads up to the next barrier: code that spins until
//     another thread writes is ended by Config.Steps or Config.Context alone;
//   - a variable has one place in a thread, also where Go makes a new one in each iteration: a
//     pointer to one must not be kept for the next;
//   - functions are never recursive, so each has its registers and private memory at a fixed place.
package simt
