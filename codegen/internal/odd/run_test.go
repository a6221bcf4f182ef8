//go:build linux && amd64

package odd

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"reflect"
	"runtime/debug"
	"sort"
	"strconv"
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
	"github.com/gompss/gompss/codegen/ir/specialise"
	"github.com/gompss/gompss/codegen/simt"
)

const page = 4096

// A fence is memory between two pages without access.
type fence struct{ mem []byte }

func newFence(t testing.TB, size int) *fence {
	n := (size + page - 1) / page * page
	mem, err := unix.Mmap(-1, 0, n+2*page, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANON)
	require.NoError(t, err)
	require.NoError(t, unix.Mprotect(mem[:page], unix.PROT_NONE))
	require.NoError(t, unix.Mprotect(mem[page+n:], unix.PROT_NONE))
	return &fence{mem}
}

// copyOf is a copy of slice v right behind the first page, or right before the last.
func (f *fence) copyOf(v reflect.Value, atEnd bool) reflect.Value {
	size := v.Len() * int(v.Type().Elem().Size())
	if size == 0 {
		return reflect.MakeSlice(v.Type(), 0, 0)
	}
	at := page
	if atEnd {
		at = len(f.mem) - page - size
	}
	// Safe: the range lies in the mapping, which outlives the launch; elements hold no pointers.
	c := reflect.SliceAt(v.Type().Elem(), unsafe.Pointer(&f.mem[at]), v.Len())
	reflect.Copy(c, v)
	return c
}

// A target is a program made for one machine.
type target struct {
	name   string
	device *simt.Program
	vector *cpu.Runner
	params []string
	sized  *ir.Kernel // device is made from it for the sizes of each launch
}

// A runner compares programs with what Go's compiler made of them.
type runner struct {
	t     testing.TB
	count map[string]int
	names []string // of the parameters of the program at hand
	// overlaps are parameters of the launch at hand that share memory.
	overlaps []overlap
	// fused is what a program with contract is compared with: the interpreter, as Go rounds
	// products.
	fused *target
}

// An overlap makes argument second the elements of argument first from at on.
type overlap struct{ first, second, at int }

func (r *runner) overlap(args []reflect.Value) {
	for _, o := range r.overlaps {
		first := args[o.first]
		args[o.second] = first.Slice(o.at, first.Len())
	}
}

func machines() (map[string]cpu.Options, error) {
	o, err := cpu.Detect()
	if err != nil {
		return nil, err
	}
	out := map[string]cpu.Options{"avx2": {Single: cpu.SingleNever}, "avx2 once": {Unroll: 1, Single: cpu.SingleNever},
		"single":       {AVX512: o.AVX512, Single: cpu.SingleAlways},
		"avx2 stopped": {Single: cpu.SingleNever, Trials: cpu.Trials{StopAlways: true}}}
	if o.AVX512 {
		out["avx512"], out["avx512vl"] = cpu.Options{AVX512: true, Single: cpu.SingleNever}, cpu.Options{AVX512: true, Width: vcode.W256, Single: cpu.SingleNever}
	}
	return out, nil
}

// load is the kernel of a program.
func load(p program) (*ir.Kernel, error) {
	l, err := codegen.Load(codegen.File{Name: "k.go", Text: "package k\n\n" + imports + p.text})
	if err != nil {
		return nil, err
	}
	return l.Kernel(fmt.Sprintf("K_%d", p.seed))
}

