//go:build linux && (amd64 || arm64)

package codegen_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"runtime/debug"
	"strconv"
	"strings"
	"testing"
	"time"
	"unsafe"

	"github.com/stretchr/testify/require"

	"github.com/gompss/gompss/codegen"
	"github.com/gompss/gompss/codegen/cpu"
	"github.com/gompss/gompss/codegen/simt"
)

type triple struct {
	x float32
	n int32
	b int8
}

type record struct {
	a, b float32
	n, m int32
	w    float64
	u    uint64
	f    bool
	c    int16
	z    float32
}

const randomImports = `import (
	"math/bits"

	"github.com/gompss/gompss/codegen/kernel"
)

var _, _ = kernel.ThreadNum, bits.Len

`

const tripleText = `type record struct {
	a, b float32
	n, m int32
	w    float64
	u    uint64
	f    bool
	c    int16
	z    float32
}

type triple struct {
	x float32
	n int32
	b int8
}

func above(row []int32, v int32) int {
	for j, r := range row {
		if r > v {
			return j
		}
	}
	return -1
}

func digits(v int64) (n, sum int) {
	for n < 5 && v != 0 {
		n, sum = n+1, sum+int(v%10)
		v /= 10
	}
	return n, sum
}

func bump(at *triple, by int32) {
	if by < 0 {
		at.b--
		return
	}
	at.n += by
}

func sorted(x []int32) {
	for i := 1; i < len(x); i++ {
		for j := i; j > 0 && x[j-1] > x[j]; j-- {
			x[j-1], x[j] = x[j], x[j-1]
		}
	}
}
`

// goProgram runs kernels as Go functions: it reads arguments from standard input and writes what
// they hold afterwards, as raw memory.
const goProgram = `package main

import (
	"bufio"
	"encoding/binary"
	"io"
	"os"
	"unsafe"
)

var in, out = bufio.NewReader(os.Stdin), bufio.NewWriter(os.Stdout)

func read[T any]() T {
	var v T
	if _, err := io.ReadFull(in, unsafe.Slice((*byte)(unsafe.Pointer(&v)), unsafe.Sizeof(v))); err != nil {
		panic(err)
	}
	return v
}

func slice[T any]() []T {
	x := make([]T, read[int64]()+1) // one more, so that there is a first
	n := len(x) - 1
	if _, err := io.ReadFull(in, unsafe.Slice((*byte)(unsafe.Pointer(&x[0])), uintptr(n)*unsafe.Sizeof(x[0]))); err != nil {
		panic(err)
	}
	return x[:n:n]
}

func write[T any](x []T) {
	if len(x) > 0 {
		out.Write(unsafe.Slice((*byte)(unsafe.Pointer(&x[0])), uintptr(len(x))*unsafe.Sizeof(x[0])))
	}
}

func run(f func()) {
	defer func() { binary.Write(out, binary.LittleEndian, recover() == nil) }()
	f()
}

func main() {
	for {
		which, err := binary.ReadUvarint(in)
		if err != nil {
			out.Flush()
			return
		}
		calls[which]()
		out.Flush()
	}
}
`

// A randomKernel is one that loops made.
type randomKernel struct {
	seed uint64
	name string
	text string
	f, i reflect.Type
}

func makeRandom(seed uint64) randomKernel {
	w := &loops{Rand: rand.New(rand.NewPCG(seed, 17)), rows: rand.New(rand.NewPCG(seed, 29)), nests: seed%5 == 2, steps: seed%8 == 3} // a rule of its own keeps the kernels of old seeds
	k := randomKernel{seed: seed, name: fmt.Sprintf("K%d", seed)}
	k.text = w.kernel(k.name)
	types := map[string]reflect.Type{}
	for _, v := range []any{float32(0), float64(0), int8(0), int16(0), int32(0), int64(0), uint8(0), uint16(0), uint32(0), uint64(0)} {
		types[reflect.TypeOf(v).Name()] = reflect.TypeOf(v)
	}
	k.f, k.i = types[w.f], types[w.i]
	return k
}

