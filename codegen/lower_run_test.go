package codegen_test

import (
	"cmp"
	_ "embed"
	"fmt"
	"math"
	"math/rand/v2"
	"reflect"
	"runtime"
	"strings"
	"sync"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"

	"github.com/gompss/gompss/codegen"
	"github.com/gompss/gompss/codegen/ir"
	"github.com/gompss/gompss/codegen/ir/specialise"
	"github.com/gompss/gompss/codegen/ir/verify"
	"github.com/gompss/gompss/codegen/simt"
)

//go:embed corpus_test.go
var corpusSource string

//go:embed corpus_team_test.go
var corpusTeamSource string

//go:embed corpus_apps_test.go
var corpusAppsSource string

//go:embed corpus_loops_test.go
var corpusLoopsSource string

//go:embed corpus_codes_test.go
var corpusCodesSource string

//go:embed nest_kernels_test.go
var nestKernelsSource string

//go:embed pick_kernels_test.go
var pickKernelsSource string

//go:embed carried_kernels_test.go
var carriedKernelsSource string

//go:embed row_kernels_test.go
var rowKernelsSource string

//go:embed block_kernels_test.go
var blockKernelsSource string

//go:embed word_kernels_test.go
var wordKernelsSource string

//go:embed corpus_vars_test.go
var corpusVarsSource string

//go:embed fuse_kernels_test.go
var fuseKernelsSource string

// loadCorpus compiles the kernels of all files of the corpus.
func loadCorpus(t testing.TB) *codegen.Package {
	t.Helper()
	p, err := codegen.Load(codegen.File{Name: "corpus_test.go", Text: corpusSource},
		codegen.File{Name: "corpus_team_test.go", Text: corpusTeamSource},
		codegen.File{Name: "corpus_loops_test.go", Text: corpusLoopsSource}, codegen.File{Name: "corpus_codes_test.go", Text: corpusCodesSource},
		codegen.File{Name: "corpus_apps_test.go", Text: corpusAppsSource}, codegen.File{Name: "corpus_vars_test.go", Text: corpusVarsSource}, codegen.File{Name: "nest_kernels_test.go", Text: nestKernelsSource},
		codegen.File{Name: "fuse_kernels_test.go", Text: fuseKernelsSource}, codegen.File{Name: "row_kernels_test.go", Text: rowKernelsSource}, codegen.File{Name: "carried_kernels_test.go", Text: carriedKernelsSource},
		codegen.File{Name: "block_kernels_test.go", Text: blockKernelsSource}, codegen.File{Name: "word_kernels_test.go", Text: wordKernelsSource},
		codegen.File{Name: "pick_kernels_test.go", Text: pickKernelsSource})
	require.NoError(t, err)
	return p
}

// name is the name of a kernel's Go function.
func name(kernel any) string {
	full := runtime.FuncForPC(reflect.ValueOf(kernel).Pointer()).Name()
	return full[strings.LastIndex(full, ".")+1:]
}

// makeArgs makes the arguments of a case; equal calls give equal arguments.
func (c corpusCase) makeArgs(n int) []any {
	out := c.args(n, rand.New(rand.NewPCG(uint64(n), 7)))
	if c.variables != nil {
		out = append(out, c.variables()...)
	}
	return out
}

// variablesLock is held while a case runs whose kernel reads package variables: makeArgs sets them.
var variablesLock sync.Mutex

// exclusive lets no other case of a test that runs side by side with t set package variables.
func (c corpusCase) exclusive(t *testing.T) {
	t.Helper()
	if c.variables != nil {
		variablesLock.Lock()
		t.Cleanup(variablesLock.Unlock)
	}
}

// runGo calls the kernel as the Go function that it is, or its oracle.
func (c corpusCase) runGo(args []any) {
	f := reflect.ValueOf(c.kernel)
	if c.oracle != nil {
		f = reflect.ValueOf(c.oracle)
	}
	in := make([]reflect.Value, f.Type().NumIn())
	for i := range in {
		in[i] = reflect.ValueOf(args[i])
	}
	f.Call(in)
}

