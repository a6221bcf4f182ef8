//go:build linux && (amd64 || arm64)

package driver

import (
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
)

// TestOpenFile_ErrorNamesTheFile: the loader keeps its message for the thread that has called it,
// and a goroutine may change threads between two calls.
func TestOpenFile_ErrorNamesTheFile(t *testing.T) {
	var all sync.WaitGroup
	for range 32 {
		all.Go(func() {
			for range 200 {
				if _, err := OpenFile("/nowhere/libcuda.so.1", nil); !assert.ErrorContains(t, err, "/nowhere/libcuda.so.1") {
					return
				}
			}
		})
	}
	all.Wait()
}
