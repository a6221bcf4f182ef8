//go:build linux && (amd64 || arm64)

package codegen_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"reflect"
	"runtime/debug"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/gompss/gompss/codegen"
	"github.com/gompss/gompss/codegen/cpu"
	"github.com/gompss/gompss/codegen/ir"
	"github.com/gompss/gompss/codegen/simt"
)

// flowSteps bounds the statements of one of Go's runs: one that takes more is taken for one without end, and not looked at.
const flowSteps = 400_000

// TestRandomFlows runs random kernels of control flow as the Go that their text is, interpreted for a GPU, and as AVX2 and AVX-512 code between
// fences. GOMPSS_RANDOM_FLOWS=30m looks for so long, from a seed of the process's own on, which it prints; GOMPSS_RANDOM_SEED=N begins at N. It
// needs neither the go command nor the source tree.
func TestRandomFlows(t *testing.T) {
	t.Parallel()
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	least := uint64(40)
	if testing.Short() {
		least = 30
	}
	seeds := seedsOf(t, "GOMPSS_RANDOM_FLOWS", least)
	f := newFlowRunner(t)
	defer f.close()
	failures := 0
	for seed := range seeds {
		k := makeFlow(seed)
		if err := f.check(k); err != nil {
			small := k
			if !strings.Contains(err.Error(), "Go's own") {
				small = f.shrink(k)
			}
			fmt.Printf("random flows: seed %d: %v\nshrunk: %v\n%s\n", seed, err, f.check(small), small.as.apply(small.text))
			t.Errorf("seed %d: %v\n%s", seed, err, small.as.apply(small.text))
			if failures++; failures == 20 {
				break
			}
		}
	}
	t.Log(f.count)
	require.Positive(t, f.count["vector code"])
	require.Positive(t, f.count["launches that fail"])
}

// TestRandomNests_DeferredToCPU is TestRandomFlows for kernels with nested(cpu): what accelerators
// and CPU workers do of them is, together, what Go does.
func TestRandomNests_DeferredToCPU(t *testing.T) {
	t.Parallel()
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	f := newFlowRunner(t)
	defer f.close()
	for seed := range seedsOf(t, "GOMPSS_RANDOM_NESTS", 15) {
		if k := makeDeferringFlow(seed); !f.checked(k) {
			break
		}
	}
	t.Log(f.count)
	require.Positive(t, f.count["deferred iterations"])
	require.Positive(t, f.count["launches that fail"])
}

// TestRandomNests_OtherLanes is TestRandomFlows for kernels with nested(auto), whose lanes may follow
// from what earlier launches met.
func TestRandomNests_OtherLanes(t *testing.T) {
	t.Parallel()
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	f := newFlowRunner(t)
	defer f.close()
	for seed := range seedsOf(t, "GOMPSS_RANDOM_NESTS", 15) {
		k := makeDeferringFlow(seed)
		k.text = strings.ReplaceAll(k.text, "nested(cpu)", "nested(auto)")
		if !f.checked(k) {
			break
		}
	}
	t.Log(f.count)
	require.Positive(t, f.count["device code for other lanes"])
}

// checked reports whether k is right everywhere, and fails with the smallest part of it that is
// not.
func (f *flowRunner) checked(k flowKernel) bool {
	err := f.check(k)
	if err == nil {
		return true
	}
	small := k
	if !strings.Contains(err.Error(), "Go's own") {
		small = f.shrink(k)
	}
	f.t.Errorf("seed %d: %v\nshrunk: %v\n%s", k.seed, err, f.check(small), small.as.apply(small.text))
	return false
}

// A flowRunner runs kernels everywhere.
type flowRunner struct {
	t     testing.TB
	count map[string]int
	guard *time.Timer
}

func newFlowRunner(t testing.TB) *flowRunner {
	arena, err := cpu.NewArena()
	if err != nil {
		t.Skip(err)
	}
	require.NoError(t, arena.Close())
	return &flowRunner{t: t, count: map[string]int{}}
}

func (f *flowRunner) close() {
	if f.guard != nil {
		f.guard.Stop()
	}
}

// watch ends the process where a kernel takes for ever, which code that leaves no loop does.
func (f *flowRunner) watch(k flowKernel, what string) {
	f.close()
	f.guard = time.AfterFunc(2*time.Minute, func() {
		fmt.Printf("random flows: seed %d does not end: %s\n%s\n", k.seed, what, k.text)
		os.Exit(3)
	})
}

