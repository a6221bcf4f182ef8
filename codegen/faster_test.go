//go:build linux && (amd64 || arm64)

package codegen_test

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"regexp"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/gompss/gompss/codegen"
	"github.com/gompss/gompss/codegen/cpu"
	_ "github.com/gompss/gompss/devices/smp"
	"github.com/gompss/gompss/task"
)

// A task never takes more than 1.05 times as long as with the Go function: the kernels of the
// corpus and of practice_*_test.go run as tasks of a runtime that chooses between the variants, and
// of one that has the Go functions alone, in turn, once the first launches have ended.
//
// GOMPSS_FASTER is a regular expression over NAME/SIZE/DEVICES, such as ^Practice or /50us/smp:1$;
// "all" is every one. The kernels get the wrappers of gompss gen, which this file writes into an
// overlay: the test runs itself again with them.

// fasterVariable says which kernels are measured.
const fasterVariable = "GOMPSS_FASTER"

// wrappedKernels are the kernels with the wrappers of the overlay, by name; empty where there is
// none.
var wrappedKernels = map[string]*task.Kernel{}

// TestFaster_TasksAgainstGoFunctions measures in a process of its own, which has the wrappers.
func TestFaster_TasksAgainstGoFunctions(t *testing.T) {
	if os.Getenv(fasterVariable) == "" {
		t.Skip("measures for half an hour on a quiet machine: " + fasterVariable + "=all")
	}
	if len(wrappedKernels) > 0 {
		measureAll(t)
		return
	}
	cmd := exec.Command("go", "test", "-overlay", writeWrappers(t), "-run", "^"+t.Name()+"$", "-count=1", "-v", "-timeout", "3h", ".")
	cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
	require.NoError(t, cmd.Run(), "see the lines that begin with SLOWER")
}

// kernelFiles are the files whose kernels are measured, and those that they use, which stand in one
// overlay.
func kernelFiles() []codegen.File {
	return []codegen.File{{Name: "corpus_test.go", Text: corpusSource}, {Name: "corpus_team_test.go", Text: corpusTeamSource}, {Name: "corpus_loops_test.go", Text: corpusLoopsSource},
		{Name: "corpus_codes_test.go", Text: corpusCodesSource}, {Name: "corpus_apps_test.go", Text: corpusAppsSource}, {Name: "corpus_vars_test.go", Text: corpusVarsSource},
		{Name: "fuse_kernels_test.go", Text: fuseKernelsSource}, {Name: "practice_kernels_test.go", Text: practiceSource}, {Name: "practice_bits_test.go", Text: practiceBits},
		{Name: "practice_atomics_test.go", Text: practiceAtomics}, {Name: "practice_fields_test.go", Text: practiceFields}}
}

var kernelVariable = regexp.MustCompile(`(?m)^var (\w+) = task\.MustKernel\(task\.KernelSpec\{\n\tName:\s+"(\w+)"`)

// writeWrappers writes the wrappers of all kernels, and returns the file that go test -overlay
// takes.
func writeWrappers(t *testing.T) string {
	t.Helper()
	here, err := os.Getwd()
	require.NoError(t, err)
	dir := t.TempDir()
	replace := map[string]string{}
	write := func(name, text string) {
		at := filepath.Join(dir, name)
		require.NoError(t, os.WriteFile(at, []byte(text), 0o600))
		replace[filepath.Join(here, name)] = at
	}
	names := "package codegen_test\n\nfunc init() {\n"
	files := kernelFiles()
	p, err := codegen.Load(files...)
	require.NoError(t, err)
	for i, f := range files {
		text, err := codegen.Generate(p, codegen.GenerateOptions{File: f.Name, Sources: files})
		require.NoError(t, err)
		write(fmt.Sprintf("zwrappers%d_gompss_test.go", i), string(text))
		for _, m := range kernelVariable.FindAllStringSubmatch(string(text), -1) {
			names += fmt.Sprintf("\twrappedKernels[%q] = %s\n", m[2], m[1])
		}
	}
	write("zwrapped_gompss_test.go", names+"}\n")
	overlay := filepath.Join(dir, "overlay.json")
	text, err := json.Marshal(map[string]any{"Replace": replace})
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(overlay, text, 0o600))
	return overlay
}

