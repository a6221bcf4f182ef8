//go:build amd64 || arm64

package gpubench

import (
	_ "embed"
	"errors"
	"fmt"
	"math"
	"os"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/gompss/gompss/codegen"
	"github.com/gompss/gompss/codegen/ir"
	"github.com/gompss/gompss/devices"
	"github.com/gompss/gompss/devices/cuda"
)

//go:embed suite.cu
var suiteReference string

// A suiteCase is one kernel in several forms, and a hand-written CUDA kernel.
type suiteCase struct {
	forms     []any // Go functions that compute the same result from the same arguments
	hand      string
	size      [2]int // of full and of quick runs
	args      func(n int) []any
	out       int // the argument that is compared
	shape     func(n int) (items, team [3]int64)
	extra     func(n int) []devices.Arg // further arguments of the hand-written kernel
	launches  func(n int) int           // of the hand-written kernel; nil: one
	tolerance float64                   // for the hand-written kernel, which fuses products and sums
	again     bool                      // iterations store unchanged values that others read
	apart     bool                      // last bits decide the result: not compared with hand
}

// A SuiteRow is one form of one kernel.
type SuiteRow struct {
	Kernel     string   `json:"kernel"`
	Ours       float64  `json:"ms"`
	ByHand     float64  `json:"by_hand_ms"`
	Ratio      float64  `json:"ratio"` // time by hand / our time
	Strategies []string `json:"strategies"`
	Note       string   `json:"note,omitempty"`
}

// runSuite measures every form of every kernel of the suite. For each part it prints the geometric
// means of all forms and of the best forms.
func runSuite(o Options) error {
	b, err := openBench(o)
	if err != nil {
		return err
	}
	for _, p := range suiteParts {
		if o.Suite != WholeSuite && string(o.Suite) != p.name {
			continue
		}
		if err := b.suitePart(p); err != nil {
			return errors.Join(err, b.close())
		}
	}
	return b.close()
}

// suitePart measures the kernels of p.
func (b *bench) suitePart(p suitePart) (err error) {
	o := b.Options
	if b.pkg, err = codegen.Load(codegen.File{Name: p.name + ".go", Text: p.text}); err != nil {
		return err
	}
	b.hand, b.handText = compileReference(o, p.hand, nil), p.hand
	fmt.Fprintf(o.Stdout, "%s on %s, by hand: %s\n%-20s %9s %9s %6s  %s\n", p.name, b.device(), b.hand.by, "kernel", "ms", "by hand", "ratio", "strategies")
	all, best, rows, cases := 0.0, 0.0, 0, 0
	for _, c := range p.cases {
		if !o.wants(c.hand) {
			continue
		}
		most := 0.0
		for _, row := range b.suiteRows(c) {
			fmt.Fprintf(o.Stdout, "%-20s %9.4f %9.4f %6.2f  %s %s\n", row.Kernel, row.Ours, row.ByHand, row.Ratio, strings.Join(row.Strategies, ", "), row.Note)
			if row.Ratio > 0 {
				all, rows, most = all+math.Log(row.Ratio), rows+1, max(most, row.Ratio)
			}
		}
		b.keep = nil
		runtime.GC()
		if most > 0 {
			best, cases = best+math.Log(most), cases+1
		}
	}
	fmt.Fprintf(o.Stdout, "geometric mean of %d forms %.3f, of the best form of %d kernels %.3f\n\n", rows, math.Exp(all/float64(max(rows, 1))),
		cases, math.Exp(best/float64(max(cases, 1))))
	return nil
}

// suiteRows measures the forms of c and the hand-written kernel, on the same memory.
func (b *bench) suiteRows(c suiteCase) []SuiteRow {
	var rows []SuiteRow
	n := c.size[0]
	if b.Quick {
		n = c.size[1]
	}
	data, err := b.load(c, n)
	var want any
	seconds := 0.0
	if err == nil {
		want, seconds, err = b.byHand(c, data, n)
	}
	for _, f := range c.forms {
		full := runtime.FuncForPC(reflect.ValueOf(f).Pointer()).Name()
		row := SuiteRow{Kernel: full[strings.LastIndex(full, ".")+1:]}
		failed := err
		if failed == nil {
			failed = b.suiteRow(c, f, data, want, &row)
		}
		if failed != nil {
			row.Note = "FAILED: " + failed.Error()
		} else {
			row.ByHand = seconds * 1e3
			row.Ratio = row.ByHand / row.Ours
		}
		rows = append(rows, row)
	}
	if err == nil {
		if err := b.drop(data.args...); err != nil {
			rows[0].Note += " " + err.Error()
		}
	}
	return rows
}

