// Package cpubench compares the CPU's vector code with C code, which it compiles in the same run.
//
// A row is one kernel with one element type and one size. This package and c/rows.c create the same
// arguments. A C compiler compiles c/rows.c to one program per element type and set of options. The
// C programs wait in the background and run on request: the variants take turns in short rounds,
// and the ratio of a row is the median of all rounds. Every row is verified twice: at a small size
// against the Go function, element by element, and at full size against the checksums of the C
// programs.
//
// Only one goroutine and one thread run at a time.
package cpubench
