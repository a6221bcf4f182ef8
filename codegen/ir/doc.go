// Package ir holds the two intermediate representations of a kernel and what is common to them.
//
// The loop IR (Kernel) is what the front end makes of a Go function: structured statements with
// Go's types and positions, and directives hung on the loops and bodies that they govern; no SSA.
// The device IR (Program) is what lowering makes of it for an accelerator: one or more launches of
// a grid of teams of threads, with team memory, barriers, shuffles and atomics spelled out and no
// directive left. Both share types, variables, expressions and the plain statements; Verify says
// which nodes each may hold.
//
// Invariants:
//   - every expression has a type and every node a position in the user's Go source;
//   - expressions have no side effects but the failure of a checked operation (index, slice
//     bound, integer divisor, nil pointer); calls of the user's functions are statements (Call),
//     in Go's order of evaluation;
//   - break and continue always name their target; a switch is already a chain of Ifs in a
//     labelled Block;
//   - semantics are Go's: integers wrap, division truncates, shifts may pass the width, floats
//     are not contracted.
package ir
