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
//   - nothing in the graph waits for a completed node, and its memory can be used for another task
//     of the domain. The lists of the graph may still name it, as the task that it was, until a
//     submission looks there: a node identifies its task by its tag (ref). Memory goes to another
//     domain when the one that it was in has been Reset or is gone.
//
// Two tiers: a region that repeats is found in a table, and regions that overlap in part know each
// other from the first use of the later one, so that buffers whose regions are equal or disjoint
// (tiles) never search.
//
// Where many wait for the same many, they wait for a node between them (fanin.go), so that edges
// are a sum and no product.
//
// To complete a node takes no lock but its own, where others may follow it, and touches none of the
// lists: they belong to the submitting goroutines, one at a time. The two meet in one word of the
// node (Node.word), where an edge is made or refused, and in its count of predecessors.
//
// The package is pure: no goroutine, no clock, no device. Lock order: the lock of a node, which is
// there for Follow alone, one at a time, and Exclusion.mu are never held together, and no function
// of the user's runs under either.
package deps
