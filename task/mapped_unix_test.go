//go:build unix

package task_test

import (
	"syscall"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"
)

// mapped returns n elements that the program has mapped itself.
func mapped(t *testing.T, n int) []uint32 {
	pages, err := syscall.Mmap(-1, 0, 4*n, syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_ANON|syscall.MAP_PRIVATE)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, syscall.Munmap(pages)) })
	return unsafe.Slice((*uint32)(unsafe.Pointer(unsafe.SliceData(pages))), n)
}