// targets makes the kernel for every machine that has a form of it.
func (r *runner) targets(p program, arena *cpu.Arena) (out []target, err error) {
	k, err := load(p)
	if err != nil {
		return nil, err
	}
	var params []string
	for _, v := range k.Params {
		params = append(params, v.Name)
	}
	for name, o := range map[string]codegen.LowerOptions{"simt": {}, "simt with checks": {NoShuffles: true, KeepChecks: true}} {
		l, err := codegen.Lower(k, o)
		if err != nil {
			r.count["no device form: "+reason(err)]++
			continue
		}
		device, err := simt.New(l.Program)
		if err != nil {
			return nil, err
		}
		r.count["device code"]++
		out = append(out, target{name: name, device: device, params: params})
	}
	if len(specialise.Sizes(k)) > 0 {
		r.count["code for sizes"]++
		out = append(out, target{name: "simt for sizes", sized: k, params: params})
	}
	list, err := machines()
	if err != nil {
		return nil, err
	}
	k = codegen.ForCPU(k)
	for name, o := range list {
		o.ShareFrom = 1
		code, err := cpu.Compile(k, o)
		if refusal := (*cpu.Refusal)(nil); errors.As(err, &refusal) {
			r.count["no vector code: "+refusal.Why]++
			continue
		}
		if err != nil {
			return nil, err
		}
		made, err := arena.Install(code)
		if err != nil {
			return nil, err
		}
		r.count["vector code"]++
		out = append(out, target{name: name, vector: cpu.NewRunner(made), params: params})
	}
	return out, nil
}

func reason(err error) string {
	list := strings.Split(strings.TrimSpace(err.Error()), "\n")
	_, text, _ := strings.Cut(list[len(list)-1], ": ")
	return text
}

// A run is what Go's function did.
type run struct {
	args     []reflect.Value
	panicked string
}

func (r *runner) goRun(p program, begin []reflect.Value) (out run) {
	out.args = copied(begin)
	r.overlap(out.args)
	n := reflect.TypeOf(p.call).NumIn()
	for i, g := range p.globals {
		reflect.ValueOf(g).Elem().Set(out.args[n+i])
	}
	defer func() {
		if e := recover(); e != nil {
			out.panicked = fmt.Sprint(e)
		}
	}()
	reflect.ValueOf(p.call).Call(out.args[:n])
	return out
}

func copied(args []reflect.Value) (out []reflect.Value) {
	for _, v := range args {
		out = append(out, withSlices(v, func(v reflect.Value) reflect.Value {
			c := reflect.MakeSlice(v.Type(), v.Len(), v.Len())
			reflect.Copy(c, v)
			return c
		}))
	}
	return out
}

// withSlices is v, a slice or a struct with some, with what f makes of each slice.
func withSlices(v reflect.Value, f func(reflect.Value) reflect.Value) reflect.Value {
	switch v.Kind() {
	case reflect.Slice:
		return f(v)
	case reflect.Pointer:
		return f(reflect.SliceAt(v.Type().Elem(), v.UnsafePointer(), 1)).Index(0).Addr()
	case reflect.Struct:
		c := reflect.New(v.Type()).Elem()
		set(c, v)
		for i := range c.NumField() {
			if c.Field(i).Kind() == reflect.Slice {
				c.Field(i).Set(f(c.Field(i)))
			}
		}
		return c
	}
	return v
}

// refused reports whether a program holds what DIALECT.md says that a kernel may not.
func (r *runner) refused(err error) bool {
	if list := (codegen.ErrorList)(nil); errors.As(err, &list) {
		for _, what := range []string{"captured variable ", "slice with a capacity"} {
			if strings.HasPrefix(list[0].What, what) {
				r.count["refused: "+what]++
				return true
			}
		}
	}
	return false
}

// begin makes the arguments of a round, which share memory at times.
func (r *runner) begin(p program, rng *rand.Rand, round int) []reflect.Value {
	args := arguments(p, r.names, rng, round)
	r.overlaps = nil
	if p.seed >= firstSerial && round%2 == 1 && !strings.Contains(p.text, "parallel for") {
		r.overlaps = someOverlaps(args, rng)
		r.overlap(args)
	}
	if round%2 == 1 && strings.Contains(p.text, "overlap(ok)") {
		r.overlaps = r.twins(args)
		r.overlap(args)
		r.count["launches with overlap(ok)"]++
	}
	return args
}

