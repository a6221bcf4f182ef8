//go:build !perturb

package spin

import "sync"

// A Mutex is one of package sync, except for tests that look for rare orders (perturb_on.go).
type Mutex = sync.Mutex

// Perturb does nothing: see perturb_on.go.
func Perturb() {}
