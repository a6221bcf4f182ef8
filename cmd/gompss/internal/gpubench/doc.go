// Package gpubench measures kernels and tasks on GPUs, and compares them with hand-written CUDA
// that it compiles in the same run.
//
// A row is one measured value with its reference. The value only counts if the results equal those
// of the Go function. Kernel rows are medians of times between events of the GPU, at sizes that
// fill the chip. Rows on several devices report the bytes that were copied over each link, and fail
// if a program copies more than its budget.
package gpubench