// byHand runs and times the hand-written kernel.
func (b *bench) byHand(c suiteCase, data *suiteData, n int) (out any, seconds float64, err error) {
	items, team := c.shape(n)
	hand := b.nativeKernel(reference{entry: c.hand, items: items, team: team}, b.handText)
	args := data.args
	if c.extra != nil {
		args = slices.Concat(args, c.extra(n))
	}
	if c.launches == nil {
		if out, err = b.once(data, hand, args); err != nil {
			return nil, 0, err
		}
	}
	seconds, err = b.time(hand, repeats, args...)
	if c.launches != nil {
		seconds *= float64(c.launches(n))
	}
	return out, seconds, err
}

// suiteRow verifies form f and times it. A small result is compared with the Go function, a large
// one with the result of the hand-written kernel.
func (b *bench) suiteRow(c suiteCase, f any, data *suiteData, want any, row *SuiteRow) error {
	k, strategies, err := b.suiteKernel(row.Kernel)
	if err != nil {
		return err
	}
	row.Strategies = strategies
	if err := b.asGo(c, f, k); err != nil {
		return err
	}
	got, err := b.once(data, k, data.args)
	if err != nil {
		return err
	}
	if want != nil && !c.apart {
		if err := alike(want, got, c.tolerance); err != nil {
			return err
		}
	}
	seconds, err := b.time(k, repeats, data.args...)
	row.Ours = seconds * 1e3
	if err != nil || k.Candidates == nil || os.Getenv("GOMPSS_TUNE") != string(cuda.TuneFull) {
		return err
	}
	if row.Note, err = b.race(k, data.args); err != nil {
		return err
	}
	seconds, err = b.time(k, repeats, data.args...)
	row.Note, row.Ours = fmt.Sprintf("(%.4f before %s)", row.Ours, row.Note), seconds*1e3
	return err
}

// A suiteData has the arguments of a case, on the host and on the device.
type suiteData struct {
	host  []any
	args  []devices.Arg
	out   int
	first any // the initial contents of the result
}

func (b *bench) load(c suiteCase, n int) (*suiteData, error) {
	d := &suiteData{host: c.args(n), out: c.out}
	for _, a := range d.host {
		x, err := b.argOf(a)
		if err != nil {
			return nil, err
		}
		d.args = append(d.args, x)
	}
	d.first = cloned(d.host[d.out])
	return d, nil
}

func cloned(a any) any {
	v := reflect.ValueOf(a)
	c := reflect.MakeSlice(v.Type(), v.Len(), v.Len())
	reflect.Copy(c, v)
	return c.Interface()
}

// once resets the result argument, runs k once and returns the result.
func (b *bench) once(d *suiteData, k *devices.Kernel, args []devices.Arg) (any, error) {
	reflect.Copy(reflect.ValueOf(d.host[d.out]), reflect.ValueOf(d.first))
	if err := b.move(d.args[d.out], devices.Host, b.space(0)); err != nil {
		return nil, err
	}
	if err := await(b.gpus[0].Launch(&devices.Launch{Kernel: k, Args: &devices.Args{List: args}}, nil)); err != nil {
		return nil, err
	}
	if err := b.fetch(d.args[d.out]); err != nil {
		return nil, err
	}
	return cloned(d.host[d.out]), nil
}

const repeats = 3

// suiteKernel returns a kernel of the suite and the names of the strategies of its loops.
func (b *bench) suiteKernel(name string) (*devices.Kernel, []string, error) {
	k, err := b.pkg.Kernel(name)
	if err != nil {
		return nil, nil, err
	}
	return suiteKernelOf(k)
}

