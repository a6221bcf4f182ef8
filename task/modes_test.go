package task_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/gompss/gompss/devices"
	"github.com/gompss/gompss/task"
	"github.com/stretchr/testify/require"
)

func TestCommutativeTasksAreAloneAndInAnyOrder(t *testing.T) {
	rt := open(t, task.Options{Devices: "smp:4"})
	x := make([]int, 3)
	require.NoError(t, task.Register(rt, x))
	var inside [3]atomic.Int32
	update := func(i int) {
		if inside[i].Add(1) != 1 {
			t.Errorf("two commutative tasks are at element %d", i)
		}
		x[i]++
		inside[i].Add(-1)
	}
	for range 200 {
		_, err := rt.Go(func() error { update(0); update(1); return nil }, task.Commutative(x[0:1]), task.Commutative(x[1:2]))
		require.NoError(t, err)
		_, err = rt.Go(func() error { update(1); update(2); return nil }, task.Commutative(x[2:3]), task.Commutative(x[1:2]))
		require.NoError(t, err)
		_, err = rt.Go(func() error { update(2); update(0); return nil }, task.Commutative(x[2:3]), task.Commutative(x[0:1]))
		require.NoError(t, err)
	}
	require.NoError(t, rt.Wait(context.Background()))
	require.Equal(t, []int{400, 400, 400}, x)
}

// A commutative task whose other predecessor is late does not keep the others back.
func TestCommutativeTasksOvertake(t *testing.T) {
	rt := open(t, task.Options{Devices: "smp:2"})
	x, y := make([]int, 1), make([]int, 1)
	gate := make(chan struct{})
	var order []string
	_, err := rt.Go(func() error { <-gate; return nil }, task.Out(y))
	require.NoError(t, err)
	_, err = rt.Go(func() error { order = append(order, "late"); return nil }, task.In(y), task.Commutative(x))
	require.NoError(t, err)
	early, err := rt.Go(func() error { order = append(order, "early"); return nil }, task.Commutative(x))
	require.NoError(t, err)
	require.NoError(t, early.Wait(context.Background()))
	close(gate)
	require.NoError(t, rt.Wait(context.Background()))
	require.Equal(t, []string{"early", "late"}, order)
}

func TestConcurrentTasksRunTogether(t *testing.T) {
	rt := open(t, task.Options{Devices: "smp:2"})
	var sum atomic.Int64
	x := make([]int64, 1)
	meet := make(chan struct{})
	for _, side := range []func(){func() { meet <- struct{}{} }, func() { <-meet }} {
		_, err := rt.Go(func() error { side(); sum.Add(1); return nil }, task.Concurrent(x))
		require.NoError(t, err)
	}
	_, err := rt.Go(func() error { x[0] = sum.Load(); return nil }, task.InOut(x))
	require.NoError(t, err)
	require.NoError(t, rt.Wait(context.Background()))
	require.EqualValues(t, 2, x[0])
}

// reduceSpecs are machines for reductions: on the host, on accelerators with much and with little memory.
var reduceSpecs = []string{"smp:1", "smp:4", "smp:2,sim:2(exec=cpu)", "smp:2,sim:2(exec=simt)", "smp:2,sim:3(exec=cpu,memory=12KiB,granule=1KiB,peer=off)"}

