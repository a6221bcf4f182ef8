//go:build race

package dist_test

const raceDetector = true
