package hostmem

import (
	"bufio"
	"fmt"
	"os"
	"strings"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

// TestLargeMemoryIsWishedInHugePages reads what the system has noted of the memory.
func TestLargeMemoryIsWishedInHugePages(t *testing.T) {
	if _, err := os.Stat("/sys/kernel/mm/transparent_hugepage/enabled"); err != nil {
		t.Skip(err)
	}
	own, err := unix.Mmap(-1, 0, hugePageMin, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANONYMOUS)
	require.NoError(t, err)
	defer func() { require.NoError(t, unix.Munmap(own)) }()
	require.NoError(t, unix.Madvise(own, unix.MADV_HUGEPAGE))
	if !strings.Contains(noted(t, uintptr(unsafe.Pointer(&own[0]))), " hg") {
		t.Skip("the system takes no wishes, and says that it does: qemu-user")
	}
	for size, want := range map[int]bool{hugePageMin: true, hugePageMin / 2: false} {
		pages, err := Map(size)
		require.NoError(t, err)
		require.Equal(t, want, strings.Contains(noted(t, uintptr(unsafe.Pointer(&pages[size/2]))), " hg"), "%d bytes", size)
		require.NoError(t, Unmap(pages))
	}
}

// noted are the flags of the mapping around an address.
func noted(t *testing.T, at uintptr) string {
	t.Helper()
	f, err := os.Open("/proc/self/smaps")
	require.NoError(t, err)
	defer f.Close()
	inside := false
	for lines := bufio.NewScanner(f); lines.Scan(); {
		var lo, hi uintptr
		if n, _ := fmt.Sscanf(lines.Text(), "%x-%x ", &lo, &hi); n == 2 {
			inside = lo <= at && at < hi
		}
		if inside && strings.HasPrefix(lines.Text(), "VmFlags:") {
			return lines.Text()
		}
	}
	t.Fatal("the address is in no mapping")
	return ""
}