func TestReductionsOfGoTasks(t *testing.T) {
	rt := open(t, task.Options{Devices: "smp:4"})
	const n = 100
	sum, least, all := make([]int, n), make([]float64, 1), make([]uint8, 2)
	least[0], all[0], all[1] = 50, 1, 0b1000
	for i := range sum {
		sum[i] = 1000
	}
	require.NoError(t, task.Register(rt, sum))
	require.NoError(t, task.Register(rt, all))
	for i := 1; i <= 300; i++ {
		_, err := rt.GoScope(func(s *task.Scope) error {
			p := task.Private(s, sum[:i%n])
			for k := range p {
				p[k] += i
			}
			q := task.Private(s, least)
			q[0] = min(q[0], float64(i-7))
			task.Private(s, all[1:])[0] |= 1 << (i % 3)
			return nil
		}, task.Reduce(sum[:i%n], task.Sum[int]()), task.Reduce(least, task.Min[float64]()), task.Reduce(all[1:], task.Or[uint8]()))
		require.NoError(t, err)
		if i == 150 { // the first other access combines
			_, err := rt.Go(func() error { least[0] *= 10; return nil }, task.InOut(least))
			require.NoError(t, err)
		}
	}
	require.NoError(t, rt.Wait(context.Background()))
	require.Equal(t, -60., least[0], "-6 from the first half, times 10")
	require.Equal(t, []uint8{1, 0b1111}, all)
	for k := range sum {
		want := 1000
		for i := 1; i <= 300; i++ {
			if k < i%n {
				want += i
			}
		}
		require.Equal(t, want, sum[k])
	}
	_, err := rt.GoScope(func(s *task.Scope) error { task.Private(s, sum); return nil }, task.Reduce(sum[:2], task.Sum[int]()))
	require.NoError(t, err)
	require.ErrorContains(t, rt.Wait(context.Background()), "which it has not declared with Reduce")
}

func TestReductionsAreExact(t *testing.T) {
	for _, spec := range reduceSpecs[:2] {
		rt := open(t, task.Options{Devices: spec})
		const n = 64
		sum, want := make([]int, n*n), make([]int, n*n)
		product := []uint32{3}
		longest := make([][2]int32, 1)
		widest := task.NewOperator("widest", [2]int32{}, func(a, b [2]int32) [2]int32 {
			if b[1]-b[0] > a[1]-a[0] || b[1]-b[0] == a[1]-a[0] && b[0] < a[0] {
				return b
			}
			return a
		})
		wantProduct, rng := uint32(3), rand.New(rand.NewPCG(1, 2))
		for i := range 200 {
			lo, hi := rng.IntN(n-3), 0
			hi = lo + 1 + rng.IntN(n-lo)
			wantProduct *= uint32(2*i + 1)
			for r := lo; r < hi; r++ {
				for c := lo; c < hi; c += 1 {
					want[r*n+c] += i
				}
			}
			_, err := rt.GoScope(func(s *task.Scope) error {
				p := task.Private(s, sum[lo*n+lo:(hi-1)*n+hi])
				for r := range hi - lo {
					for c := range hi - lo {
						p[r*n+c] += i
					}
				}
				task.Private(s, product)[0] *= uint32(2*i + 1)
				q := task.Private(s, longest)
				if int32(hi-lo) > q[0][1]-q[0][0] {
					q[0] = [2]int32{0, int32(hi - lo)}
				}
				return nil
			}, task.Reduce(sum, task.Sum[int]()).Box([]int{n, n}, []int{lo, lo}, []int{hi, hi}), task.Reduce(product, task.Product[uint32]()), task.Reduce(longest, widest))
			require.NoError(t, err)
			if i%31 == 0 {
				require.NoError(t, rt.WaitOn(t.Context(), task.In(sum)))
				require.Equal(t, want, sum, "%s, step %d", spec, i)
			}
		}
		require.NoError(t, rt.Wait(context.Background()))
		require.Equal(t, want, sum)
		require.Equal(t, wantProduct, product[0])
		require.Greater(t, longest[0][1], int32(50))
	}
}

