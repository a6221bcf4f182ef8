//go:build linux && (amd64 || arm64)

package cuda

import (
	"errors"
	"fmt"
	"os"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/gompss/gompss/codegen/cuda"
	"github.com/gompss/gompss/codegen/ir"
	"github.com/gompss/gompss/codegen/ir/specialise"
	"github.com/gompss/gompss/codegen/target"
	"github.com/gompss/gompss/devices"
	"github.com/gompss/gompss/devices/cuda/internal/driver"
	"github.com/gompss/gompss/devices/cuda/internal/launch"
	"github.com/gompss/gompss/devices/cuda/internal/tune"
	"github.com/gompss/gompss/devices/cuda/internal/tuner"
	"github.com/gompss/gompss/devices/internal/sizing"
)

// A program is what a device has made of a kernel: a version with indices in 32 bits whose
// arguments prove that no check fails, where there is one, and the others when a launch needs them.
type program struct {
	kernel   *devices.Kernel
	native   *native // nil without one; then the versions do not matter
	graph    *graph  // nil but for sequences
	proved   *launch.Guarded
	versions [32]version              // by versionOf; their program is nil where there is none
	tuned    *tuner.Kernel            // nil where nothing is tried
	sizes    []classArg               // of tuned ones
	rows     *rows                    // for nested loops of other lengths; nil where there are none
	forms    *sizing.Kernel[*program] // for sizes of launches; nil where there are none
	// ofAllSizes is, of a form for some sizes, the program that it is made from; else nil.
	ofAllSizes *program
	general    atomic.Bool // a version is loaded
	// others are the candidates beside the program itself, once they are made.
	others atomic.Pointer[[]candidate]
}

// A candidate is a way to run a kernel: a program, and teams of another size by a power of two.
type candidate struct {
	name    string
	program *program
	resize  int
}

// candidate returns the one of a number; 0 is the compiler's choice.
func (p *program) candidate(i int) candidate {
	if list := p.others.Load(); list != nil && i > 0 && i <= len(*list) {
		return (*list)[i-1]
	}
	return candidate{program: p}
}

// resized are the candidates of p that take no code of their own.
func (p *program) resized() []candidate {
	return []candidate{{"teams of half the size", p, -1}, {"teams of twice the size", p, 1}}
}

// prepareOthers makes the candidates of p that take code of their own, and returns their names.
func (t *moduleTable) prepareOthers(p *program, ending func() bool) (names []string) {
	list := p.resized()
	if all := p.ofAllSizes; all != nil && t.load(all, all.first(false)) == nil {
		const name = "code for all sizes"
		list, names = append(list, candidate{name, all, 0}), append(names, name)
	}
	for _, c := range p.kernel.Candidates() {
		if ending() {
			break
		}
		k := *p.kernel
		if k.Program, k.Unchecked = c.Program, c.Unchecked; k.Unchecked == nil {
			k.Proves = nil
		}
		other := newProgram(&k)
		if t.load(other, other.first(false)) == nil {
			list = append(list, candidate{c.Name, other, 0})
			names = append(names, c.Name)
		}
	}
	p.others.Store(&list)
	return names
}

// tune makes the races of p, if it has candidates.
func (t *moduleTable) tune(p *program) {
	if p.kernel.Candidates == nil || p.kernel.Program == nil || p.native != nil || p.graph != nil {
		return
	}
	list := p.resized()
	p.others.Store(&list)
	p.sizes = p.sizings()
	p.tuned = t.tuner.NewKernel(tuner.Maker{
		Name:  p.kernel.Name,
		Quick: []string{list[0].name, list[1].name},
		First: func() (hash, compiler string) {
			v := p.first(false)
			if t.load(p, v) == nil {
				hash = v.source.Hash
			}
			if c, err := driver.OpenNVRTC(); err == nil {
				compiler = c.Version
			}
			return hash, compiler
		},
		Others: func(ending func() bool) []string { return t.prepareOthers(p, ending) },
	})
}

// A classArg is an argument that sizes a launch: the length of a slice, or a number that a bound of
// a grid is computed from.
type classArg struct {
	arg   int
	slice bool
}

