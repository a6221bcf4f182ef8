//go:build linux && (amd64 || arm64)

package cuda

import (
	"errors"
	"fmt"
	"sync"
	"unsafe"

	"github.com/ebitengine/purego"
)

// A fn is a function of the driver, by its place in driverFunctions.
type fn int

const (
	cuInit fn = iota
	cuDriverGetVersion
	cuGetErrorName
	cuGetErrorString
	cuDeviceGetCount
	cuDeviceGet
	cuDeviceGetName
	cuDeviceGetAttribute
	cuDevicePrimaryCtxRetain
	cuDevicePrimaryCtxRelease
	cuDeviceCanAccessPeer
	cuDeviceGetDefaultMemPool
	cuMemPoolSetAttribute
	cuCtxSetCurrent
	cuCtxGetCurrent
	cuStreamCreate
	cuStreamDestroy
	cuStreamSynchronize
	cuStreamWaitEvent
	cuEventCreate
	cuEventDestroy
	cuEventRecord
	cuEventQuery
	cuEventElapsedTime
	cuMemGetInfo
	cuMemGetAllocationGranularity
	cuMemAddressReserve
	cuMemAddressFree
	cuMemCreate
	cuMemRelease
	cuMemMap
	cuMemUnmap
	cuMemSetAccess
	cuMemAllocAsync
	cuMemFreeAsync
	cuMemHostAlloc
	cuMemFreeHost
	cuMemHostRegister
	cuMemHostUnregister
	cuMemsetD8Async
	cuMemcpyHtoDAsync
	cuMemcpyDtoHAsync
	cuMemcpyDtoDAsync
	cuMemcpy2DAsync
	cuModuleLoadData
	cuModuleUnload
	cuModuleGetFunction
	cuFuncGetAttribute
	cuFuncSetAttribute
	cuOccupancyMaxActiveBlocksPerMultiprocessor
	cuLaunchKernel
	cuGraphCreate
	cuGraphAddKernelNode
	cuGraphAddDependencies
	cuGraphInstantiate
	cuGraphExecKernelNodeSetParams
	cuGraphLaunch
	cuGraphExecDestroy
	cuGraphDestroy
)

// driverFunctions are the names that libcuda exports, in the order of the constants.
var driverFunctions = []string{
	"cuInit", "cuDriverGetVersion", "cuGetErrorName", "cuGetErrorString",
	"cuDeviceGetCount", "cuDeviceGet", "cuDeviceGetName", "cuDeviceGetAttribute",
	"cuDevicePrimaryCtxRetain", "cuDevicePrimaryCtxRelease_v2", "cuDeviceCanAccessPeer",
	"cuDeviceGetDefaultMemPool", "cuMemPoolSetAttribute", "cuCtxSetCurrent", "cuCtxGetCurrent",
	"cuStreamCreate", "cuStreamDestroy_v2", "cuStreamSynchronize", "cuStreamWaitEvent",
	"cuEventCreate", "cuEventDestroy_v2", "cuEventRecord", "cuEventQuery", "cuEventElapsedTime",
	"cuMemGetInfo_v2", "cuMemGetAllocationGranularity", "cuMemAddressReserve", "cuMemAddressFree",
	"cuMemCreate", "cuMemRelease", "cuMemMap", "cuMemUnmap", "cuMemSetAccess", "cuMemAllocAsync", "cuMemFreeAsync",
	"cuMemHostAlloc", "cuMemFreeHost", "cuMemHostRegister_v2", "cuMemHostUnregister",
	"cuMemsetD8Async", "cuMemcpyHtoDAsync_v2", "cuMemcpyDtoHAsync_v2", "cuMemcpyDtoDAsync_v2",
	"cuMemcpy2DAsync_v2", "cuModuleLoadData", "cuModuleUnload", "cuModuleGetFunction", "cuFuncGetAttribute", "cuFuncSetAttribute",
	"cuOccupancyMaxActiveBlocksPerMultiprocessor", "cuLaunchKernel",
	"cuGraphCreate", "cuGraphAddKernelNode", "cuGraphAddDependencies_v2",
	"cuGraphInstantiateWithFlags", "cuGraphExecKernelNodeSetParams", "cuGraphLaunch", "cuGraphExecDestroy", "cuGraphDestroy",
}

// laterFunctions may be missing: drivers older than CUDA 12.3 lack them. Their address is 0 then.
var laterFunctions = map[string]bool{"cuGraphAddDependencies_v2": true}

// Results of the driver that callers tell apart.
const (
	codeNoMemory          = 2
	codeDeinitialized     = 4
	codeNoDevice          = 100
	codeAlreadyRegistered = 712
	codeNotRegistered     = 713
	codeNotReady          = 600
)

// An Error is a result of the CUDA driver that is not success.
type Error struct {
	Call string // "cuMemCreate"
	Code int
	Name string // "CUDA_ERROR_OUT_OF_MEMORY"
	Text string // "out of memory"
}

func (e *Error) Error() string { return fmt.Sprintf("%s: %s (%s, %d)", e.Call, e.Text, e.Name, e.Code) }

