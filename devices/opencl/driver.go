//go:build linux && (amd64 || arm64)

package opencl

import (
	"errors"
	"fmt"
	"os"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"unsafe"

	"github.com/ebitengine/purego"

	"github.com/gompss/gompss/internal/sighandlers"
)

// A fn is a function of the loader, by its place in functions.
type fn int

const (
	clGetPlatformIDs fn = iota
	clGetPlatformInfo
	clGetDeviceIDs
	clGetDeviceInfo
	clCreateContext
	clReleaseContext
	clCreateCommandQueue
	clReleaseCommandQueue
	clCreateBuffer
	clReleaseMemObject
	clCreateProgramWithSource
	clCreateProgramWithBinary
	clBuildProgram
	clGetProgramBuildInfo
	clGetProgramInfo
	clReleaseProgram
	clCreateKernel
	clReleaseKernel
	clSetKernelArg
	clGetKernelWorkGroupInfo
	clEnqueueReadBuffer
	clEnqueueWriteBuffer
	clEnqueueReadBufferRect
	clEnqueueWriteBufferRect
	clEnqueueFillBuffer
	clEnqueueNDRangeKernel
	clEnqueueMarkerWithWaitList
	clFlush
	clFinish
	clWaitForEvents
	clGetEventInfo
	clGetEventProfilingInfo
	clRetainEvent
	clReleaseEvent
)

// functions are the names that the loader exports, in the order of the constants: those of OpenCL
// 1.2.
var functions = []string{
	"clGetPlatformIDs", "clGetPlatformInfo", "clGetDeviceIDs", "clGetDeviceInfo", "clCreateContext", "clReleaseContext",
	"clCreateCommandQueue", "clReleaseCommandQueue", "clCreateBuffer", "clReleaseMemObject", "clCreateProgramWithSource",
	"clCreateProgramWithBinary", "clBuildProgram", "clGetProgramBuildInfo", "clGetProgramInfo", "clReleaseProgram",
	"clCreateKernel", "clReleaseKernel", "clSetKernelArg", "clGetKernelWorkGroupInfo", "clEnqueueReadBuffer",
	"clEnqueueWriteBuffer", "clEnqueueReadBufferRect", "clEnqueueWriteBufferRect", "clEnqueueFillBuffer",
	"clEnqueueNDRangeKernel", "clEnqueueMarkerWithWaitList", "clFlush", "clFinish", "clWaitForEvents", "clGetEventInfo", "clGetEventProfilingInfo",
	"clRetainEvent", "clReleaseEvent",
}

// Results of the driver that callers tell apart.
const (
	codeNoDevice       = -1
	codeNoObjectMemory = -4
	codeNoResources    = -5
	codeNoHostMemory   = -6
	codeBuildFailed    = -11
	codeNoPlatform     = -1001
	codeBufferTooLarge = -61
)

// codeNames are the results by number.
var codeNames = map[int]string{
	-1: "CL_DEVICE_NOT_FOUND", -2: "CL_DEVICE_NOT_AVAILABLE", -3: "CL_COMPILER_NOT_AVAILABLE", -4: "CL_MEM_OBJECT_ALLOCATION_FAILURE",
	-5: "CL_OUT_OF_RESOURCES", -6: "CL_OUT_OF_HOST_MEMORY", -11: "CL_BUILD_PROGRAM_FAILURE", -13: "CL_MISALIGNED_SUB_BUFFER_OFFSET",
	-14: "CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST", -30: "CL_INVALID_VALUE", -33: "CL_INVALID_DEVICE", -34: "CL_INVALID_CONTEXT",
	-36: "CL_INVALID_COMMAND_QUEUE", -38: "CL_INVALID_MEM_OBJECT", -42: "CL_INVALID_BINARY", -44: "CL_INVALID_PROGRAM",
	-45: "CL_INVALID_PROGRAM_EXECUTABLE", -46: "CL_INVALID_KERNEL_NAME", -48: "CL_INVALID_KERNEL", -49: "CL_INVALID_ARG_INDEX",
	-50: "CL_INVALID_ARG_VALUE", -51: "CL_INVALID_ARG_SIZE", -52: "CL_INVALID_KERNEL_ARGS", -53: "CL_INVALID_WORK_DIMENSION",
	-54: "CL_INVALID_WORK_GROUP_SIZE", -55: "CL_INVALID_WORK_ITEM_SIZE", -57: "CL_INVALID_EVENT_WAIT_LIST", -58: "CL_INVALID_EVENT",
	-59: "CL_INVALID_OPERATION", -61: "CL_INVALID_BUFFER_SIZE", -63: "CL_INVALID_GLOBAL_WORK_SIZE", -1001: "CL_PLATFORM_NOT_FOUND_KHR",
}

// An Error is a result of an OpenCL driver that is not success.
type Error struct {
	Call string // "clCreateBuffer"
	Code int
}

func (e *Error) Error() string {
	name := codeNames[e.Code]
	if name == "" {
		name = "unknown error"
	}
	return fmt.Sprintf("%s: %s (%d)", e.Call, name, e.Code)
}

// codeOf returns the driver's result in err, 0 when there is none.
func codeOf(err error) int {
	var e *Error
	if errors.As(err, &e) {
		return e.Code
	}
	return 0
}

// A LibraryError means that the loader of OpenCL is not there or cannot be used.
type LibraryError struct {
	Path string
	Err  error
}

func (e *LibraryError) Error() string {
	return fmt.Sprintf("opencl: %s: %v (set %s to name the file)", e.Path, e.Err, libraryEnv)
}

