//go:build linux && (amd64 || arm64)

package cuda

import (
	"bytes"
	"fmt"
	"runtime"
	"strings"
	"sync"
	"unsafe"

	"github.com/ebitengine/purego"
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

var nvrtcFunctions = []string{"nvrtcVersion", "nvrtcGetErrorString", "nvrtcCreateProgram", "nvrtcDestroyProgram",
	"nvrtcCompileProgram", "nvrtcGetProgramLogSize", "nvrtcGetProgramLog", "nvrtcGetCUBINSize", "nvrtcGetCUBIN"}

// nvrtcCompilation is the result of a program that does not compile; the log says why.
const nvrtcCompilation = 6

// An nvrtc is NVRTC, the compiler of CUDA C++.
type nvrtc struct {
	*library
	version string // "13.0"
}

// theCompiler opens NVRTC once in a process.
var theCompiler = sync.OnceValues(func() (*nvrtc, error) {
	lib, err := openLibrary(nvrtcSearch, nvrtcFunctions)
	if err != nil {
		return nil, err
	}
	c := &nvrtc{library: lib}
	b := newBlock()
	defer b.free()
	if err := c.do(nvrtcVersion, b.at(0), b.at(1)); err != nil {
		return nil, err
	}
	c.version = fmt.Sprintf("%d.%d", b.int32(0), b.int32(1))
	if b.int32(0) < 11 || b.int32(0) == 11 && b.int32(1) < 2 {
		return nil, &LibraryError{Library: nvrtcSearch.names[0], Env: nvrtcSearch.env, Path: lib.path,
			Err: fmt.Errorf("NVRTC %s: at least 11.2 is needed", c.version)}
	}
	return c, nil
})

// Compiler names the compiler of kernels; without one only those run that the cache on disk has.
//
// Cost: it opens the compiler's library, which is done otherwise when a kernel is compiled. Errors: *LibraryError.
func (d *Device) Compiler() (string, error) {
	c, err := theCompiler()
	if err != nil {
		return "", err
	}
	return fmt.Sprintf("NVRTC %s, %s", c.version, c.path), nil
}

// do calls NVRTC and makes an error of a result that is not success.
func (c *nvrtc) do(f int, args ...uintptr) error {
	r, _, _ := purego.SyscallN(c.fns[f], args...)
	return c.check(f, int(int32(r)))
}

func (c *nvrtc) check(f, code int) error {
	if code == 0 {
		return nil
	}
	text, _, _ := purego.SyscallN(c.fns[nvrtcGetErrorString], uintptr(code))
	return fmt.Errorf("%s: %s (%d)", nvrtcFunctions[f], textAt(uint64(text)), code)
}

// errNotCompiled says that the log of a compilation holds errors.
var errNotCompiled = fmt.Errorf("nvrtc: the program does not compile")

// compile returns the cubin of a program, and the compiler's log.
//
// Cost: tens of milliseconds. Errors: errNotCompiled, and failures of the compiler itself.
func (c *nvrtc) compile(name, text, arch string, options []string) (cubin []byte, log string, err error) {
	b := newBlock()
	defer b.free()
	source, title := cString(text), cString(name)
	err = c.do(nvrtcCreateProgram, b.at(0), address(source), address(title), 0, 0, 0)
	runtime.KeepAlive(source)
	runtime.KeepAlive(title)
	if err != nil {
		return nil, "", err
	}
	program := uintptr(b.words[0])
	defer func() {
		if ended := c.do(nvrtcDestroyProgram, b.at(0)); err == nil {
			err = ended
		}
	}()
	code := c.run(program, append([]string{"--gpu-architecture=" + arch}, options...))
	if log, err = c.log(program); err != nil {
		return nil, "", err
	}
	if code == nvrtcCompilation {
		return nil, log, errNotCompiled
	}
	if err := c.check(nvrtcCompileProgram, code); err != nil {
		return nil, log, err
	}
	cubin, err = c.output(program, nvrtcGetCUBINSize, nvrtcGetCUBIN)
	return cubin, log, err
}

// run compiles and returns the result.
func (c *nvrtc) run(program uintptr, options []string) int {
	list := make([]*byte, len(options))
	for i, o := range options {
		list[i] = cString(o)
	}
	r, _, _ := purego.SyscallN(c.fns[nvrtcCompileProgram], program, uintptr(len(list)), uintptr(unsafe.Pointer(&list[0])))
	runtime.KeepAlive(list)
	return int(int32(r))
}

// log returns what the compiler said, without the 0 at its end.
func (c *nvrtc) log(program uintptr) (string, error) {
	text, err := c.output(program, nvrtcGetProgramLogSize, nvrtcGetProgramLog)
	return strings.TrimSpace(string(bytes.TrimRight(text, "\x00"))), err
}

// output returns what two functions give: its size and its bytes.
func (c *nvrtc) output(program uintptr, size, get int) ([]byte, error) {
	b := newBlock()
	defer b.free()
	if err := c.do(size, program, b.at(0)); err != nil {
		return nil, err
	}
	if b.words[0] == 0 {
		return nil, nil
	}
	out := make([]byte, b.words[0])
	err := c.do(get, program, address(&out[0]))
	runtime.KeepAlive(out)
	return out, err
}

// address is the address of heap memory that the caller keeps alive over the call.
func address(p *byte) uintptr { return uintptr(unsafe.Pointer(p)) }