// differ returns the first difference between what two runs left in their arguments, "" for none.
func (c corpusCase) differ(want, got []any) string {
	for i := range want {
		if d := c.values(fmt.Sprintf("argument %d", i), reflect.ValueOf(want[i]), reflect.ValueOf(got[i])); d != "" {
			return d
		}
	}
	return ""
}

func (c corpusCase) values(path string, want, got reflect.Value) string {
	switch want.Kind() {
	case reflect.Slice, reflect.Array:
		for i := range want.Len() {
			if d := c.values(fmt.Sprintf("%s[%d]", path, i), want.Index(i), got.Index(i)); d != "" {
				return d
			}
		}
		return ""
	case reflect.Pointer:
		return c.values("*"+path, want.Elem(), got.Elem())
	case reflect.Struct:
		for i := range want.NumField() {
			if d := c.values(path+"."+want.Type().Field(i).Name, want.Field(i), got.Field(i)); d != "" {
				return d
			}
		}
		return ""
	case reflect.Complex64:
		w, g := complex64(want.Complex()), complex64(got.Complex())
		return cmp.Or(c.values("real("+path+")", reflect.ValueOf(real(w)), reflect.ValueOf(real(g))), c.values("imag("+path+")", reflect.ValueOf(imag(w)), reflect.ValueOf(imag(g))))
	case reflect.Complex128:
		w, g := want.Complex(), got.Complex()
		return cmp.Or(c.values("real("+path+")", reflect.ValueOf(real(w)), reflect.ValueOf(real(g))), c.values("imag("+path+")", reflect.ValueOf(imag(w)), reflect.ValueOf(imag(g))))
	case reflect.Float32, reflect.Float64:
		if c.ulps > 0 && ulpsApart(want, got) <= c.ulps || (c.ulps == 0 || fusedError > 0) && c.near(want.Float(), got.Float()) {
			return ""
		}
	default:
		if want.Equal(got) {
			return ""
		}
	}
	return fmt.Sprintf("%s: got %v, want %v", path, got, want)
}

func (c corpusCase) near(want, got float64) bool {
	if math.Float64bits(want) == math.Float64bits(got) || math.IsNaN(want) && math.IsNaN(got) {
		return true
	}
	return math.Abs(want-got) <= max(c.tolerance, fusedError)*math.Max(1, math.Max(math.Abs(want), math.Abs(got)))
}

// ulpsApart is the difference of two floats of one type in units of the last place of the greater.
func ulpsApart(want, got reflect.Value) float64 {
	x, y := want.Float(), got.Float()
	most := math.Max(math.Abs(x), math.Abs(y))
	ulp := math.Nextafter(most, math.Inf(1)) - most
	if want.Kind() == reflect.Float32 {
		ulp = float64(math.Nextafter32(float32(most), float32(math.Inf(1))) - float32(most))
	}
	return math.Abs(x-y) / ulp
}

// deviceArg gives the interpreter the memory of a Go value itself: its bytes are in gc's layout already.
func deviceArg(i int, a any) simt.Arg {
	v := reflect.ValueOf(a)
	name := fmt.Sprintf("argument %d", i)
	view := func(at unsafe.Pointer, size uintptr) *simt.Memory {
		return &simt.Memory{Name: name, Bytes: unsafe.Slice((*byte)(at), size)}
	}
	switch v.Kind() {
	case reflect.Slice:
		n := int64(v.Len())
		return simt.Arg{Memory: view(v.UnsafePointer(), uintptr(n)*v.Type().Elem().Size()), Len: n, Cap: n}
	case reflect.Pointer:
		return simt.Arg{Memory: view(v.UnsafePointer(), v.Type().Elem().Size())}
	case reflect.Array, reflect.Struct, reflect.Complex64, reflect.Complex128:
		c := reflect.New(v.Type())
		c.Elem().Set(v)
		return simt.Arg{Bytes: unsafe.Slice((*byte)(c.UnsafePointer()), v.Type().Size())}
	case reflect.Float32:
		return simt.Arg{Bits: ir.Bits(math.Float32bits(float32(v.Float())))}
	case reflect.Float64:
		return simt.Arg{Bits: ir.Bits(math.Float64bits(v.Float()))}
	case reflect.Bool:
		if v.Bool() {
			return simt.Arg{Bits: 1}
		}
		return simt.Arg{}
	}
	if v.CanInt() {
		return simt.Arg{Bits: ir.Bits(v.Int())}
	}
	return simt.Arg{Bits: ir.Bits(v.Uint())}
}