// check runs one program on several arguments.
func (r *runner) check(p program, rounds int, seed uint64) error {
	defer r.limit(p)()
	arena, err := cpu.NewArena()
	if err != nil {
		return err
	}
	defer arena.Close()
	targets, err := r.targets(p, arena)
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
		r.count["launches"]++
		if want.panicked != "" {
			r.count["launches that panic"]++
			r.count["panic: "+strings.TrimRight(strings.TrimPrefix(want.panicked, "runtime error: "), "-0123456789]: withleng")]++
		}
		for _, x := range targets {
			if x.device != nil && round%3 == 2 {
				continue
			}
			if err := r.launch(x, rng, begin, want); err != nil {
				return fmt.Errorf("%s, round %d, n=%v w=%v: %w", x.name, round, begin[0], begin[1], err)
			}
		}
	}
	return nil
}

// limit ends the process where a program takes for ever.
func (r *runner) limit(p program) func() {
	w := time.AfterFunc(10*time.Minute, func() {
		fmt.Printf("odd programs: seed %d does not end\n%s\n", p.seed, p.text)
		os.Exit(3)
	})
	return func() { w.Stop() }
}

var grids = []struct{ teams, threads int }{{1, 1}, {1, 7}, {3, 64}, {5, 33}, {2, 32}, {13, 5}, {0, 0}}

// launch runs one target and compares: where Go panics, it must fail.
func (r *runner) launch(x target, rng *rand.Rand, begin []reflect.Value, want run) error {
	got := copied(begin)
	r.overlap(got)
	var fences []*fence
	defer func() {
		for _, f := range fences {
			_ = unix.Munmap(f.mem)
		}
	}()
	var err error
	if x.device != nil || x.sized != nil {
		s := grids[rng.IntN(len(grids))]
		err = r.interpret(x, got, simt.Config{Teams: s.teams, Threads: s.threads, Seed: rng.Uint64(), Races: true, Steps: 2_000_000_000})
	} else {
		for i, v := range got {
			got[i] = withSlices(v, func(v reflect.Value) reflect.Value {
				f := newFence(r.t, v.Len()*int(v.Type().Elem().Size()))
				fences = append(fences, f)
				return f.copyOf(v, rng.IntN(2) == 0)
			})
		}
		r.overlap(got)
		var list []cpu.Value
		for _, name := range x.params {
			list = append(list, vectorArg(name, r.of(got, name)))
		}
		var share func(*cpu.Loop) error
		if rng.IntN(2) == 0 {
			share = func(l *cpu.Loop) error { return shared(l, rng) }
		}
		err = faults(func() error { return x.vector.Call(list, share) })
	}
	switch {
	case errors.Is(err, errNoForm): // counted
		return nil
	case err == nil && want.panicked != "":
		return fmt.Errorf("no error, Go panics: %s", want.panicked)
	case err != nil && (want.panicked == "" || strings.Contains(err.Error(), "fault") || strings.Contains(err.Error(), "race") || strings.Contains(err.Error(), "steps")):
		return fmt.Errorf("%w; Go: %q", err, want.panicked)
	case err != nil:
		return nil
	}
	return r.compare(want.args, got)
}

// compare says where arguments differ that have a value behind the launch.
func (r *runner) compare(want, got []reflect.Value) error {
	for i := range got {
		if strings.HasPrefix(r.names[i], "scr") {
			continue
		}
		if d := differ(r.names[i], want[i], got[i]); d != "" {
			return errors.New(d)
		}
	}
	return nil
}

// interpret runs device code on arguments.
// errNoForm means that the compiler refuses a kernel for the sizes of a launch.
var errNoForm = errors.New("no form for these sizes")