// args makes arguments of size n.
func (k randomKernel) args(seed uint64, n int) []any {
	r := rand.New(rand.NewPCG(seed, k.seed))
	number := func(t reflect.Type) reflect.Value {
		v := reflect.New(t).Elem()
		switch {
		case v.CanFloat() && r.IntN(24) == 0:
			odd := []float64{0, math.Copysign(0, -1), math.Inf(1), math.Inf(-1), math.NaN(), 1e-40, 3e38, -1e300}
			v.SetFloat(odd[r.IntN(len(odd))])
		case v.CanFloat():
			v.SetFloat(r.Float64()*8 - 4)
		case r.IntN(3) == 0:
			v.Set(reflect.ValueOf(r.Uint64()).Convert(t))
		default:
			v.Set(reflect.ValueOf(r.IntN(20) - 10).Convert(t))
		}
		return v
	}
	list := func(t reflect.Type, n int) any {
		s := reflect.MakeSlice(reflect.SliceOf(t), n, n)
		for i := range n {
			s.Index(i).Set(number(t))
		}
		return s.Interface()
	}
	ix, perm := make([]int32, n), make([]int32, n)
	for i, p := range r.Perm(n) {
		ix[i], perm[i] = int32(r.IntN(n)), int32(p)
	}
	triples := func(n int) []triple {
		ps := make([]triple, n)
		for i := range ps {
			ps[i] = triple{r.Float32()*8 - 4, int32(r.IntN(200) - 100), int8(r.Uint32())}
		}
		return ps
	}
	records := func(n int) []record {
		rs := make([]record, n)
		for i := range rs {
			rs[i] = record{r.Float32()*8 - 4, r.Float32(), int32(r.IntN(200) - 100), int32(r.Uint32()), r.Float64() * 9, r.Uint64() >> r.IntN(64), r.IntN(2) == 0, int16(r.Uint32()), 3}
		}
		return rs
	}
	return []any{n, number(k.f).Interface(), number(k.i).Interface(), list(k.f, 3*n+4), list(k.f, 3*n+4), list(k.i, 3*n+4), list(k.i, 3*n+4), ix, perm, triples(3*n + 4),
		list(k.f, n), list(k.i, n), make([]int64, 4), triples(n), records(n)}
}

// call is the Go code that reads the arguments, calls the kernel and writes them.
func (k randomKernel) call() string {
	var b strings.Builder
	fmt.Fprintf(&b, "func() {\n\tn, s, k := read[int](), read[%s](), read[%s]()\n", k.f, k.i)
	names := []string{"fa", "fb", "ia", "ib", "ix", "perm", "ps", "fo", "io", "bins", "qs", "rs"}
	types := []string{k.f.Name(), k.f.Name(), k.i.Name(), k.i.Name(), "int32", "int32", "triple", k.f.Name(), k.i.Name(), "int64", "triple", "record"}
	for i, v := range names {
		fmt.Fprintf(&b, "\t%s := slice[%s]()\n", v, types[i])
	}
	fmt.Fprintf(&b, "\trun(func() { %s(n, s, k, %s) })\n", k.name, strings.Join(names, ", "))
	for _, v := range names {
		fmt.Fprintf(&b, "\twrite(%s)\n", v)
	}
	b.WriteString("},\n")
	return b.String()
}

// goRuns are kernels as a program that was compiled by Go. Where path is empty, the interpreter
// says what is right.
type goRuns struct {
	path    string
	kernels []randomKernel
}

func compileRandom(t testing.TB, kernels []randomKernel) *goRuns {
	t.Helper()
	dir := t.TempDir()
	var b strings.Builder
	b.WriteString("package main\n\n" + randomImports + tripleText + "\n")
	calls := "var calls = []func(){\n"
	for _, k := range kernels {
		b.WriteString(k.text + "\n")
		calls += k.call()
	}
	b.WriteString(calls + "}\n")
	write := func(name, text string) string {
		path := filepath.Join(dir, name)
		require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
		return path
	}
	root, err := filepath.Abs("..")
	require.NoError(t, err)
	target := filepath.Join(root, "codegen", "zzrandom")
	overlay := write("overlay.json", fmt.Sprintf(`{"Replace": {%q: %q, %q: %q}}`, filepath.Join(target, "main.go"), write("main.go", goProgram),
		filepath.Join(target, "kernels.go"), write("kernels.go", b.String())))
	g := &goRuns{path: filepath.Join(dir, "run"), kernels: kernels}
	out, err := exec.Command("go", "build", "-overlay", overlay, "-o", g.path, "./zzrandom").CombinedOutput()
	require.NoError(t, err, "%s\n%s", out, b.String())
	return g
}