func (e *LibraryError) Unwrap() error { return e.Err }

// libraryEnv names the file of the loader, and then nothing else is tried.
const libraryEnv = "GOMPSS_OPENCL_LIB"

// A driver is the loader.
type driver struct {
	path     string
	fns      []uintptr
	pins     pins
	contexts contexts
	// handlers are those of signals, which a vendor's compiler may change.
	handlers sighandlers.Guard
	around   atomic.Pointer[interception] // of tests; goroutines of any device may be in a call
}

// An interception makes a call of the driver, or gives another result: tests count calls with it,
// and have some fail.
type interception func(f fn, args []uintptr, call func() uintptr) uintptr

// theDriver opens the loader once in a process; its first call opens the drivers of all vendors.
var theDriver = sync.OnceValues(func() (*driver, error) {
	names := []string{"libOpenCL.so.1", "libOpenCL.so"}
	if file := os.Getenv(libraryEnv); file != "" {
		names = []string{file}
	}
	var first error
	for _, name := range names {
		d, err := openDriver(name)
		if err == nil {
			return d, nil
		}
		if first == nil {
			first = err
		}
	}
	return nil, first
})

func openDriver(name string) (_ *driver, err error) {
	runtime.LockOSThread() // the loader keeps its message for the thread that has called it
	defer runtime.UnlockOSThread()
	restore := sighandlers.Keep()
	defer func() { err = errors.Join(err, restore()) }()
	file, err := purego.Dlopen(name, purego.RTLD_NOW|purego.RTLD_LOCAL)
	if err != nil {
		return nil, &LibraryError{Path: name, Err: err}
	}
	d := &driver{path: name, fns: make([]uintptr, len(functions))}
	for i, f := range functions {
		if d.fns[i], err = purego.Dlsym(file, f); err != nil {
			return nil, &LibraryError{Path: name, Err: fmt.Errorf("function %s is not in it: %w", f, err)}
		}
	}
	return d, nil
}

// do calls the driver and makes an *Error of a result that is not success. What args point to must
// not be on a stack: see block.
func (d *driver) do(f fn, args ...uintptr) error {
	return check(f, int(int32(d.call(f, args...))))
}

func (d *driver) call(f fn, args ...uintptr) uintptr {
	if around := d.around.Load(); around != nil {
		return (*around)(f, args, func() uintptr { return d.callNow(f, args) })
	}
	return d.callNow(f, args)
}

func (d *driver) callNow(f fn, args []uintptr) uintptr {
	kept := callArgs.Get().(*[maxArgs]uintptr)
	n := copy(kept[:], args)
	r, _, _ := purego.SyscallN(d.fns[f], kept[:n]...)
	callArgs.Put(kept)
	return r
}

// maxArgs is the most arguments that a call of the driver has: those of clEnqueueReadBufferRect.
const maxArgs = 14

// callArgs are arguments on the heap: purego keeps what it is given.
var callArgs = sync.Pool{New: func() any { return new([maxArgs]uintptr) }}

func check(f fn, code int) error {
	if code == 0 {
		return nil
	}
	return &Error{Call: functions[f], Code: code}
}

// create calls a function that returns an object, and its result by its last argument, which is
// added here.
func (d *driver) create(f fn, args ...uintptr) (uintptr, error) {
	b := newBlock()
	defer b.free()
	b.words[0] = 0
	object := d.call(f, append(args, b.at(0))...)
	if err := check(f, int(int32(uint32(b.words[0])))); err != nil {
		return 0, err
	}
	return object, nil
}

// text asks for a property that is a string.
func (d *driver) text(f fn, args ...uintptr) (string, error) {
	raw, err := d.bytes(f, args...)
	return strings.TrimRight(string(raw), "\x00"), err
}

// bytes asks for a property of any size.
func (d *driver) bytes(f fn, args ...uintptr) ([]byte, error) {
	b := newBlock()
	defer b.free()
	b.words[0] = 0
	if err := d.do(f, append(args[:len(args):len(args)], 0, 0, b.at(0))...); err != nil {
		return nil, err
	}
	out := make([]byte, b.words[0]+1)
	if err := d.do(f, append(args[:len(args):len(args)], uintptr(b.words[0]), addressOf(out), 0)...); err != nil {
		return nil, err
	}
	return out[:len(out)-1], nil
}

// number asks for a property that is an integer of up to 64 bits.
func (d *driver) number(f fn, args ...uintptr) (uint64, error) {
	raw, err := d.bytes(f, args...)
	if err != nil {
		return 0, err
	}
	n := uint64(0)
	for i, b := range raw[:min(len(raw), 8)] {
		n |= uint64(b) << (8 * i)
	}
	return n, nil
}

// A block is memory for what the driver reads and writes by address. It is on the heap, where it
// does not move, and lives until free.
type block struct{ words [32]uint64 }

var blocks = sync.Pool{New: func() any { return new(block) }}

// newBlock returns a block with any content.
func newBlock() *block { return blocks.Get().(*block) }

func (b *block) free() { blocks.Put(b) }

// at returns the address of word i. Safe: see block; the caller holds b over the call.
func (b *block) at(i int) uintptr { return uintptr(unsafe.Pointer(&b.words[i])) }

// addressOf returns the address of bytes on the heap, which the caller keeps alive over the call.
func addressOf(b []byte) uintptr { return uintptr(unsafe.Pointer(unsafe.SliceData(b))) }

// cString returns the bytes of s with a 0 behind, on the heap.
func cString(s string) []byte { return append([]byte(s), 0) }
