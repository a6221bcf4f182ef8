//go:build linux && (amd64 || arm64)

package driver

import (
	"errors"
	"fmt"
	"sync"
	"unsafe"

	"github.com/ebitengine/purego"

	"github.com/gompss/gompss/internal/sighandlers"
)

// A Function is a function of the driver, by its place in Functions.
type Function int

const (
	cuInit Function = iota
	cuDriverGetVersion
	cuGetErrorName
	cuGetErrorString
	cuDeviceGetCount
	CuDeviceGet
	CuDeviceGetName
	CuDeviceGetAttribute
	CuDevicePrimaryCtxRetain
	CuDevicePrimaryCtxRelease
	CuDeviceCanAccessPeer
	CuDeviceGetDefaultMemPool
	CuMemPoolSetAttribute
	CuCtxSetCurrent
	CuCtxGetCurrent
	CuStreamCreate
	CuStreamDestroy
	CuStreamSynchronize
	CuStreamWaitEvent
	CuEventCreate
	CuEventDestroy
	CuEventRecord
	CuEventQuery
	CuEventElapsedTime
	CuMemGetInfo
	CuMemGetAllocationGranularity
	CuMemAddressReserve
	CuMemAddressFree
	CuMemCreate
	CuMemRelease
	CuMemMap
	CuMemUnmap
	CuMemSetAccess
	CuMemAllocAsync
	CuMemFreeAsync
	CuMemHostAlloc
	CuMemFreeHost
	CuMemHostRegister
	CuMemHostUnregister
	CuMemsetD8Async
	CuMemcpyHtoDAsync
	CuMemcpyDtoHAsync
	CuMemcpyDtoDAsync
	CuMemcpy2DAsync
	CuModuleLoadData
	CuModuleUnload
	CuModuleGetFunction
	CuFuncGetAttribute
	CuFuncSetAttribute
	CuOccupancyMaxActiveBlocksPerMultiprocessor
	CuLaunchKernel
	CuLaunchKernelEx
	CuGraphCreate
	CuGraphAddKernelNode
	CuGraphKernelNodeSetAttribute
	CuGraphAddDependencies
	CuGraphInstantiate
	CuGraphExecKernelNodeSetParams
	CuGraphLaunch
	CuGraphExecDestroy
	CuGraphDestroy
)

// Functions are the names that libcuda exports, in the order of the constants.
var Functions = []string{
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
	"cuOccupancyMaxActiveBlocksPerMultiprocessor", "cuLaunchKernel", "cuLaunchKernelEx",
	"cuGraphCreate", "cuGraphAddKernelNode", "cuGraphKernelNodeSetAttribute", "cuGraphAddDependencies_v2",
	"cuGraphInstantiateWithFlags", "cuGraphExecKernelNodeSetParams", "cuGraphLaunch", "cuGraphExecDestroy", "cuGraphDestroy",
}

// laterFunctions may be missing: drivers older than CUDA 12.3 lack the first, those older than CUDA
// 11.8 the second. Their address is 0 then.
var laterFunctions = map[string]bool{"cuGraphAddDependencies_v2": true, "cuLaunchKernelEx": true}

// Results of the driver that callers tell apart.
const (
	CodeNoMemory          = 2
	codeDeinitialized     = 4
	codeNoDevice          = 100
	CodeAlreadyRegistered = 712
	CodeNotRegistered     = 713
	CodeNotReady          = 600
)

// An Error is a result of the CUDA driver that is not success.
type Error struct {
	Call string // "cuMemCreate"
	Code int
	Name string // "CUDA_ERROR_OUT_OF_MEMORY"
	Text string // "out of memory"
}

func (e *Error) Error() string { return fmt.Sprintf("%s: %s (%s, %d)", e.Call, e.Text, e.Name, e.Code) }

// Sticky reports whether a result means that the context gives no more answers. These are the
// errors of kernels and of the hardware; all others leave the context as it was.
func Sticky(code int) bool {
	switch code {
	case 214, 700, 702, 709, 710, 714, 715, 716, 717, 718, 719, 721:
		return true
	}
	return false
}

// CodeOf returns the driver's result in err, 0 when there is none.
func CodeOf(err error) int {
	var e *Error
	if errors.As(err, &e) {
		return e.Code
	}
	return 0
}

// A Driver is libcuda, initialised. Its methods may be called by several goroutines at once.
type Driver struct {
	*Library
	Version int // 13000 is 13.0
	Count   int // of GPUs
}

