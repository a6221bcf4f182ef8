// Package run describes a run of tasks, put together from its records: the same numbers for the
// summary, every export and every page.
//
// A Run is a record.Sink: it is filled from a file, or while the runtime runs. Summary says how the
// places spent their time and what bound the run; Critical finds the longest path; Compare sets two
// runs beside each other.
//
// Every lane (a CPU worker, an accelerator) spends its time in four ways that add up to the elapsed
// time, at each moment the first that holds:
//
//	busy      a task runs on it
//	transfer  a copy to or from its memory is under way
//	overhead  the task that it runs next is ready: the runtime is at work
//	idle      none of these
//
// Invariants: after Finish the tasks are in order of submission, each once; a Run with a limit
// keeps the newest tasks, and Totals count all.
package run
