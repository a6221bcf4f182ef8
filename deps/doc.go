// Package deps decides which task waits for which: regions of buffers, access modes and the
// dataflow graph.
//
// A Region is an N-dimensional strided box of elements of one buffer; an Access is a region with a
// mode; a Domain orders the accesses of the nodes (tasks) submitted to it so that the result is
// that of running them one after the other, element by element. Two nodes are ordered if and only
// if they touch a common element in modes that conflict.
//
// Invariants:
//   - a Region is canonical: two regions of one buffer are == if and only if they have the same
//     elements;
//   - regions hold buffer ids and element offsets, never addresses, and edges depend on nothing but
//     the order of submission and what has completed, so that every process that submits the same
//     program builds the same graph;
//   - no node waits for a completed node, and the memory of a completed node can be reused for
//     another task of the domain. Lists of the graph may refer to the earlier task until a
//     submission visits them: a reference (ref) has the tag of its task, and a node that is reused
//     has another tag. Memory moves to another domain only after a Reset, or the end, of its
//     domain.
//
// Regions are found in two ways. A region that repeats is looked up in a table. Regions that
// overlap in part are linked at the first use of the later one. So buffers whose regions are equal
// or disjoint (tiles) need no search.
//
// If m nodes depend on the same n nodes, a joint node between them (fanin.go) reduces the number of
// edges from m*n to m+n.
//
// Completing a node takes only the lock of the node, and only if others may follow it. It does not
// touch the lists of the graph: they belong to the submitting goroutine. Completion and submission
// synchronise in one word of the node (Node.word), in which an edge is added or refused, and in its
// count of predecessors.
//
// The package is pure: no goroutine, no clock, no device. Lock order: the lock of a node, which is
// there for Follow alone, one at a time, and Exclusion.mu are never held together, and no function
// of the user's runs under either.
package deps
