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
	nvtxModules        = 7
	nvtxRangePushA     = 9
	nvtxRangePop       = 11
	nvtxLargest        = 16
	nvtxVersion        = 3
)

// nvtxSizes are the numbers of functions of the modules: core, CUDA, OpenCL, CUDA runtime, domains, synchronisation; the first one is none. All are
// served, as NVIDIA's tools take nothing where one is missing (libcupti 12.9 asks for the domains), though what they write to those but core is
// not called.
var nvtxSizes = [nvtxModules]uint32{0, nvtxLargest, 9, 15, 7, nvtxLargest, 7}

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
	entries   [nvtxModules][nvtxLargest + 1]*uintptr // what follows the last of a module is nil
	functions [nvtxModules][nvtxLargest]uintptr
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
	for m, size := range nvtxSizes {
		for i := 1; i < int(size); i++ {
			s.entries[m][i] = &s.functions[m][i]
		}
	}
	s.callbacks.size, s.callbacks.moduleFunction = unsafe.Sizeof(s.callbacks), purego.NewCallback(n.moduleTable)
	s.version.size, s.version.number, s.version.callback = unsafe.Sizeof(s.version), nvtxVersion, purego.NewCallback(func(uint32) uintptr { return 0 })
	restore := keepSignals() // the tool may start threads
	ok, _, _ := purego.SyscallN(lib.fns[0], purego.NewCallback(n.table))
	if err := restore(); err != nil {
		return nil, err
	}
	if core := &s.functions[nvtxCoreModule]; int32(ok) == 0 || core[nvtxRangePushA] == 0 || core[nvtxRangePop] == 0 {
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
	if module == 0 || module >= nvtxModules {
		return 0
	}
	if size != nil {
		*size = nvtxSizes[module]
	}
	if table != nil {
		*table = (*uintptr)(unsafe.Pointer(&n.shared.entries[module][0]))
	}
	return 1
}

// push begins a range of this thread; pop ends it. Requires: the goroutine is locked to its thread from push to pop.
func (n *nvtx) push(name string) {
	text := append([]byte(name), 0)
	purego.SyscallN(n.shared.functions[nvtxCoreModule][nvtxRangePushA], uintptr(unsafe.Pointer(&text[0])))
	runtime.KeepAlive(text)
}

func (n *nvtx) pop() { purego.SyscallN(n.shared.functions[nvtxCoreModule][nvtxRangePop]) }
