// Package lib holds kernels for whole arrays: sums, products of vectors and matrices, scans,
// histograms, transposition and sorting.
//
// For each kernel F there is SubmitF, which submits it as a task on any device. Each is an ordinary
// kernel of kernels.go, compiled like those of programs, and its Go function defines the result. A
// function returns nothing: results go to slices and variables that the program waits for.
//
// In generated code, the order of a sum of floats depends on its length alone; the Go function adds
// from the first element to the last.
package lib

//go:generate go run github.com/gompss/gompss/cmd/gompss gen kernels.go

// Number is the types of elements.
type Number interface {
	int32 | int64 | float32 | float64
}
