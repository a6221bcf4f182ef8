// Package taskbench measures what a task costs: the patterns of Task Bench as programs of the
// runtime, timed from the first submission to the end of the last task.
//
// A Graph is the tasks of a pattern in order of submission, each with the cells that it reads and
// writes. Every access carries the version that its cell must have in that order; the body of a
// task looks at all of them before and after its kernel and writes the next version. So a runtime
// that runs a task too early, too late, twice or never does not look fast: it fails.
//
// Invariants: all that belongs to the graph is made before the clock starts; edges counts direct
// predecessors, found by reading the accesses in order, each pair once.
//
// Source: Slaughter et al., Task Bench, SC'20 (patterns, METG); differs: tree, random and cholesky
// are our own definitions.
package taskbench
