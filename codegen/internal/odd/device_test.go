//go:build linux && amd64

package odd

import (
	"fmt"
	"math/rand/v2"
	"os"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/gompss/gompss/codegen"
	"github.com/gompss/gompss/codegen/ir"
	"github.com/gompss/gompss/codegen/opencl"
	"github.com/gompss/gompss/deps"
	"github.com/gompss/gompss/devices"
	_ "github.com/gompss/gompss/devices/all" // the plug-ins
	"github.com/gompss/gompss/devices/devicetest"
	"github.com/gompss/gompss/internal/machine"
)

// An accelerator runs programs with all their memory, which goes there and back as a whole.
type accelerator struct {
	devices.Accelerator
	next deps.BufferID
}

// kernels are the forms of a program there, none where OpenCL C has no form of it.
func (a *accelerator) kernels(r *runner, p program) (out []*devices.Kernel, err error) {
	k, err := load(p)
	if err != nil {
		return nil, err
	}
	portable := a.Properties().Kind == "opencl"
	forms := []codegen.LowerOptions{{}, {NoShuffles: true, KeepChecks: true}}
	if portable {
		forms = []codegen.LowerOptions{{Target: "opencl", NoShuffles: true}, {Target: "opencl", NoShuffles: true, KeepChecks: true}}
	}
	for i, o := range forms {
		if uint64(i) != p.seed%2 && os.Getenv("GOMPSS_ODD") == "" {
			continue // compiling takes most of the time
		}
		l, err := codegen.Lower(k, o)
		if err != nil {
			r.count["no device form: "+reason(err)]++
			continue
		}
		if portable {
			if _, err := opencl.Print(l.Program, opencl.Options{Fence: opencl.HostFence}); err != nil {
				r.count["no form in OpenCL C: "+reason(err)]++
				continue
			}
		}
		made := &devices.Kernel{Name: fmt.Sprintf("K_%d", p.seed), Program: l.Program}
		if err := a.Prepare(made); err != nil {
			return nil, err
		}
		out = append(out, made)
	}
	return out, nil
}

// launch runs a kernel on arguments in the order of the program's parameters.
func (a *accelerator) launch(r *runner, k *devices.Kernel, args []reflect.Value) error {
	list := make([]devices.Arg, len(k.Program.Params))
	var buffers []devices.Buffer
	at := map[string]int{}
	for i, p := range k.Program.Params {
		var memory devices.Buffer
		list[i], memory = a.argument(p.Type, r.of(args, p.Name))
		at[p.Name] = i
		if memory.Elem > 0 {
			memory.ID, list[i].Buffer = a.next, a.next
			a.next++
			buffers = append(buffers, memory)
		}
	}
	for _, o := range r.overlaps {
		first, ok := at[r.names[o.first]]
		second, too := at[r.names[o.second]]
		if ok && too {
			list[second].Buffer, list[second].Offset = list[first].Buffer, deps.Bytes(o.at)*deps.Bytes(args[o.first].Type().Elem().Size())
		}
	}
	return devicetest.Launch(a.Accelerator, k, list, buffers)
}

// argument makes the argument of a Go value, and the memory that it points at.
func (a *accelerator) argument(t *ir.Type, v reflect.Value) (devices.Arg, devices.Buffer) {
	arg, n := devices.Arg{Type: t}, 1
	switch v.Kind() {
	case reflect.Slice:
		n = v.Len()
		arg.Len, arg.Cap, arg.Nil = int64(n), int64(n), v.IsNil()
	case reflect.Pointer:
	case reflect.Struct, reflect.Array, reflect.Complex64, reflect.Complex128:
		arg.Blob = raw(v)
		return arg, devices.Buffer{}
	default:
		arg.Bits = bitsOf(v)
		return arg, devices.Buffer{}
	}
	return arg, devices.Buffer{Host: devices.NewHostMemory(v.UnsafePointer()), Size: deps.Bytes(n) * deps.Bytes(v.Type().Elem().Size()), Elem: 1}
}

// check runs one program there on several arguments.
func (a *accelerator) check(r *runner, p program, rounds int, seed uint64) error {
	defer r.limit(p)()
	kernels, err := a.kernels(r, p)
	if r.refused(err) {
		return nil
	}
	if err != nil {
		return err
	}
	if !r.oracle(p) {
		return nil
	}
	rng := rand.New(rand.NewPCG(p.seed, seed))
	r.names = append(names(p.text), globalNames(p.text)...)
	for round := range rounds {
		begin := r.begin(p, rng, round)
		want := r.want(p, begin)
		for _, k := range kernels {
			r.count["launches"]++
			got := copied(begin)
			r.overlap(got)
			err := a.launch(r, k, got)
			if err == nil && want.panicked == "" {
				if err := r.compare(want.args, got); err != nil {
					return fmt.Errorf("round %d, n=%v w=%v: %w", round, begin[0], begin[1], err)
				}
			}
			if (err == nil) != (want.panicked == "") {
				return fmt.Errorf("round %d, n=%v w=%v: error %v, Go: %q", round, begin[0], begin[1], err, want.panicked)
			}
		}
	}
	return nil
}

// TestOddPrograms_OnADevice runs the programs of this build on PoCL, or on the device that
// GOMPSS_TEST_DEVICE names. GOMPSS_ODD and GOMPSS_ODD_SHARE are as for TestOddPrograms.
func TestOddPrograms_OnADevice(t *testing.T) {
	spec := os.Getenv("GOMPSS_TEST_DEVICE")
	if spec == "" {
		spec = "opencl:1(platform=pocl,cache=off)"
	}
	m, err := machine.Open(spec, machine.Options{})
	if err != nil {
		t.Skipf("no device: %v", err)
	}
	defer func() { require.NoError(t, m.Close()) }()
	a := &accelerator{Accelerator: m.Accelerators()[0]}
	first, step, limit := 0, 1, time.Duration(0)
	if text := os.Getenv("GOMPSS_ODD_SHARE"); text != "" {
		_, err := fmt.Sscanf(text, "%d/%d", &first, &step)
		require.NoError(t, err)
	}
	if text := os.Getenv("GOMPSS_ODD"); text != "" {
		limit, err = time.ParseDuration(text)
		require.NoError(t, err)
	} else if os.Getenv("GOMPSS_TEST_DEVICE") == "" {
		step = 4 // compiling takes most of a second
	}
	r := &runner{t: t, count: map[string]int{}}
	start := time.Now()
	for i := first; i < len(programs); i += step {
		p := programs[i]
		if err := a.check(r, p, 4, 1); err != nil {
			t.Errorf("odd programs: seed %d: %v", p.seed, err)
			if strings.Contains(err.Error(), "lost") {
				break
			}
		}
		if limit > 0 && time.Since(start) > limit {
			break
		}
	}
	report(t, r.count)
}