func TestReductionsOfKernels(t *testing.T) {
	dot, tally, bump := kernelOf(t, Dot), kernelOf(t, Tally), kernelOf(t, Bump)
	for _, spec := range reduceSpecs {
		t.Run(spec, func(t *testing.T) {
			rt := open(t, task.Options{Devices: spec})
			const n, part = 1 << 10, 64
			x, y := make([]int32, n), make([]int32, n)
			sum, bins := []int32{0, 5, 0}, make([]int32, 40)
			require.NoError(t, task.Register(rt, sum))
			require.NoError(t, task.Register(rt, bins))
			want, wantBins, rng := int32(5), make([]int32, 40), rand.New(rand.NewPCG(3, 4))
			for i := range x {
				x[i], y[i] = rng.Int32N(100), rng.Int32N(100)
			}
			for round := range 3 {
				for lo := 0; lo < n; lo += part {
					_, err := dot.Submit(rt, lo, lo+part, x, y, sum[1:2])
					require.NoError(t, err)
					at := (lo / part) % 7 * 5
					_, err = tally.Submit(rt, lo, lo+part, at, x, bins)
					require.NoError(t, err)
					for i := lo; i < lo+part; i++ {
						want += x[i] * y[i]
						wantBins[at+int(x[i])%5]++
					}
				}
				_, err := bump.Submit(rt, sum) // another access in the middle, anywhere
				require.NoError(t, err)
				want++
				if round == 1 {
					require.NoError(t, rt.Wait(context.Background()))
					require.Equal(t, want, sum[1])
				}
			}
			_, err := rt.GoScope(func(s *task.Scope) error { task.Private(s, bins[:1])[0] += 1000; return nil }, task.Reduce(bins[:1], task.Sum[int32]()))
			require.NoError(t, err)
			wantBins[0] += 1000
			require.NoError(t, rt.Wait(context.Background()))
			require.Equal(t, want, sum[1])
			require.Equal(t, wantBins, bins)
		})
	}
}

func TestReductionsThatCannotBe(t *testing.T) {
	rt := open(t, task.Options{Devices: "smp:1"})
	x := make([]int, 4)
	_, err := rt.Go(nothing, task.Reduce(x, task.Sum[int]()))
	require.ErrorContains(t, err, "use GoScope")
	_, err = rt.GoScope(func(*task.Scope) error { return nil }, task.Reduce(x[:2], task.Sum[int]()), task.In(x[1:]))
	require.ErrorContains(t, err, "also accessed otherwise")
}

func TestAFailedReductionLeavesNothing(t *testing.T) {
	rt := open(t, task.Options{Devices: "smp:2"})
	x := make([]int, 4)
	require.NoError(t, task.Register(rt, x))
	boom := errors.New("boom")
	for i := range 10 {
		_, err := rt.GoScope(func(s *task.Scope) error {
			task.Private(s, x)[0]++
			if i == 5 {
				return boom
			}
			return nil
		}, task.Reduce(x, task.Sum[int]()))
		require.NoError(t, err)
	}
	reader, err := rt.Go(nothing, task.In(x))
	require.NoError(t, err)
	require.ErrorIs(t, rt.Wait(context.Background()), boom)
	require.ErrorIs(t, reader.Err(), task.ErrSkipped)
	for range 10 {
		_, err := rt.GoScope(func(s *task.Scope) error { task.Private(s, x[3:])[0]++; return nil }, task.Reduce(x[3:], task.Sum[int]()))
		require.NoError(t, err)
	}
	require.NoError(t, rt.Wait(context.Background()))
	require.Equal(t, 10, x[3])
}

func TestReductionsInsideTasks(t *testing.T) {
	everywhere(t, func(t *testing.T, rt *task.Runtime) {
		x := make([]int, 8)
		_, err := rt.GoScope(func(s *task.Scope) error {
			for i := range 20 {
				_, err := s.GoScope(func(s *task.Scope) error {
					p := task.Private(s, x[:4])
					for k := range p { // children reduce into the parent's copy
						if _, err := s.Go(func() error { p[k] += i; return nil }, task.InOut(p[k:k+1])); err != nil {
							return err
						}
					}
					return nil
				}, task.Reduce(x[:4], task.Sum[int]()))
				if err != nil {
					return err
				}
			}
			return nil // combined at the end of the parent
		}, task.InOut(x))
		require.NoError(t, err)
		require.NoError(t, rt.Wait(context.Background()))
		require.Equal(t, []int{190, 190, 190, 190, 0, 0, 0, 0}, x)
	})
}