func (r *runner) interpret(x target, args []reflect.Value, c simt.Config) error {
	var list []simt.Arg
	for _, name := range x.params {
		list = append(list, deviceArg(name, r.of(args, name)))
	}
	for _, o := range r.overlaps {
		r.share(list, x.params, args, o)
	}
	if x.sized != nil {
		values := map[int]ir.Bits{}
		for _, i := range specialise.Sizes(x.sized) {
			values[i] = list[i].Bits
		}
		l, err := codegen.LowerSized(x.sized, values, codegen.LowerOptions{})
		if err != nil {
			r.count["no form for sizes: "+reason(err)]++
			return errNoForm
		}
		if x.device, err = simt.New(l.Program); err != nil {
			return err
		}
	}
	return faults(func() error {
		_, err := x.device.Run(list, c)
		return err
	})
}

// oracle prepares what a program is compared with, false where there is nothing.
func (r *runner) oracle(p program) bool {
	r.fused = nil
	if !contracted(p) {
		return true
	}
	k, err := load(p)
	if err != nil {
		return false
	}
	l, err := codegen.Lower(k, codegen.LowerOptions{})
	if err != nil {
		r.count["no oracle of contract: "+reason(err)]++
		return false
	}
	device, err := simt.New(l.Program)
	if err != nil {
		return false
	}
	r.fused = &target{device: device}
	for _, v := range k.Params {
		r.fused.params = append(r.fused.params, v.Name)
	}
	r.count["programs with contract"]++
	return true
}

func contracted(p program) bool {
	return strings.Contains(p.text, "//omp:target device(acc, smp) contract")
}

// want is what a launch is to do: what Go's function does, or under contract, which every target
// means alike and Go does not, one thread of the interpreter.
func (r *runner) want(p program, begin []reflect.Value) (out run) {
	if r.fused == nil {
		return r.goRun(p, begin)
	}
	out.args = copied(begin)
	r.overlap(out.args)
	if err := r.interpret(*r.fused, out.args, simt.Config{Teams: 1, Threads: 1, Steps: 2_000_000_000}); err != nil {
		out.panicked = err.Error()
	}
	return out
}

func shared(l *cpu.Loop, rng *rand.Rand) error {
	var errs []error
	for hi := l.Trips; hi > 0; {
		lo := max(0, hi-1-rng.Int64N(2+l.Trips/2))
		errs = append(errs, l.Run(lo, hi))
		hi = lo
	}
	return errors.Join(errs...)
}

func faults(run func() error) (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("fault: %v\n%s", r, debug.Stack())
		}
	}()
	return run()
}

// of is the argument for a parameter of the kernel: a field where the kernel has a struct in pieces.
func (r *runner) of(args []reflect.Value, name string) reflect.Value {
	first, rest, _ := strings.Cut(name, ".")
	for i, n := range r.names {
		if n == first {
			v := args[i]
			for _, f := range strings.Split(rest, ".") {
				if f != "" {
					v = v.FieldByName(f)
				}
			}
			return v
		}
	}
	panic("no argument for " + name)
}

// share makes two arguments of a device one memory.
func (r *runner) share(list []simt.Arg, params []string, args []reflect.Value, o overlap) {
	at := func(i int) int {
		for k, name := range params {
			if name == r.names[i] {
				return k
			}
		}
		return -1
	}
	if first, second := at(o.first), at(o.second); first >= 0 && second >= 0 {
		list[second].Memory, list[second].Offset = list[first].Memory, int64(o.at)*int64(args[o.first].Type().Elem().Size())
	}
}

// someOverlaps puts some slices of one type into one memory.
func someOverlaps(args []reflect.Value, rng *rand.Rand) (out []overlap) {
	taken := map[int]bool{}
	for second, v := range args {
		for first := range second {
			u := args[first]
			if v.Kind() == reflect.Slice && u.Type() == v.Type() && !taken[first] && u.Len() > 8 && rng.IntN(3) > 0 {
				out = append(out, overlap{first, second, rng.IntN([]int{1, 2, 8}[rng.IntN(3)])})
				taken[second] = true
				break
			}
		}
	}
	return out
}

