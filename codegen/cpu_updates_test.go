//go:build linux && (amd64 || arm64)

package codegen_test

import (
	"math/rand/v2"
	"reflect"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gompss/gompss/codegen"
	"github.com/gompss/gompss/codegen/cpu"
)

// updateKernels have atomics on slices that are touched by one operation alone, and some that are not.
const updateKernels = `package k

//omp:target device(smp)
//omp:task in(x) inout(bins, most, least, bits, sums)
func Many(x []int32, bins []int64, most, least []int16, bits []uint8, sums []float64) {
	//omp:teams distribute parallel for
	for i := range x {
		//omp:atomic
		bins[int(x[i])%len(bins)] -= int64(i)
		//omp:atomic
		bins[i%len(bins)]++
		//omp:atomic
		most[x[i]&7] = max(most[x[i]&7], int16(i))
		//omp:atomic
		least[x[i]&3] = min(least[x[i]&3], int16(x[i]))
		//omp:atomic
		bits[i&3] ^= uint8(x[i])
		//omp:atomic
		sums[0] += float64(x[i])
	}
}

//omp:target device(smp)
//omp:task in(x) inout(bins, old)
func Captures(x []int32, bins, old []int64) {
	//omp:teams distribute parallel for
	for i := range x {
		//omp:atomic capture
		{
			old[i] = bins[x[i]&3]
			bins[x[i]&3]++
		}
	}
}

//omp:target device(smp)
//omp:task in(x) inout(bins)
func Reads(x []int32, bins []int64) {
	//omp:teams distribute parallel for
	for i := range x {
		//omp:atomic
		bins[x[i]&3] += bins[100]
	}
}
`

func many(x []int32, bins []int64, most, least []int16, bits []uint8, sums []float64) {
	for i, v := range x {
		bins[int(v)%len(bins)] -= int64(i)
		bins[i%len(bins)]++
		most[v&7], least[v&3] = max(most[v&7], int16(i)), min(least[v&3], int16(v))
		bits[i&3] ^= uint8(v)
		sums[0] += float64(v)
	}
}

func updateRunner(t *testing.T, arena *cpu.Arena, name string) *cpu.Runner {
	t.Helper()
	p, err := codegen.Load(codegen.File{Name: "k.go", Text: updateKernels})
	require.NoError(t, err)
	k, err := p.Kernel(name)
	require.NoError(t, err)
	o, err := cpu.Detect()
	if err != nil {
		t.Skip(err)
	}
	run, err := cpu.NewKernelRunner(arena, codegen.ForCPU(k), o)
	require.NoError(t, err)
	return run
}

// inParallel runs a loop in chunks on three goroutines, and counts the loops.
func inParallel(loops *int) func(*cpu.Loop) error {
	return func(l *cpu.Loop) error {
		*loops++
		var group sync.WaitGroup
		errs := make([]error, 3)
		for g := range errs {
			group.Go(func() {
				for lo := int64(g) * 1000; lo < l.Trips && errs[g] == nil; lo += 3000 {
					errs[g] = l.Run(lo, min(lo+1000, l.Trips))
				}
			})
		}
		group.Wait()
		for _, err := range errs {
			if err != nil {
				return err
			}
		}
		return nil
	}
}

func argumentsOf(args ...any) (out []cpu.Value) {
	for _, a := range args {
		out = append(out, cpuValue(reflect.ValueOf(a)))
	}
	return out
}

// TestAtomics_AreSharedByCopies lets several goroutines run a loop with atomics: the sums are those of one.
//
// Issue 16, item 21.
func TestAtomics_AreSharedByCopies(t *testing.T) {
	arena, err := cpu.NewArena()
	if err != nil {
		t.Skip(err)
	}
	defer func() { require.NoError(t, arena.Close()) }()
	run, r := updateRunner(t, arena, "Many"), rand.New(rand.NewPCG(1, 2))
	x, loops := belowOf[int32](r, 1_000_000, 1000), 0
	start := func() (bins []int64, most, least []int16, bits []uint8, sums []float64) {
		return []int64{5, -3, 1 << 40, 0, 7}, []int16{-5, 2, 3, 4, 5, 6, 7, 8}, []int16{999, 3, 500, 1}, []uint8{1, 2, 3, 255}, []float64{0.5}
	}
	bins, most, least, bits, sums := start()
	many(x, bins, most, least, bits, sums)
	for range 6 {
		b, m, l, w, s := start()
		require.NoError(t, run.Call(argumentsOf(x, b, m, l, w, s), inParallel(&loops)))
		require.Equal(t, []any{bins, most, least, bits, sums}, []any{b, m, l, w, s}) // whole numbers: their sum is exact in any order
	}
	require.Positive(t, loops, "the loop is shared once its time is known")
	captures := updateRunner(t, arena, "Captures")
	for range 4 { // with locked instructions, or on one goroutine
		old, bins := make([]int64, len(x)), make([]int64, 4)
		require.NoError(t, captures.Call(argumentsOf(x, bins, old), inParallel(&loops)))
		sum, want := int64(0), int64(0)
		for i := range old {
			sum += old[i]
		}
		for _, n := range bins {
			want += n * (n - 1) / 2
		}
		require.Equal(t, want, sum, "every value is kept once")
	}
}

