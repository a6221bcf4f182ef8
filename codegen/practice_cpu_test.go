//go:build linux && (amd64 || arm64)

package codegen_test

import (
	"math/rand/v2"
	"reflect"
	"runtime"
	"runtime/debug"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/gompss/gompss/codegen"
	"github.com/gompss/gompss/codegen/cpu"
)

func loadPractice(t testing.TB) *codegen.Package {
	t.Helper()
	p, err := codegen.Load(codegen.File{Name: "practice_kernels_test.go", Text: practiceSource}, codegen.File{Name: "practice_bits_test.go", Text: practiceBits},
		codegen.File{Name: "practice_atomics_test.go", Text: practiceAtomics}, codegen.File{Name: "practice_fields_test.go", Text: practiceFields})
	require.NoError(t, err)
	return p
}

// A practiceCase is a kernel of practice_kernels_test.go and how its arguments are made: about n
// elements. bound is how far results may differ, relatively.
type practiceCase struct {
	fn    any
	name  string
	bound float64
	args  func(r *rand.Rand, n int) []any
}

func numbers[T float32 | float64](r *rand.Rand, n int, lo, hi float64) []T {
	x := make([]T, n)
	for i := range x {
		x[i] = T(lo + r.Float64()*(hi-lo))
	}
	return x
}

// oddInts are numbers of every length, with 0, 1, all bits and the halves between floats among
// them.
func oddInts[T int64 | uint8 | uint16 | uint32 | uint64](r *rand.Rand, n int) []T {
	x := make([]T, n)
	for i := range x {
		switch x[i] = T(r.Uint64() >> r.IntN(64)); r.IntN(6) {
		case 0:
			x[i] = T(1) << r.IntN(64)
		case 1:
			x[i] = ^T(0) << r.IntN(64)
		case 2:
			x[i] = ^T(0)>>r.IntN(64) - T(r.IntN(3))
		case 3:
			x[i] = T((r.Uint64()>>r.IntN(40)<<1 | 1) << r.IntN(41)) // a half between two floats at times
		}
	}
	return x
}

// rowsOf begins n rows of up to most elements each.
func rowsOf(r *rand.Rand, n, most int) (start []int32, total int) {
	start = make([]int32, n+1)
	for i := range n {
		total += r.IntN(most + 1)
		start[i+1] = int32(total)
	}
	return start, total
}

func flags(r *rand.Rand, n int) []bool {
	x := make([]bool, n)
	for i := range x {
		x[i] = r.IntN(4) != 0
	}
	return x
}

func permutation(r *rand.Rand, n int) []int32 {
	x := make([]int32, n)
	for i, p := range r.Perm(n) {
		x[i] = int32(p)
	}
	return x
}

// roughRoot is about the root of n, for two dimensions.
func roughRoot(n int) int {
	k := 0
	for k*k < n {
		k++
	}
	return k
}