// A flowTarget is a kernel made for one target.
type flowTarget struct {
	name   string
	device *simt.Program
	vector *cpu.Runner
	order  []int // of arguments; nil where they are the kernel's
	text   func() string
	rest   *flowTarget // what runs the iterations that device defers; nil where it defers none
}

// targets makes the kernel for every target that has a form of it.
func (f *flowRunner) targets(k flowKernel, arena *cpu.Arena) ([]flowTarget, error) {
	p, err := codegen.Load(codegen.File{Name: "k.go", Text: "package k\n\n" + k.as.apply(k.text)})
	if err != nil {
		return nil, err
	}
	kernel, err := p.Kernel("K")
	if err != nil {
		return nil, err
	}
	order, err := flowOrder(kernel, k.text)
	if err != nil {
		return nil, err
	}
	var out []flowTarget
	for name, o := range map[string]codegen.LowerOptions{"simt": {}, "simt with checks": {NoShuffles: true, KeepChecks: true},
		"simt, all teams as one": {Device: quickBarriers()}} {
		l, err := codegen.Lower(kernel, o)
		if err != nil {
			f.count["no device form: "+lastLine(err)]++
			continue
		}
		program, err := simt.New(l.Program)
		if err != nil {
			return nil, err
		}
		f.count["device code"]++
		out = append(out, flowTarget{name: name, device: program, order: order, text: l.Program.String})
	}
	widths, err := f.widths(kernel)
	if err != nil {
		return nil, err
	}
	for i := range widths {
		widths[i].order = order
	}
	out = append(out, widths...)
	vectors, err := f.vectorTargets(codegen.ForCPU(kernel), arena)
	if err != nil {
		return nil, err
	}
	for i := range vectors {
		vectors[i].order = order
	}
	if out, err = f.deferring(kernel, out, arena); err != nil {
		return nil, err
	}
	return append(out, vectors...), nil
}

// widths makes the device forms of a kernel with other numbers of lanes for its nested loops, and
// the one that counts the lengths of these.
func (f *flowRunner) widths(k *ir.Kernel) (out []flowTarget, err error) {
	if l, err := codegen.Lower(k, codegen.LowerOptions{}); err != nil || !l.Varies() {
		return nil, nil
	}
	count, err := codegen.CountLengths(k, codegen.LowerOptions{})
	if err != nil {
		return nil, err
	}
	if _, err := simt.New(count); err != nil {
		return nil, err
	}
	forms, err := codegen.NestedWidths(k, nil, codegen.LowerOptions{})
	if err != nil {
		f.count["no other number of lanes: "+lastLine(err)]++
		return nil, nil
	}
	for _, form := range forms {
		program, err := simt.New(form.Program)
		if err != nil {
			return nil, err
		}
		f.count["device code for other lanes"]++
		out = append(out, flowTarget{name: "simt, " + form.Width.String(), device: program, text: form.Program.String})
	}
	return out, nil
}

// deferring gives the device forms of a kernel with nested(cpu) what runs the rest, each in each
// form.
func (f *flowRunner) deferring(k *ir.Kernel, devices []flowTarget, arena *cpu.Arena) ([]flowTarget, error) {
	parts, err := codegen.DeferToCPU(k)
	if parts == nil || err != nil {
		return devices, nil
	}
	rests, err := f.vectorTargets(codegen.ForCPU(parts.Rest), arena)
	if err != nil {
		return nil, err
	}
	l, err := codegen.Lower(parts.Rest, codegen.LowerOptions{})
	if err != nil {
		return nil, err
	}
	program, err := simt.New(l.Program)
	if err != nil {
		return nil, err
	}
	rests = append(rests, flowTarget{name: "simt", device: program, text: l.Program.String})
	var out []flowTarget
	for _, x := range devices {
		for i := range rests {
			both := x
			both.name, both.rest = x.name+", rest by "+rests[i].name, &rests[i]
			out = append(out, both)
			f.count["device code that defers"]++
		}
	}
	return out, nil
}

// runParts runs a kernel with nested(cpu): the device's part, and then the rest.
func (f *flowRunner) runParts(x flowTarget, args []any, cfg simt.Config) error {
	list, count := make([]int64, 64), []int64{0}
	if err := runDevice(x.device, append(args[:len(args):len(args)], list, count), cfg); err != nil {
		return err
	}
	f.count["deferred iterations"] += int(count[0])
	args = append(args[:len(args):len(args)], list[:count[0]])
	if x.rest.device != nil {
		return runDevice(x.rest.device, args, cfg)
	}
	var values []cpu.Value
	for _, a := range args {
		values = append(values, cpuValue(reflect.ValueOf(a)))
	}
	return faults(func() error { return x.rest.vector.Call(values, nil) })
}

