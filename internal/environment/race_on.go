//go:build race

package environment

// RaceDetector says that the race detector is in the program: kernels run as Go functions unless
// the program asks for vector code.
const RaceDetector = true