var practiceCases = []practiceCase{
	{PracticeConvolve, "PracticeConvolve", 0, func(r *rand.Rand, n int) []any {
		w := roughRoot(n)
		h := n / max(w, 1)
		return []any{w, h, make([]uint8, w*h), belowOf[uint8](r, w*h, 256), randomOf[int16](r, 25)}
	}},
	{PracticePrefix, "PracticePrefix", 0, func(r *rand.Rand, n int) []any {
		bs := 1 + n/7
		return []any{n, bs, make([]int64, 8), randomOf[int64](r, n), make([]int64, n)}
	}},
	{PracticeSort8, "PracticeSort8", 0, func(r *rand.Rand, n int) []any { return []any{n / 8, randomOf[int32](r, n/8*8)} }},
	{PracticeMaskedCSR, "PracticeMaskedCSR", 0, func(r *rand.Rand, n int) []any {
		n = n/16 + n%16
		start, total := rowsOf(r, n, 32)
		return []any{make([]float64, n), numbers[float64](r, n, -1, 1), numbers[float64](r, total, -1, 1), belowOf[int32](r, total, max(n, 1)), start, flags(r, n)}
	}},
	{PracticeHash, "PracticeHash", 0, func(r *rand.Rand, n int) []any {
		start, total := rowsOf(r, n/8, 20)
		return []any{n / 8, make([]uint64, n/8), belowOf[uint8](r, total, 256), start}
	}},
	{PracticePi, "PracticePi", 0, func(r *rand.Rand, n int) []any { return []any{n / 8, 10, make([]int64, 1)} }},
	{PracticeComplex, "PracticeComplex", 0, func(r *rand.Rand, n int) []any {
		make1 := func() []practiceComplex {
			x := make([]practiceComplex, n)
			for i := range x {
				x[i] = practiceComplex{r.Float64() - 0.5, r.Float64() - 0.5}
			}
			return x
		}
		return []any{make([]practiceComplex, n), make1(), make1()}
	}},
	{PracticeParticles, "PracticeParticles", 0, func(r *rand.Rand, n int) []any {
		p := make([]practiceParticle, n)
		for i := range p {
			for d := range 3 {
				p[i].pos[d], p[i].vel[d] = r.Float32()*8, r.Float32()*4-2
			}
			p[i].mass = 1
		}
		return []any{p, float32(0.5), float32(8)}
	}},
	{PracticeThomas, "PracticeThomas", 0, func(r *rand.Rand, n int) []any {
		systems, rows := n/10+n%10, 10
		k := systems * rows
		return []any{systems, rows, numbers[float64](r, k, -1, 1), numbers[float64](r, k, 4, 5), numbers[float64](r, k, -1, 1), numbers[float64](r, k, -1, 1), make([]float64, k)}
	}},
	{PracticeFFT, "PracticeFFT", 0, func(r *rand.Rand, n int) []any {
		logn := 1
		for 2<<logn <= n {
			logn++
		}
		n = 1 << logn
		return []any{logn, numbers[float64](r, n, -1, 1), numbers[float64](r, n, -1, 1), numbers[float64](r, n/2, -1, 1), numbers[float64](r, n/2, -1, 1)}
	}},
	{PracticeKMeans, "PracticeKMeans", 0, func(r *rand.Rand, n int) []any {
		return []any{9, numbers[float32](r, n, -1, 1), numbers[float32](r, n, -1, 1), numbers[float32](r, 9, -1, 1), numbers[float32](r, 9, -1, 1), make([]int32, n), make([]int32, 9)}
	}},
	{PracticeHistogram, "PracticeHistogram", 0, func(r *rand.Rand, n int) []any { return []any{belowOf[uint8](r, n, 256), make([]uint32, 256)} }},
	{PracticeHamming, "PracticeHamming", 0, func(r *rand.Rand, n int) []any {
		return []any{randomOf[uint64](r, n), randomOf[uint64](r, n), make([]int64, 1)}
	}},
	{PracticeGatherScatter, "PracticeGatherScatter", 0, func(r *rand.Rand, n int) []any {
		return []any{permutation(r, n), numbers[float32](r, n, -1, 1), make([]float32, n), make([]float32, n)}
	}},
	{PracticeSearch, "PracticeSearch", 0, func(r *rand.Rand, n int) []any {
		table := belowOf[int32](r, n/3, n+1)
		for i := 1; i < len(table); i++ {
			table[i] = table[i-1] + table[i]%4
		}
		return []any{table, belowOf[int32](r, n, 2*n+1), make([]int32, n)}
	}},
	{PracticeFind, "PracticeFind", 0, func(r *rand.Rand, n int) []any {
		w := 1 + n%90
		rows := n / w
		return []any{w, belowOf[uint8](r, w*rows, 60), byte(r.IntN(70)), make([]int32, rows)}
	}},
	{PracticeMaxIndex, "PracticeMaxIndex", 0, func(r *rand.Rand, n int) []any {
		x := numbers[float32](r, n, -1, 1)
		for i := range x {
			x[i] = float32(int(x[i] * 50))
		}
		return []any{x, make([]float32, 1), make([]int64, 1)}
	}},
	{PracticeMean, "PracticeMean", 0, func(r *rand.Rand, n int) []any { return []any{n, 5, numbers[float32](r, n, -1, 1), make([]float32, n)} }},
	{PracticeMandelbrot, "PracticeMandelbrot", 0, func(r *rand.Rand, n int) []any {
		w := roughRoot(n / 4)
		return []any{w, w, 200, make([]uint16, w*w)}
	}},
	{PracticeLUT, "PracticeLUT", 0, func(r *rand.Rand, n int) []any {
		return []any{randomOf[uint16](r, n), belowOf[uint8](r, 1024, 256), make([]uint8, n)}
	}},
	{PracticeGrey, "PracticeGrey", 0, func(r *rand.Rand, n int) []any { return []any{n, belowOf[uint8](r, 3*n, 256), make([]uint8, n)} }},
	{PracticeTranspose, "PracticeTranspose", 0, func(r *rand.Rand, n int) []any {
		w := roughRoot(n)
		return []any{w, w + 3, make([]float32, w*(w+3)), numbers[float32](r, w*(w+3), -1, 1)}
	}},
	{PracticeLife, "PracticeLife", 0, func(r *rand.Rand, n int) []any {
		w := roughRoot(n) + 1
		return []any{w, w, 3, belowOf[uint8](r, w*w, 2), make([]uint8, w*w)}
	}},
	{PracticeMedian, "PracticeMedian", 0, func(r *rand.Rand, n int) []any { return []any{n, numbers[float32](r, n, -1, 1), make([]float32, n)} }},
	{PracticeSoftmax, "PracticeSoftmax", 1e-5, func(r *rand.Rand, n int) []any {
		w := 1 + n%40
		return []any{n / w, w, numbers[float32](r, n/w*w, -5, 5), make([]float32, n/w*w)}
	}},
	{PracticeGCD, "PracticeGCD", 0, func(r *rand.Rand, n int) []any {
		return []any{randomOf[uint32](r, n), randomOf[uint32](r, n), make([]uint32, n)}
	}},
	{PracticeCollatz, "PracticeCollatz", 0, func(r *rand.Rand, n int) []any {
		x := make([]uint64, n)
		for i := range x {
			x[i] = uint64(r.IntN(100000))
		}
		return []any{x, make([]int32, n)}
	}},
	{PracticeBits8, "PracticeBits8", 0, func(r *rand.Rand, n int) []any { return []any{oddInts[uint8](r, n), make([]uint8, n), make([]int, n)} }},
	{PracticeBits16, "PracticeBits16", 0, func(r *rand.Rand, n int) []any {
		return []any{oddInts[uint16](r, n), make([]uint16, n), make([]int, n)}
	}},
	{PracticeBits32, "PracticeBits32", 0, func(r *rand.Rand, n int) []any {
		return []any{oddInts[uint32](r, n), make([]uint32, n), make([]int, n)}
	}},
	{PracticeBits64, "PracticeBits64", 0, func(r *rand.Rand, n int) []any {
		return []any{oddInts[uint64](r, n), make([]uint64, n), make([]int, n)}
	}},
	{PracticeBitsOfAll, "PracticeBitsOfAll", 0, func(r *rand.Rand, n int) []any { return []any{oddInts[uint32](r, n), make([]int, n)} }},
	{PracticeShifts, "PracticeShifts", 0, func(r *rand.Rand, n int) []any {
		return []any{[]int{0, 1, 31, 32, 62, 63, 64, 65, 1 << 40}[r.IntN(9)], []uint64{0, 5, 63, 64, 1 << 63, ^uint64(0)}[r.IntN(6)], oddInts[int64](r, n), make([]int64, n)}
	}},
	{PracticeUnsigned, "PracticeUnsigned", 0, func(r *rand.Rand, n int) []any {
		return []any{oddInts[uint32](r, n), oddInts[uint64](r, n), oddInts[int64](r, n), make([]float32, 3*n), make([]float64, 3*n)}
	}},
	{PracticeAtomicBins, "PracticeAtomicBins", 0, func(r *rand.Rand, n int) []any { return []any{belowOf[uint8](r, n, 256), make([]int64, 256)} }},
	{PracticeAtomicColumns, "PracticeAtomicColumns", 0, func(r *rand.Rand, n int) []any {
		w := roughRoot(n)
		return []any{w, w, numbers[float64](r, w*w, -1, 1), make([]float64, w)}
	}},
	{PracticeAtomicCollapsed, "PracticeAtomicCollapsed", 0, func(r *rand.Rand, n int) []any {
		w := roughRoot(n)
		return []any{w, w, numbers[float64](r, w*w, -1, 1), make([]float64, w)}
	}},
	{PracticeAtomicCount, "PracticeAtomicCount", 0, func(r *rand.Rand, n int) []any { return []any{randomOf[int32](r, n), make([]int64, 1)} }},
	{PracticeAtomicScatter, "PracticeAtomicScatter", 0, func(r *rand.Rand, n int) []any {
		return []any{numbers[float32](r, n, -1, 1), belowOf[int32](r, n, max(n, 1)), make([]float32, n)}
	}},
	{PracticeAtomicMost, "PracticeAtomicMost", 0, func(r *rand.Rand, n int) []any {
		at := randomOf[uint16](r, n)
		for i := range at {
			at[i] %= 500
		}
		return []any{randomOf[int32](r, n), at, make([]int32, 500)}
	}},
	{PracticeRowSums, "PracticeRowSums", 0, func(r *rand.Rand, n int) []any {
		w := roughRoot(n)
		return []any{w, w, numbers[float32](r, w*w, -1, 1), make([]float32, w)}
	}},
	{PracticeRowSums64, "PracticeRowSums64", 0, func(r *rand.Rand, n int) []any {
		w := roughRoot(n)
		return []any{w, w, numbers[float64](r, w*w, -1, 1), make([]float64, w)}
	}},
	{PracticeNeighbours, "PracticeNeighbours", 0, func(r *rand.Rand, n int) []any {
		return []any{practicePoints(r, n), belowOf[int32](r, 4*n, max(n, 1)), make([]float64, n)}
	}},
	{PracticeGatherPoints, "PracticeGatherPoints", 0, func(r *rand.Rand, n int) []any {
		return []any{practicePoints(r, n), belowOf[int32](r, n, max(n, 1)), make([]float64, n)}
	}},
	{PracticeCopies, "PracticeCopies", 0, func(r *rand.Rand, n int) []any {
		return []any{practiceBodies(r, n), belowOf[int32](r, 2*n, max(n, 1)), make([]float64, n)}
	}},
	{PracticeRounds, "PracticeRounds", 0, func(r *rand.Rand, n int) []any {
		return []any{practiceBodies(r, n), practiceBodies(r, n+4), belowOf[int32](r, 3*n, n+4), make([]float64, n)}
	}},
	{PracticeFilter, "PracticeFilter", 0, func(r *rand.Rand, n int) []any {
		channels := n/20 + n%20
		return []any{channels, 20, numbers[float32](r, channels*20, -1, 1), make([]float32, channels*20), numbers[float32](r, channels*2, -1, 1)}
	}},
}