// suiteKernelOf makes kernel k as package task does. If k has a variant without the checks that the
// host makes before each launch, it returns the strategies of this variant.
func suiteKernelOf(k *ir.Kernel) (*devices.Kernel, []string, error) {
	lowered, err := codegen.Lower(k, codegen.LowerOptions{})
	if err != nil {
		return nil, nil, err
	}
	out := &devices.Kernel{Name: k.Name, Pos: k.At, Program: lowered.Program}
	contract := codegen.NewContract(k)
	list, unchecked := []*codegen.Lowering{lowered}, contract.Unchecked(k)
	if unchecked != nil {
		free, err := codegen.Lower(unchecked, codegen.LowerOptions{})
		if err != nil {
			return nil, nil, err
		}
		out.Unchecked, out.Proves = free.Program, func(args []devices.Arg) bool { return proves(k, contract, args) }
		list = append(list, free)
	}
	if lowered.Varies() {
		out.Rows = widthsOf(k, unchecked)
	}
	if !slices.ContainsFunc(list, func(l *codegen.Lowering) bool { return l.OrderShows() != "" }) {
		out.Candidates = sync.OnceValue(func() []devices.Candidate { return candidatesOf(k, unchecked) })
	}
	if !slices.ContainsFunc(list, func(l *codegen.Lowering) bool { return len(l.Sizes()) == 0 }) {
		out.Sizes = lowered.Sizes()
		out.Sized = func(values map[int]uint64) (*devices.Kernel, error) {
			own, err := codegen.LowerSized(k, values, codegen.LowerOptions{})
			if err != nil {
				return nil, err
			}
			sized, _, err := suiteKernelOf(own.Kernel)
			return sized, err
		}
	}
	return out, list[len(list)-1].Strategies, nil
}

// proves reports whether the host can prove all checks for a launch of k with args.
func proves(k *ir.Kernel, contract *codegen.Contract, args []devices.Arg) bool {
	env := ir.Values{}
	for i, p := range k.Params {
		env[p] = ir.Value{Bits: args[i].Bits, Len: args[i].Len, Cap: args[i].Cap}
	}
	var proof codegen.Proof
	proof.Load(k, contract, env)
	return proof.Proves()
}

// widthsOf returns the forms of k for nested loops of other lengths, as package task does.
func widthsOf(k, unchecked *ir.Kernel) *devices.Rows {
	return &devices.Rows{
		Count: func() (p, free *ir.Program, err error) {
			if p, err = codegen.CountLengths(k, codegen.LowerOptions{}); err == nil && unchecked != nil {
				free, err = codegen.CountLengths(unchecked, codegen.LowerOptions{})
			}
			return p, free, err
		},
		Forms: sync.OnceValue(func() (out []devices.RowForm) {
			list, err := codegen.NestedWidths(k, unchecked, codegen.LowerOptions{})
			if err != nil {
				return nil
			}
			for _, f := range list {
				out = append(out, devices.RowForm{Width: f.Width, Program: f.Program, Unchecked: f.Unchecked})
			}
			return out
		}),
	}
}

// candidatesOf returns the other forms of k, as package task does.
func candidatesOf(k, unchecked *ir.Kernel) (out []devices.Candidate) {
	const most = 4
	list, err := codegen.Variants(k, unchecked, codegen.LowerOptions{}, most)
	if err != nil {
		panic("gompss: bug: candidates of " + k.Name + ": " + err.Error())
	}
	for _, c := range list {
		out = append(out, devices.Candidate{Name: c.Choice.String(), Program: c.Program, Unchecked: c.Unchecked})
	}
	return out
}

// A race takes at least raceLaunches launches, so that a stored outcome is checked, and at most
// raceTime.
const (
	raceLaunches = 20
	raceTime     = 3 * time.Second
)

// race launches k until the fastest of its candidates is known, and returns a note on the outcome.
func (b *bench) race(k *devices.Kernel, args []devices.Arg) (note string, err error) {
	began := time.Now()
	for n := 0; time.Since(began) < raceTime; n++ {
		if err := await(b.gpus[0].Launch(&devices.Launch{Kernel: k, Args: &devices.Args{List: args}}, nil)); err != nil {
			return "", err
		}
		if n < raceLaunches {
			continue
		}
		for _, o := range cuda.Outcomes("") {
			if o.Name == k.Name {
				return fmt.Sprintf("it was tuned: %s, %.2f times as fast", o.Winner, o.Gain()), nil
			}
		}
	}
	return "it was tuned: no outcome", nil
}

