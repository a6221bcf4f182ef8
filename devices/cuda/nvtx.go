//go:build linux && (amd64 || arm64)

package cuda

import (
	"fmt"
	"os"
	"runtime"
	"sync"
	"unsafe"

	"github.com/ebitengine/purego"
	"golang.org/x/sys/unix"
)

// This file is NVTX, version 3: a tool that wants names for what is launched, such as Nsight Systems, names a library of its own in
// NVTX_INJECTION64_PATH. Who emits ranges opens it and calls InitializeInjectionNvtx2 with a function that hands out tables; from these the
// tool takes the table of the core module, each of whose entries points at a variable, and writes its functions into those it serves.
// There is no library of NVIDIA's between the two (libnvToolsExt is no more); NVTX's headers do the same in C.
//
// Without the variable nothing is opened, and a launch costs one comparison.

// The numbers of NVTX's headers: tables, modules, and functions of the core module.
const (
	nvtxCallbacksTable = 1
	nvtxVersionTable   = 3
	nvtxCoreModule     = 1
	nvtxRangePushA     = 9
	nvtxRangePop       = 11
	nvtxCoreSize       = 16
	nvtxVersion        = 3
)

// nvtxVariable names the tool's library.
const nvtxVariable = "NVTX_INJECTION64_PATH"

// A nvtx is the functions that a tool has given; 0 for those that it does not serve. What the tool holds on to is memory outside Go's.
type nvtx struct{ shared *nvtxShared }

// A nvtxShared is what the tool is given pointers to.
type nvtxShared struct {
	callbacks struct {
		size           uintptr
		moduleFunction uintptr // int (*)(module, table*, size*)
	}
	version struct {
		size     uintptr
		number   uint32
		_        uint32
		callback uintptr // void (*)(version)
	}
	core      [nvtxCoreSize + 1]*uintptr // the last is nil
	functions [nvtxCoreSize]uintptr
}

// theNvtx makes the handshake, once in the process: the tool cannot be told to forget it.
var theNvtx = sync.OnceValues(func() (*nvtx, error) {
	path := os.Getenv(nvtxVariable)
	if path == "" {
		return nil, nil
	}
	return openNvtx(path)
})

// openNvtx gives the tool's library the tables. It returns nil when the tool wants no
// ranges. Errors: a library that cannot be opened, or is none of a tool.
func openNvtx(path string) (*nvtx, error) {
	lib, err := openFile(path, []string{"InitializeInjectionNvtx2"})
	if err != nil {
		return nil, fmt.Errorf("cuda: %s %s: %w", nvtxVariable, path, err)
	}
	memory, err := unix.Mmap(-1, 0, int(unsafe.Sizeof(nvtxShared{})), unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANON)
	if err != nil {
		return nil, fmt.Errorf("cuda: memory for NVTX: %w", err)
	}
	// Safe: the mapping is as long as the struct, aligned to a page, never unmapped, and all pointers in it point into it or at code.
	n := &nvtx{(*nvtxShared)(unsafe.Pointer(unsafe.SliceData(memory)))}
	s := n.shared
	for i := 1; i < nvtxCoreSize; i++ {
		s.core[i] = &s.functions[i]
	}
	s.callbacks.size, s.callbacks.moduleFunction = unsafe.Sizeof(s.callbacks), purego.NewCallback(n.moduleTable)
	s.version.size, s.version.number, s.version.callback = unsafe.Sizeof(s.version), nvtxVersion, purego.NewCallback(func(uint32) uintptr { return 0 })
	restore := keepSignals() // the tool may start threads
	ok, _, _ := purego.SyscallN(lib.fns[0], purego.NewCallback(n.table))
	if err := restore(); err != nil {
		return nil, err
	}
	if int32(ok) == 0 || s.functions[nvtxRangePushA] == 0 || s.functions[nvtxRangePop] == 0 {
		return nil, nil // it does not want any, as when it was told to look at other things
	}
	return n, nil
}

// table is what the tool calls for a table.
func (n *nvtx) table(id uint32) uintptr {
	switch id {
	case nvtxCallbacksTable:
		return uintptr(unsafe.Pointer(&n.shared.callbacks))
	case nvtxVersionTable:
		return uintptr(unsafe.Pointer(&n.shared.version))
	}
	return 0
}

// moduleTable is what the tool calls for the functions of a module: int32 module, and where the table and the number of its entries go.
func (n *nvtx) moduleTable(module uint32, table **uintptr, size *uint32) uintptr {
	if module != nvtxCoreModule {
		return 0
	}
	if size != nil {
		*size = nvtxCoreSize
	}
	if table != nil {
		*table = (*uintptr)(unsafe.Pointer(&n.shared.core[0]))
	}
	return 1
}

// push begins a range of this thread; pop ends it. Requires: the goroutine is locked to its thread from push to pop.
func (n *nvtx) push(name string) {
	text := append([]byte(name), 0)
	purego.SyscallN(n.shared.functions[nvtxRangePushA], uintptr(unsafe.Pointer(&text[0])))
	runtime.KeepAlive(text)
}

func (n *nvtx) pop() { purego.SyscallN(n.shared.functions[nvtxRangePop]) }
