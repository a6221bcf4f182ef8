//go:build linux && (amd64 || arm64)

package opencl

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"strings"
	"sync"
	"unsafe"

	"github.com/gompss/gompss/codegen/ir"
	"github.com/gompss/gompss/codegen/opencl"
	"github.com/gompss/gompss/deps"
	"github.com/gompss/gompss/devices"
)

// A program is what a device has made of a kernel, once.
type program struct {
	once    sync.Once
	err     error
	native  *devices.Native // nil where it is printed
	program *ir.Program
	source  *opencl.Source
	cl      uintptr // cl_program
	entries []entry
	cached  bool // the binary was in the cache
}

// An entry is a kernel of a program. Only the goroutine that launches sets its arguments.
type entry struct {
	kernel  uintptr // cl_kernel
	threads int     // of a team, at most
}

// A CompileError says what a driver's compiler does not like; positions are those of the Go source.
type CompileError struct {
	Kernel, Device string
	Log            string
}

func (e *CompileError) Error() string {
	return fmt.Sprintf("kernel %s: the compiler of %s refuses it: %s", e.Kernel, e.Device, strings.TrimSpace(e.Log))
}

var (
	errNoProgram = errors.New("it has no device program")
	errNoShape   = errors.New("it has no Shape")
)

// Prepare compiles the kernel for this device, once.
func (d *Device) Prepare(k *devices.Kernel) error {
	if err := d.alive(); err != nil {
		return err
	}
	if len(k.Steps) > 0 {
		return devices.PrepareSteps(d, k.Steps)
	}
	return d.load(k).err
}

// load makes the program of a kernel, once.
func (d *Device) load(k *devices.Kernel) *program {
	d.mu.Lock()
	p := d.programs[k]
	if p == nil {
		p = &program{native: k.NativeFor(Kind)}
		d.programs[k] = p
	}
	d.mu.Unlock()
	p.once.Do(func() {
		if err := d.build(k, p); err != nil {
			p.err = &devices.DeviceError{Device: d.name, What: "kernel " + k.Name, Pos: k.Pos, Err: err}
		}
	})
	return p
}

// FromCache reports whether the code of a prepared kernel was in the cache on disk.
func (d *Device) FromCache(k *devices.Kernel) bool { return d.load(k).cached }

func (d *Device) build(k *devices.Kernel, p *program) error {
	if p.native != nil {
		return d.buildNative(k, p)
	}
	var err error
	switch {
	case k.Portable != nil:
		p.program, err = k.Portable()
	case k.Program != nil:
		p.program = k.Program
	case k.Refused != nil:
		err = k.Refused
	default:
		err = errNoProgram
	}
	if err != nil {
		return err
	}
	p.source, err = opencl.Print(p.program, opencl.Options{Fence: d.info.Fence, Lines: true, RoundedDivide: d.info.RoundedDivide})
	if err != nil {
		return err
	}
	for _, need := range p.source.Needs {
		if !d.has(need) {
			return fmt.Errorf("it needs %s, which %s does not have", need, d.info.Name)
		}
	}
	names := make([]string, len(p.source.Entries))
	for i := range names {
		e := &p.source.Entries[i]
		names[i] = e.Name
		if size := argumentsSize(e); size > d.info.Arguments {
			return fmt.Errorf("%s: %v of arguments: %s takes at most %v", e.Name, size, d.info.Name, d.info.Arguments)
		}
		if e.TeamMemory > d.info.TeamMemory {
			return fmt.Errorf("%s: %v of team memory: %s has %v", e.Name, e.TeamMemory, d.info.Name, d.info.TeamMemory)
		}
	}
	return d.compile(k.Name, p, p.source.Text, append(p.source.Options, d.info.options()...), names)
}

// options are those that the driver's compiler needs besides, to do what a text means.
//
// With the optimizer of PoCL 3.1, DistributeReduce of the corpus gives wrong sums for three teams
// of 32 threads; without it, or with its work-group method repl, they are right. The cause is not
// isolated: undefined behaviour in the printed text is not excluded.
func (i *Info) options() []string {
	if strings.Contains(strings.ToLower(i.Version), "pocl") {
		return []string{"-cl-opt-disable"}
	}
	return nil
}

func argumentsSize(e *opencl.Entry) deps.Bytes {
	var sum deps.Bytes
	for _, a := range e.Args {
		sum += (a.Size + 7) / 8 * 8
	}
	return sum
}

