//go:build linux && (amd64 || arm64)

package opencl

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"unsafe"

	"github.com/gompss/gompss/codegen/ir"
	"github.com/gompss/gompss/codegen/opencl"
	"github.com/gompss/gompss/codegen/target"
	"github.com/gompss/gompss/deps"
	"github.com/gompss/gompss/devices"
)

// A program is what a device has made of a kernel: a version for arguments that prove that no check
// fails, where there is one, and the other when a launch needs it.
type program struct {
	kernel   *devices.Kernel
	native   *devices.Native // nil where it is printed; then proved is too
	once     sync.Once       // of the fields below
	err      error
	proved   *version // nil where nothing is gained
	checked  *version
	proves   func(args []devices.Arg) bool // nil for always
	guards   []ir.Expr                     // over the parameters of proved
	printing opencl.Options
}

// A version is one printed, compiled and loaded text.
type version struct {
	once    sync.Once
	err     error
	program *ir.Program // nil for a native kernel
	source  *opencl.Source
	cl      uintptr // cl_program
	entries []entry
	cached  bool // the binary was in the cache
}

// An entry is a kernel of a program. Only the goroutine that launches sets its arguments.
type entry struct {
	kernel  uintptr // cl_kernel
	threads int     // of a team, at most
	args    setArgs
}

// setArgs are the arguments that a kernel has, which stay from launch to launch.
type setArgs struct {
	objects int64    // Device.objects when they were set: a driver may use an address again
	bits    []uint64 // of an argument of up to 8 bytes
	known   []bool
}

// keeps reports whether argument n, of size bytes at an address, is what is set already. Where it
// is not, it forgets what is set.
func (s *setArgs) keeps(n int, bits uint64) bool {
	if n >= len(s.known) {
		s.bits, s.known = append(s.bits, make([]uint64, n+1-len(s.bits))...), append(s.known, make([]bool, n+1-len(s.known))...)
	}
	kept := s.known[n] && s.bits[n] == bits
	s.known[n] = kept
	return kept
}

// isSet notes the value of argument n.
func (s *setArgs) isSet(n int, bits uint64) { s.bits[n], s.known[n] = bits, true }

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
	p, err := d.program(k)
	if err == nil {
		err = d.load(p, p.first())
	}
	return err
}

// program returns the record of a kernel.
func (d *Device) program(k *devices.Kernel) (*program, error) {
	d.mu.Lock()
	p := d.programs[k]
	if p == nil {
		p = &program{kernel: k, native: k.NativeFor(Kind), checked: &version{}, printing: d.info.printing()}
		d.programs[k] = p
	}
	d.mu.Unlock()
	p.once.Do(func() {
		if p.native == nil {
			p.err = d.kernelError(k, p.lower(d.options.TeamForm(&d.info), d.info.Target))
		}
	})
	return p, p.err
}

// kernelError is the error of a kernel that has no code here, nil for nil.
func (d *Device) kernelError(k *devices.Kernel, err error) error {
	if err == nil {
		return nil
	}
	return &devices.DeviceError{Device: d.name, What: "kernel " + k.Name, Pos: k.Pos, Err: err}
}

// lower takes the device IR of the kernel, and finds the form of it without checks. A thread that
// fails would be missed where those of its subgroup exchange values, but on devices where it can
// exit: such code has no checks.
func (p *program) lower(form devices.TeamForm, on *target.Target) (err error) {
	k, subgroups := p.kernel, form == devices.SubgroupTeams && !p.printing.Exits()
	if subgroups {
		form = devices.WholeTeams
	}
	switch {
	case k.Portable != nil:
		p.checked.program, err = k.Portable(form, on)
	case k.Program != nil:
		p.checked.program = k.Program
	case k.Refused != nil:
		err = k.Refused
	default:
		err = errNoProgram
	}
	if err != nil {
		return err
	}
	if subgroups && k.Portable != nil {
		if err := p.free(devices.SubgroupTeams, on); err != nil {
			return err
		}
		if p.proved != nil {
			if _, err := opencl.Print(p.proved.program, p.printing); err == nil {
				return nil
			}
		}
	}
	return p.free(form, on)
}