// A measuredKernel is a kernel and how its arguments are made.
type measuredKernel struct {
	name string
	fn   any
	args func(n int) []any
}

func measuredKernels() []measuredKernel {
	out := map[string]measuredKernel{}
	for _, c := range practiceCases {
		out[c.name] = measuredKernel{c.name, c.fn, func(n int) []any { return c.args(rand.New(rand.NewPCG(uint64(n), 3)), n) }}
	}
	for _, c := range corpus {
		if _, twice := out[name(c.kernel)]; !twice {
			out[name(c.kernel)] = measuredKernel{name(c.kernel), c.kernel, func(n int) []any { return c.args(n, rand.New(rand.NewPCG(uint64(n), 7))) }}
		}
	}
	maps.DeleteFunc(out, func(name string, _ measuredKernel) bool { return wrappedKernels[name] == nil })
	return slices.SortedFunc(maps.Values(out), func(a, b measuredKernel) int { return cmp.Compare(a.name, b.name) })
}

// A sizeClass is how long the Go function takes at most.
type sizeClass struct {
	name string
	most time.Duration
}

var sizeClasses = []sizeClass{{"tiny", time.Microsecond}, {"50us", 50 * time.Microsecond}, {"1ms", time.Millisecond}, {"10ms", 10 * time.Millisecond}}

// sizes returns the n of each class, 0 where there is none; nil where the kernel cannot run again
// on what it has left behind.
func (k measuredKernel) sizes() (out []int) {
	defer func() {
		if recover() != nil {
			out = nil
		}
	}()
	out = make([]int, len(sizeClasses))
	f, last := reflect.ValueOf(k.fn), sizeClasses[len(sizeClasses)-1].most
	for n := 1; n < 1<<22; n += 1 + n/2 {
		args := k.args(n)
		in := make([]reflect.Value, f.Type().NumIn())
		for i := range in {
			in[i] = reflect.ValueOf(args[i])
		}
		took := time.Hour
		for range 5 {
			began := time.Now()
			f.Call(in)
			took = min(took, time.Since(began))
		}
		for i, c := range sizeClasses {
			if took <= c.most && (took > c.most/3 || i == 0) || n == 1 && i == 0 {
				out[i] = n
			}
		}
		if took > last {
			break
		}
	}
	return out
}

// pairs is how many measurements of both are compared, and slowPairs how many of these must show
// more than 1.05 for that to be no accident: with a probability below 1 in 1000 where half of them
// do.
const pairs, slowPairs = 25, 21

func measureAll(t *testing.T) {
	which := os.Getenv(fasterVariable)
	if which == "all" {
		which = ""
	}
	selected, err := regexp.Compile(which)
	require.NoError(t, err)
	if _, err := cpu.Detect(); err != nil {
		t.Skip(err)
	}
	debug.SetGCPercent(400)
	slower := 0
	for _, devices := range []string{"smp:1", "smp:2"} {
		if devices == "smp:2" && runtime.NumCPU() < 2 {
			continue
		}
		chosen, plain := fasterRuntime(t, devices, task.VectorAuto), fasterRuntime(t, devices, task.VectorOff)
		for _, k := range measuredKernels() {
			if !slices.ContainsFunc(sizeClasses, func(c sizeClass) bool { return selected.MatchString(k.name + "/" + c.name + "/" + devices) }) {
				continue
			}
			sizes := k.sizes()
			if sizes == nil {
				fmt.Printf("once   %s cannot run again on what it has left behind\n", k.name)
			}
			for i, n := range sizes {
				if what := k.name + "/" + sizeClasses[i].name + "/" + devices; n > 0 && selected.MatchString(what) && !k.faster(t, what, n, chosen, plain) {
					slower++
				}
			}
		}
	}
	require.Zero(t, slower, "kernels and sizes that take more than 1.05 times as long as the Go functions")
}