func practiceBodies(r *rand.Rand, n int) []practiceBody {
	x := make([]practiceBody, n)
	for i := range x {
		x[i] = practiceBody{[2]float64{r.Float64() - 0.5, r.Float64()}, r.Float64() - 0.5, int32(i), uint8(r.IntN(256))}
	}
	return x
}

func practicePoints(r *rand.Rand, n int) []practicePoint {
	x := make([]practicePoint, n)
	for i := range x {
		x[i] = practicePoint{r.Float64(), r.Float64(), r.Float64(), int32(i)}
	}
	return x
}

func practiceKernel(t testing.TB, p *codegen.Package, arena *cpu.Arena, c practiceCase, o cpu.Options) (*cpu.Runner, *cpu.Code) {
	t.Helper()
	k, err := p.Kernel(c.name)
	require.NoError(t, err)
	r, err := cpu.NewKernelRunner(arena, codegen.ForCPU(k), o)
	require.NoError(t, err)
	return r, r.Program().Code
}

// TestPracticeOnTheCPU has kernels as programs of many fields have them: all are vector code, and
// equal to Go between pages without access.
func TestPracticeOnTheCPU(t *testing.T) {
	t.Parallel()
	p := loadPractice(t)
	arena, err := cpu.NewArena()
	if err != nil {
		t.Skip(err)
	}
	defer func() { require.NoError(t, arena.Close()) }()
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	for machine, o := range cpuMachines(t) {
		for _, c := range practiceCases {
			t.Run(machine+"/"+c.name, func(t *testing.T) {
				run, code := practiceKernel(t, p, arena, c, o)
				for _, n := range code.Notes {
					require.NotContains(t, n, "computed by Go")
				}
				for _, n := range []int{0, 1, 9, 33, 64, 131, 257, 1003} {
					c.compare(t, run, code, n)
				}
			})
		}
	}
}