// free finds the form of the kernel without the checks that the host makes.
func (p *program) free(form devices.TeamForm, on *target.Target) (err error) {
	k, free := p.kernel, p.checked.program
	p.proved, p.proves, p.guards = nil, nil, nil
	switch {
	case k.PortableUnchecked != nil:
		if free, err = k.PortableUnchecked(form, on); err != nil {
			return err
		}
		p.proves = k.Proves
	case form == devices.SubgroupTeams && !p.printing.Exits():
		if free, err = k.Portable(form, on); err != nil {
			return err
		}
	}
	proved, guards := opencl.Proved(free, p.printing)
	if len(guards) > 0 {
		free, p.guards = proved, guards
	}
	if p.proves != nil || p.guards != nil || form == devices.SubgroupTeams && !p.printing.Exits() {
		p.proved = &version{program: free}
	}
	return nil
}

// first returns the version that most launches need.
func (p *program) first() *version {
	if p.proved != nil {
		return p.proved
	}
	return p.checked
}

// versionFor returns the version for a launch with the arguments of b; what the host cannot know it
// does not prove.
func (p *program) versionFor(args []devices.Arg) *version {
	if p.proved == nil || len(args) != len(p.proved.program.Params) || p.proves != nil && !p.proves(args) {
		return p.checked
	}
	env := &binding{params: p.proved.program.Params, args: args}
	for _, g := range p.guards {
		if bits, err := ir.Eval(g, env); err != nil || bits == 0 {
			return p.checked
		}
	}
	return p.proved
}

// load makes a version, once.
func (d *Device) load(p *program, v *version) error {
	v.once.Do(func() { v.err = d.kernelError(p.kernel, d.build(p, v)) })
	return v.err
}

// FromCache reports whether the code of a prepared kernel was in the cache on disk.
func (d *Device) FromCache(k *devices.Kernel) bool {
	p, err := d.program(k)
	return err == nil && d.load(p, p.first()) == nil && p.first().cached
}

func (d *Device) build(p *program, v *version) error {
	if p.native != nil {
		return d.buildNative(p, v)
	}
	var err error
	if v.source, err = opencl.Print(v.program, p.printing); err != nil {
		return err
	}
	for _, need := range v.source.Needs {
		if !d.info.has(need) { // 64-bit floats are an optional feature of 1.2 with the name that the extension had
			return fmt.Errorf("it needs %s, which %s does not have", need, d.info.Name)
		}
	}
	names := make([]string, len(v.source.Entries))
	for i := range names {
		e := &v.source.Entries[i]
		names[i] = e.Name
		if size := argumentsSize(e); size > d.info.Arguments {
			return fmt.Errorf("%s: %v of arguments: %s takes at most %v", e.Name, size, d.info.Name, d.info.Arguments)
		}
		if e.TeamMemory > d.info.TeamMemory {
			return fmt.Errorf("%s: %v of team memory: %s has %v", e.Name, e.TeamMemory, d.info.Name, d.info.TeamMemory)
		}
	}
	return d.compile(p.kernel.Name, v, v.source.Text, append(v.source.Options, d.info.options(v.program.FastMath)...), names)
}