// twins makes the last written array and one before it of its type the same memory: an iteration
// touches its own elements of each alone.
func (r *runner) twins(args []reflect.Value) (out []overlap) {
	for second := len(args) - 1; second >= 0; second-- {
		for first := range second {
			if strings.HasPrefix(r.names[first], "out") && strings.HasPrefix(r.names[second], "out") && args[first].Type() == args[second].Type() {
				return []overlap{{first, second, 0}}
			}
		}
	}
	return nil
}

// raw is the memory of a copy of v.
func raw(v reflect.Value) []byte {
	c := reflect.New(v.Type())
	set(c.Elem(), v)
	return unsafe.Slice((*byte)(c.UnsafePointer()), v.Type().Size())
}

// set copies v, whose fields may be private.
func set(to, v reflect.Value) {
	n := int(v.Type().Size())
	if v.CanAddr() {
		copy(unsafe.Slice((*byte)(unsafe.Pointer(to.UnsafeAddr())), n), unsafe.Slice((*byte)(unsafe.Pointer(v.UnsafeAddr())), n))
		return
	}
	to.Set(v)
}

func bitsOf(v reflect.Value) uint64 {
	b := raw(v)
	var all [8]byte
	copy(all[:], b)
	out := *(*uint64)(unsafe.Pointer(&all[0]))
	if v.CanInt() {
		return uint64(v.Int())
	}
	return out
}

func deviceArg(name string, v reflect.Value) simt.Arg {
	switch v.Kind() {
	case reflect.Slice:
		n := int64(v.Len())
		return simt.Arg{Memory: &simt.Memory{Name: name, Bytes: unsafe.Slice((*byte)(v.UnsafePointer()), uintptr(n)*v.Type().Elem().Size())}, Len: n, Cap: n}
	case reflect.Pointer:
		return simt.Arg{Memory: &simt.Memory{Name: name, Bytes: unsafe.Slice((*byte)(v.UnsafePointer()), v.Type().Elem().Size())}, Len: 1, Cap: 1}
	case reflect.Array, reflect.Struct, reflect.Complex64, reflect.Complex128:
		return simt.Arg{Bytes: raw(v)}
	}
	return simt.Arg{Bits: ir.Bits(bitsOf(v))}
}

func vectorArg(name string, v reflect.Value) cpu.Value {
	switch v.Kind() {
	case reflect.Slice:
		return cpu.Value{Addr: v.UnsafePointer(), Len: int64(v.Len())}
	case reflect.Pointer:
		return cpu.Value{Addr: v.UnsafePointer(), Len: 1}
	case reflect.Array, reflect.Struct, reflect.Complex64, reflect.Complex128:
		b := raw(v)
		n := int64(1)
		if v.Kind() == reflect.Array {
			n = int64(v.Len())
		}
		return cpu.Value{Addr: unsafe.Pointer(unsafe.SliceData(b)), Len: n}
	}
	return cpu.Value{Bits: bitsOf(v)}
}

// names are those of the kernel's parameters.
func names(text string) (out []string) {
	at := strings.Index(text, "func K_")
	text = text[at:]
	text = text[strings.Index(text, "(")+1:]
	text = text[:strings.Index(text, ") {")]
	for _, part := range strings.Split(text, ", ") {
		name, _, _ := strings.Cut(part, " ")
		out = append(out, name)
	}
	return out
}