func (c practiceCase) compare(t *testing.T, run *cpu.Runner, code *cpu.Code, n int) {
	t.Helper()
	want := c.args(rand.New(rand.NewPCG(uint64(n), 3)), n)
	begin := c.args(rand.New(rand.NewPCG(uint64(n), 3)), n) // what pointers point at is changed, too
	fences := make([]*fence, len(want))
	for i, a := range want {
		if v := reflect.ValueOf(a); v.Kind() == reflect.Slice {
			fences[i] = newFenceUntil(t, v.Len()*int(v.Type().Elem().Size()))
			defer fences[i].free()
		}
	}
	c.runGo(want)
	rng := rand.New(rand.NewPCG(uint64(n), 4))
	for _, atEnd := range []bool{false, true} {
		got, values := cpuArgs(begin, fences, atEnd)
		var share func(*cpu.Loop) error
		if atEnd && !code.Options.StopAlways { // whose iterations take so long that atomics on floats are shared, in any order
			share = chunks(rng)
		}
		require.NoError(t, faults(func() error { return run.Call(values, share) }), "n=%d\n%s", n, listed{code})
		require.Empty(t, corpusCase{tolerance: c.bound}.differ(want, got), "n=%d end=%v\n%s", n, atEnd, listed{code})
	}
}