// vectorTargets makes vector code of a kernel, in every form.
func (f *flowRunner) vectorTargets(kernel *ir.Kernel, arena *cpu.Arena) ([]flowTarget, error) {
	var out []flowTarget
	for name, o := range randomOptions(f.t) {
		if o.Past {
			continue
		}
		o.ShareFrom = 1
		code, err := cpu.Compile(kernel, o)
		var refusal *cpu.Refusal
		if errors.As(err, &refusal) {
			f.count["refused: "+refusal.Why]++
			continue
		}
		if err != nil {
			return nil, err
		}
		prog, err := arena.Install(code)
		if err != nil {
			return nil, err
		}
		f.count["vector code"]++
		out = append(out, flowTarget{name: name, vector: cpu.NewRunner(prog), text: code.Listing})
	}
	return out, nil
}

func lastLine(err error) string {
	list := strings.Split(err.Error(), "\n")
	return list[len(list)-1]
}

// check runs one kernel on a few arguments.
func (f *flowRunner) check(k flowKernel) error {
	r := rand.New(rand.NewPCG(k.seed, 5))
	var list [][]any
	for round := range 5 {
		list = append(list, k.args(r, round))
	}
	return f.compare(k, r, list)
}

// compare runs one kernel on each list of arguments.
func (f *flowRunner) compare(k flowKernel, r *rand.Rand, list [][]any) error {
	f.watch(k, "compiling")
	defer f.close()
	oracle, err := interpret("package k\n\n" + k.text)
	if err != nil {
		return fmt.Errorf("Go's own checks: %w", err)
	}
	arena, err := cpu.NewArena()
	if err != nil {
		return err
	}
	defer arena.Close()
	targets, err := f.targets(k, arena)
	if err != nil {
		return err
	}
	for round, begin := range list {
		want := copyArgs(begin)
		run := oracle.call("K", flowSteps, want)
		if run.endless {
			f.count["launches without end"]++
			continue
		}
		f.count["launches"]++
		if run.panicked != "" {
			f.count["launches that fail"]++
		}
		for _, x := range targets {
			if x.device != nil && round > 2 {
				continue
			}
			f.watch(k, fmt.Sprintf("%s, round %d, %s", x.name, round, scalarsOf(begin)))
			if err := f.run(x, r, begin, want, run); err != nil {
				return fmt.Errorf("%s, round %d, %s: %w", x.name, round, scalarsOf(begin), err)
			}
		}
	}
	return nil
}

func scalarsOf(args []any) string {
	var b strings.Builder
	for i, a := range args {
		if reflect.ValueOf(a).Kind() != reflect.Slice {
			fmt.Fprintf(&b, "argument %d = %v, ", i, a)
		}
	}
	return strings.TrimSuffix(b.String(), ", ")
}

// run compares one launch: where Go panics, it must fail.
func (f *flowRunner) run(x flowTarget, r *rand.Rand, begin, want []any, run goRun) error {
	got := copyArgs(begin)
	var err error
	if x.device != nil {
		s := shapes[r.IntN(len(shapes))]
		cfg := simt.Config{Teams: s.teams, Threads: s.threads, Seed: r.Uint64(), Races: true, Steps: 50_000_000}
		if args := inOrder(x.order, got); x.rest != nil {
			err = f.runParts(x, args, cfg)
		} else {
			err = runDevice(x.device, args, cfg)
		}
	} else {
		var values []cpu.Value
		for i, a := range begin {
			v := reflect.ValueOf(a)
			if v.Kind() == reflect.Slice {
				fence := newFenceUntil(f.t, v.Len()*int(v.Type().Elem().Size()))
				defer fence.free()
				v = fence.copyOf(v, r.IntN(2) == 0)
			}
			got[i], values = v.Interface(), append(values, cpuValue(v))
		}
		var share func(*cpu.Loop) error
		if r.IntN(2) == 0 {
			share = chunks(r)
		}
		err = faults(func() error { return x.vector.Call(inOrder(x.order, values), share) })
	}
	switch {
	case err == nil && run.panicked != "":
		return fmt.Errorf("no error, Go panics: %s", run.panicked)
	case err != nil && (run.panicked == "" || !launchFailed(err)):
		return fmt.Errorf("%w; Go: %q", err, run.panicked)
	case err != nil:
		return nil
	}
	if d := (corpusCase{}).differ(want, got); d != "" {
		return errors.New(d)
	}
	return nil
}

