//go:build !perturb

package task

// perturb is where another goroutine may come in between: with the build tag perturb it lets one, now and then.
func perturb() {}
