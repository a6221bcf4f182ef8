//go:build !perturb

package devices

import "sync"

// A mutex is one of package sync, but for tests that look for rare orders (perturb_on.go).
type mutex = sync.Mutex