func runDevice(p *simt.Program, args []any, cfg simt.Config) error {
	list := make([]simt.Arg, len(args))
	for i, a := range args {
		list[i] = deviceArg(i, a)
	}
	_, err := p.Run(list, cfg)
	return err
}

// shapes are grids that no kernel may depend on: one thread, few and many teams, numbers that divide nothing. The zero
// shape is the natural grid.
var shapes = []struct{ teams, threads int }{{1, 1}, {1, 7}, {3, 64}, {5, 33}, {2, 32}, {13, 5}, {0, 0}}

// The Go run of a kernel is what it means; the device gives the same for every grid and order, with no race.
func TestDeviceEqualsGo(t *testing.T) {
	p := loadCorpus(t)
	for _, c := range corpus {
		t.Run(name(c.kernel), func(t *testing.T) {
			t.Parallel()
			for _, opt := range []codegen.LowerOptions{{}, {NoShuffles: true, KeepChecks: true}, {NoShuffles: true, TeamUnit: 32}, {Device: quickBarriers()}} {
				lowered := lowerKernel(t, p, name(c.kernel), opt).Program
				c.compare(t, lowered, opt.NoShuffles && opt.TeamUnit == 0)
				if exact, ok := specialise.Teams(lowered, 32); ok && !opt.KeepChecks {
					require.NoError(t, verify.Program(exact))
					c.compare(t, exact, false)
				}
			}
		})
	}
}

func (c corpusCase) compare(t *testing.T, lowered *ir.Program, odd bool) {
	program, err := simt.New(lowered)
	require.NoError(t, err)
	for _, n := range []int{0, 1, 7, 8 + rand.IntN(200), 333} { // one at random, which the message of a failure has
		want := c.makeArgs(n)
		c.runGo(want)
		for k, s := range shapes {
			cfg := simt.Config{Teams: s.teams, Threads: s.threads, Seed: uint64(k), Races: true, Steps: 50_000_000}
			got := c.makeArgs(n)
			where := fmt.Sprintf("size %d, %d teams of %d threads, any number of threads %v", n, s.teams, s.threads, odd)
			require.NoError(t, runDevice(program, got, cfg), "%s\n%s", where, lowered)
			if d := c.differ(want, got); d != "" {
				t.Fatalf("%s: %s\n%s", where, d, lowered)
			}
		}
	}
}

// Without one of its barriers a kernel goes wrong on some grid, and the judge sees it. Some are spare: the compiler does
// not see that two slices differ, or that a thread comes back to its own elements, or stand in a version that does not run, or they
// keep the groups of a sum apart, of which a team has one here.
func TestBarriersAreNeeded(t *testing.T) {
	p := loadCorpus(t)
	for _, each := range []struct {
		kernel any
		spare  int
	}{{ReverseBlocks, 0}, {ScanBlocks, 2}, {HistogramTeams, 0}, {RowSums, 1}, {LUStep, 1}, {Dot, 4}, {SingleMasked, 3},
		{Mixed, 1}, {TeamArrayReduce, 0}, {AllPairs, 2}} {
		c := corpusCaseOf(t, each.kernel)
		t.Run(name(c.kernel), func(t *testing.T) {
			lowered := lowerKernel(t, p, name(c.kernel), codegen.LowerOptions{}).Program
			n, spare := barriers(lowered, -1), 0
			for k := range n {
				l := lowerKernel(t, p, name(c.kernel), codegen.LowerOptions{}).Program
				barriers(l, k)
				if !c.fails(t, l) {
					spare++
				}
			}
			require.Greater(t, n, spare)
			require.Equal(t, each.spare, spare, "of %d barriers:\n%s", n, lowered)
		})
	}
}