// arguments makes them: n and w, numbers, and slices that are long enough for the indices that programs make.
func arguments(p program, names []string, rng *rand.Rand, round int) (out []reflect.Value) {
	f := reflect.TypeOf(p.call)
	more := 0 // elements of each slice
	if p.seed >= firstMoved {
		more = slack
	}
	n, w := 1+rng.IntN(9), 1+rng.IntN([]int{5, 20, 70}[round%3])
	switch round % 6 {
	case 3:
		n = []int{1, 4, 8, 16, 20}[rng.IntN(5)]
		w = n
	case 4:
		n, w = rng.IntN(2), rng.IntN(3)
	}
	var lo, hi uint64
	if s := spanOf(p.text); s != nil {
		lo, hi = s.bounds(rng, n*w)
	}
	for i, name := range names {
		t := reflect.Type(nil)
		if i < f.NumIn() {
			t = f.In(i)
		} else {
			t = reflect.TypeOf(p.globals[i-f.NumIn()]).Elem()
		}
		v := reflect.New(t).Elem()
		switch {
		case t.Kind() == reflect.Pointer:
			v.Set(reflect.New(t.Elem()))
			fill(v.Elem(), rng)
		case name == "lo":
			v.Set(reflect.ValueOf(lo).Convert(t))
		case name == "hi":
			v.Set(reflect.ValueOf(hi).Convert(t))
		case name == "res":
			v.Set(reflect.MakeSlice(t, 8, 8))
		case isSerial(p.seed) && t.Kind() == reflect.Slice && name != "ix":
			size := 2*n*w + n*n + w*w + 2*(n+w) + 16
			if rng.IntN(6) == 0 {
				size = n*w + n + w + 8
			}
			v.Set(reflect.MakeSlice(t, size, size))
			fill(v, rng)
		case name == "n":
			v.SetInt(int64(n))
		case name == "w":
			v.SetInt(int64(w))
		case name == "ix":
			s := make([]int32, 4*n*w+2*n*n+4*(n+w)+16)
			for i := range s {
				s[i] = int32(rng.IntN(max(1, n*w)))
			}
			v.Set(reflect.ValueOf(s))
		case t.Kind() == reflect.Slice && (name == "acc" || strings.HasPrefix(name, "sums") || name == "tickets"):
			v.Set(reflect.MakeSlice(t, 8, 8))
			if name != "tickets" {
				fill(v, rng)
			}
		case t.Kind() == reflect.Slice:
			size := 4*n*w + 2*n*n + 4*(n+w) + 16
			if more > 0 { // a half is enough
				size = 2*size + more
			}
			v.Set(reflect.MakeSlice(t, size, size))
			fill(v, rng)
		case strings.HasPrefix(name, "rec"):
			for i := range v.NumField() {
				if u := v.Field(i); u.Kind() == reflect.Slice {
					size := 4*n*w + 2*n*n + 4*(n+w) + 16 + more
					u.Set(reflect.MakeSlice(u.Type(), size, size))
				}
			}
			fill(v, rng)
		default:
			fill(v, rng)
		}
		out = append(out, v)
	}
	return out
}

var (
	oddFloats = []float64{0, math.Copysign(0, -1), math.Inf(1), math.Inf(-1), math.NaN(), 1e-40, 3e38, -1e300, 5e-324, 1 << 31, -1 << 63, 1 << 63, 0.5, -0.5, 1e10}
	oddWhole  = []int64{0, 1, 2, 3, -1, 5, 7, 9, 100, 127, 128, -128, 255, 256, 32767, -32768, 1 << 31, -1 << 31, 1<<63 - 1, -1 << 63, 1 << 33, 65535}
)

// fill sets v to a random value; fields may be private.
func fill(v reflect.Value, rng *rand.Rand) {
	switch v.Kind() {
	case reflect.Array, reflect.Slice:
		for i := range v.Len() {
			fill(v.Index(i), rng)
		}
		return
	case reflect.Struct:
		for i := range v.NumField() {
			fill(v.Field(i), rng)
		}
		return
	}
	v = reflect.NewAt(v.Type(), unsafe.Pointer(v.UnsafeAddr())).Elem()
	switch {
	case v.Kind() == reflect.Bool:
		v.SetBool(rng.IntN(2) == 0)
	case v.CanComplex():
		v.SetComplex(complex(float64(rng.IntN(64)-32)/4, oddFloats[rng.IntN(len(oddFloats))]*float64(rng.IntN(2))))
	case v.CanFloat() && rng.IntN(12) == 0:
		v.SetFloat(oddFloats[rng.IntN(len(oddFloats))])
	case v.CanFloat() && rng.IntN(3) == 0:
		v.SetFloat(rng.Float64()*200 - 100)
	case v.CanFloat():
		v.SetFloat(float64(rng.IntN(64)-32) / 4)
	default:
		x := rng.Int64N(12) - 4
		if rng.IntN(8) == 0 {
			x = int64(rng.Uint64())
		} else if rng.IntN(4) == 0 {
			x = oddWhole[rng.IntN(len(oddWhole))]
		}
		v.Set(reflect.ValueOf(x).Convert(v.Type()))
	}
}