// sticky reports whether a result means that the context gives no more answers. These are the errors of kernels and
// of the hardware; all others leave the context as it was.
func sticky(code int) bool {
	switch code {
	case 214, 700, 702, 709, 710, 714, 715, 716, 717, 718, 719, 721:
		return true
	}
	return false
}

// codeOf returns the driver's result in err, 0 when there is none.
func codeOf(err error) int {
	var e *Error
	if errors.As(err, &e) {
		return e.Code
	}
	return 0
}

// A driver is libcuda, initialised.
type driver struct {
	*library
	version int // 13000 is 13.0
	count   int // of GPUs
}

// oldest is the driver that first had all we need: stream-ordered allocation, graphs made in one call.
const oldest = 11040

// theDriver opens and initialises libcuda once in a process: cuInit has no opposite.
var theDriver = sync.OnceValues(func() (*driver, error) {
	lib, err := openLibrary(driverSearch, driverFunctions)
	if err != nil {
		return nil, err
	}
	return startDriver(lib)
})

func startDriver(lib *library) (_ *driver, err error) {
	d := &driver{library: lib}
	wrong := func(err error) error {
		return &LibraryError{Library: driverSearch.names[0], Env: driverSearch.env, Path: lib.path, Err: err}
	}
	restore := keepSignals()
	defer func() { err = errors.Join(err, restore()) }()
	b := newBlock()
	defer b.free()
	if err := d.do(cuDriverGetVersion, b.at(0)); err != nil {
		return nil, wrong(err)
	}
	if d.version = int(b.int32(0)); d.version < oldest {
		return nil, wrong(fmt.Errorf("the driver is for CUDA %s: at least %s is needed", release(d.version), release(oldest)))
	}
	if err := d.do(cuInit, 0); err != nil && codeOf(err) != codeNoDevice {
		return nil, wrong(err)
	} else if err != nil {
		return d, nil
	}
	if err := d.do(cuDeviceGetCount, b.at(0)); err != nil {
		return nil, wrong(err)
	}
	d.count = int(b.int32(0))
	return d, nil
}

// release prints a version of CUDA.
func release(v int) string { return fmt.Sprintf("%d.%d", v/1000, v%1000/10) }

// call calls the driver and returns its result. What args point to must not be on a stack: see block.
//
// Cost: no allocation: purego keeps what it is given, so args are copied to where that is.
func (d *driver) call(f fn, args ...uintptr) int {
	kept := callArgs.Get().(*[maxArgs]uintptr)
	n := copy(kept[:], args)
	r, _, _ := purego.SyscallN(d.fns[f], kept[:n]...)
	callArgs.Put(kept)
	return int(int32(r))
}

// maxArgs is the most arguments that a call of the driver has: those of cuLaunchKernel.
const maxArgs = 11

var callArgs = sync.Pool{New: func() any { return new([maxArgs]uintptr) }}

// do calls the driver and makes an *Error of a result that is not success.
func (d *driver) do(f fn, args ...uintptr) error { return d.check(f, d.call(f, args...)) }

// check makes an *Error of a result.
func (d *driver) check(f fn, code int) error {
	if code == 0 {
		return nil
	}
	b := newBlock()
	defer b.free()
	e := &Error{Call: driverFunctions[f], Code: code, Name: "unknown error", Text: "unknown error"}
	if d.call(cuGetErrorName, uintptr(code), b.at(0)) == 0 {
		e.Name = textAt(b.words[0])
	}
	if d.call(cuGetErrorString, uintptr(code), b.at(0)) == 0 {
		e.Text = textAt(b.words[0])
	}
	return e
}

// textAt reads a C string that lives as long as the library. Safe: the driver says that it ends with 0.
func textAt(p uint64) string {
	if p == 0 {
		return ""
	}
	start := *(*unsafe.Pointer)(unsafe.Pointer(&p))
	n := 0
	for *(*byte)(unsafe.Add(start, n)) != 0 {
		n++
	}
	return string(unsafe.Slice((*byte)(start), n))
}

// A block is memory for what the driver reads and writes by address. It is on the heap, where it does not move, and
// lives until free.
type block struct {
	words [64]uint64
}

var blocks = sync.Pool{New: func() any { return new(block) }}

// newBlock returns a block with any content.
func newBlock() *block { return blocks.Get().(*block) }

func (b *block) free() { blocks.Put(b) }

// at returns the address of word i. Safe: see block; the caller holds b over the call.
func (b *block) at(i int) uintptr { return uintptr(unsafe.Pointer(&b.words[i])) }

// int32 returns the low half of word i.
func (b *block) int32(i int) int32 { return int32(uint32(b.words[i])) }

// bytes is the block from word i on.
func (b *block) bytes(i int) []byte {
	return unsafe.Slice((*byte)(unsafe.Pointer(&b.words[i])), 8*(len(b.words)-i))
}

// cString returns the bytes of s with a 0 behind, on the heap.
func cString(s string) *byte {
	out := make([]byte, len(s)+1)
	copy(out, s)
	return &out[0]
}
