//go:build linux && (amd64 || arm64)

package driver

import (
	"bytes"
	"fmt"
	"runtime"
	"strings"
	"sync"
	"unsafe"

	"github.com/ebitengine/purego"
	"github.com/gompss/gompss/internal/sighandlers"
)

const (
	nvrtcVersion = iota
	nvrtcGetErrorString
	nvrtcCreateProgram
	nvrtcDestroyProgram
	nvrtcCompileProgram
	nvrtcGetProgramLogSize
	nvrtcGetProgramLog
	nvrtcGetCUBINSize
	nvrtcGetCUBIN
)

// NVRTCFunctions are the names that NVRTC exports, in the order of the constants.
var NVRTCFunctions = []string{"nvrtcVersion", "nvrtcGetErrorString", "nvrtcCreateProgram", "nvrtcDestroyProgram",
	"nvrtcCompileProgram", "nvrtcGetProgramLogSize", "nvrtcGetProgramLog", "nvrtcGetCUBINSize", "nvrtcGetCUBIN"}

// nvrtcCompilation is the result of a program that does not compile; the log says why.
const nvrtcCompilation = 6

// NVRTC is NVRTC, the compiler of CUDA C++.
type NVRTC struct {
	*Library
	Version  string            // "13.0"
	handlers sighandlers.Guard // of signals, which a compilation changes
}

// OpenNVRTC opens NVRTC once in a process. Errors: *LibraryError.
var OpenNVRTC = sync.OnceValues(func() (*NVRTC, error) {
	lib, err := OpenLibrary(NVRTCSearch, NVRTCFunctions)
	if err != nil {
		return nil, err
	}
	c := &NVRTC{Library: lib}
	b := NewBlock()
	defer b.Free()
	if err := c.do(nvrtcVersion, b.At(0), b.At(1)); err != nil {
		return nil, err
	}
	c.Version = fmt.Sprintf("%d.%d", b.Int32(0), b.Int32(1))
	if b.Int32(0) < 11 || b.Int32(0) == 11 && b.Int32(1) < 2 {
		return nil, &LibraryError{Library: NVRTCSearch.names[0], Env: NVRTCSearch.Env, Path: lib.Path,
			Err: fmt.Errorf("NVRTC %s: at least 11.2 is needed", c.Version)}
	}
	return c, nil
})

// do calls NVRTC and makes an error of a result that is not success.
func (c *NVRTC) do(f int, args ...uintptr) error {
	r, _, _ := purego.SyscallN(c.Addresses[f], args...)
	return c.check(f, int(int32(r)))
}

func (c *NVRTC) check(f, code int) error {
	if code == 0 {
		return nil
	}
	text, _, _ := purego.SyscallN(c.Addresses[nvrtcGetErrorString], uintptr(code))
	return fmt.Errorf("%s: %s (%d)", NVRTCFunctions[f], textAt(uint64(text)), code)
}

// ErrNotCompiled means that the log of a compilation holds errors.
var ErrNotCompiled = fmt.Errorf("nvrtc: the program does not compile")

// Compile returns the cubin of a program, and the compiler's log.
//
// Cost: tens of milliseconds. Errors: ErrNotCompiled, and failures of the compiler itself.
func (c *NVRTC) Compile(name, text, arch string, options []string) (cubin []byte, log string, err error) {
	b := NewBlock()
	defer b.Free()
	source, title := CString(text), CString(name)
	err = c.do(nvrtcCreateProgram, b.At(0), Address(source), Address(title), 0, 0, 0)
	runtime.KeepAlive(source)
	runtime.KeepAlive(title)
	if err != nil {
		return nil, "", err
	}
	program := uintptr(b.Words[0])
	defer func() {
		if ended := c.do(nvrtcDestroyProgram, b.At(0)); err == nil {
			err = ended
		}
	}()
	var code int
	if err := c.handlers.Do(func() { code = c.run(program, append([]string{"--gpu-architecture=" + arch}, options...)) }); err != nil {
		return nil, "", err
	}
	if log, err = c.log(program); err != nil {
		return nil, "", err
	}
	if code == nvrtcCompilation {
		return nil, log, ErrNotCompiled
	}
	if err := c.check(nvrtcCompileProgram, code); err != nil {
		return nil, log, err
	}
	cubin, err = c.output(program, nvrtcGetCUBINSize, nvrtcGetCUBIN)
	return cubin, log, err
}

// run compiles and returns the result.
func (c *NVRTC) run(program uintptr, options []string) int {
	list := make([]*byte, len(options))
	for i, o := range options {
		list[i] = CString(o)
	}
	r, _, _ := purego.SyscallN(c.Addresses[nvrtcCompileProgram], program, uintptr(len(list)), uintptr(unsafe.Pointer(&list[0])))
	runtime.KeepAlive(list)
	return int(int32(r))
}

// log returns what the compiler said, without the 0 at its end.
func (c *NVRTC) log(program uintptr) (string, error) {
	text, err := c.output(program, nvrtcGetProgramLogSize, nvrtcGetProgramLog)
	return strings.TrimSpace(string(bytes.TrimRight(text, "\x00"))), err
}

// output returns what two functions give: its size and its bytes.
func (c *NVRTC) output(program uintptr, size, get int) ([]byte, error) {
	b := NewBlock()
	defer b.Free()
	if err := c.do(size, program, b.At(0)); err != nil {
		return nil, err
	}
	if b.Words[0] == 0 {
		return nil, nil
	}
	out := make([]byte, b.Words[0])
	err := c.do(get, program, Address(&out[0]))
	runtime.KeepAlive(out)
	return out, err
}

// Address is the address of heap memory that the caller keeps alive over the call.
func Address(p *byte) uintptr { return uintptr(unsafe.Pointer(p)) }
