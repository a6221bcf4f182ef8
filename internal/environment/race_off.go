//go:build !race

package environment

// RaceDetector says that the race detector is in the program.
const RaceDetector = false
