//go:build !((linux && (amd64 || arm64)) || (darwin && arm64))

package exec

import (
	"fmt"
	"runtime"
)

// An Arena is executable memory; this system has none that we can use.
type Arena struct{}

// NewArena says why there is no executable memory here.
func (m Memory) NewArena() (*Arena, error) {
	return nil, fmt.Errorf("cpu: no vectorised code on %s/%s yet: kernels run as Go functions", runtime.GOOS, runtime.GOARCH)
}

// Add fails: there is no arena.
func (a *Arena) Add([]byte) (uintptr, error) { return 0, fmt.Errorf("cpu: no executable memory") }

// Close does nothing.
func (a *Arena) Close() error { return nil }

// How names how the arena got its memory.
func (a *Arena) How() string { return "nothing" }
