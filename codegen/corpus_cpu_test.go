//go:build linux && (amd64 || arm64)

package codegen_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"reflect"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"testing"
	"time"
	"unsafe"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/gompss/gompss/codegen"
	"github.com/gompss/gompss/codegen/cpu"
	"github.com/gompss/gompss/codegen/cpu/vcode"
	"github.com/gompss/gompss/codegen/ir"
)

// fence is memory between two pages without access.
type fence struct{ mem []byte }

const page = 4096

func newFence(t testing.TB, size int) *fence {
	t.Helper()
	f := newFenceUntil(t, size)
	t.Cleanup(func() { require.NoError(t, f.free()) })
	return f
}

// newFenceUntil is a fence until it is freed.
func newFenceUntil(t testing.TB, size int) *fence {
	t.Helper()
	n := (size + page - 1) / page * page
	mem, err := unix.Mmap(-1, 0, n+2*page, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANON)
	require.NoError(t, err)
	require.NoError(t, unix.Mprotect(mem[:page], unix.PROT_NONE))
	require.NoError(t, unix.Mprotect(mem[page+n:], unix.PROT_NONE))
	return &fence{mem: mem}
}

func (f *fence) free() error { return unix.Munmap(f.mem) }

// copyOf puts a copy of slice v right behind the first fence page, or right before the last one.
func (f *fence) copyOf(v reflect.Value, atEnd bool) reflect.Value {
	elem := v.Type().Elem()
	size := v.Len() * int(elem.Size())
	at := page
	if atEnd {
		at = len(f.mem) - page - size
	}
	if size == 0 {
		return reflect.MakeSlice(v.Type(), 0, 0)
	}
	// Safe: the range lies in the mapping, which outlives the test; elements hold no pointers.
	c := reflect.SliceAt(elem, unsafe.Pointer(&f.mem[at]), v.Len())
	reflect.Copy(c, v)
	return c
}

// cpuArgs copies arguments between fences and says how code gets them.
func cpuArgs(args []any, fences []*fence, atEnd bool) (out []any, values []cpu.Value) {
	for i, a := range args {
		v := reflect.ValueOf(a)
		if v.Kind() == reflect.Slice {
			v = fences[i].copyOf(v, atEnd)
		} else if v.Kind() == reflect.Pointer {
			c := reflect.New(v.Type().Elem())
			c.Elem().Set(v.Elem())
			v = c
		}
		out, values = append(out, v.Interface()), append(values, cpuValue(v))
	}
	return out, values
}

func cpuValue(v reflect.Value) cpu.Value {
	switch v.Kind() {
	case reflect.Slice:
		return cpu.Value{Addr: v.UnsafePointer(), Len: int64(v.Len())}
	case reflect.Pointer:
		return cpu.Value{Addr: v.UnsafePointer(), Len: 1}
	case reflect.Array, reflect.Struct, reflect.Complex64, reflect.Complex128:
		c := reflect.New(v.Type())
		c.Elem().Set(v)
		n := int64(1)
		if v.Kind() == reflect.Array {
			n = int64(v.Len())
		}
		return cpu.Value{Addr: c.UnsafePointer(), Len: n}
	}
	return cpu.Value{Bits: uint64(deviceArg(0, v.Interface()).Bits)}
}

// cpuMachines are the instruction sets and widths that the corpus runs with here, in lanes whatever
// that costs, and single numbers.
func cpuMachines(t testing.TB) map[string]cpu.Options {
	t.Helper()
	o, err := cpu.Detect()
	if err != nil {
		t.Skip(err)
	}
	if o.ISA == cpu.ARM64 {
		return map[string]cpu.Options{"neon": {ISA: cpu.ARM64, Single: cpu.SingleNever}, "single": {ISA: cpu.ARM64, Single: cpu.SingleAlways}, "stopped": {ISA: cpu.ARM64, Single: cpu.SingleNever, Trials: cpu.Trials{StopAlways: true}},
			"few": {ISA: cpu.ARM64, Single: cpu.SingleNever, Trials: cpu.Trials{FewRegisters: true}}}
	}
	out := map[string]cpu.Options{"short": {ISA: cpu.AMD64Short, Single: cpu.SingleNever}, "avx2": {Single: cpu.SingleNever}, "single": {AVX512: o.AVX512, Single: cpu.SingleAlways}, "stopped": {AVX512: o.AVX512, Single: cpu.SingleNever, Trials: cpu.Trials{StopAlways: true}},
		"single stopped": {Single: cpu.SingleAlways, Trials: cpu.Trials{StopAlways: true}}}
	if o.AVX512 {
		out["avx512"], out["avx512vl"] = cpu.Options{AVX512: true, Single: cpu.SingleNever}, cpu.Options{AVX512: true, Width: vcode.W256, Single: cpu.SingleNever}
	}
	return out
}

// skipWhereGoDiffers skips a comparison of bits where the Go function has other ones on this processor.
func skipWhereGoDiffers(t *testing.T, k *ir.Kernel) {
	t.Helper()
	why := cpu.Differs(codegen.ForCPU(k))
	if strings.Contains(why, "Go fuses products") || strings.Contains(why, "as on amd64") {
		t.Skip(why)
	}
}

