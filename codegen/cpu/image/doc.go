// Package image is machine code of a kernel as a value: what selection makes and the runner runs.
//
// A [Code] is bytes with [Stage]s (a parallel loop, or what stands between two), the layout of the
// argument block ([Block]) and [Site]s, the places from which code returns to Go before its end.
// What a stage reduces, counts, copies or updates atomically is data here ([Sum], [Count],
// [CopyLoop], [SharedUpdates]), with the arithmetic that Go does on the block.
//
// Invariants: a Code does not change once it is made, and goroutines share it. The words below
// [WordParams] have one meaning in every launch; parameters come behind them, then capacities, then
// variables that outlive a stage; all of them lie below [MaxWords]. Nothing here runs code.
package image
