// Package ir defines the two intermediate representations of a kernel, and their common parts.
//
// The front end translates a Go function to the loop IR (Kernel): structured statements with Go's
// types and positions. Directives are attached to the loops and bodies to which they apply. The
// loop IR is not in SSA form. For an accelerator, lowering translates it to the device IR
// (Program): one or more launches of a grid of teams of threads, with explicit team memory,
// barriers, shuffles and atomics, and without directives. Both share types, variables, expressions
// and the plain statements. Verify checks that each contains only the nodes that it may contain.
//
// Invariants:
//   - every expression has a type, and every node has a position in the user's Go source;
//   - expressions have no side effects except the failure of a checked operation (index, slice
//     bound, integer divisor, nil pointer); calls of the user's functions are statements (Call),
//     in Go's order of evaluation;
//   - break and continue always name their target; a switch is already a chain of Ifs in a
//     labelled Block;
//   - semantics are Go's: integers wrap, division truncates, shifts may pass the width, floats
//     are not contracted.
package ir