// differ says where two values differ; which NaN a NaN is does not count.
func differ(path string, want, got reflect.Value) string {
	switch want.Kind() {
	case reflect.Pointer:
		return differ("*"+path, want.Elem(), got.Elem())
	case reflect.Slice:
		if want.Len() > 0 && want.Type().Elem().Kind() < reflect.Float32 {
			n := want.Len() * int(want.Type().Elem().Size())
			if bytes.Equal(unsafe.Slice((*byte)(want.UnsafePointer()), n), unsafe.Slice((*byte)(got.UnsafePointer()), n)) {
				return ""
			}
		}
		fallthrough
	case reflect.Array:
		for i := range want.Len() {
			if d := differ(path+"["+strconv.Itoa(i)+"]", want.Index(i), got.Index(i)); d != "" {
				return d
			}
		}
		return ""
	case reflect.Struct:
		for i := range want.NumField() {
			if d := differ(path+"."+want.Type().Field(i).Name, want.Field(i), got.Field(i)); d != "" {
				return d
			}
		}
		return ""
	case reflect.Complex64, reflect.Complex128:
		x, y := want.Complex(), got.Complex()
		if d := differ("real "+path, reflect.ValueOf(real(x)), reflect.ValueOf(real(y))); d != "" {
			return d
		}
		return differ("imag "+path, reflect.ValueOf(imag(x)), reflect.ValueOf(imag(y)))
	case reflect.Float32, reflect.Float64:
		x, y := want.Float(), got.Float()
		if math.Float64bits(x) == math.Float64bits(y) || math.IsNaN(x) && math.IsNaN(y) {
			return ""
		}
	default:
		if want.Equal(got) {
			return ""
		}
	}
	return fmt.Sprintf("%s: got %v, want %v", path, got, want)
}

// TestOddPrograms runs the programs of this build on every target. GOMPSS_ODD=10m does it again and
// again for so long with other arguments, GOMPSS_ODD_SHARE=2/16 takes every 16th program from the
// second on.
func TestOddPrograms(t *testing.T) {
	if _, err := machines(); err != nil {
		t.Skip(err)
	}
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	until, seed := time.Now(), uint64(1)
	if text := os.Getenv("GOMPSS_ODD"); text != "" {
		d, err := time.ParseDuration(text)
		require.NoError(t, err)
		until = until.Add(d)
	}
	first, step := 0, 1
	if text := os.Getenv("GOMPSS_ODD_SHARE"); text != "" {
		_, err := fmt.Sscanf(text, "%d/%d", &first, &step)
		require.NoError(t, err)
	}
	r := &runner{t: t, count: map[string]int{}}
	failed := map[uint64]bool{}
	for {
		for i := first; i < len(programs); i += step {
			p := programs[i]
			if failed[p.seed] {
				continue
			}
			if err := r.check(p, 6, seed); err != nil {
				failed[p.seed] = true
				t.Errorf("odd programs: seed %d: %v", p.seed, err)
			}
			if seed > 1 && time.Now().After(until) {
				break
			}
		}
		if seed++; time.Now().After(until) {
			break
		}
	}
	report(t, r.count)
}

func report(t *testing.T, count map[string]int) {
	var list []string
	for what, n := range count {
		list = append(list, fmt.Sprintf("%8d %s", n, what))
	}
	sort.Sort(sort.Reverse(sort.StringSlice(list)))
	t.Log("\n" + strings.Join(list, "\n"))
}
