package task

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/gompss/gompss/codegen"
	vec "github.com/gompss/gompss/codegen/cpu"
	"github.com/gompss/gompss/codegen/ir"
	"github.com/gompss/gompss/devices/smp/choose"
	"github.com/gompss/gompss/internal/environment"
	"github.com/gompss/gompss/internal/printer"
	"github.com/gompss/gompss/task/internal/kernels"
	"github.com/gompss/gompss/task/internal/values"
)

// VectorVariable is the environment variable that Options.Vector is taken from where it is "".
const VectorVariable = "GOMPSS_VECTOR"

// The values of Options.Vector.
const (
	// VectorAuto is the widest vectors of this machine, or the Go function or scalar code where
	// that is faster and gives the same bits.
	VectorAuto   = ""
	VectorOff    = "off"    // always the Go function
	VectorAVX2   = "avx2"   // 256 bits; kernels that have such code always run it
	VectorAVX512 = "avx512" // 512 bits; kernels that have such code always run it
	VectorNEON   = "neon"   // 128 bits, on arm64; kernels that have such code always run it
)

// errRaceDetector is why kernels run as Go functions in a program built with -race.
var errRaceDetector = errors.New("the race detector sees what Go code does, and nothing of vector code: " + VectorVariable + "=avx2 or avx512 takes that")

// vectors makes and keeps the vectorised variants of a runtime's kernels. They are compiled beside
// the tasks: see code.go.
type vectors struct {
	off     error // why there are none
	pinned  bool  // the program wants vector code wherever there is some
	await   bool  // tasks wait for it
	options vec.Options
	memory  vec.Memory                                      // the system's but in tests
	made    func(c *kernelCode, began, ended time.Duration) // called for compiled code; may be nil
	now     func() time.Duration

	mu     sync.Mutex // guards what follows
	arena  *vec.Arena
	closed bool
	making sync.WaitGroup
	known  sync.Map // *description -> *kernelCode; read without mu
}

// A kernelCode is what CPU workers have to run one kernel.
type kernelCode struct {
	kernel *kernels.Kernel
	always string        // why vector code runs wherever there is some, "" where the Go function may
	scalar bool          // scalar code gives the bits of vector code
	made   chan struct{} // closed when vector exists
	vector atomic.Pointer[vectorVariant]
	table  choose.Table // of the variants that were faster
}

// A vectorVariant is the vector code of one kernel, or the reason why it has none.
type vectorVariant struct {
	runner  *vec.Runner // nil where refused
	scalar  *vec.Runner // what vector code is compared with, nil where that is the Go function
	chooses bool        // between runner and scalar, or the Go function where there is no scalar
	refused error
	broke   any // what the compiler panicked with
}

func newVectors(choice string, p vec.Processor) (*vectors, error) {
	o, err := p.Choose(choice)
	switch choice {
	case VectorAuto, VectorOff:
		return &vectors{options: o, off: err}, nil
	case VectorAVX2:
		return &vectors{options: o, off: err, pinned: true}, nil
	}
	if err != nil {
		return nil, err
	}
	return &vectors{options: o, pinned: true}, nil
}

// setVectors sets what the options say of vector code.
func (rt *Runtime) setVectors(o *Options) {
	v := rt.vectors
	v.await, v.now, v.made = o.AwaitCode, rt.observers.now, rt.observers.observeCode
	if environment.RaceDetector && orVariable(o.Vector, VectorVariable) == VectorAuto {
		v.off = errRaceDetector
	}
}

