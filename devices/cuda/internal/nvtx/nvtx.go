//go:build linux && (amd64 || arm64)

// Package nvtx gives a profiling tool, such as Nsight Systems, the names of what is launched.
//
// It speaks NVTX version 3 without a library between: the tool names a library of its own in
// NVTX_INJECTION64_PATH; Open loads it and calls its InitializeInjectionNvtx2 with a function that
// hands out tables. From these the tool takes the table of the core module, whose entries point at
// variables, and writes its functions into those that it serves, as the headers of NVTX do it in C.
// Without the variable nothing is opened, and a launch costs one comparison.
package nvtx

import (
	"fmt"
	"os"
	"runtime"
	"sync"
	"unsafe"

	"github.com/ebitengine/purego"
	"github.com/gompss/gompss/devices/cuda/internal/driver"
	"github.com/gompss/gompss/internal/sighandlers"
	"golang.org/x/sys/unix"
)

// The numbers of NVTX's headers: tables, modules, and functions of the core module.
const (
	callbacksTable = 1
	versionTable   = 3
	coreModule     = 1
	modules        = 7
	rangePushA     = 9
	rangePop       = 11
	largest        = 16
	version        = 3
)

// moduleSizes are the numbers of functions of the modules: core, CUDA, OpenCL, CUDA runtime,
// domains and synchronisation, after an unused first one. All are served, because NVIDIA's tools
// take nothing where one is missing (libcupti 12.9 asks for the domains); of what they write only
// core is called.
var moduleSizes = [modules]uint32{0, largest, 9, 15, 7, largest, 7}

// variable names the tool's library.
const variable = "NVTX_INJECTION64_PATH"

// A Tool is the functions that a tool has given; 0 for those that it does not serve. What the tool
// keeps addresses of is memory outside Go's.
type Tool struct{ shared *sharedTables }

// sharedTables is what the tool is given pointers to.
type sharedTables struct {
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
	entries   [modules][largest + 1]*uintptr // what follows the last of a module is nil
	functions [modules][largest]uintptr
}

// Open makes the handshake, once in the process, because it cannot be taken back. It returns nil
// where no tool is named. Errors: a library that cannot be opened, or that is no tool's.
var Open = sync.OnceValues(func() (*Tool, error) {
	path := os.Getenv(variable)
	if path == "" {
		return nil, nil
	}
	return open(path)
})

// open gives the tool's library the tables. It returns nil when the tool wants no ranges. Errors: a
// library that cannot be opened, or is none of a tool.
func open(path string) (*Tool, error) {
	lib, err := driver.OpenFile(path, []string{"InitializeInjectionNvtx2"})
	if err != nil {
		return nil, fmt.Errorf("cuda: %s %s: %w", variable, path, err)
	}
	memory, err := unix.Mmap(-1, 0, int(unsafe.Sizeof(sharedTables{})), unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANON)
	if err != nil {
		return nil, fmt.Errorf("cuda: memory for NVTX: %w", err)
	}
	// Safe: the mapping is as long as the struct, aligned to a page, never unmapped, and all
	// pointers in it point into it or at code.
	n := &Tool{(*sharedTables)(unsafe.Pointer(unsafe.SliceData(memory)))}
	s := n.shared
	for m, size := range moduleSizes {
		for i := 1; i < int(size); i++ {
			s.entries[m][i] = &s.functions[m][i]
		}
	}
	s.callbacks.size, s.callbacks.moduleFunction = unsafe.Sizeof(s.callbacks), purego.NewCallback(n.moduleTable)
	s.version.size, s.version.number, s.version.callback = unsafe.Sizeof(s.version), version, purego.NewCallback(func(uint32) uintptr { return 0 })
	restore := sighandlers.Keep() // the tool may start threads
	ok, _, _ := purego.SyscallN(lib.Addresses[0], purego.NewCallback(n.table))
	if err := restore(); err != nil {
		return nil, err
	}
	if core := &s.functions[coreModule]; int32(ok) == 0 || core[rangePushA] == 0 || core[rangePop] == 0 {
		return nil, nil // the tool wants no ranges, as when it watches other things
	}
	return n, nil
}

// table is what the tool calls for a table.
func (n *Tool) table(id uint32) uintptr {
	switch id {
	case callbacksTable:
		return uintptr(unsafe.Pointer(&n.shared.callbacks))
	case versionTable:
		return uintptr(unsafe.Pointer(&n.shared.version))
	}
	return 0
}

// moduleTable is what the tool calls for the functions of a module: the module's number, and where
// the table and the number of its entries go.
func (n *Tool) moduleTable(module uint32, table **uintptr, size *uint32) uintptr {
	if module == 0 || module >= modules {
		return 0
	}
	if size != nil {
		*size = moduleSizes[module]
	}
	if table != nil {
		*table = (*uintptr)(unsafe.Pointer(&n.shared.entries[module][0]))
	}
	return 1
}

// Push begins a range of this thread; Pop ends it. Requires: the goroutine is locked to its thread
// from Push to Pop.
func (n *Tool) Push(name string) {
	text := append([]byte(name), 0)
	purego.SyscallN(n.shared.functions[coreModule][rangePushA], uintptr(unsafe.Pointer(&text[0])))
	runtime.KeepAlive(text)
}

// Pop ends the range that Push began.
func (n *Tool) Pop() { purego.SyscallN(n.shared.functions[coreModule][rangePop]) }