// oldest is the first driver that has all that is needed: stream-ordered allocation, graphs made in
// one call.
const oldest = 11040

// Open opens and initialises libcuda once in a process: cuInit has no opposite.
var Open = sync.OnceValues(func() (*Driver, error) {
	lib, err := OpenLibrary(DriverSearch, Functions)
	if err != nil {
		return nil, err
	}
	return Start(lib)
})

// Start initialises an opened libcuda and counts its GPUs. Errors: *LibraryError.
func Start(lib *Library) (_ *Driver, err error) {
	d := &Driver{Library: lib}
	wrong := func(err error) error {
		return &LibraryError{Library: DriverSearch.names[0], Env: DriverSearch.Env, Path: lib.Path, Err: err}
	}
	restore := sighandlers.Keep()
	defer func() { err = errors.Join(err, restore()) }()
	b := NewBlock()
	defer b.Free()
	if err := d.Do(cuDriverGetVersion, b.At(0)); err != nil {
		return nil, wrong(err)
	}
	if d.Version = int(b.Int32(0)); d.Version < oldest {
		return nil, wrong(fmt.Errorf("the driver is for CUDA %s: at least %s is needed", Release(d.Version), Release(oldest)))
	}
	if err := d.Do(cuInit, 0); err != nil && CodeOf(err) != codeNoDevice {
		return nil, wrong(err)
	} else if err != nil {
		return d, nil
	}
	if err := d.Do(cuDeviceGetCount, b.At(0)); err != nil {
		return nil, wrong(err)
	}
	d.Count = int(b.Int32(0))
	return d, nil
}

// Release prints a version of CUDA: 13000 is 13.0.
func Release(v int) string { return fmt.Sprintf("%d.%d", v/1000, v%1000/10) }

// Call calls the driver and returns its result. What args point to must not be on a stack: see
// Block.
//
// Cost: no allocation: purego keeps what it is given, so args are copied to where that is.
func (d *Driver) Call(f Function, args ...uintptr) int {
	kept := callArgs.Get().(*[maxArgs]uintptr)
	n := copy(kept[:], args)
	r, _, _ := purego.SyscallN(d.Addresses[f], kept[:n]...)
	callArgs.Put(kept)
	return int(int32(r))
}

// maxArgs is the most arguments that a call of the driver has: those of cuLaunchKernel.
const maxArgs = 11

var callArgs = sync.Pool{New: func() any { return new([maxArgs]uintptr) }}

// Do calls the driver and makes an *Error of a result that is not success.
func (d *Driver) Do(f Function, args ...uintptr) error { return d.Check(f, d.Call(f, args...)) }

// Check makes an *Error of a result of f; 0 is no error.
func (d *Driver) Check(f Function, code int) error {
	if code == 0 {
		return nil
	}
	b := NewBlock()
	defer b.Free()
	e := &Error{Call: Functions[f], Code: code, Name: "unknown error", Text: "unknown error"}
	if d.Call(cuGetErrorName, uintptr(code), b.At(0)) == 0 {
		e.Name = textAt(b.Words[0])
	}
	if d.Call(cuGetErrorString, uintptr(code), b.At(0)) == 0 {
		e.Text = textAt(b.Words[0])
	}
	return e
}

// textAt reads a C string that lives as long as the library. Safe: the driver says that it ends
// with 0.
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

// A Block is memory for what the driver reads and writes by address. It is on the heap, where it
// does not move, and lives until Free.
type Block struct {
	Words [64]uint64
}

var blocks = sync.Pool{New: func() any { return new(Block) }}

// NewBlock returns a block with any content.
func NewBlock() *Block { return blocks.Get().(*Block) }

// Free gives the block back; it must not be used afterwards.
func (b *Block) Free() { blocks.Put(b) }

// At returns the address of word i. Safe: see Block; the caller holds b over the call.
func (b *Block) At(i int) uintptr { return uintptr(unsafe.Pointer(&b.Words[i])) }

// Int32 returns the low half of word i.
func (b *Block) Int32(i int) int32 { return int32(uint32(b.Words[i])) }

// Bytes is the block from word i on.
func (b *Block) Bytes(i int) []byte {
	return unsafe.Slice((*byte)(unsafe.Pointer(&b.Words[i])), 8*(len(b.Words)-i))
}

// CString returns the bytes of s with a 0 behind them, on the heap.
func CString(s string) *byte {
	out := make([]byte, len(s)+1)
	copy(out, s)
	return &out[0]
}
