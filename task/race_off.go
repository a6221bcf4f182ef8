//go:build !race

package task

// The race detector is not in the program.
const raceDetector = false
