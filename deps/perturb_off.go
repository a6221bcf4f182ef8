//go:build !perturb

package deps

import "sync"

// A mutex is one of package sync, but for tests that look for rare orders (perturb_on.go).
type mutex = sync.Mutex

// perturb does nothing: see perturb_on.go.
func perturb() {}
