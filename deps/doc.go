// Package deps decides which task waits for which: regions of buffers, access modes and the dataflow graph.
//
// A Region is an N-dimensional strided box of elements of one buffer; an Access is a region with a mode; a Domain orders
// the accesses of the nodes (tasks) submitted to it so that the result is that of running them one after the other, element
// by element. Two nodes are ordered if and only if they touch a common element in modes that conflict.
//
// Invariants:
//   - a Region is canonical: equal regions of one buffer compare equal with ==;
//   - regions hold buffer ids and element offsets, never addresses, and the graph depends on nothing but the order of
//     submission, so that every process that submits the same program builds the same graph;
//   - a completed node is referenced by nothing in the graph: its memory can be used for another task.
//
// The package is pure: no goroutine, no clock, no device. Lock order: Domain.mu is the only lock, held for one Submit or one
// Complete; no function of the user's runs under it but the short visit callback of Complete.
package deps