// rawOf is the memory of an argument: slices with their length before them.
func rawOf(a any) []byte {
	var b bytes.Buffer
	v := reflect.ValueOf(a)
	if v.Kind() == reflect.Slice {
		_ = binary.Write(&b, binary.LittleEndian, int64(v.Len()))
		b.Write(memoryOf(v))
		return b.Bytes()
	}
	if v.Kind() == reflect.Int {
		a = v.Int()
	}
	_ = binary.Write(&b, binary.LittleEndian, a)
	return b.Bytes()
}

func memoryOf(v reflect.Value) []byte {
	// Safe: a view of the elements, which hold no pointers.
	n := v.Len() * int(v.Type().Elem().Size())
	if n == 0 {
		return nil
	}
	return unsafe.Slice((*byte)(v.UnsafePointer()), n)
}

// run runs kernel number which on copies of args and returns these and whether it ended without a
// panic.
func (g *goRuns) run(t testing.TB, which int, args []any) (out []any, ended bool) {
	t.Helper()
	in := binary.AppendUvarint(nil, uint64(which))
	for _, a := range args {
		in = append(in, rawOf(a)...)
	}
	cmd := exec.Command(g.path)
	cmd.Stdin = bytes.NewReader(in)
	cmd.Stderr = os.Stderr
	result, err := cmd.Output()
	require.NoError(t, err)
	ended, result = result[0] == 1, result[1:]
	for _, a := range args {
		v := reflect.ValueOf(a)
		if v.Kind() == reflect.Slice {
			c := reflect.MakeSlice(v.Type(), v.Len(), v.Len())
			result = result[copy(memoryOf(c), result):]
			a = c.Interface()
		}
		out = append(out, a)
	}
	return out, ended
}

// randomOptions are the machines and shapes of code that random kernels run as.
func randomOptions(t testing.TB) map[string]cpu.Options {
	out := cpuMachines(t)
	out["avx2 once"] = cpu.Options{Unroll: 1, Single: cpu.SingleNever}
	out["avx2 single"] = cpu.Options{Single: cpu.SingleAlways}
	if _, ok := out["avx512"]; ok {
		out["avx512 past"] = cpu.Options{AVX512: true, Past: true, Single: cpu.SingleNever}
	}
	return out
}

// oldFindings are seeds of kernels that went wrong once.
var oldFindings = []uint64{1795283645030, 1795284859013, 318612052431094, 1795341536079}

// TestRandomLoopsOnTheCPU runs random kernels as Go, interpreted for a GPU, and as AVX2 and AVX-512
// code between fences, with random sizes and alignments. GOMPSS_RANDOM_LOOPS=1h looks for so long,
// from a new seed on; else it is a few kernels.
func TestRandomLoopsOnTheCPU(t *testing.T) {
	t.Parallel()
	arena, err := cpu.NewArena()
	if err != nil {
		t.Skip(err)
	}
	require.NoError(t, arena.Close())
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	first, until, batch := uint64(1), time.Now(), 6
	if text := os.Getenv("GOMPSS_RANDOM_LOOPS"); text != "" {
		d, err := time.ParseDuration(text)
		require.NoError(t, err)
		until, batch = until.Add(d), 20
		first = uint64(time.Now().Unix()) * 1000
	}
	if text := os.Getenv("GOMPSS_RANDOM_SEED"); text != "" {
		first, err = strconv.ParseUint(text, 10, 64)
		require.NoError(t, err)
	}
	seeds := oldFindings
	count := map[string]int{}
	for {
		for range batch {
			seeds = append(seeds, first)
			first++
		}
		randomBatch(t, seeds, count)
		seeds = nil
		if t.Failed() || time.Now().After(until) {
			break
		}
	}
	t.Log(count)
	require.Positive(t, count["vector code"])
}

func randomBatch(t *testing.T, seeds []uint64, count map[string]int) {
	var kernels []randomKernel
	for _, s := range seeds {
		kernels = append(kernels, makeRandom(s))
	}
	g := compileRandom(t, kernels)
	defer os.RemoveAll(filepath.Dir(g.path))
	for i := range kernels {
		if err := g.check(t, i, count); err != nil {
			t.Errorf("seed %d: %v\n%s", kernels[i].seed, err, kernels[i].text)
		}
	}
}

