// Package taskbench measures the overhead of a task. It runs the patterns of Task Bench, and
// measures the time from the first submission to the end of the last task.
//
// A Graph has the tasks of a pattern in order of submission, each with the cells that it reads and
// writes. Every access has the version that its cell must have in this order. The body of a task
// checks all versions before and after its kernel, and writes the next version. A runtime that runs
// a task too early, too late, twice or never therefore does not appear fast: the run fails.
//
// Invariants: the whole graph is created before the clock starts; edges counts the pairs of a task
// and a direct predecessor, as they follow from the accesses in order.
//
// Source: Slaughter et al., Task Bench, SC'20 (patterns, METG); differs: tree, random and cholesky
// are our own definitions.
package taskbench
