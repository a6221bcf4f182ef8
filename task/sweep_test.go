package task_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"runtime/debug"
	"slices"
	"sync"
	"testing"
	"time"
	"unsafe"
	"weak"

	"github.com/gompss/gompss/deps"
	"github.com/gompss/gompss/task"
	"github.com/stretchr/testify/require"
)

// issue 16 18: a server that makes a slice for each request kept all of them, and what devices had of them, until it ended.

// settled has the collector free what it may, and the runtime forget that, until done says so.
func settled(t testing.TB, rt *task.Runtime, what string, done func() bool) {
	t.Helper()
	for end := time.Now().Add(10 * time.Second); time.Now().Before(end); {
		task.Sweep(rt)
		task.Sweep(rt) // one finds what nobody uses, the next lets go of it
		runtime.GC()
		if done() {
			return
		}
		time.Sleep(time.Millisecond) // the Go runtime says on a goroutine of its own what it has freed
	}
	require.Failf(t, "not forgotten: "+what, "%d buffers, %d bytes held, a heap of %d bytes", rt.Stats().Buffers, rt.Machine().Held(), heapSize())
}

func heapSize() int64 {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

func TestForgetting_AServerIsBounded(t *testing.T) {
	defer debug.SetGCPercent(debug.SetGCPercent(100)) // .ci/run has others collect less often
	fill, mix := kernelOf(t, Fill), kernelOf(t, Mix)
	requests := 4000
	if testing.Short() || raceEnabled {
		requests = 1200
	}
	for _, spec := range []string{"smp:2", "sim:1(exec=cpu)", "smp:1,sim:2(exec=cpu,memory=4MiB)"} {
		for _, wait := range []string{"all", "one", "keep", "group"} {
			t.Run(spec+" "+wait, func(t *testing.T) {
				rt := open(t, task.Options{Devices: spec})
				group := task.NewGroup(rt)
				model := make([]uint32, 1000) // of every request
				request := func(k uint32) {
					n := 100 + int(k*37%4000)
					in, out, scratch := make([]uint32, n), make([]uint32, n), make([]uint32, 2*n)
					for i := range in {
						in[i] = k + uint32(i)
					}
					at := task.Submitter(rt)
					if wait == "group" {
						at = group
					}
					_, err := fill.Submit(at, 0, 2*n, k, scratch)
					require.NoError(t, err)
					_, err = fill.Submit(at, 0, n, k, out)
					require.NoError(t, err)
					_, err = mix.Submit(at, 0, n, 0, n, uint32(1), out, in)
					require.NoError(t, err)
					_, err = mix.Submit(at, 0, n, n/2, n, uint32(1), out, scratch)
					require.NoError(t, err)
					_, err = mix.Submit(at, 0, n, 0, len(model), uint32(1), out, model)
					require.NoError(t, err)
					switch wait {
					case "all":
						require.NoError(t, rt.Wait(context.Background()))
					case "one", "group":
						require.NoError(t, rt.WaitOn(t.Context(), task.In(out)))
					case "keep":
						require.NoError(t, rt.Wait(context.Background(), task.KeepOnDevice()))
						return
					}
					wantOut, wantScratch := make([]uint32, n), make([]uint32, 2*n)
					Fill(0, 2*n, k, wantScratch)
					Fill(0, n, k, wantOut)
					Mix(0, n, 0, n, 1, wantOut, in)
					Mix(0, n, n/2, n, 1, wantOut, wantScratch)
					Mix(0, n, 0, len(model), 1, wantOut, model)
					require.Equal(t, wantOut, out)
				}
				for k := range uint32(100) {
					request(k)
				}
				few := func() bool { return rt.Stats().Buffers <= 4 && rt.Machine().Held() <= deps.Bytes(1<<20) }
				settled(t, rt, "the first requests", few)
				before, most := heapSize(), int64(0)
				for k := range uint32(requests) {
					request(k)
					most = max(most, rt.Stats().Buffers)
				}
				require.Less(t, most, int64(3*requests/2), "buffers at once of %d", 3*requests)
				// In runs of all packages the heap has grown by 2 to 5 MiB with no buffer left, for a reason that is not known.
				// The slices of 4000 requests are 130 MB.
				settled(t, rt, "all requests", func() bool { return few() && heapSize()-before < 6<<20 })
				require.Less(t, task.BufferIDs(rt), 3*requests/2)
				if wait == "group" {
					require.Less(t, task.GroupBuffers(group), 1000)
					require.NoError(t, group.Wait(context.Background()))
				}
			})
		}
	}
}

// What a device has of an array that the collector has freed is not taken for what a new one at its address holds, and is not written there.
func TestForgetting_AnAddressThatIsReused(t *testing.T) {
	fill, mix := kernelOf(t, Fill), kernelOf(t, Mix)
	for _, spec := range []string{"sim:1(exec=cpu)", "sim:1(exec=cpu,memory=128KiB,granule=4KiB)", "smp:1,sim:1(exec=cpu,memory=256KiB)"} {
		for _, sweep := range []bool{false, true} {
			rt := open(t, task.Options{Devices: spec})
			const n = 16 << 10 // 64 KiB: such memory is reused soon
			seen, reused := map[uintptr]bool{}, 0
			other := make([]uint32, n/2)
			for k := range uint32(300) {
				x := make([]uint32, n)
				at := uintptr(unsafe.Pointer(&x[0]))
				if seen[at] {
					reused++
				}
				seen[at] = true
				y := make([]uint32, n)
				for i := range y {
					x[i], y[i] = k, k*uint32(i)
				}
				_, err := mix.Submit(rt, 0, n, 0, n, k, x, y)
				require.NoError(t, err)
				require.NoError(t, rt.WaitOn(t.Context(), task.In(x)))
				for i := range x {
					if want := k*31 + k*uint32(i) + k; x[i] != want {
						require.Equal(t, want, x[i], "element %d of request %d", i, k)
					}
				}
				_, err = fill.Submit(rt, 0, n, k, y) // nobody will look at it: the device has it alone
				require.NoError(t, err)
				require.NoError(t, rt.Wait(context.Background(), task.KeepOnDevice()))
				x, y = nil, nil
				if sweep {
					task.Sweep(rt)
					task.Sweep(rt)
				}
				runtime.GC()
				z := make([]uint32, n) // perhaps where y was: what the device evicts now is not written there
				_, err = fill.Submit(rt, 0, len(other), k, other)
				require.NoError(t, err)
				require.NoError(t, rt.Wait(context.Background(), task.KeepOnDevice()))
				require.False(t, slices.ContainsFunc(z, func(v uint32) bool { return v != 0 }), "request %d", k)
			}
			if sweep {
				require.Positive(t, reused, "no address came again")
			}
		}
	}
}

// While a task is in flight its memory stays, however it is named; then it goes.
func TestForgetting_WaitsForTasksInFlight(t *testing.T) {
	mix := kernelOf(t, Mix)
	for _, spec := range []string{"smp:2", "smp:1,sim:1(exec=cpu)"} {
		for name, submit := range map[string]func(rt *task.Runtime, gate []uint32, x []uint32) error{
			"access of Go": func(rt *task.Runtime, gate, x []uint32) error {
				_, err := rt.Go(func() error { return nil }, task.In(gate), task.InOut(x))
				return err
			},
			"kernel": func(rt *task.Runtime, gate, x []uint32) error {
				_, err := mix.Submit(rt, 0, len(x), 0, 1, uint32(7), x, gate)
				return err
			},
			"argument without an element": func(rt *task.Runtime, gate, x []uint32) error {
				_, err := mix.Submit(rt, 0, 0, 0, 1, uint32(7), x, gate)
				return err
			},
		} {
			t.Run(spec+" "+name, func(t *testing.T) {
				rt := open(t, task.Options{Devices: spec})
				gate, opened := make([]uint32, 4), make(chan struct{})
				open := sync.OnceFunc(func() { close(opened) })
				defer open()
				_, err := rt.Go(func() error { <-opened; return nil }, task.InOut(gate))
				require.NoError(t, err)
				x := make([]uint32, 5000)
				array := weak.Make(&x[0])
				require.NoError(t, submit(rt, gate, x))
				x = nil
				for range 5 {
					task.Sweep(rt)
					runtime.GC()
				}
				require.NotNil(t, array.Value(), "a task in flight uses it")
				require.EqualValues(t, 2, rt.Stats().Buffers)
				open()
				require.NoError(t, rt.Wait(context.Background()))
				settled(t, rt, name, func() bool { return array.Value() == nil })
				runtime.KeepAlive(gate)
			})
		}
	}
}

// A recorded iteration keeps what its steps use, as long as it is there itself.
func TestForgetting_IterationsKeepWhatTheyUse(t *testing.T) {
	mix := kernelOf(t, Mix)
	for _, spec := range []string{"smp:2", "smp:1,sim:1(exec=cpu)"} {
		rt := open(t, task.Options{Devices: spec})
		x, y := make([]uint32, 5000), make([]uint32, 5000)
		array, seen := weak.Make(&x[0]), uint32(0)
		it, err := rt.Record(func(r *task.Recorder) error {
			_, err := mix.Submit(r, 0, 5000, 0, 5000, uint32(3), x, y)
			return errors.Join(err, r.Go(func() error { return nil }, task.InOut(y)))
		})
		require.NoError(t, err)
		x, y = nil, nil
		for range 5 {
			task.Sweep(rt)
			runtime.GC()
			_, err = it.Replay()
			require.NoError(t, err)
			require.NoError(t, rt.Wait(context.Background()))
			seen = seen*31 + 3
			require.NotNil(t, array.Value())
			require.Equal(t, seen, *array.Value())
		}
		runtime.KeepAlive(it)
		it = nil
		settled(t, rt, "the memory of an iteration that is gone", func() bool { return rt.Stats().Buffers == 0 })
		require.Nil(t, array.Value())
	}
}

var forgettingGlobal [300]uint32

// Memory that the collector does not free, and parts of arrays that others hold, are used as before.
func TestForgetting_OtherMemory(t *testing.T) {
	fill := kernelOf(t, Fill)
	for _, spec := range []string{"smp:2", "smp:1,sim:1(exec=cpu)"} {
		rt := open(t, task.Options{Devices: spec})
		whole := make([]uint32, 1000)
		allocated, err := task.Alloc[uint32](rt, 300)
		require.NoError(t, err)
		registered := make([]uint32, 300)
		require.NoError(t, task.Register(rt, registered))
		onStack := [300]uint32{}
		memories := map[string][]uint32{"package variable": forgettingGlobal[:], "inside": whole[200:500:500], "Alloc": allocated, "Register": registered,
			"variable": onStack[:], "mapped": mapped(t, 300)}
		for k := range uint32(4) {
			for name, x := range memories {
				_, err := fill.Submit(rt, 0, 300, k, x)
				require.NoError(t, err)
				require.NoError(t, rt.WaitOn(t.Context(), task.In(x)))
				want := make([]uint32, 300)
				Fill(0, 300, k, want)
				require.Equal(t, want, x[:300], name)
			}
			for range 3 {
				task.Sweep(rt)
				runtime.GC()
			}
		}
		require.EqualValues(t, len(memories), rt.Stats().Buffers)
		delete(memories, "inside") // whole is alive
		settle := func() { task.Sweep(rt); task.Sweep(rt); runtime.GC() }
		settle()
		settle()
		require.EqualValues(t, 6, rt.Stats().Buffers)
		runtime.KeepAlive(whole)
		whole = nil
		delete(memories, "variable")
		array := weak.Make(&registered[0])
		registered = nil
		delete(memories, "Register")
		settled(t, rt, "a part", func() bool { return rt.Stats().Buffers <= 5 })
		settle()
		require.NotNil(t, array.Value(), "what is registered stays until Unregister")
	}
}

// Small arrays share the memory of an allocation of the Go runtime.
func TestForgetting_TinyArrays(t *testing.T) {
	rt := open(t, task.Options{Devices: "smp:2"})
	for i := range 5000 {
		x := new(uint16)
		_, err := rt.Go(func() error { *x += uint16(i); return nil }, task.InOut(unsafe.Slice(x, 1)))
		require.NoError(t, err)
		require.NoError(t, rt.Wait(context.Background()))
		require.Equal(t, uint16(i), *x)
	}
	settled(t, rt, "numbers", func() bool { return rt.Stats().Buffers < 64 })
}

// A failed task keeps those that read what it should have written from running, also when nobody has used the slice for long.
func TestForgetting_FailuresStayWithTheirSlice(t *testing.T) {
	boom := errors.New("boom")
	rt := open(t, task.Options{Devices: "smp:2"})
	x := make([]uint32, 100)
	one, err := rt.Go(func() error { return boom }, task.Out(x))
	require.NoError(t, err)
	<-one.Done()
	for range 4 {
		task.Sweep(rt)
		runtime.GC()
	}
	two, err := rt.Go(func() error { return nil }, task.In(x))
	require.NoError(t, err)
	require.ErrorIs(t, two.Err(), boom)
	require.Error(t, rt.Wait(context.Background()))
}

// Requests of many goroutines, sweeps and collections at the same time.
func TestForgetting_Hammer(t *testing.T) {
	fill, mix := kernelOf(t, Fill), kernelOf(t, Mix)
	rounds := 400
	if testing.Short() || raceEnabled {
		rounds = 120
	}
	for _, spec := range []string{"smp:2", "smp:1,sim:2(exec=cpu,memory=512KiB)"} {
		rt := open(t, task.Options{Devices: spec})
		shared := make([]uint32, 3000)
		Fill(0, len(shared), 5, shared)
		stop := make(chan struct{})
		var others, all sync.WaitGroup
		others.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
					task.Sweep(rt)
					runtime.GC()
				}
			}
		})
		for g := range 4 {
			all.Go(func() {
				old := make([]uint32, 3000) // rests between uses
				for k := range uint32(rounds) {
					n := 100 + int(k)*(g+1)%2900
					x, y, want := make([]uint32, n), make([]uint32, n), make([]uint32, n)
					_, err := fill.Submit(rt, 0, n, k, x)
					require.NoError(t, err)
					_, err = rt.Go(func() error { copy(y, x); return nil }, task.In(x), task.Out(y))
					require.NoError(t, err)
					_, err = mix.Submit(rt, 0, n, 0, len(shared), k, y, shared)
					require.NoError(t, err)
					if k%16 == 0 {
						_, err = mix.Submit(rt, 0, n, 0, n, k, old, y)
						require.NoError(t, err)
						require.NoError(t, rt.WaitOn(t.Context(), task.In(old)))
					}
					require.NoError(t, rt.WaitOn(t.Context(), task.In(y)))
					Fill(0, n, k, want)
					Mix(0, n, 0, len(shared), k, want, shared)
					require.Equal(t, want, y, fmt.Sprintf("goroutine %d, request %d", g, k))
				}
			})
		}
		all.Wait()
		close(stop)
		others.Wait()
		require.NoError(t, rt.Wait(context.Background()))
		runtime.KeepAlive(shared)
		settled(t, rt, "all requests", func() bool { return rt.Stats().Buffers <= 1 })
	}
}