// Kernels with concurrent accesses update by atomics: all of them at one place at a time, on the host or on one device.
func TestConcurrentKernels(t *testing.T) {
	hist, bump := kernelOf(t, Histogram), kernelOf(t, Bump)
	for _, spec := range reduceSpecs {
		t.Run(spec, func(t *testing.T) {
			rt := open(t, task.Options{Devices: spec})
			x := make([]int32, 600)
			for i := range x {
				x[i] = int32(i * i % 97)
			}
			bins, want := make([]int32, 10), make([]int32, 10)
			for round := range 20 {
				k := hist.With()
				if round%5 == 0 {
					k = hist.With(task.OnDevice("smp"))
				}
				_, err := k.Submit(rt, round, 500+round, x, bins)
				require.NoError(t, err)
				for i := round; i < 500+round; i++ {
					want[x[i]%10]++
				}
				if round%7 == 6 {
					_, err := bump.Submit(rt, bins)
					require.NoError(t, err)
					want[1]++
				}
			}
			require.NoError(t, rt.Wait(context.Background()))
			require.Equal(t, want, bins)
		})
	}
}

// Concurrent kernels without atomics, here on every other element, run together on the host: each waits for the other.
func TestConcurrentKernelsRunTogetherOnTheHost(t *testing.T) {
	for _, spec := range []string{"smp:2", "smp:2,sim:1(exec=cpu)"} {
		var met sync.WaitGroup
		met.Add(2)
		every := kernelWith("EveryOther", func(a *task.Args) {
			met.Done()
			met.Wait()
			EveryOther(devices.ScalarArg[int](a, 0), devices.SliceArg[int32](a, 1))
		})
		rt := open(t, task.Options{Devices: spec, Vector: task.VectorOff})
		x, want := make([]int32, 1000), make([]int32, 1000)
		for first := range 2 {
			EveryOther(first, want)
			_, err := every.With(task.OnDevice("smp")).Submit(rt, first, x)
			require.NoError(t, err)
		}
		require.NoError(t, rt.Wait(context.Background()))
		require.Equal(t, want, x)
	}
	vector := kernelOf(t, EveryOther) // as vector code, where there is some
	rt := open(t, task.Options{Devices: "smp:2"})
	x, want := make([]int32, 1<<16), make([]int32, 1<<16)
	for range 20 {
		for first := range 2 {
			EveryOther(first, want)
			_, err := vector.Submit(rt, first, x)
			require.NoError(t, err)
		}
		require.NoError(t, rt.Wait(context.Background())) // those of the next round touch the same elements
	}
	require.Equal(t, want, x)
}

func TestCommutativeKernels(t *testing.T) {
	scale := kernelOf(t, Shuffle)
	for _, spec := range reduceSpecs {
		t.Run(spec, func(t *testing.T) {
			rt := open(t, task.Options{Devices: spec})
			x := make([]uint32, 300)
			want := slices.Clone(x)
			for i := range 40 {
				lo := i * 7 % 100
				_, err := scale.Submit(rt, lo, lo+200, uint32(i), x)
				require.NoError(t, err)
				for k := lo; k < lo+200; k++ {
					want[k] += uint32(i)
				}
			}
			require.NoError(t, rt.Wait(context.Background()))
			require.Equal(t, want, x)
		})
	}
}

func ExampleReduce() {
	rt, err := task.New(task.Options{Devices: "smp:2"})
	if err != nil {
		panic(err)
	}
	defer rt.Close()
	x, sum := []float64{1, 2, 3, 4}, make([]float64, 1)
	for i := 0; i < len(x); i += 2 {
		rt.GoScope(func(s *task.Scope) error {
			own := task.Private(s, sum)
			for _, v := range x[i : i+2] {
				own[0] += v
			}
			return nil
		}, task.In(x[i:i+2]), task.Reduce(sum, task.Sum[float64]()))
	}
	if err := rt.Wait(context.Background()); err != nil {
		panic(err)
	}
	fmt.Println(sum[0])
	// Output: 10
}