func (c practiceCase) runGo(args []any) {
	in := make([]reflect.Value, len(args))
	for i := range args {
		in[i] = reflect.ValueOf(args[i])
	}
	reflect.ValueOf(c.fn).Call(in)
}

// BenchmarkPractice says how often faster vector code is than the Go function: the best processor
// time of each, in turns.
func BenchmarkPractice(b *testing.B) {
	p := loadPractice(b)
	arena, err := cpu.NewArena()
	require.NoError(b, err)
	defer func() { require.NoError(b, arena.Close()) }()
	for machine, o := range cpuMachines(b) {
		if machine == "single" || o.StopAlways {
			continue
		}
		o.Single = cpu.SingleAuto
		for _, c := range practiceCases {
			b.Run(c.name+"/"+machine, func(b *testing.B) {
				run, _ := practiceKernel(b, p, arena, c, o)
				args := c.args(rand.New(rand.NewPCG(1, 1)), 1<<16)
				var values []cpu.Value
				for _, a := range args {
					values = append(values, cpuValue(reflect.ValueOf(a)))
				}
				runtime.LockOSThread() // whose time is asked for
				defer runtime.UnlockOSThread()
				ours, gos := time.Hour, time.Hour
				for b.Loop() {
					began := threadTime(b)
					require.NoError(b, run.Call(values, nil))
					between := threadTime(b)
					c.runGo(args)
					ours, gos = min(ours, between-began), min(gos, threadTime(b)-between)
				}
				b.ReportMetric(float64(gos)/float64(ours), "times-Go")
				b.ReportMetric(float64(ours.Nanoseconds())/1000, "us/vector")
				b.ReportMetric(0, "ns/op")
			})
		}
	}
}