// launchFailed tells the errors that a kernel ends with by itself from faults of the code.
func launchFailed(err error) bool {
	text := err.Error()
	return !strings.Contains(text, "fault") && !strings.Contains(text, "race") && !strings.Contains(text, "steps")
}

// args makes arguments; index numbers lie in range.
func (k flowKernel) args(r *rand.Rand, round int) []any {
	n, w := 1+r.IntN(9), 1+r.IntN([]int{5, 20, 70}[round%3])
	if round%4 == 3 {
		n = []int{1, 4, 8, 16, 32}[r.IntN(5)]
		w = n
	}
	small := []int64{0, 1, 2, 3, -1, 5, 7, 9, 100, 600, -7, 40, 128, 127, 250, 255, 1 << 33}
	number := func(t reflect.Type) reflect.Value {
		v := reflect.New(t).Elem()
		switch {
		case v.CanFloat():
			v.SetFloat(float64(r.IntN(64)-32) / 4)
		case r.IntN(8) == 0:
			v.Set(reflect.ValueOf(r.Uint64()).Convert(t))
		case r.IntN(3) == 0:
			v.Set(reflect.ValueOf(small[r.IntN(len(small))]).Convert(t))
		default:
			v.Set(reflect.ValueOf(r.IntN(12) - 4).Convert(t))
		}
		return v
	}
	types := map[string]reflect.Type{}
	for _, t := range goKinds {
		types[t.Name()] = t
	}
	list := func(name string, n int) any {
		s := reflect.MakeSlice(reflect.SliceOf(types[name]), n, n)
		for i := range n {
			s.Index(i).Set(number(types[name]))
		}
		return s.Interface()
	}
	of := func(name string) any { return number(types[name]).Interface() }
	ix := make([]int32, n*w)
	for i := range ix {
		ix[i] = int32(r.IntN(n * w))
	}
	in := 2*n*w + 4
	return []any{n, w, small[r.IntN(12)], small[r.IntN(10)], of(k.f), of(k.i), of(k.s), of(k.s), list(k.f, in), list(k.i, in), list("int64", in), list("uint8", in), ix, list("int64", 4),
		list(k.f, n*w), list(k.i, n*w), list("int64", n*w), list("int16", n*w), list("int32", 256), make([]int64, 4)}
}

// shrink leaves out of a kernel that goes wrong what it can do without.
func (f *flowRunner) shrink(k flowKernel) flowKernel {
	until := time.Now().Add(2 * time.Minute)
	wrong := func(lines []string) bool {
		small := k
		if small.text = strings.Join(lines, "\n"); !strings.Contains(small.text, "//omp:target") || !strings.Contains(small.text, "func K(") {
			return false
		}
		if _, err := interpret("package k\n\n" + small.text); err != nil {
			return false
		}
		p, err := codegen.Load(codegen.File{Name: "k.go", Text: "package k\n\n" + small.as.apply(small.text)})
		if err != nil {
			return false
		}
		if _, err := p.Kernel("K"); err != nil {
			return false
		}
		return f.check(small) != nil
	}
	bare := k
	if bare.as = (dressing{}); f.check(bare) != nil {
		k = bare
	}
	lines := strings.Split(k.text, "\n")
	for again := true; again && time.Now().Before(until); {
		again = false
		for at := 0; at < len(lines) && time.Now().Before(until); at++ {
			for _, less := range without(lines, at) {
				if wrong(less) {
					lines, again = less, true
					at--
					break
				}
			}
		}
	}
	k.text = strings.Join(lines, "\n")
	return k
}

// without are the lines without the statement that begins at one of them, and without what encloses its body.
func without(lines []string, at int) [][]string {
	cut := func(from, to int) []string { return append(append([]string{}, lines[:from]...), lines[to:]...) }
	indent := func(s string) int { return len(s) - len(strings.TrimLeft(s, "\t")) }
	if !strings.HasSuffix(lines[at], "{") || strings.HasPrefix(strings.TrimSpace(lines[at]), "}") {
		return [][]string{cut(at, at+1)}
	}
	end := at + 1
	for end < len(lines) && (indent(lines[end]) > indent(lines[at]) || strings.HasPrefix(strings.TrimSpace(lines[end]), "} else") || strings.HasPrefix(strings.TrimSpace(lines[end]), "case") ||
		strings.HasPrefix(strings.TrimSpace(lines[end]), "default")) {
		end++
	}
	if end == len(lines) {
		return nil
	}
	inner := append(append(append([]string{}, lines[:at]...), lines[at+1:end]...), lines[end+1:]...)
	return [][]string{cut(at, end+1), inner}
}