// TestAtomics_StayOnOneWorkerWhereSlicesOverlap has an updated slice that another one lies in.
func TestAtomics_StayOnOneWorkerWhereSlicesOverlap(t *testing.T) {
	arena, err := cpu.NewArena()
	if err != nil {
		t.Skip(err)
	}
	defer func() { require.NoError(t, arena.Close()) }()
	run, loops := updateRunner(t, arena, "Many"), 0
	x := belowOf[int32](rand.New(rand.NewPCG(1, 2)), 1_000_000, 1000)
	both := []int16{1, 2, 3, 4, 5, 6, 7, 8}
	for range 4 {
		require.NoError(t, run.Call(argumentsOf(x, make([]int64, 5), both, both[2:], make([]uint8, 4), make([]float64, 1)), inParallel(&loops)))
	}
	require.Zero(t, loops)
	reads := updateRunner(t, arena, "Reads")
	for range 4 { // what is read is no element that is updated
		bins := make([]int64, 101)
		bins[100] = 3
		require.NoError(t, reads.Call(argumentsOf(x, bins), inParallel(&loops)))
		require.Equal(t, int64(3*len(x)), bins[0]+bins[1]+bins[2]+bins[3])
	}
}

// TestAtomics_FailOnSharedLoops has an index that is out of range in one chunk: the call fails, and the next one is right.
func TestAtomics_FailOnSharedLoops(t *testing.T) {
	arena, err := cpu.NewArena()
	if err != nil {
		t.Skip(err)
	}
	defer func() { require.NoError(t, arena.Close()) }()
	run, loops := updateRunner(t, arena, "Many"), 0
	x := belowOf[int32](rand.New(rand.NewPCG(1, 2)), 1_000_000, 1000)
	args := func() []cpu.Value {
		return argumentsOf(x, make([]int64, 5), make([]int16, 8), make([]int16, 4), make([]uint8, 4), make([]float64, 1))
	}
	for range 3 {
		require.NoError(t, run.Call(args(), inParallel(&loops)))
	}
	x[777_777] = -3
	require.Error(t, run.Call(args(), inParallel(&loops)))
	x[777_777] = 3
	sums := make([]float64, 1)
	require.NoError(t, run.Call(argumentsOf(x, make([]int64, 5), make([]int16, 8), make([]int16, 4), make([]uint8, 4), sums), inParallel(&loops)))
	want := 0.0
	for _, v := range x {
		want += float64(v)
	}
	require.InDelta(t, want, sums[0], 0)
	require.GreaterOrEqual(t, loops, 4)
}

// sameKernels update single places by what is the same, and what differs, in all lanes, of every size.
const sameKernels = `package k

//omp:target device(smp)
//omp:task in(x) inout(a, b, c, d, e)
func Same(x []float32, k int64, a []int64, b []uint64, c []int8, d []uint16, e []int32) {
	//omp:teams distribute parallel for
	for i := range x {
		//omp:atomic
		a[0]++
		if x[i] > 0 {
			//omp:atomic
			a[1] -= k
			//omp:atomic
			b[0] ^= 0x123456789abcdef
			//omp:atomic
			c[0] += 3
		}
		if x[i] > 1 {
			//omp:atomic
			a[2] = max(a[2], k)
			//omp:atomic
			d[1] = min(d[1], uint16(k))
			//omp:atomic
			d[0] &= uint16(i) | 0xf0f0
			//omp:atomic
			c[1] = min(c[1], int8(i))
			//omp:atomic
			e[0] -= int32(i)
			//omp:atomic
			e[1] |= int32(i)
		}
	}
}
`

func same(x []float32, k int64, a []int64, b []uint64, c []int8, d []uint16, e []int32) {
	for i := range x {
		a[0]++
		if x[i] > 0 {
			a[1] -= k
			b[0] ^= 0x123456789abcdef
			c[0] += 3
		}
		if x[i] > 1 {
			a[2], d[1] = max(a[2], k), min(d[1], uint16(k))
			d[0] &= uint16(i) | 0xf0f0
			c[1] = min(c[1], int8(i))
			e[0] -= int32(i)
			e[1] |= int32(i)
		}
	}
}

// TestAtomics_OfOnePlaceAreFolded has loops whose lanes all update one place, some of them.
func TestAtomics_OfOnePlaceAreFolded(t *testing.T) {
	p, err := codegen.Load(codegen.File{Name: "k.go", Text: sameKernels})
	require.NoError(t, err)
	k, err := p.Kernel("Same")
	require.NoError(t, err)
	arena, err := cpu.NewArena()
	if err != nil {
		t.Skip(err)
	}
	defer func() { require.NoError(t, arena.Close()) }()
	for machine, o := range cpuMachines(t) {
		run, err := cpu.NewKernelRunner(arena, codegen.ForCPU(k), o)
		require.NoError(t, err)
		for _, n := range []int{0, 1, 7, 64, 1003} {
			r := rand.New(rand.NewPCG(uint64(n), 1))
			start := func() []any {
				return []any{[]int64{5, 6, 7}, []uint64{9}, []int8{100, 100}, []uint16{0xffff, 500}, []int32{1 << 30, 0}}
			}
			x, by, want, got := numbers[float32](r, n, -2, 2), int64(r.IntN(400)), start(), start()
			same(x, by, want[0].([]int64), want[1].([]uint64), want[2].([]int8), want[3].([]uint16), want[4].([]int32))
			require.NoError(t, run.Call(argumentsOf(append([]any{x, by}, got...)...), nil))
			require.Equal(t, want, got, "%s n=%d", machine, n)
		}
	}
}