func corpusCaseOf(t *testing.T, kernel any) corpusCase {
	for _, c := range corpus {
		if name(c.kernel) == name(kernel) {
			return c
		}
	}
	t.Fatalf("no case for %s", name(kernel))
	return corpusCase{}
}

// barriers counts the barriers of p and takes number k out of it.
func barriers(p *ir.Program, k int) int {
	n := 0
	r := &ir.Rewrite{Stmt: func(s ir.Stmt) []ir.Stmt {
		if _, ok := s.(*ir.Barrier); ok {
			n++
			if n-1 == k {
				return nil
			}
		}
		return []ir.Stmt{s}
	}}
	for _, g := range p.Launches {
		g.Body = r.CopyStmts(g.Body)
	}
	return n
}

// fails reports whether some run of the program differs from Go's, or ends with an error.
func (c corpusCase) fails(t *testing.T, lowered *ir.Program) bool {
	program, err := simt.New(lowered)
	require.NoError(t, err)
	for seed := range uint64(5) {
		want, got := c.makeArgs(333), c.makeArgs(333)
		c.runGo(want)
		cfg := simt.Config{Teams: 2, Threads: 64, Seed: seed, Races: true, Steps: 50_000_000}
		if seed == 4 {
			cfg.Threads = 32 // whole teams of iterations, too, where there are few
		}
		if runDevice(program, got, cfg) != nil || c.differ(want, got) != "" {
			return true
		}
	}
	return false
}

// What fails in Go fails on the device, with the same place, and in a loop whose checks were cleared too.
func TestDeviceFailsWhereGoDoes(t *testing.T) {
	for _, c := range []struct {
		name, body string
		want       string
	}{
		{"past the end", "//omp:teams distribute parallel for\nfor i := 0; i < n; i++ { x[i]++ }", "x: index"},
		{"before the start", "//omp:teams distribute parallel for\nfor i := 0; i < len(x); i++ { x[i-n] = 1 }", "x: index"},
		{"from memory", "//omp:teams distribute parallel for\nfor i := range x { x[y[i]] = 1 }", "x: index"},
		{"divisor", "//omp:teams distribute parallel for\nfor i := range x { y[i] /= (x[i] - 3) }", "division by zero"},
		{"step", "//omp:teams distribute parallel for\nfor i := 0; i < len(x); i += n - 9 { x[i] = 1 }", "zero"},
		{"in a team", "//omp:teams distribute\nfor i := range x {\n//omp:parallel for\nfor j := 0; j < n; j++ { x[i*n+j] = 1 }\n}",
			"x: index"},
		{"once", "x[n]++", "x: index"},
	} {
		t.Run(c.name, func(t *testing.T) {
			l, err := lowerText(t, "//omp:target device(acc)\n//omp:task inout(x, y)\nfunc K(x, y []int, n int) {\n"+c.body+"\n}",
				codegen.LowerOptions{})
			require.NoError(t, err)
			program, err := simt.New(l.Program)
			require.NoError(t, err)
			err = runDevice(program, []any{[]int{1, 2, 3, 4, 5}, []int{0, 9, 2, 3, 4}, 9}, simt.Config{Teams: 2, Threads: 32})
			require.ErrorContains(t, err, c.want)
			require.ErrorContains(t, err, "k.go:")
		})
	}
}
