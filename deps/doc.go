// Package deps decides which task waits for which: regions of buffers, access modes and the dataflow graph.
//
// A Region is an N-dimensional strided box of elements of one buffer; an Access is a region with a mode; a Domain orders
// the accesses of the nodes (tasks) submitted to it so that the result is that of running them one after the other, element
// by element. Two nodes are ordered if and only if they touch a common element in modes that conflict.
//
// Invariants:
//   - a Region is canonical: two regions of one buffer are == if and only if they have the same elements;
//   - regions hold buffer ids and element offsets, never addresses, and edges depend on nothing but the order of submission and
//     what has completed, so that every process that submits the same program builds the same graph;
//   - a completed node is referenced by nothing in the graph: its memory can be used for another task.
//
// Two tiers: a region that repeats is found in a table, and regions that overlap in part know each other from the first use of
// the later one, so that buffers whose regions are equal or disjoint (tiles) never search.
//
// The package is pure: no goroutine, no clock, no device. Lock order: Domain.mu and Exclusion.mu are never held together, and no
// function of the user's runs under either.
package deps