// of returns the code of a kernel, which is compiled from its first use on.
func (v *vectors) of(k *kernels.Kernel) *kernelCode {
	if c, ok := v.known.Load(k); ok {
		return c.(*kernelCode)
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	if c, ok := v.known.Load(k); ok {
		return c.(*kernelCode)
	}
	c := &kernelCode{kernel: k, made: make(chan struct{}), always: v.alwaysVector(k)}
	c.scalar = c.always != "" && !v.pinned && vec.DiffersByLanes(k.IR) == ""
	v.known.Store(k, c)
	if why := v.cannot(); why != nil {
		c.vector.Store(&vectorVariant{refused: why})
		close(c.made)
	} else if k.Prints() {
		c.vector.Store(&vectorVariant{refused: errPrints})
		close(c.made)
	} else {
		v.making.Go(func() { v.compile(c) })
	}
	return c
}

// errPrints is the reason why there is no vector code of a kernel that prints.
var errPrints = errors.New("it prints: the interpreter runs it on CPU workers")

// cannot returns why there is no vector code at all. Requires: mu held.
func (v *vectors) cannot() error {
	switch {
	case v.off != nil:
		return v.off
	case v.closed:
		return errors.New("the runtime is closed")
	case v.arena == nil:
		v.arena, v.off = v.memory.NewArena()
	}
	return v.off
}

// alwaysVector returns why tasks of k run as vector code wherever there is some, "" where they may
// run as the Go function.
func (v *vectors) alwaysVector(k *kernels.Kernel) string {
	switch {
	case v.pinned:
		return "the program asks for it (Options.Vector or " + VectorVariable + ")"
	case k.IR.Printing != nil:
		return "the kernel prints, which the Go function does without " + printer.Variable
	case len(k.Variables) > 0:
		return "the kernel reads package variables, of which it has the values at submission; the Go function reads the variables themselves"
	}
	why := vec.Differs(k.IR)
	if why != "" { // scans run in their order
		why = vec.Differs(codegen.ForCPU(k.IR))
	}
	return why
}

// compile makes the vector code of a kernel. A panic of the compiler is one of the tasks that would
// run the code.
func (v *vectors) compile(c *kernelCode) {
	began := v.time()
	x := &vectorVariant{}
	defer func() {
		if broke := recover(); broke != nil {
			x = &vectorVariant{broke: broke}
		}
		c.vector.Store(x)
		if v.made != nil {
			v.made(c, began, v.time())
		}
		close(c.made)
	}()
	k := codegen.ForCPU(c.kernel.IR)
	if x.runner, x.refused = vec.NewKernelRunner(v.arena, k, v.options); x.refused != nil {
		return
	}
	x.runner.MakeVariants()
	switch lanes := x.runner.Program().Code.Lanes; {
	case c.always == "":
		x.chooses = true
	case c.scalar && lanes > 1:
		c.table.Other, c.table.Guess = choose.Scalar, float64(lanes)
		x.scalar = v.scalarRunner(k)
		x.chooses = x.scalar != nil
	default: // several workers make atomic updates in an order that depends on time in any case
		x.chooses = !v.pinned && len(c.kernel.Variables) == 0 && x.runner.Program().Code.Scalar() && vec.DiffersAlone(k) == ""
	}
}

// scalarRunner compiles k for one iteration after the other; nil where there is no room for that.
func (v *vectors) scalarRunner(k *ir.Kernel) *vec.Runner {
	o := v.options
	o.Single = vec.SingleAlways
	r, err := vec.NewKernelRunner(v.arena, k, o)
	if err != nil || r.Program().Code.Lanes > 1 {
		return nil
	}
	r.MakeVariants()
	return r
}

func (v *vectors) time() time.Duration {
	if v.now == nil {
		return 0
	}
	return v.now()
}

// close waits for what is being compiled and gives the memory back.
func (v *vectors) close() error {
	v.mu.Lock()
	v.closed = true
	v.mu.Unlock()
	v.making.Wait()
	if v.arena == nil {
		return nil
	}
	return v.arena.Close()
}

// choices returns what was chosen for all kernels, by their names.
func (v *vectors) choices() (out []VariantChoice) {
	v.known.Range(func(_, x any) bool {
		c := x.(*kernelCode)
		for _, made := range c.table.Choices() {
			out = append(out, VariantChoice{Kernel: c.kernel.Name, Launches: made.Size.String(), Variant: made.Variant.String(), Other: made.Loser.String(),
				VectorTime: made.Times[0], OtherTime: made.Times[1]})
		}
		return true
	})
	slices.SortStableFunc(out, func(a, b VariantChoice) int { return cmp.Compare(a.Kernel, b.Kernel) })
	return out
}

// wait returns the vector code, once it is made.
func (c *kernelCode) wait() *vectorVariant {
	<-c.made
	return c.vector.Load()
}

// Vectorised returns why the kernel runs as a Go function on the CPU workers of this runtime, nil
// when it has vector code there. It waits until the code is compiled.
func (rt *Runtime) Vectorised(k *Kernel) error { return rt.vectors.of(k.description).wait().refused }

// CPUCode says in words what runs a kernel on the CPU workers of this runtime: "AVX-512 code, 16
// lanes", or "Go function" and why, and what was chosen for which launches where both were
// measured. It waits until the code is compiled.
func (rt *Runtime) CPUCode(k *Kernel) string { return rt.vectors.describe(k.description) }

// describe says in words what runs a kernel on CPU workers.
func (v *vectors) describe(k *kernels.Kernel) string {
	c := v.of(k)
	x := c.wait()
	switch {
	case x.broke != nil:
		return fmt.Sprintf("nothing (the compiler broke: %v)", x.broke)
	case x.refused != nil:
		return fmt.Sprintf("Go function (%v)", x.refused)
	}
	text := fmt.Sprintf("%s code, %d lanes", v.options.Name(), x.runner.Program().Code.Lanes)
	switch {
	case x.scalar != nil:
		text += ", or scalar code where that is faster, never the Go function: " + c.always
	case !x.chooses:
		return text + ", always: " + c.always
	default:
		text += ", or the Go function where that is faster"
	}
	for _, made := range c.table.Choices() {
		text += "; " + made.String()
	}
	return text
}

// A checkFailed is the panic of vector code whose check failed: it unwinds the workers that share
// the loop, and err becomes the error of the task.
type checkFailed struct{ err error }

func (e *checkFailed) Error() string { return e.err.Error() }

// runLoop runs iterations [lo, hi). A failed check panics, as the Go function does.
func runLoop(l *vec.Loop, lo, hi int64) {
	if err := l.Run(lo, hi); err != nil {
		panic(&checkFailed{err})
	}
}

// vectorArgs appends the arguments of r as vector code takes them.
func (r *record) vectorArgs(k *kernels.Kernel, args []vec.Value) []vec.Value {
	for i, p := range k.IR.Params {
		a := &r.args.List[i]
		v := vec.Value{Bits: a.Bits}
		switch p.Type.Kind {
		case ir.Array, ir.Struct:
			v = vec.Value{Addr: values.BlobAddress(a.Blob), Len: 1}
			if p.Type.Kind == ir.Array {
				v.Len = p.Type.Len
			}
		case ir.Slice:
			v = vec.Value{Addr: r.args.Address(i), Len: a.Len, Cap: a.Cap}
		case ir.Pointer:
			if v.Addr = r.args.Address(i); v.Addr != nil {
				v.Len = 1
			}
		}
		args = append(args, v)
	}
	return args
}

// callCode runs the vector code or the scalar code of a kernel, its parallel loops by share. The
// error is errStopped; others are panics.
func (rt *Runtime) callCode(r *record, x *vectorVariant, v choose.Variant, args []vec.Value, share func(*vec.Loop) error) error {
	runner := x.runner
	r.trace.Variant = rt.vectors.options.Name()
	if v == choose.Scalar {
		runner, r.trace.Variant = x.scalar, scalarVariant
	}
	err := rt.pool.states[r.worker].launcher.Call(runner, args, share)
	if err != nil && !errors.Is(err, errStopped) {
		panic(&checkFailed{err})
	}
	return err
}

// shareVector runs a parallel loop, together with idle workers where it is long enough.
func (wp *workerPool) shareVector(l *vec.Loop) error {
	if each := l.Each(); each > 0 && time.Duration(each*l.Trips/1000) < shareAbove {
		return l.Run(0, l.Trips)
	}
	done := int64(0)
	if l.Each() == 0 { // the first run of this kernel here: find out
		done = min(l.Trips, l.Batch())
		if err := l.Run(0, done); err != nil {
			return err
		}
	}
	grain := l.Grain()
	if l.Trips-done <= grain {
		return l.Run(done, l.Trips)
	}
	wp.workers.Share(done, l.Trips, grain, func(lo, hi int64) { runLoop(l, lo, hi) })
	return nil
}
