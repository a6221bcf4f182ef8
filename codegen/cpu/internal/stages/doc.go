// Package stages cuts a kernel into stages, parallel loops and what stands between them, and gives
// the variables that outlive one their words of the argument block.
//
// A parallel loop inside sequential code is a stage, too, which the sequential code calls where the
// loop is long enough to be shared. A loop with atomic updates says how workers may share it.
package stages