// compile makes the kernels of a text, from the cache or by the driver's compiler.
func (d *Device) compile(name string, p *program, text string, options, names []string) error {
	key := d.cacheKey(text, options)
	if code, ok := d.cache.load(key); p.cl == 0 && ok && d.fromBinary(p, code, options) == nil {
		p.cached = true
	}
	if p.cl == 0 {
		if err := d.fromSource(name, p, text, options); err != nil {
			return err
		}
		if code, err := d.binary(p.cl); err == nil {
			// A cache that cannot be written costs time and nothing else: the next process compiles
			// again.
			_ = d.cache.store(key, code)
		}
	}
	const kernelGroupSize = 0x11B0
	for _, n := range names {
		c := cString(n)
		kernel, err := d.driver.create(clCreateKernel, p.cl, addressOf(c))
		if err != nil {
			return fmt.Errorf("function %s: %w", n, err)
		}
		p.entries = append(p.entries, entry{kernel: kernel})
		threads, err := d.driver.number(clGetKernelWorkGroupInfo, kernel, d.info.id, kernelGroupSize)
		if err != nil {
			return fmt.Errorf("function %s: %w", n, err)
		}
		p.entries[len(p.entries)-1].threads = int(threads)
	}
	return nil
}

// fromSource compiles a text. Errors: *CompileError with the compiler's log.
func (d *Device) fromSource(name string, p *program, text string, options []string) error {
	b := newBlock()
	defer b.free()
	source := cString(text)
	b.words[0] = uint64(addressOf(source))
	cl, err := d.driver.create(clCreateProgramWithSource, d.context, 1, b.at(0), 0)
	if err != nil {
		return err
	}
	p.cl = cl
	err = d.buildProgram(cl, options)
	keep(source)
	if codeOf(err) != codeBuildFailed {
		return err
	}
	const log = 0x1183
	text, failed := d.driver.text(clGetProgramBuildInfo, cl, d.info.id, log)
	if failed != nil {
		return errors.Join(err, failed)
	}
	return &CompileError{Kernel: name, Device: d.info.Name, Log: text}
}

// keep keeps what a call of the driver used alive until here.
//
//go:noinline
func keep([]byte) {}

func (d *Device) buildProgram(cl uintptr, options []string) error {
	flags := cString(strings.Join(options, " "))
	b := newBlock()
	defer b.free()
	b.words[0] = uint64(d.info.id)
	err := d.driver.do(clBuildProgram, cl, 1, b.at(0), addressOf(flags), 0, 0)
	keep(flags)
	return err
}

// fromBinary loads what binary has returned.
func (d *Device) fromBinary(p *program, code []byte, options []string) error {
	b := newBlock()
	defer b.free()
	b.words[0], b.words[1], b.words[2] = uint64(d.info.id), uint64(len(code)), uint64(addressOf(code))
	cl, err := d.driver.create(clCreateProgramWithBinary, d.context, 1, b.at(0), b.at(1), b.at(2), b.at(3))
	keep(code)
	if err != nil {
		return err
	}
	if err := d.buildProgram(cl, options); err != nil {
		return errors.Join(err, d.driver.do(clReleaseProgram, cl))
	}
	p.cl = cl
	return nil
}

// binary returns the code of a program.
func (d *Device) binary(cl uintptr) ([]byte, error) {
	const sizes, binaries = 0x1165, 0x1166
	n, err := d.driver.number(clGetProgramInfo, cl, sizes)
	if err != nil || n == 0 {
		return nil, errors.Join(err, errNoBinary)
	}
	code := make([]byte, n)
	b := newBlock()
	defer b.free()
	b.words[0] = uint64(addressOf(code))
	err = d.driver.do(clGetProgramInfo, cl, binaries, unsafe.Sizeof(b.words[0]), b.at(0), 0)
	return code, err
}

var errNoBinary = errors.New("the driver has no binary of it")

// cacheKey is a digest of all that the code depends on.
func (d *Device) cacheKey(text string, options []string) string {
	i := &d.info
	all := []string{cacheVersion, text, strings.Join(options, " "), i.Platform, i.Name, i.Vendor, i.Version, i.Driver, strings.Join(i.Extensions, " ")}
	return fmt.Sprintf("%x", sha256.Sum256([]byte(strings.Join(all, "\x00"))))
}

// release gives back what a program has.
func (p *program) release(d *Device) error {
	var errs []error
	for _, e := range p.entries {
		errs = append(errs, d.driver.do(clReleaseKernel, e.kernel))
	}
	if p.cl != 0 {
		errs = append(errs, d.driver.do(clReleaseProgram, p.cl))
	}
	return errors.Join(errs...)
}