// asGo compares the result of a small run with the Go function.
func (b *bench) asGo(c suiteCase, f any, k *devices.Kernel) error {
	want := c.args(c.size[1])
	var in []reflect.Value
	for _, a := range want {
		in = append(in, reflect.ValueOf(a))
	}
	reflect.ValueOf(f).Call(in)
	d, err := b.load(c, c.size[1])
	if err != nil {
		return err
	}
	got, err := b.once(d, k, d.args)
	if err != nil {
		return err
	}
	if err := alike(want[c.out], got, max(c.tolerance/100, 1e-6)); err != nil {
		return fmt.Errorf("not as Go: %w", err)
	}
	return b.drop(d.args...)
}

func (b *bench) argOf(a any) (devices.Arg, error) {
	switch a := a.(type) {
	case int:
		return whole(a), nil
	case int32:
		return devices.Arg{Type: ir.Int32Type, Bits: ir.Bits(a)}, nil
	case uint32:
		return devices.Arg{Type: ir.Uint32Type, Bits: ir.Bits(a)}, nil
	case float32:
		return devices.Arg{Type: ir.Float32Type, Bits: uint64(math.Float32bits(a))}, nil
	case float64:
		return float(a), nil
	case []float32:
		return put(b, a)
	case []float64:
		return put(b, a)
	case []int8:
		return put(b, a)
	case []uint8:
		return put(b, a)
	case []int32:
		return put(b, a)
	case []uint32:
		return put(b, a)
	}
	return devices.Arg{}, fmt.Errorf("no argument of type %T", a)
}

// alike returns an error for the first element that differs by more than tolerance times the
// largest element.
func alike(want, got any, tolerance float64) error {
	switch want := want.(type) {
	case []float32:
		return near(want, got.([]float32), tolerance)
	case []float64:
		return near(want, got.([]float64), tolerance)
	case []int8:
		return same(want, got.([]int8))
	case []uint8:
		return same(want, got.([]uint8))
	case []int32:
		return same(want, got.([]int32))
	case []uint32:
		return same(want, got.([]uint32))
	}
	return fmt.Errorf("no comparison of %T", want)
}

// noise returns random numbers between -0.5 and 0.5, which depend only on seed.
func noise[T float32 | float64](seed uint64, n int) []T {
	out, x := make([]T, n), seed*0x9e3779b97f4a7c15+1
	for i := range out {
		x ^= x << 13
		x ^= x >> 7
		x ^= x << 17
		out[i] = T(x>>40)/(1<<24) - 0.5
	}
	return out
}

func random32(seed uint64, n int) []float32 { return noise[float32](seed, n) }
func random64(seed uint64, n int) []float64 { return noise[float64](seed, n) }

func up(n, by int) int64 { return int64((n + by - 1) / by * by) }

// square returns a function that creates arguments: n, count-1 random n by n matrices, the given
// arguments, and a matrix for the result.
func square(count int, given ...any) func(n int) []any {
	return func(n int) []any {
		out := []any{n}
		for k := range count - 1 {
			out = append(out, random32(uint64(k+1), n*n))
		}
		return append(append(out, given...), make([]float32, n*n))
	}
}

func teamsOf(x, y int, team [3]int64) func(n int) (items, t [3]int64) {
	return func(n int) ([3]int64, [3]int64) {
		return [3]int64{up(n, x) / int64(x) * team[0], up(n, y) / int64(y) * team[1]}, team
	}
}

var (
	matrices3 = square(3)
	gemmShape = func(n int) ([3]int64, [3]int64) {
		return [3]int64{up(n, 128) / 128 * 256, up(n, 128) / 128}, [3]int64{256, 1}
	}
	featuresOf = func(m, count int) func(n int) []any {
		return func(n int) []any {
			out := []any{n, m}
			for k := range count {
				out = append(out, random32(uint64(k+1), n*m))
			}
			return append(out, make([]float32, n*n))
		}
	}
	lengthOf = func(n int) []devices.Arg { return []devices.Arg{whole(n)} }
	linear   = func(n int) ([3]int64, [3]int64) { return [3]int64{up(n, 256)}, [3]int64{256} }
)