func fasterRuntime(t *testing.T, devices, vector string) *task.Runtime {
	t.Helper()
	rt, err := task.New(task.Options{Devices: devices, Vector: vector})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, rt.Close()) })
	return rt
}

// faster measures k in both runtimes and reports whether chosen is fast enough; a second
// measurement must say that it is not, too.
func (k measuredKernel) faster(t *testing.T, what string, n int, chosen, plain *task.Runtime) bool {
	for try := 0; ; try++ {
		r := k.measure(t, n, chosen, plain)
		fast := r.slow < slowPairs
		if fast || try == 1 {
			word := "ok    "
			if !fast {
				word = "SLOWER"
			}
			fmt.Printf("%s %-40s n=%-8d %.3f of Go's time, %2d of %d pairs above 1.05, %10v; %s\n", word, what, n, r.ratio, r.slow, pairs, r.plain, r.code)
			return fast
		}
	}
}

// A comparison is what was measured: the median of the ratios, and how many were above 1.05.
type comparison struct {
	ratio float64
	slow  int
	plain time.Duration // median time of a task with the Go function
	code  string
}

func (k measuredKernel) measure(t *testing.T, n int, chosen, plain *task.Runtime) comparison {
	t.Helper()
	mine, its := k.args(n), k.args(n)
	kernel := wrappedKernels[k.name]
	require.NoError(t, chosen.Prepare(context.Background(), kernel))
	k.warm(t, chosen, mine, its, plain)
	tasks := int(max(1, min(100, 300*time.Microsecond/max(1, k.batch(t, plain, its, 1)))))
	var ratios, times []float64
	for i := range pairs {
		var a, b time.Duration
		if i%2 == 0 {
			a, b = k.batch(t, chosen, mine, tasks), k.batch(t, plain, its, tasks)
		} else {
			b = k.batch(t, plain, its, tasks)
			a = k.batch(t, chosen, mine, tasks)
		}
		ratios, times = append(ratios, float64(a)/float64(b)), append(times, float64(b)/float64(tasks))
	}
	slow := 0
	for _, r := range ratios {
		if r > 1.05 {
			slow++
		}
	}
	slices.Sort(ratios)
	slices.Sort(times)
	code := chosen.CPUCode(kernel)
	if i := strings.Index(code, "; "); i > 0 {
		code = code[:i] + code[strings.LastIndex(code, "; "):]
	}
	return comparison{ratios[pairs/2], slow, time.Duration(times[pairs/2]), code}
}

// warm runs the first launches, in which the runtime chooses: until it has, or would have had.
func (k measuredKernel) warm(t *testing.T, chosen *task.Runtime, mine, its []any, plain *task.Runtime) {
	t.Helper()
	known := func() int {
		return len(slices.DeleteFunc(chosen.Stats().Choices, func(c task.VariantChoice) bool { return c.Kernel != k.name }))
	}
	before, began := known(), time.Now()
	for i := 0; i < 400 && time.Since(began) < 2*time.Second; i++ {
		k.batch(t, chosen, mine, 1)
		k.batch(t, plain, its, 1)
		if i > 12 && (known() > before || i > 40 && time.Since(began) > time.Second/2) {
			break
		}
	}
}

// batch runs tasks one after the other and returns how long they take.
func (k measuredKernel) batch(t *testing.T, rt *task.Runtime, args []any, tasks int) time.Duration {
	t.Helper()
	began := time.Now()
	for range tasks {
		_, err := wrappedKernels[k.name].Submit(rt, args...)
		require.NoError(t, err)
	}
	require.NoError(t, rt.Wait(context.Background()), k.name)
	return time.Since(began)
}
