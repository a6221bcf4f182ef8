// Package codegen compiles kernels: Go functions with OpenMP-style directive comments.
//
// Load parses and type-checks the source of a package with go/parser and go/types; it needs no
// toolchain. It translates every kernel, and every function that a kernel calls, to loop IR
// (package ir). DIALECT.md defines the language. Lower translates a kernel to device IR for the
// back ends in the folders below. The package is pure: its input is text, its output are values.
//
// A kernel reads package variables and does not change them. Each of them is one more parameter
// (ir.Global) after those of the Go function, with the value of the variable at submission.
// Scalars, and structs and arrays of at most 1 KiB each and 2 KiB together, are passed by value.
// The task reads the whole of larger variables, and of the memory to which slices and pointers
// refer: a program must not change this memory between the submission and the end of the task.
// Clauses of target and task cannot name package variables.
//
// Invariants:
//   - nothing is dropped silently: code outside the kernel language is an error with its position,
//     the reason and a correct form, and Load reports all errors of a package at once;
//   - no input makes the package panic;
//   - the result depends on the input alone, never on the order of a map.
//
// A worksharing loop whose bounds are constants is correct up to the limits of its counter's type.
// A worksharing loop with variable bounds must end some 2^40 before the limits of int64, because a
// thread advances past the last iteration by a step of the grid.
//
// There is no lock but Package.mu, which lets Instance run from several goroutines.
package codegen
