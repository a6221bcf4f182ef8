package cpucode

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
	"github.com/gompss/gompss/devices"
	"github.com/gompss/gompss/devices/smp/choose"
	"github.com/gompss/gompss/internal/printer"
	"github.com/gompss/gompss/task/internal/kernels"
	"github.com/gompss/gompss/task/internal/values"
)

// Environment is the environment variable that the choice is taken from where the program makes
// none.
const Environment = "GOMPSS_VECTOR"

// The choices of vectors: see VectorAuto of package task.
const (
	Auto   = ""
	Off    = "off"
	AVX2   = "avx2"
	AVX512 = "avx512"
	NEON   = "neon"
)

// ErrRaceDetector is why kernels run as Go functions in a program built with -race.
var ErrRaceDetector = errors.New("the race detector sees what Go code does, and nothing of vector code: " + Environment + "=avx2 or avx512 takes that")

// Vectors makes and keeps the vectorised variants of a runtime's kernels. They are compiled beside
// the tasks.
type Vectors struct {
	Off     error // why there are none
	pinned  bool  // the program wants vector code wherever there is some
	await   bool  // tasks wait for it
	Options vec.Options
	Memory  vec.Memory                                          // the system's but in tests
	made    func(k *kernels.Kernel, began, ended time.Duration) // called for compiled code; may be nil
	now     func() time.Duration

	Mu     sync.Mutex // guards the fields below
	arena  *vec.Arena
	closed bool
	making sync.WaitGroup
	Known  sync.Map // *description -> *kernelCode; read without mu
}

// A Code has the code of CPU workers for one kernel.
type Code struct {
	Kernel *kernels.Kernel
	Always string        // why vector code runs wherever there is some, "" where the Go function may
	scalar bool          // scalar code gives the bits of vector code
	Made   chan struct{} // closed when vector exists
	Vector atomic.Pointer[Variant]
	Table  choose.Table // of the variants that were faster
}

// A Variant is the vector code of one kernel, or the reason why it has none.
type Variant struct {
	runner  *vec.Runner // nil where refused
	Scalar  *vec.Runner // what vector code is compared with, nil where that is the Go function
	chooses bool        // between runner and scalar, or the Go function where there is no scalar
	Refused error
	Broke   any // the value of a panic of the compiler
}

func NewVectors(choice string, p vec.Processor) (*Vectors, error) {
	o, err := p.Choose(choice)
	switch choice {
	case Auto, Off:
		return &Vectors{Options: o, Off: err}, nil
	case AVX2:
		return &Vectors{Options: o, Off: err, pinned: true}, nil
	}
	if err != nil {
		return nil, err
	}
	return &Vectors{Options: o, pinned: true}, nil
}

// Set sets whether tasks wait for code, the clock, and what is called for compiled code.
func (v *Vectors) Set(await bool, now func() time.Duration, made func(*kernels.Kernel, time.Duration, time.Duration)) {
	v.await, v.now, v.made = await, now, made
}

// Of returns the code of a kernel, which is compiled from its first use on.
func (v *Vectors) Of(k *kernels.Kernel) *Code {
	if c, ok := v.Known.Load(k); ok {
		return c.(*Code)
	}
	v.Mu.Lock()
	defer v.Mu.Unlock()
	if c, ok := v.Known.Load(k); ok {
		return c.(*Code)
	}
	c := &Code{Kernel: k, Made: make(chan struct{}), Always: v.AlwaysVector(k)}
	c.scalar = c.Always != "" && !v.pinned && vec.DiffersByLanes(k.IR) == ""
	v.Known.Store(k, c)
	if why := v.Cannot(); why != nil {
		c.Vector.Store(&Variant{Refused: why})
		close(c.Made)
	} else if k.Prints() {
		c.Vector.Store(&Variant{Refused: errPrints})
		close(c.Made)
	} else {
		v.making.Go(func() { v.Compile(c) })
	}
	return c
}

// errPrints is the reason why there is no vector code of a kernel that prints.
var errPrints = errors.New("it prints: the interpreter runs it on CPU workers")

// Cannot returns why there is no vector code at all. Requires: mu held.
func (v *Vectors) Cannot() error {
	switch {
	case v.Off != nil:
		return v.Off
	case v.closed:
		return errors.New("the runtime is closed")
	case v.arena == nil:
		v.arena, v.Off = v.Memory.NewArena()
	}
	return v.Off
}