// TestCorpusOnTheCPU runs every kernel of the corpus that has vector code between fences, in random
// chunks, and compares with the Go function. A kernel without vector code must say why.
func TestCorpusOnTheCPU(t *testing.T) {
	t.Parallel()
	p := loadCorpus(t)
	arena, err := cpu.NewArena()
	if err != nil {
		t.Skip(err)
	}
	defer func() { require.NoError(t, arena.Close()) }()
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	var scalar []string
	for machine, o := range cpuMachines(t) {
		ran := 0
		for _, c := range corpus {
			k, err := p.Kernel(name(c.kernel))
			require.NoError(t, err)
			code, err := cpu.Compile(codegen.ForCPU(k), o)
			if err != nil {
				var refusal *cpu.Refusal
				require.ErrorAs(t, err, &refusal)
				require.NotEmpty(t, refusal.Why)
				scalar = append(scalar, machine+": "+err.Error())
				continue
			}
			prog, err := arena.Install(code)
			require.NoError(t, err)
			ran++
			t.Run(machine+"/"+k.Name, func(t *testing.T) { c.onCPU(t, k, cpu.NewRunner(prog), code) })
		}
		t.Logf("%s: %d of %d kernels run as vector code", machine, ran, len(corpus))
	}
	t.Logf("as Go functions:\n%s", strings.Join(scalar, "\n"))
}

func (c corpusCase) onCPU(t *testing.T, k *ir.Kernel, r *cpu.Runner, code *cpu.Code) {
	t.Helper()
	c.exclusive(t)
	rng := rand.New(rand.NewPCG(1, uint64(len(k.Name))<<32|uint64(k.At.Line))) // sizes of its own for every kernel
	if reassociates(k) {
		c.tolerance = max(c.tolerance, 1e-12)
	}
	c.tolerance *= 10 // the references round inverse roots once, the code twice
	for _, n := range []int{0, 1, 2, 3, 5, 7, 8, 15, 16, 17, 63, 64, 65, 130, 257, 1001, 9 + rng.IntN(900), 9 + rng.IntN(900)} {
		if n < 9 && (k.Name == "Converge" || k.Name == "Broadcast" || k.Name == "Mixed") {
			continue // less than a row
		}
		want := c.makeArgs(n)
		fences := make([]*fence, len(want))
		for i, a := range want {
			if v := reflect.ValueOf(a); v.Kind() == reflect.Slice {
				fences[i] = newFence(t, v.Len()*int(v.Type().Elem().Size()))
			}
		}
		begin := c.makeArgs(n)
		c.runGo(want)
		for _, atEnd := range []bool{false, true} {
			got, values := cpuArgs(begin, fences, atEnd)
			err := faults(func() error { return r.Call(values, chunks(rng)) })
			require.NoError(t, err, "n=%d\n%s", n, listed{code})
			require.Empty(t, c.differ(want, got), "n=%d end=%v\n%s", n, atEnd, listed{code})
		}
	}
}

// reassociates reports whether k sums floats over lanes.
func reassociates(k *ir.Kernel) bool {
	found := false
	ir.WalkStmts(k.Body, func(s ir.Stmt) bool {
		if d := ir.DirectiveOf(s); d != nil {
			for _, r := range d.Reductions {
				found = found || r.Place.Type().IsFloat()
			}
		}
		return true
	})
	return found
}

// chunks runs a loop in pieces of random sizes, the last piece first.
func chunks(rng *rand.Rand) func(*cpu.Loop) error {
	return func(l *cpu.Loop) error {
		var errs []error
		for hi := l.Trips; hi > 0; {
			lo := max(0, hi-1-rng.Int64N(2+l.Trips/2))
			errs = append(errs, l.Run(lo, hi))
			hi = lo
		}
		return errors.Join(errs...)
	}
}

// compileTimes is the processor time that each kernel of the corpus with vector code takes to
// compile, the best of rounds, in order.
func compileTimes(t testing.TB, rounds int) []time.Duration {
	p := loadCorpus(t)
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	var times []time.Duration
	for _, c := range corpus {
		k, err := p.Kernel(name(c.kernel))
		require.NoError(t, err)
		best := time.Duration(0)
		for range rounds {
			began := threadTime(t)
			_, err = cpu.Compile(codegen.ForCPU(k), cpu.Options{AVX512: true})
			if d := threadTime(t) - began; best == 0 || d < best {
				best = d
			}
		}
		if err == nil {
			times = append(times, best)
		}
	}
	slices.Sort(times)
	return times
}

// threadTime is the processor time of this thread.
func threadTime(t testing.TB) time.Duration {
	var ts unix.Timespec
	require.NoError(t, unix.ClockGettime(unix.CLOCK_THREAD_CPUTIME_ID, &ts))
	return time.Duration(ts.Nano())
}

// TestCompilingTakesLessThanAMillisecond holds the median kernel of the corpus to 1 ms of processor
// time with GOMPSS_SOAK, on a machine that has nothing else to do; to ten times that where others
// take its caches and its clock.
func TestCompilingTakesLessThanAMillisecond(t *testing.T) {
	if raceEnabled {
		t.Skip("the race detector makes everything slower")
	}
	times := compileTimes(t, 5)
	median := times[len(times)/2]
	t.Logf("%d kernels: median %v, longest %v", len(times), median, times[len(times)-1])
	bound := 10 * time.Millisecond
	if os.Getenv("GOMPSS_SOAK") != "" {
		bound = time.Millisecond
	}
	require.Less(t, median, bound)
}

// BenchmarkCompileCPU compiles every kernel of the corpus that has vector code, and reports the
// median over the kernels.
func BenchmarkCompileCPU(b *testing.B) {
	var median time.Duration
	for b.Loop() {
		times := compileTimes(b, 1)
		median = times[len(times)/2]
	}
	b.ReportMetric(float64(median.Microseconds()), "us/median-kernel")
}

// faults turns a touch of a fence into an error.
func faults(run func() error) (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("fault: %v", r)
		}
	}()
	return run()
}

// listed is the listing of code, made only where a message needs it: it is compiled again for that.
type listed struct{ *cpu.Code }

func (l listed) String() string { return l.Listing() }
