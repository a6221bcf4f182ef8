//go:build race

package task

// The race detector is in the program: kernels run as Go functions unless the program asks for
// vector code.
const raceDetector = true
