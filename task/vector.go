package task

import (
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/gompss/gompss/codegen"
	vec "github.com/gompss/gompss/codegen/cpu"
	"github.com/gompss/gompss/codegen/ir"
)

// VectorVariable is the environment variable that Options.Vector is taken from where it is "".
const VectorVariable = "GOMPSS_VECTOR"

// The values of Options.Vector.
const (
	VectorAuto   = ""       // the widest vectors of this machine; kernels that have no vector form run as Go functions
	VectorOff    = "off"    // always the Go function
	VectorAVX2   = "avx2"   // 256 bits
	VectorAVX512 = "avx512" // 512 bits
)

// vectors makes and keeps the vectorised variants of a runtime's kernels.
type vectors struct {
	off     error // why there are none
	options vec.Options
	memory  vec.Memory // the system's but in tests

	mu    mutex // guards what follows
	arena *vec.Arena
	known sync.Map // *Kernel -> *vectorVariant; read without mu
}

// A vectorVariant is the vector code of one kernel, or the reason why it has none.
type vectorVariant struct {
	runner  *vec.Runner // nil where refused
	refused error
}

func newVectors(choice string, p vec.Processor) (*vectors, error) {
	o, err := p.Choose(choice)
	switch choice {
	case VectorAuto, VectorOff, VectorAVX2:
		return &vectors{options: o, off: err}, nil
	}
	if err != nil {
		return nil, err
	}
	return &vectors{options: o}, nil
}

// of returns the variant of a kernel, made on its first use.
func (v *vectors) of(k *Kernel) *vectorVariant {
	if x, ok := v.known.Load(k); ok {
		return x.(*vectorVariant)
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	if x, ok := v.known.Load(k); ok {
		return x.(*vectorVariant)
	}
	x := v.make(k)
	v.known.Store(k, x)
	return x
}

// Requires: mu held.
func (v *vectors) make(k *Kernel) *vectorVariant {
	if v.off != nil {
		return &vectorVariant{refused: v.off}
	}
	if v.arena == nil {
		var err error
		if v.arena, err = v.memory.NewArena(); err != nil {
			v.off = err
			return &vectorVariant{refused: err}
		}
	}
	runner, err := vec.NewKernelRunner(v.arena, codegen.ForCPU(k.ir), v.options)
	return &vectorVariant{runner: runner, refused: err}
}

func (v *vectors) close() error {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.arena == nil {
		return nil
	}
	return v.arena.Close()
}

// Vectorised returns why the kernel runs as a Go function on the CPU workers of this runtime, nil when it runs as vector code.
func (rt *Runtime) Vectorised(k *Kernel) error { return rt.vectors.of(k).refused }

// CPUCode says in words what runs a kernel on the CPU workers of this runtime: "AVX-512 code, 16 lanes", or "Go function" and why.
func (rt *Runtime) CPUCode(k *Kernel) string {
	x := rt.vectors.of(k)
	if x.refused != nil {
		return fmt.Sprintf("Go function (%v)", x.refused)
	}
	return fmt.Sprintf("%s code, %d lanes", rt.vectors.options.Name(), x.runner.Program().Code.Lanes)
}

// A checkFailed is the panic of vector code whose check failed: it unwinds the workers that share the loop, and err
// becomes the error of the task.
type checkFailed struct{ err error }

func (e *checkFailed) Error() string { return e.err.Error() }

// runLoop runs iterations [lo, hi). A failed check panics, as the Go function does.
func runLoop(l *vec.Loop, lo, hi int64) {
	if err := l.Run(lo, hi); err != nil {
		panic(&checkFailed{err})
	}
}

// callVector runs the vector code of a kernel, shared with idle workers where it is long enough; false when there is none.
func (rt *Runtime) callVector(r *record, k *Kernel) bool {
	done, _ := rt.callVectorWith(r, k, rt.share)
	return done
}

// callVectorWith runs the vector code of a kernel, its parallel loops by share. The error is errStopped; others are panics.
func (rt *Runtime) callVectorWith(r *record, k *Kernel, share func(*vec.Loop) error) (done bool, err error) {
	x := rt.vectors.of(k)
	if x.runner == nil {
		return false, nil
	}
	var fixed [16]vec.Value
	args := fixed[:0]
	for i, p := range k.ir.Params {
		a := &r.args.List[i]
		v := vec.Value{Bits: a.Bits}
		switch p.Type.Kind {
		case ir.Array, ir.Struct:
			v = vec.Value{Addr: blobAddress(a.Blob), Len: 1}
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
	if err := rt.rooms[r.worker].on.Call(x.runner, args, share); errors.Is(err, errStopped) {
		return true, errStopped
	} else if err != nil {
		panic(&checkFailed{err})
	}
	return true, nil
}

// shareVector runs a parallel loop, together with idle workers where it is long enough.
func (rt *Runtime) shareVector(l *vec.Loop) error {
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
	rt.workers.Share(done, l.Trips, grain, func(lo, hi int64) { runLoop(l, lo, hi) })
	return nil
}
