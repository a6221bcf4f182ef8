// Package codegen compiles kernels: Go functions with OpenMP-style directive comments.
//
// Load parses and type-checks the source of a package with go/parser and go/types, needing no
// toolchain, and makes loop IR (package ir) of every kernel and of all that kernels call;
// DIALECT.md is the language. Lower makes device IR of a kernel for the back ends in the folders
// below. Everything is pure: text in, values out.
//
// A kernel reads variables of its package and changes none. Each is one more parameter, behind
// those of the Go function (ir.Global), and holds what the variable held when the task was
// submitted: scalars, and structs and arrays up to 1 KiB each and 2 KiB together, go by value;
// larger ones, and what slices and pointers refer to, are memory that the task reads all of. A
// program must not change one between the submission of a task that reads it and the task's end.
// Clauses of target and task do not see them.
//
// Invariants:
//   - nothing is dropped silently: what a kernel cannot say is an error with its position, the
//     reason and what to write instead, and all errors of a package come at once;
//   - no input makes the package panic;
//   - the result depends on the input alone, never on the order of a map.
//
// Loops that are dealt out are right up to the ends of their counters' types where a constant says
// that they come near; a loop between two variables has to end some 2^40 before the ends of int64,
// since its threads go past the last iteration by a step of the grid.
//
// There is no lock but Package.mu, which lets Instance run from several goroutines.
package codegen
