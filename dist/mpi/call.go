//go:build linux && (amd64 || arm64)

package mpi

import (
	"bytes"
	"fmt"
	"sync"
	"unsafe"
)

// A frame is the memory of one call that C reads and writes: arguments, results and a status.
// Frames are on the heap and reused: a call allocates nothing, and C never gets a pointer to a
// goroutine stack, which may move.
type frame struct {
	fn     uintptr // trampoline knows the offsets of fn, args and result
	args   [8]uintptr
	result uintptr
	out    [2]uint64
	status [5]uint64
}

var frames = sync.Pool{New: func() any { return new(frame) }}

// at returns the address of result i, and statusAt the address of the status.
func (f *frame) at(i int) uintptr  { return uintptr(unsafe.Pointer(&f.out[i])) }
func (f *frame) statusAt() uintptr { return uintptr(unsafe.Pointer(&f.status)) }

// int32 returns result i as C's int.
func (f *frame) int32(i int) int32 { return int32(f.out[i]) }

// field returns the C int at byte offset at of the status.
func (f *frame) field(at int) int {
	return int(int32(f.status[at/8] >> (at % 8 * 8)))
}

// trampoline calls the function of a frame with all arguments of the frame; a function with fewer
// parameters ignores the rest. trampolineAt is the address of trampoline, for C.
//
//lint:ignore U1000 assembly takes its address
func trampoline()

var trampolineAt uintptr

// cgocall calls fn, a function with C's calling convention, with arg on a C stack. purego, which
// initialises the runtime for such calls, uses it too. A direct call avoids the 32 arguments that
// purego copies twice.
//
//go:linkname cgocall runtime.cgocall
func cgocall(fn uintptr, arg unsafe.Pointer) int32

// call calls a function of the library with the arguments of the frame, and returns its result
// code.
func (l *library) call(fn function, f *frame) int32 {
	f.fn = l.fns[fn]
	cgocall(trampolineAt, unsafe.Pointer(f))
	return int32(f.result)
}

// address returns the address of the first byte of data.
func address(data []byte) uintptr { return uintptr(unsafe.Pointer(unsafe.SliceData(data))) }

// bytesOf returns the memory of x.
func bytesOf[T any](x []T) []byte {
	var zero T
	return unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(x))), len(x)*int(unsafe.Sizeof(zero)))
}

// An Error is an error that a call of the library returned.
type Error struct {
	Call  string // "MPI_Recv"
	Class int    // error class of the MPI standard: 15 is a truncated message
	Code  int    // error code of the library
	Text  string
}

func (e *Error) Error() string {
	return fmt.Sprintf("mpi: %s: %s (class %d, code %d)", e.Call, e.Text, e.Class, e.Code)
}

// check returns an *Error for result code code of function fn, or nil for success.
func (l *library) check(fn function, code int32) error {
	if code == 0 {
		return nil
	}
	f := frames.Get().(*frame)
	defer frames.Put(f)
	e := &Error{Call: names[fn], Code: int(code), Class: -1}
	f.args[0], f.args[1] = uintptr(code), f.at(0)
	if l.call(fErrorClass, f) == 0 {
		e.Class = int(f.int32(0))
	}
	text := make([]byte, 8192)
	f.args[0], f.args[1], f.args[2] = uintptr(code), address(text), f.at(0)
	if l.call(fErrorString, f) == 0 {
		e.Text = textOf(text)
	}
	return e
}

// version returns the library's version text. It may be called before Init.
func (l *library) version() string {
	f := frames.Get().(*frame)
	defer frames.Put(f)
	text := make([]byte, 8193)
	f.args[0], f.args[1] = address(text), f.at(0)
	if l.call(fLibraryVersion, f) != 0 {
		return ""
	}
	return textOf(text)
}

// textOf returns the C string in b.
func textOf(b []byte) string {
	n := bytes.IndexByte(b, 0)
	return string(b[:max(0, n)])
}