// check runs one kernel everywhere.
func (g *goRuns) check(t *testing.T, which int, count map[string]int) error {
	rk := g.kernels[which]
	p, err := codegen.Load(codegen.File{Name: "k.go", Text: "package k\n\n" + randomImports + tripleText + "\n" + rk.text})
	if err != nil {
		return err
	}
	k, err := p.Kernel(rk.name)
	if err != nil {
		return err
	}
	arena, err := cpu.NewArena()
	if err != nil {
		return err
	}
	defer arena.Close()
	count["fused"] += len(k.Fused)
	k = codegen.ForCPU(k)
	runners := map[string]*cpu.Runner{}
	listing := map[string]*cpu.Code{}
	for machine, o := range randomOptions(t) {
		o.ShareFrom = 1
		code, err := cpu.Compile(k, o)
		var refusal *cpu.Refusal
		if errors.As(err, &refusal) {
			count["refused: "+refusal.Why]++
			continue
		}
		if err != nil {
			return err
		}
		prog, err := arena.Install(code)
		if err != nil {
			return err
		}
		if o.Past {
			o.Past = false
			plain, err := cpu.Compile(k, o)
			if err != nil {
				return err
			}
			otherwise, err := arena.Install(plain)
			if err != nil {
				return err
			}
			if prog, err = arena.InstallPast(code, otherwise); err != nil {
				return err
			}
		}
		runners[machine], listing[machine] = cpu.NewRunner(prog), code
		count["vector code"]++
	}
	var program *simt.Program
	if l, err := codegen.Lower(k, codegen.LowerOptions{}); err == nil {
		if program, err = simt.New(l.Program); err != nil {
			return err
		}
		count["simt"]++
	}
	r := rand.New(rand.NewPCG(rk.seed, 5))
	for round := range uint64(4) {
		n := []int{1 + r.IntN(8), 1 + r.IntN(40), 1 + r.IntN(140), 1 + r.IntN(300)}[round]
		begin := rk.args(round, n)
		want, ended := begin, true
		switch {
		case g.path != "":
			want, ended = g.run(t, which, begin)
		case program == nil:
			return nil
		default:
			want = copyArgs(begin)
			if err := runDevice(program, want, simt.Config{Teams: 1, Threads: 1, Steps: 50_000_000}); err != nil {
				return fmt.Errorf("n=%d: interpreter: %w", n, err)
			}
		}
		if !ended {
			return fmt.Errorf("n=%d: the Go function panicked", n)
		}
		if program != nil && round < 2 {
			got := copyArgs(begin)
			if err := runDevice(program, got, simt.Config{Seed: rk.seed, Races: true, Steps: 50_000_000}); err != nil {
				return fmt.Errorf("n=%d: interpreter: %w", n, err)
			}
			if d := (corpusCase{}).differ(want, got); d != "" {
				return fmt.Errorf("n=%d: interpreter: %s", n, d)
			}
		}
		for machine, run := range runners {
			if err := g.onFences(t, r, run, begin, want); err != nil {
				return fmt.Errorf("n=%d: %s: %w\n%s", n, machine, err, listing[machine].Listing())
			}
		}
	}
	return nil
}

func copyArgs(args []any) []any {
	out := make([]any, len(args))
	for i, a := range args {
		out[i] = a
		if v := reflect.ValueOf(a); v.Kind() == reflect.Slice {
			c := reflect.MakeSlice(v.Type(), v.Len(), v.Len())
			reflect.Copy(c, v)
			out[i] = c.Interface()
		}
	}
	return out
}

// onFences runs vector code with every slice against a fence page, before or behind it, in random
// chunks.
func (g *goRuns) onFences(t *testing.T, r *rand.Rand, run *cpu.Runner, begin, want []any) error {
	fences := make([]*fence, len(begin))
	for i, a := range begin {
		if v := reflect.ValueOf(a); v.Kind() == reflect.Slice {
			fences[i] = newFenceUntil(t, v.Len()*int(v.Type().Elem().Size()))
			defer fences[i].free()
		}
	}
	for range 2 {
		var got []any
		var values []cpu.Value
		for i, a := range begin {
			v := reflect.ValueOf(a)
			if v.Kind() == reflect.Slice {
				v = fences[i].copyOf(v, r.IntN(2) == 0)
			}
			got, values = append(got, v.Interface()), append(values, cpuValue(v))
		}
		var share func(*cpu.Loop) error
		if r.IntN(2) == 0 {
			share = chunks(r)
		}
		if err := faults(func() error { return run.Call(values, share) }); err != nil {
			return err
		}
		if d := (corpusCase{}).differ(want, got); d != "" {
			return errors.New(d)
		}
	}
	return nil
}