// TestWalksOfTheirOwnRunOneAfterTheOther: lanes that each walk a row of another length gather every
// element, tables are looked up element by element, and AVX2 divides and multiplies long integers
// without an instruction for it. Where that takes longer than one iteration after the other, the
// code is that, and says what made it so and what to change.
func TestWalksOfTheirOwnRunOneAfterTheOther(t *testing.T) {
	p, err := codegen.Load(codegen.File{Name: "practice_kernels_test.go", Text: practiceSource})
	require.NoError(t, err)
	const walks, looksUp, divides, products = "gathers and scatters at", "local[img[i]]", "with a % b in it", "with 3 * v in it"
	for name, want := range map[string]struct{ avx512, avx2 string }{"PracticeMaskedCSR": {walks, walks}, "PracticeHash": {walks, walks}, "PracticeFind": {walks, walks},
		"PracticePrefix": {walks, walks}, "PracticeMandelbrot": {}, "PracticeKMeans": {}, "PracticeMean": {"", walks}, "PracticeSoftmax": {}, "PracticeGCD": {"", divides},
		"PracticeSearch": {"", walks}, "PracticeHistogram": {looksUp, looksUp}, "PracticeLUT": {}, "PracticeCollatz": {"", products},
		"PracticePi": {}, "PracticeFilter": {}} {
		k, err := p.Kernel(name)
		require.NoError(t, err)
		for _, avx512 := range []bool{false, true} {
			said := want.avx2
			if avx512 {
				said = want.avx512
			}
			code, err := cpu.Compile(codegen.ForCPU(k), cpu.Options{ISA: cpu.AMD64, AVX512: avx512})
			require.NoError(t, err)
			notes := strings.Join(code.Notes, "\n")
			require.Equal(t, said != "", strings.Contains(notes, "runs one iteration after the other: in lanes"), "%s: %s", name, notes)
			require.Contains(t, notes, said, name)
			require.Equal(t, said != "", strings.Contains(notes, "to have lanes, "), "%s: %s", name, notes)
			require.Equal(t, said != "", code.Lanes == 1, name)
			code, err = cpu.Compile(codegen.ForCPU(k), cpu.Options{ISA: cpu.AMD64, AVX512: avx512, Single: cpu.SingleNever})
			require.NoError(t, err)
			require.Greater(t, code.Lanes, 1, name)
		}
	}
}

// TestCodeOfSingleNumbersIsTidy counts what stands between the labels of the innermost loops: as
// few instructions as a compiler would write, and no number that goes through memory.
func TestCodeOfSingleNumbersIsTidy(t *testing.T) {
	p, err := codegen.Load(codegen.File{Name: "practice_kernels_test.go", Text: practiceSource})
	require.NoError(t, err)
	for name, most := range map[string]int{"PracticeHistogram": 5, "PracticeLUT": 9, "PracticeFind": 6, "PracticeHash": 6, "PracticeMean": 5, "PracticeGCD": 11, "PracticeCollatz": 19} {
		k, err := p.Kernel(name)
		require.NoError(t, err)
		code, err := cpu.Compile(codegen.ForCPU(k), cpu.Options{ISA: cpu.AMD64, Single: cpu.SingleAlways})
		require.NoError(t, err)
		body := hotLoop(t, code.Listing())
		require.LessOrEqual(t, len(body), most, "%s:\n%s", name, strings.Join(body, "\n"))
		require.NotRegexp(t, `\d\(DI\)`, strings.Join(body, "\n"), "%s: a number goes through memory", name)
	}
}