// options are those that the driver's compiler needs besides, to do what a text means.
//
// The optimizer of PoCL 3.1 gives wrong sums for loops with a barrier at their end: decision 024
// has a program without fault that shows it. That of Intel's driver for CPUs, 2026.22, adds up a
// loop's sum in parts, in vectors, as only fastmath permits.
func (i *Info) options(fastmath bool) []string {
	pocl := strings.Contains(strings.ToLower(i.Version), "pocl")
	if intel := strings.Contains(i.Platform, "Intel") && i.Type == "cpu"; pocl || intel && !fastmath {
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
func (d *Device) compile(name string, v *version, text string, options, names []string) error {
	key := d.cacheKey(text, options)
	if code, ok := d.cache.load(key); v.cl == 0 && ok && d.fromBinary(v, code, options) == nil {
		v.cached = true
	}
	if v.cl == 0 {
		if err := d.fromSource(name, v, text, options); err != nil {
			return err
		}
		if code, err := d.binary(v.cl); err == nil {
			// A cache that cannot be written costs time and nothing else: the next process compiles
			// again.
			_ = d.cache.store(key, code)
		}
	}
	const kernelGroupSize = 0x11B0
	for _, n := range names {
		c := cString(n)
		kernel, err := d.driver.create(clCreateKernel, v.cl, addressOf(c))
		if err != nil {
			return fmt.Errorf("function %s: %w", n, err)
		}
		v.entries = append(v.entries, entry{kernel: kernel})
		threads, err := d.driver.number(clGetKernelWorkGroupInfo, kernel, d.info.id, kernelGroupSize)
		if err != nil {
			return fmt.Errorf("function %s: %w", n, err)
		}
		v.entries[len(v.entries)-1].threads = int(threads)
	}
	return nil
}

// fromSource compiles a text. Errors: *CompileError with the compiler's log.
func (d *Device) fromSource(name string, v *version, text string, options []string) error {
	b := newBlock()
	defer b.free()
	source := cString(text)
	b.words[0] = uint64(addressOf(source))
	cl, err := d.driver.create(clCreateProgramWithSource, d.context.cl, 1, b.at(0), 0)
	if err != nil {
		return err
	}
	v.cl = cl
	err = d.buildProgram(cl, options)
	keep(source)
	if codeOf(err) != codeBuildFailed {
		return err
	}
	const log = 0x1183
	said, failed := d.driver.text(clGetProgramBuildInfo, cl, d.info.id, log)
	if failed != nil {
		return errors.Join(err, failed)
	}
	return &CompileError{Kernel: name, Device: d.info.Name, Log: atGoLines(said, text)}
}

var (
	textLine      = regexp.MustCompile(`<kernel>:(\d+)`)
	lineDirective = regexp.MustCompile(`^\s*#line (\d+) "(.*)"$`)
)

// atGoLines replaces the lines of a text that a compiler's log names by those of the Go source that
// the #line directives of the text give. NVIDIA's compiler counts lines and does not follow them.
func atGoLines(log, text string) string {
	lines := strings.Split(text, "\n")
	return textLine.ReplaceAllStringFunc(log, func(place string) string {
		at, _ := strconv.Atoi(textLine.FindStringSubmatch(place)[1])
		for i := min(at, len(lines)) - 1; i >= 0; i-- {
			if m := lineDirective.FindStringSubmatch(lines[i]); m != nil {
				first, _ := strconv.Atoi(m[1])
				return fmt.Sprintf("%s:%d", m[2], first+at-i-2)
			}
		}
		return place
	})
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
	var err error
	mended := d.driver.handlers.Do(func() { err = d.driver.do(clBuildProgram, cl, 1, b.at(0), addressOf(flags), 0, 0) })
	keep(flags)
	return errors.Join(err, mended)
}

// fromBinary loads what binary has returned.
func (d *Device) fromBinary(v *version, code []byte, options []string) error {
	b := newBlock()
	defer b.free()
	b.words[0], b.words[1], b.words[2] = uint64(d.info.id), uint64(len(code)), uint64(addressOf(code))
	cl, err := d.driver.create(clCreateProgramWithBinary, d.context.cl, 1, b.at(0), b.at(1), b.at(2), b.at(3))
	keep(code)
	if err != nil {
		return err
	}
	if err := d.buildProgram(cl, options); err != nil {
		return errors.Join(err, d.driver.do(clReleaseProgram, cl))
	}
	v.cl = cl
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

// release gives back what a version has.
func (v *version) release(d *Device) error {
	var errs []error
	for _, e := range v.entries {
		errs = append(errs, d.driver.do(clReleaseKernel, e.kernel))
	}
	if v.cl != 0 {
		errs = append(errs, d.driver.do(clReleaseProgram, v.cl))
	}
	return errors.Join(errs...)
}

// buildNative compiles a kernel that the user has written.
func (d *Device) buildNative(p *program, v *version) error {
	k, n := p.kernel, p.native
	if n.Shape == nil {
		return errNoShape
	}
	name := n.Entry
	if name == "" {
		name = k.Name
	}
	if n.Binary != nil {
		if len(n.Binary) == 0 {
			return errors.New("its binary is empty")
		}
		if err := d.fromBinary(v, n.Binary, n.Options); err != nil {
			return err
		}
	}
	return d.compile(k.Name, v, n.Source, n.Options, []string{name})
}
