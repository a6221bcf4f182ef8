//go:build !perturb

package sim

import "sync"

// A mutex is one of package sync, but for tests that look for rare orders (perturb_on.go).
type mutex = sync.Mutex