// TestCopies_LoadWhatIsRead counts the instructions for a neighbour: fields that nothing reads are
// not loaded, and those of the element itself once, before the loop over its neighbours. An index
// out of range is an error although nothing reads what is there.
func TestCopies_LoadWhatIsRead(t *testing.T) {
	p := loadPractice(t)
	k, err := p.Kernel("PracticeNeighbours")
	require.NoError(t, err)
	code, err := cpu.Compile(codegen.ForCPU(k), cpu.Options{AVX512: true, Single: cpu.SingleNever})
	require.NoError(t, err)
	body := hotLoop(t, code.Listing())
	require.LessOrEqual(t, len(body), 70, strings.Join(body, "\n"))
	require.NotContains(t, strings.Join(body, "\n"), "VUNPCKLPS", "that would be of kind")

	arena, err := cpu.NewArena()
	if err != nil {
		t.Skip(err)
	}
	defer func() { require.NoError(t, arena.Close()) }()
	p, err = codegen.Load(codegen.File{Name: "k.go", Text: `package k

type pair struct{ a, b float64 }

//omp:target device(smp)
//omp:task in(p, at) inout(d)
func K(p []pair, at []int32, d []float64) {
	//omp:teams distribute parallel for
	for i := range d {
		q := p[at[i]]
		_ = q
		for k := 0; k < 2; k++ {
			q = p[at[i]]
		}
		d[i]++
	}
}
`})
	require.NoError(t, err)
	k, err = p.Kernel("K")
	require.NoError(t, err)
	for machine, o := range cpuMachines(t) {
		run, err := cpu.NewKernelRunner(arena, codegen.ForCPU(k), o)
		require.NoError(t, err)
		require.NoError(t, run.Call(argumentsOf(make([][2]float64, 3), []int32{0, 2, 1}, make([]float64, 3)), nil), machine)
		require.ErrorContains(t, run.Call(argumentsOf(make([][2]float64, 3), []int32{0, 3, 1}, make([]float64, 3)), nil), "index 3 out of range: length 3", machine)
	}
}

// hotLoop are the instructions of the shortest loop of the parallel stage, without those that only
// set memory to zero.
func hotLoop(t *testing.T, listing string) (best []string) {
	lines := strings.Split(listing, "\n")
	at := map[string]int{}
	for i, l := range lines {
		if f := strings.Fields(l); len(f) == 2 && strings.HasSuffix(f[1], ":") {
			at[strings.TrimSuffix(f[1], ":")] = i
		}
		f := strings.Fields(l)
		if len(f) != 3 || f[1][0] != 'J' || f[1] == "JMP" || f[2][0] != 'L' {
			continue
		}
		from, ok := at[f[2]]
		if !ok {
			continue
		}
		var body []string
		fills := false
		for _, l := range lines[from : i+1] {
			if f := strings.Fields(l); len(f) > 2 && f[0] != ";" {
				body = append(body, strings.Join(f[1:], " "))
				fills = fills || strings.HasPrefix(f[1], "VMOVUPS") && len(f) == 4 && strings.HasPrefix(f[3], "(")
			}
		}
		if !fills && (best == nil || len(body) < len(best)) {
			best = body
		}
	}
	require.NotEmpty(t, best, listing)
	return best
}

// TestMasksAreRegistersToo: loops that lanes leave one by one need many masks, of which there are
// few; unrolled four times they went through memory.
func TestMasksAreRegistersToo(t *testing.T) {
	p, err := codegen.Load(codegen.File{Name: "practice_kernels_test.go", Text: practiceSource})
	require.NoError(t, err)
	for name, most := range map[string]int{"PracticeCollatz": 1, "PracticeGCD": 2, "PracticePrefix": 2} {
		k, err := p.Kernel(name)
		require.NoError(t, err)
		code, err := cpu.Compile(codegen.ForCPU(k), cpu.Options{AVX512: true})
		require.NoError(t, err)
		require.LessOrEqual(t, code.Unroll, most, name)
	}
}
