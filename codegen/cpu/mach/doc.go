// Package mach turns instructions over virtual registers into machine code for x86-64.
//
// Selection adds steps to a [Code]: instructions of package x86, labels, jumps, constants of a
// pool. [Code.Tidy] takes out of code for single numbers what straight code has computed before
// (local value numbering), [Code.Allocate] gives every virtual register a machine register or a
// spill slot (linear scan over live intervals), and [Code.Link] encodes the steps and fills in
// distances.
//
// Invariants: a virtual register never changes its class. DI points to the block of memory that
// [Layout] describes and is never handed out, nor are AX, CX, SP and BP; DX is where no step
// divides. After Allocate no step names a virtual register. The package knows no kernel, no lane
// and no launch, and nothing in it is shared: two goroutines may work on two Codes.
package mach