// sizings returns those of p.
func (p *program) sizings() (out []classArg) {
	bounds := &ir.VarSet{}
	for _, g := range p.kernel.Program.Launches {
		for _, e := range []ir.Expr{g.Trip, g.TeamTrip} {
			ir.WalkExpr(e, func(e ir.Expr) bool {
				if r, ok := e.(*ir.Ref); ok {
					bounds.Add(r.Var)
				}
				return true
			})
		}
	}
	for i, v := range p.kernel.Program.Params {
		if slice := v.Type.Kind == ir.Slice; slice || v.Type.IsInteger() && bounds.Has(v) {
			out = append(out, classArg{i, slice})
		}
	}
	return out
}

// sizeClass returns the class of a launch of p.
func (p *program) sizeClass(args []devices.Arg) (c tune.Class) {
	for _, s := range p.sizes {
		if s.slice {
			c = c.Add(args[s.arg].Len)
			continue
		}
		c = c.AddRoughly(int64(args[s.arg].Bits))
	}
	return c
}

// versionOf is the place of a version. An exact one, with teams of one size, indexes in 32 bits,
// and so does an aligned one.
func versionOf(index32, proved, waits, exact, aligned bool) int {
	n := 0
	for i, yes := range [...]bool{index32, proved, waits, exact, aligned} {
		if yes {
			n |= 1 << i
		}
	}
	return n
}

// first returns the version that most launches take: it is compiled before any.
func (p *program) first(waits bool) *version {
	versions := p.narrow(p.proved != nil, waits)
	for _, v := range versions {
		if v.program != nil {
			return v
		}
	}
	return versions[len(versions)-1]
}

// narrow returns the versions with indices in 32 bits in the order in which a launch tries them, of
// which those without a program are none.
func (p *program) narrow(proved, waits bool) (out [4]*version) {
	for i, form := range [len(out)]struct{ exact, aligned bool }{{true, true}, {true, false}, {false, true}, {false, false}} {
		out[i] = &p.versions[versionOf(true, proved, waits, form.exact, form.aligned)]
	}
	return out
}

// A version is one printed, compiled and loaded text.
type version struct {
	index32 bool
	align   ir.Bytes // of its slices, 0: any
	waits   bool     // it can wait for what it is behind; see early.go
	once    sync.Once
	err     error
	program *ir.Program
	source  *cuda.Source
	module  uintptr
	entries []entry
	cached  bool // the cubin was in the cache
}

// An entry is a function of a module.
type entry struct {
	function uintptr
	fit      launch.Limits
}

// Prepare compiles the kernel for this GPU, once.
func (d *Device) Prepare(k *devices.Kernel) error {
	if err := d.gpu.alive(); err != nil {
		return err
	}
	p := d.modules.program(k)
	var err error
	switch {
	case p.graph != nil:
		err = errors.Join(devices.PrepareSteps(d, k.Steps), d.modules.prepareWaiting(k.Steps))
	case p.native != nil:
		err = d.modules.loadNative(k, p.native)
	default:
		err = d.modules.load(p, p.first(false))
	}
	if err == nil || d.gpu.alive() != nil {
		return err
	}
	return &devices.DeviceError{Device: d.gpu.name, What: "kernel " + k.Name, Pos: k.Pos, Err: err}
}

// A moduleTable is the kernels that one device has compiled and loaded.
type moduleTable struct {
	gpu      *gpu
	platform *platform
	tuner    *tuner.Tuner
	making   making      // of forms for sizes
	waits    bool        // generated kernels can wait for what they are behind; see early.go
	noEdges  atomic.Bool // the driver refused to make a graph in which they do

	mu sync.Mutex
	of map[*devices.Kernel]*program
}

