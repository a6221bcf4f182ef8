// Package gpubench measures kernels and tasks on GPUs beside CUDA written by hand, compiled in the
// same run.
//
// A row is one figure with what it is compared with; before a figure counts, the result of what was
// measured is compared with the Go function. Kernel rows are medians of times between events of the
// GPU, at sizes that fill the chip. The programs of the rows over several devices report the bytes
// that went over each link and fail beyond their budget.
package gpubench
