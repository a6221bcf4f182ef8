// Package lib holds kernels for whole arrays: sums, products of vectors and matrices, scans,
// histograms, transposition and sorting.
//
// For each kernel F there is SubmitF, which submits it as a task on any device. Each is an ordinary
// kernel of kernels.go, compiled as those of programs are, and its Go function is what it computes.
// A function returns nothing: results go to slices and variables that the program waits for.
//
// Sums of floats have one order that their length alone defines where generated code runs; that of
// the Go function is from the first element to the last.
package lib

//go:generate go run github.com/gompss/gompss/cmd/gompss gen kernels.go

// Number is the types of elements.
type Number interface {
	int32 | int64 | float32 | float64
}