// AlwaysVector returns why tasks of k run as vector code wherever there is some, "" where they may
// run as the Go function.
func (v *Vectors) AlwaysVector(k *kernels.Kernel) string {
	switch {
	case v.pinned:
		return "the program asks for it (Options.Vector or " + Environment + ")"
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

// Compile makes the vector code of a kernel. A panic of the compiler is one of the tasks that would
// run the code.
func (v *Vectors) Compile(c *Code) {
	began := v.time()
	x := &Variant{}
	defer func() {
		if broke := recover(); broke != nil {
			x = &Variant{Broke: broke}
		}
		c.Vector.Store(x)
		if v.made != nil {
			v.made(c.Kernel, began, v.time())
		}
		close(c.Made)
	}()
	k := codegen.ForCPU(c.Kernel.IR)
	if x.runner, x.Refused = vec.NewKernelRunner(v.arena, k, v.Options); x.Refused != nil {
		return
	}
	x.runner.MakeVariants()
	switch lanes := x.runner.Program().Code.Lanes; {
	case c.Always == "":
		x.chooses = true
	case c.scalar && lanes > 1:
		c.Table.Other, c.Table.Guess = choose.Scalar, float64(lanes)
		x.Scalar = v.scalarRunner(k)
		x.chooses = x.Scalar != nil
	default: // several workers make atomic updates in an order that depends on time in any case
		x.chooses = !v.pinned && len(c.Kernel.Variables) == 0 && x.runner.Program().Code.Scalar() && vec.DiffersAlone(k) == ""
	}
}

// scalarRunner compiles k for one iteration after the other; nil where there is no room for that.
func (v *Vectors) scalarRunner(k *ir.Kernel) *vec.Runner {
	o := v.Options
	o.Single = vec.SingleAlways
	r, err := vec.NewKernelRunner(v.arena, k, o)
	if err != nil || r.Program().Code.Lanes > 1 {
		return nil
	}
	r.MakeVariants()
	return r
}

func (v *Vectors) time() time.Duration {
	if v.now == nil {
		return 0
	}
	return v.now()
}

// Close waits for compilations in progress and frees the memory.
func (v *Vectors) Close() error {
	v.Mu.Lock()
	v.closed = true
	v.Mu.Unlock()
	v.making.Wait()
	if v.arena == nil {
		return nil
	}
	return v.arena.Close()
}

// Choices returns the choices for all kernels, by their names.
func (v *Vectors) Choices() (out []VariantChoice) {
	v.Known.Range(func(_, x any) bool {
		c := x.(*Code)
		for _, made := range c.Table.Choices() {
			out = append(out, VariantChoice{Kernel: c.Kernel.Name, Launches: made.Size.String(), Variant: made.Variant.String(), Other: made.Loser.String(),
				VectorTime: made.Times[0], OtherTime: made.Times[1]})
		}
		return true
	})
	slices.SortStableFunc(out, func(a, b VariantChoice) int { return cmp.Compare(a.Kernel, b.Kernel) })
	return out
}

// Wait returns the vector code, once it is made.
func (c *Code) Wait() *Variant {
	<-c.Made
	return c.Vector.Load()
}

// Describe describes the code that runs a kernel on CPU workers.
func (v *Vectors) Describe(k *kernels.Kernel) string {
	c := v.Of(k)
	x := c.Wait()
	switch {
	case x.Broke != nil:
		return fmt.Sprintf("nothing (the compiler broke: %v)", x.Broke)
	case x.Refused != nil:
		return fmt.Sprintf("Go function (%v)", x.Refused)
	}
	text := fmt.Sprintf("%s code, %d lanes", v.Options.Name(), x.runner.Program().Code.Lanes)
	switch {
	case x.Scalar != nil:
		text += ", or scalar code where that is faster, never the Go function: " + c.Always
	case !x.chooses:
		return text + ", never the Go function: " + c.Always
	default:
		text += ", or the Go function where that is faster"
	}
	for _, made := range c.Table.Choices() {
		text += "; " + made.String()
	}
	return text
}

// A CheckFailed is the panic of vector code whose check failed: it unwinds the workers that share
// the loop, and err becomes the error of the task.
type CheckFailed struct{ Err error }

func (e *CheckFailed) Error() string { return e.Err.Error() }

// runLoop runs iterations [lo, hi). A failed check panics, as the Go function does.
func runLoop(l *vec.Loop, lo, hi int64) {
	if err := l.Run(lo, hi); err != nil {
		panic(&CheckFailed{err})
	}
}

// vectorArgs appends the arguments of as vector code takes them.
func vectorArgs(k *kernels.Kernel, of *devices.Args, args []vec.Value) []vec.Value {
	for i, p := range k.IR.Params {
		a := &of.List[i]
		v := vec.Value{Bits: a.Bits}
		switch p.Type.Kind {
		case ir.Array, ir.Struct:
			v = vec.Value{Addr: values.BlobAddress(a.Blob), Len: 1}
			if p.Type.Kind == ir.Array {
				v.Len = p.Type.Len
			}
		case ir.Slice:
			v = vec.Value{Addr: of.Address(i), Len: a.Len, Cap: a.Cap}
		case ir.Pointer:
			if v.Addr = of.Address(i); v.Addr != nil {
				v.Len = 1
			}
		}
		args = append(args, v)
	}
	return args
}

// callCode runs the vector code or the scalar code of a kernel, its parallel loops by share. The
// error is ErrStopped; others are panics.
func (ex *Executor) callCode(r *Launch, x *Variant, v choose.Variant, args []vec.Value, share func(*vec.Loop) error) error {
	runner := x.runner
	*r.variant = ex.Vectors.Options.Name()
	if v == choose.Scalar {
		runner, *r.variant = x.Scalar, scalarVariant
	}
	err := ex.states[r.worker].launcher.Call(runner, args, share)
	if err != nil && !errors.Is(err, ErrStopped) {
		panic(&CheckFailed{err})
	}
	return err
}

// shareVector runs a parallel loop, together with idle workers where it is long enough.
func (ex *Executor) shareVector(l *vec.Loop) error {
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
	ex.workers.Share(done, l.Trips, grain, func(lo, hi int64) { runLoop(l, lo, hi) })
	return nil
}

// A VariantChoice is which variant of a kernel runs launches of a size on CPU workers, and why.
type VariantChoice struct {
	Kernel   string
	Launches string // "64 to 127 iterations on 512 to 1023 bytes"
	Variant  string // "vector code", "Go function" or "scalar code"
	Other    string // what it was compared with: another one of these
	// VectorTime and OtherTime are the least nanoseconds that an iteration took as vector code, and
	// otherwise, or a byte where iterations are not counted.
	VectorTime, OtherTime float64
}
