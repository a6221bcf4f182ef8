// Package cpubench measures the CPU's vector code beside C compiled on the spot.
//
// A row is one kernel at one type and size. Its arguments are made the same way here and in
// c/rows.c, which a C compiler makes into one program for each type and set of options; the
// programs wait in the background and run on request, so that ours and theirs take turns
// in short rounds and the ratio is the median over the rounds. Every row is verified twice: at a
// small size element by element against the Go function, at full size against the sums of the C
// programs.
//
// Everything runs on one goroutine and one thread at a time.
package cpubench