// program returns the record of a kernel. It is made without the lock, in up to milliseconds:
// others launch meanwhile. Of two that are made at once the first counts.
func (t *moduleTable) program(k *devices.Kernel) *program {
	t.mu.Lock()
	p := t.of[k]
	t.mu.Unlock()
	if p != nil {
		return p
	}
	p = newProgram(k)
	t.tune(p)
	if p.rows = t.newRows(k); p.rows != nil && p.sizes == nil {
		p.sizes = p.sizings()
	}
	if t.platform.sizes && k.Sized != nil {
		p.forms = sizing.New[*program](k.Sizes)
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if first := t.of[k]; first != nil {
		return first
	}
	t.of[k] = p
	return p
}

func newProgram(k *devices.Kernel) *program {
	p := &program{kernel: k}
	if n := k.NativeFor(Kind); n != nil {
		p.native = &native{of: n}
	}
	if len(k.Steps) > 0 {
		p.graph = &graph{steps: k.Steps}
	}
	if k.Program != nil {
		p.proved = launch.GuardOf(k)
	}
	for _, proved := range []bool{false, true} {
		of := k.Program
		if proved && p.proved != nil {
			of = p.proved.Program
		}
		p.write(of, proved)
	}
	return p
}

// write fills in the versions of one program, nil where there is none.
func (p *program) write(of *ir.Program, proved bool) {
	var exact *ir.Program
	if of != nil {
		if form, ok := specialise.Teams(of, cuda.Warp); ok {
			exact = form
		}
	}
	for _, waits := range []bool{false, true} {
		p.versions[versionOf(false, proved, waits, false, false)] = version{program: of, waits: waits}
		p.versions[versionOf(true, proved, waits, false, false)] = version{program: of, index32: true, waits: waits}
		p.versions[versionOf(true, proved, waits, true, false)] = version{program: exact, index32: true, waits: waits}
		if of != nil && cuda.Neighbours(of) {
			const align = cuda.Widest
			p.versions[versionOf(true, proved, waits, false, true)] = version{program: of, index32: true, align: align, waits: waits}
			p.versions[versionOf(true, proved, waits, true, true)] = version{program: exact, index32: true, align: align, waits: waits}
		}
	}
}

// FromCache reports whether the code of a prepared kernel was in the cache on disk.
func (d *Device) FromCache(k *devices.Kernel) bool {
	p := d.modules.program(k)
	if p.native != nil {
		return p.native.cached
	}
	if list := p.forms.All(); len(list) > 0 && !p.general.Load() {
		return list[0].first(false).cached
	}
	return p.first(false).cached
}

// load makes a version, once.
func (t *moduleTable) load(p *program, v *version) error {
	v.once.Do(func() {
		if v.err = t.build(p.kernel, v); v.err == nil {
			p.general.Store(true)
		}
	})
	return v.err
}

func (t *moduleTable) build(k *devices.Kernel, v *version) error {
	switch {
	case k.Program == nil && k.Refused != nil:
		return k.Refused
	case k.Program == nil:
		return errors.New("it has no device program")
	}
	var err error
	if v.source, err = cuda.Print(v.program, cuda.Options{Index32: v.index32, Align: v.align, Lines: true, Early: v.waits}); err != nil {
		return err
	}
	code, cached, err := t.platform.compile(k.Name, v.source.Text, v.source.Hash, t.gpu.chip.arch(), v.source.Options)
	if err != nil {
		return err
	}
	names := make([]string, len(v.source.Entries))
	for i := range names {
		names[i] = v.source.Entries[i].Name
	}
	t.gpu.enter()
	defer t.gpu.leave()
	v.cached = cached
	v.module, v.entries, err = t.gpu.loadModule(code, names)
	return err
}

// lineVariable is the environment variable that has cubins name the lines of the Go source, for
// compute-sanitizer, cuda-gdb and profilers.
const lineVariable = "GOMPSS_LINEINFO"

// compile returns the cubin of a text, from the cache or from NVRTC, and which of the two.
//
// Errors: *CompileError; *LibraryError when there is no NVRTC and the cache does not have it.
func (p *platform) compile(name, text, hash, arch string, options []string) (cubin []byte, cached bool, err error) {
	if os.Getenv(lineVariable) == "1" {
		hash, options = hash+"lines", append(options[:len(options):len(options)], "-lineinfo")
	}
	compiler, missing := driver.OpenNVRTC()
	release := ""
	if missing == nil {
		release = compiler.Version
	}
	key := driver.CubinKey{Hash: hash, Arch: arch}
	if p.cache != nil {
		if code, ok := p.cache.Load(key, release); ok {
			return code, true, nil
		}
	}
	if missing != nil {
		return nil, false, missing
	}
	code, log, err := compiler.Compile(name+".cu", text, arch, options)
	if errors.Is(err, driver.ErrNotCompiled) {
		return nil, false, newCompileError(name, arch, log)
	}
	if err != nil {
		return nil, false, fmt.Errorf("NVRTC %s for %s: %w", release, arch, err)
	}
	if p.cache != nil {
		// A cache that cannot be written costs time and nothing else: the next process compiles
		// again.
		_ = p.cache.Store(key, release, code)
	}
	return code, false, nil
}

// loadModule loads a cubin and finds its functions. Requires: the context is current.
func (g *gpu) loadModule(code []byte, names []string) (module uintptr, entries []entry, err error) {
	b := driver.NewBlock()
	defer b.Free()
	if err := g.driver.Do(driver.CuModuleLoadData, b.At(0), driver.Address(&code[0])); err != nil {
		return 0, nil, err
	}
	module = uintptr(b.Words[0])
	entries = make([]entry, len(names))
	for i, name := range names {
		text := driver.CString(name)
		if err := g.driver.Do(driver.CuModuleGetFunction, b.At(0), module, driver.Address(text)); err != nil {
			return 0, nil, errors.Join(err, g.driver.Do(driver.CuModuleUnload, module))
		}
		entries[i].function = uintptr(b.Words[0])
		if entries[i].fit, err = g.limitsOf(entries[i].function); err != nil {
			return 0, nil, errors.Join(err, g.driver.Do(driver.CuModuleUnload, module))
		}
	}
	return module, entries, nil
}

// limitsOf asks what the chip allows a function.
func (g *gpu) limitsOf(function uintptr) (launch.Limits, error) {
	b := driver.NewBlock()
	defer b.Free()
	const maxThreads = 0 // CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK
	if err := g.driver.Do(driver.CuFuncGetAttribute, b.At(0), maxThreads, function); err != nil {
		return launch.Limits{}, err
	}
	f := launch.Limits{Multiprocessors: g.chip.sms, Warp: g.chip.warp, MaxThreads: int(b.Int32(0))}
	if known := target.Nearest(g.chip.major, g.chip.minor); known != nil {
		f.L1, f.InFlight = known.Memory.L1, known.Memory.InFlight
	}
	for _, n := range []int{32, 64, 96, 128, 192, 256, 384, 512, 768, 1024} {
		if n > f.MaxThreads {
			break
		}
		if err := g.driver.Do(driver.CuOccupancyMaxActiveBlocksPerMultiprocessor, b.At(0), function, uintptr(n), 0); err != nil {
			return launch.Limits{}, err
		}
		f.Occupancies = append(f.Occupancies, launch.Occupancy{Threads: n, Teams: int(b.Int32(0))})
	}
	return f, nil
}

// unload frees the modules of a program, of its candidates and of its forms for some sizes. The
// program that such a form is made from is among the candidates of the form, and frees itself.
func (p *program) unload(d *Device) error {
	var errs []error
	if list := p.others.Load(); list != nil {
		for _, c := range *list {
			if c.program != p && c.program != p.ofAllSizes {
				errs = append(errs, c.program.unload(d))
			}
		}
	}
	for _, f := range p.forms.All() {
		errs = append(errs, f.unload(d))
	}
	if p.rows != nil {
		errs = append(errs, p.rows.unload(d))
	}
	if p.graph != nil {
		errs = append(errs, p.graph.free(d))
	}
	if n := p.native; n != nil && n.module != 0 {
		errs = append(errs, d.gpu.driver.Do(driver.CuModuleUnload, n.module))
		n.module = 0
	}
	for i := range p.versions {
		if v := &p.versions[i]; v.module != 0 {
			errs = append(errs, d.gpu.driver.Do(driver.CuModuleUnload, v.module))
			v.module = 0
		}
	}
	return errors.Join(errs...)
}

// unloadAll frees all modules of d. Requires: the context is current.
func (t *moduleTable) unloadAll(d *Device) error {
	var errs []error
	for _, p := range t.of {
		errs = append(errs, p.unload(d))
	}
	return errors.Join(errs...)
}

// A CompileError means that NVRTC does not take a kernel's text. That is our bug, or that of a
// kernel in CUDA C++.
type CompileError struct {
	Kernel  string
	Arch    string
	Pos     ir.Pos // of the first error, in the Go source where there is one
	Message string // the first error
	Log     string // all that NVRTC said
}

func (e *CompileError) Error() string {
	return fmt.Sprintf("NVRTC for %s: %s: %s", e.Arch, e.Pos, e.Message)
}

// logLine is a message of NVRTC: file(line): error: text. #line makes file and line those of the Go
// source.
var logLine = regexp.MustCompile(`(?m)^(.+)\((\d+)\): (?:catastrophic )?error(?: #\S+)?: (.*)$`)

func newCompileError(kernel, arch, log string) *CompileError {
	e := &CompileError{Kernel: kernel, Arch: arch, Log: log, Message: log}
	if first, _, ok := strings.Cut(log, "\n"); ok {
		e.Message = first
	}
	if m := logLine.FindStringSubmatch(log); m != nil {
		e.Pos.File, e.Message = m[1], m[3]
		e.Pos.Line, _ = strconv.Atoi(m[2]) // digits, by the pattern
	}
	return e
}

// Compiler names the compiler of kernels; without one only those run that the cache on disk has.
//
// Cost: it opens the compiler's library, which is done otherwise when a kernel is compiled. Errors:
// *LibraryError.
func (d *Device) Compiler() (string, error) {
	c, err := driver.OpenNVRTC()
	if err != nil {
		return "", err
	}
	return fmt.Sprintf("NVRTC %s, %s", c.Version, c.Path), nil
}

// A making is the goroutines that make forms of kernels for sizes beside the launches.
type making struct {
	jobs   sync.WaitGroup
	ending atomic.Bool
}

// end waits for what is being compiled; what is not begun is left out. Calls do not race with
// launches, which have ended.
func (m *making) end() {
	m.ending.Store(true)
	m.jobs.Wait()
}

// sized returns the program for a launch of p with args: one in which its sizes are constants where
// there is one, else p. The first launches of a kernel wait for it, as they would for p.
func (t *moduleTable) sized(p *program, args []devices.Arg) *program {
	if p.forms == nil || len(args) != len(p.kernel.Program.Params) {
		return p
	}
	if f, ok := p.forms.Find(args); ok {
		return f
	}
	switch when, values := p.forms.Plan(args, p.general.Load()); when {
	case sizing.Now:
		if f := t.makeSized(p, values); f != nil {
			return f
		}
	case sizing.Later:
		t.making.jobs.Go(func() {
			if !t.making.ending.Load() {
				t.makeSized(p, values)
			}
		})
	}
	return p
}

// makeSized makes the form of p for these values. It returns nil where the compiler refuses it: p
// is right for all values.
func (t *moduleTable) makeSized(p *program, values []sizing.Value) *program {
	sizes := map[int]uint64{}
	for _, v := range values {
		sizes[v.Arg] = v.Bits
	}
	k, err := p.kernel.Sized(sizes)
	if err != nil {
		return nil
	}
	f := newProgram(k)
	if t.load(f, f.first(false)) != nil {
		return nil
	}
	f.ofAllSizes = p
	t.tune(f)
	p.forms.Add(values, f)
	return f
}

// PrepareFor compiles the kernel for the sizes of a launch, or, where it has none, as Prepare does.
func (d *Device) PrepareFor(k *devices.Kernel, args []devices.Arg) error {
	if err := d.gpu.alive(); err != nil {
		return err
	}
	if p := d.modules.program(k); p.native == nil && p.graph == nil && k.Program != nil && d.modules.sized(p, args) != p {
		return nil
	}
	return d.Prepare(k)
}