var suite = []suiteCase{
	{forms: []any{Conv7, Conv7Rows}, hand: "conv7", size: [2]int{8192, 150}, args: square(2, random32(9, 49)), out: 3, shape: teamsOf(128, 32, [3]int64{32, 4}), tolerance: 1e-4},
	{forms: []any{Conv5Rim}, hand: "conv5rim", size: [2]int{8192, 150}, args: square(2, random32(9, 25)), out: 3, shape: teamsOf(32, 64, [3]int64{32, 8}), tolerance: 1e-4},
	{forms: []any{Products32, Products32Each}, hand: "products32", size: [2]int{65536, 9}, args: func(n int) []any {
		return []any{n, random32(1, n*1024), random32(2, n*1024), make([]float32, n*1024)}
	}, out: 3, shape: func(n int) ([3]int64, [3]int64) { return [3]int64{int64(n) * 64}, [3]int64{64} }, tolerance: 1e-4},
	{forms: []any{Transposed, TransposedLoop}, hand: "transposed", size: [2]int{16384, 96}, args: square(2), out: 2, shape: teamsOf(32, 32, [3]int64{32, 8}), tolerance: 1e-6},
	{forms: []any{AddTransposed}, hand: "addtransposed", size: [2]int{8192, 96}, args: func(n int) []any {
		return []any{n, random64(1, n*n), random64(2, n*n), make([]float64, n*n)}
	}, out: 3, shape: teamsOf(32, 32, [3]int64{32, 8}), tolerance: 1e-6},
	{forms: []any{ColumnDot, ColumnDotInOrder}, hand: "columndot", size: [2]int{16384, 160}, args: func(n int) []any {
		return []any{n, random32(1, n*n), random32(2, n), make([]float32, n)}
	}, out: 3, shape: func(n int) ([3]int64, [3]int64) { return [3]int64{int64(n), 16}, [3]int64{32, 16} }, tolerance: 1e-3},
	{forms: []any{RowDot, RowDotInOrder}, hand: "rowdot", size: [2]int{16384, 160}, args: func(n int) []any {
		return []any{n, random32(1, n*n), random32(2, n), make([]float32, n)}
	}, out: 3, shape: func(n int) ([3]int64, [3]int64) { return [3]int64{int64(n) * 256}, [3]int64{256} }, tolerance: 1e-3},
	{forms: []any{Gemm, GemmInPlace, GemmRowByRow, GemmTeams}, hand: "gemm", size: [2]int{2048, 130}, args: matrices3, out: 3, shape: gemmShape, tolerance: 1e-3},
	{forms: []any{Gram}, hand: "gram", size: [2]int{4096, 130}, args: featuresOf(512, 1), out: 3, shape: gemmShape, tolerance: 1e-3},
	{forms: []any{Distances}, hand: "distances", size: [2]int{8192, 130}, args: featuresOf(64, 2), out: 4, shape: gemmShape, tolerance: 1e-3},
	{forms: []any{Heat3D, Heat3DPlanes}, hand: "heat3d", size: [2]int{512, 40}, args: func(n int) []any {
		return []any{n, random32(1, n*n*n), make([]float32, n*n*n)}
	}, out: 2, shape: func(n int) ([3]int64, [3]int64) {
		return [3]int64{up(n-2, 32), up(n-2, 32) / 4, int64(n - 2)}, [3]int64{32, 8, 1}
	}, tolerance: 1e-4},
	{forms: []any{Wave}, hand: "wave", size: [2]int{8192, 150}, args: func(n int) []any {
		return []any{n, 0.1, random64(1, n*n), random64(2, n*n)}
	}, out: 3, shape: teamsOf(32, 32, [3]int64{32, 8}), tolerance: 1e-9},
	{forms: []any{Softmax, SoftmaxEach}, hand: "softmax", size: [2]int{32768, 33}, args: func(n int) []any {
		return []any{n, 4096, random32(1, n*4096), make([]float32, n*4096)}
	}, out: 3, shape: func(n int) ([3]int64, [3]int64) { return [3]int64{int64(n) * 256}, [3]int64{256} }, tolerance: 1e-3},
	{forms: []any{OptionPrices}, hand: "optionprices", size: [2]int{1 << 26, 1000}, args: func(n int) []any {
		positive := func(seed uint64) []float32 {
			x := random32(seed, n)
			for i := range x {
				x[i] = 20*x[i] + 30
			}
			return x
		}
		return []any{float32(0.02), float32(0.3), positive(1), positive(2), positive(3), make([]float32, n)}
	}, out: 5, shape: linear, extra: lengthOf, tolerance: 1e-3},
	{forms: []any{Nearest}, hand: "nearest", size: [2]int{1 << 22, 1000}, args: func(n int) []any {
		x := random32(1, n*16)
		for i := range x { // small whole numbers: sums are exact, and so is the nearest point
			x[i] = float32(int(x[i] * 64))
		}
		c := random32(2, 64*16)
		for i := range c {
			c[i] = float32(int(c[i] * 64))
		}
		return []any{n, 16, 64, x, c, make([]int32, n)}
	}, out: 5, shape: linear},
	{forms: []any{Filter33}, hand: "filter33", size: [2]int{1 << 27, 3000}, args: func(n int) []any {
		return []any{n, random32(1, n), random32(2, 33), make([]float32, n)}
	}, out: 3, shape: func(n int) ([3]int64, [3]int64) { return [3]int64{up(n, 8192) / 32}, [3]int64{256} }, tolerance: 1e-4},
	{forms: []any{Hash}, hand: "hash", size: [2]int{1 << 24, 1000}, args: func(n int) []any {
		x := make([]uint32, n)
		for i := range x {
			x[i] = uint32(i)*2654435761 + 1
		}
		return []any{64, x}
	}, out: 1, shape: linear, extra: lengthOf},
	{forms: []any{Upscale}, hand: "upscale", size: [2]int{8192, 100}, args: func(n int) []any {
		return []any{n, random32(1, n*n), make([]float32, (2*n-2)*(2*n-2))}
	}, out: 2, shape: func(n int) ([3]int64, [3]int64) { return [3]int64{up(n, 32), up(n, 8)}, [3]int64{32, 8} }, tolerance: 1e-4},
	{forms: []any{ColumnMoments}, hand: "columnmoments", size: [2]int{65536, 200}, args: func(n int) []any {
		return []any{n, 2048, random32(1, n*2048), make([]float32, 2048), make([]float32, 2048)}
	}, out: 3, shape: func(n int) ([3]int64, [3]int64) { return [3]int64{2048, 16}, [3]int64{32, 16} }, tolerance: 1e-3},
	{forms: []any{Shortest}, hand: "shortest", again: true, size: [2]int{1024, 70}, args: square(1), out: 1, shape: teamsOf(32, 8, [3]int64{32, 8}),
		extra: func(n int) []devices.Arg { return []devices.Arg{whole(n / 2)} }, launches: func(n int) int { return n }},
	{forms: []any{Factors}, hand: "factorstep", size: [2]int{1024, 70}, args: func(n int) []any {
		a := random64(1, n*n)
		for i := range n {
			a[i*n+i] += float64(n)
		}
		return []any{n, a}
	}, out: 1, shape: teamsOf(32, 8, [3]int64{32, 8}), launches: func(n int) int { return n },
		extra: func(n int) []devices.Arg { return []devices.Arg{whole(n * 423 / 1000)} }}, // a step with the mean work of all steps
	{forms: []any{HeatSteps}, hand: "heatstep", size: [2]int{256, 64}, args: func(n int) []any {
		return []any{n, 500, random64(1, n*n), random64(2, n*n)}
	}, out: 2, shape: teamsOf(32, 8, [3]int64{32, 8}), launches: func(int) int { return 500 }},
	{forms: []any{Converge}, hand: "convergestep", size: [2]int{1 << 20, 5000}, args: func(n int) []any {
		return []any{n, 200, -1.0, random64(1, n), random64(1, n), make([]float64, 1)}
	}, out: 3, shape: linear, launches: func(int) int { return 200 }},
	{forms: []any{AxpyStatic, AxpyDynamic, AxpyGuided, AxpyCounter, AxpyCyclic, AxpyOneToOne}, hand: "axpy", size: [2]int{1 << 28, 5000}, args: func(n int) []any {
		return []any{0.5, random64(1, n), random64(2, n)}
	}, out: 2, shape: func(n int) ([3]int64, [3]int64) { return [3]int64{up(n, 1024) / 4}, [3]int64{256} }, extra: lengthOf, tolerance: 1e-12},
	{forms: []any{TriangleStatic, TriangleDynamic, TriangleGuided, TriangleCounter, TriangleCyclic, TriangleOneToOne}, hand: "triangle", size: [2]int{16384, 160}, args: func(n int) []any {
		return []any{n, random32(1, n*n), make([]float32, n)}
	}, out: 2, shape: func(n int) ([3]int64, [3]int64) { return [3]int64{int64(n), 16}, [3]int64{32, 16} }, tolerance: 1e-3},
}
