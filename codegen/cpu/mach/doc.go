// Package mach turns instructions over virtual registers into instructions over the registers of a
// machine.
//
// Selection adds steps to a [Code]: instructions of package vcode, labels, jumps, constants of a
// pool. [Code.Tidy] takes out of code for single numbers what straight code has computed before
// (local value numbering), [Code.Allocate] gives every virtual register a register of a
// [RegisterFile] or a spill slot (linear scan over live intervals), and [Code.All] hands the steps
// to what encodes them for a processor.
//
// Invariants: a virtual register never changes its class. Block points to the block of memory that
// [Layout] describes and is never handed out, nor are Acc and Count; High is where no step divides.
// After Allocate no step names a virtual register. The package knows no kernel, no lane and no
// launch, and nothing in it is shared: two goroutines may work on two Codes.
package mach
