//go:build linux && (amd64 || arm64)

package cpu_test

import (
	"errors"
	"fmt"
	"runtime"
	"runtime/debug"
	"sync"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/gompss/gompss/codegen/cpu"
	"github.com/gompss/gompss/codegen/ir"
)

// holed is a slice of n elements with one page in the middle that has the given protection.
func holed(t *testing.T, n, prot int) (x []float64, from, to int64) {
	t.Helper()
	mem, err := unix.Mmap(-1, 0, n*8, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANON)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, unix.Munmap(mem)) })
	page := unix.Getpagesize()
	at := len(mem) / 2 / page * page
	require.NoError(t, unix.Mprotect(mem[at:at+page], prot))
	return unsafe.Slice((*float64)(unsafe.Pointer(&mem[0])), n), int64(at / 8), int64((at + page) / 8)
}

// onGoroutines runs a loop in eight chunks on as many goroutines.
func onGoroutines(l *cpu.Loop) error {
	var all sync.WaitGroup
	errs := make([]error, 8)
	for i := range int64(8) {
		all.Go(func() { errs[i] = l.Run(l.Trips*i/8, l.Trips*(i+1)/8) })
	}
	all.Wait()
	return errors.Join(errs...)
}

// TestFaultsAreErrors reads and writes pages in the middle of buffers that may not be, alone and in
// chunks on several goroutines, on every machine: the error names the element, and the same runner
// works again afterwards.
func TestFaultsAreErrors(t *testing.T) {
	arena, err := cpu.NewArena()
	if err != nil {
		t.Skip(err)
	}
	defer func() { require.NoError(t, arena.Close()) }()
	const n = 1 << 16
	good := make([]float64, n)
	unreadable, lo, hi := holed(t, n, unix.PROT_NONE)
	unwritable, _, _ := holed(t, n, unix.PROT_READ)
	k, err := loadKernels(t).Kernel("Triad64")
	require.NoError(t, err)
	for machine, o := range machines() {
		if have, err := cpu.Detect(); err != nil || o.AVX512 && !have.AVX512 {
			continue
		}
		r, err := cpu.NewKernelRunner(arena, k, o)
		require.NoError(t, err)
		for _, c := range []struct {
			slice string
			args  []any
		}{{"a", []any{unwritable, good, good, 2.0}}, {"b", []any{good, unreadable, good, 2.0}}, {"c", []any{good, good, unreadable, 2.0}}} {
			for how, share := range map[string]func(*cpu.Loop) error{"alone": nil, "shared": onGoroutines} {
				t.Run(fmt.Sprint(machine, "/", c.slice, "/", how), func(t *testing.T) {
					for range 20 {
						err := r.Call(values(c.args), share)
						var fault *cpu.FaultError
						require.ErrorAs(t, err, &fault)
						require.Equal(t, c.slice, fault.Slice)
						require.True(t, lo <= fault.Index && fault.Index < hi, fault.Error())
						require.ErrorContains(t, err, fmt.Sprintf("Triad64: memory fault: address %#x, element %d of %s", fault.Addr, fault.Index, c.slice))
						require.NoError(t, r.Call(values([]any{good, good, good, 2.0}), share))
					}
					runtime.GC()
				})
			}
		}
	}
}

// TestFaultsInShortCalls: a kernel that a Launcher knows to be short is called another way, on
// which faults are errors, too, checks fail, and what faults of the goroutine are afterwards is
// what they were before.
func TestFaultsInShortCalls(t *testing.T) {
	arena, err := cpu.NewArena()
	if err != nil {
		t.Skip(err)
	}
	defer func() { require.NoError(t, arena.Close()) }()
	page := unix.Getpagesize()
	n := 3 * page / 8
	good := make([]float64, n)
	unreadable, lo, hi := holed(t, n, unix.PROT_NONE)
	k, err := loadKernels(t).Kernel("Triad64")
	require.NoError(t, err)
	for machine, o := range machines() {
		if have, err := cpu.Detect(); err != nil || o.AVX512 && !have.AVX512 {
			continue
		}
		for _, panics := range []bool{false, true} {
			t.Run(fmt.Sprint(machine, "/", panics), func(t *testing.T) {
				r, err := cpu.NewKernelRunner(arena, k, o)
				require.NoError(t, err)
				defer debug.SetPanicOnFault(debug.SetPanicOnFault(panics))
				var on cpu.Launcher
				for range 300 { // more than there are untimed calls between two timed ones
					require.NoError(t, on.Call(r, values([]any{good, good, good, 2.0}), nil))
					err := on.Call(r, values([]any{good, unreadable, good, 2.0}), nil)
					var fault *cpu.FaultError
					require.ErrorAs(t, err, &fault)
					require.Equal(t, "b", fault.Slice)
					require.True(t, lo <= fault.Index && fault.Index < hi, fault.Error())
					err = on.Call(r, values([]any{good, good, good[:n-5], 2.0}), nil)
					var bounds *ir.CheckError
					require.ErrorAs(t, err, &bounds)
					require.EqualValues(t, n-5, bounds.Index)
					require.Equal(t, panics, debug.SetPanicOnFault(panics))
				}
			})
		}
	}
}

// TestLauncherWhileItIsInUse: a kernel that runs while another one of the same goroutine shares a
// loop gets memory of its own, and a panic of a share of a loop leaves the Launcher usable.
func TestLauncherWhileItIsInUse(t *testing.T) {
	arena, err := cpu.NewArena()
	if err != nil {
		t.Skip(err)
	}
	defer func() { require.NoError(t, arena.Close()) }()
	k, err := loadKernels(t).Kernel("Triad64")
	require.NoError(t, err)
	r, err := cpu.NewKernelRunner(arena, k, cpu.Options{})
	require.NoError(t, err)
	const n = 1000
	a, b, x, one := make([]float64, n), make([]float64, n), make([]float64, n), make([]float64, n)
	for i := range one {
		one[i] = float64(i)
	}
	var on cpu.Launcher
	for range 300 {
		require.Panics(t, func() {
			_ = on.Call(r, values([]any{a, one, one, 2.0}), func(*cpu.Loop) error { panic("mine") })
			panic("brief: it was not shared")
		})
		require.NoError(t, on.Call(r, values([]any{a, one, one, 2.0}), func(l *cpu.Loop) error {
			if err := on.Call(r, values([]any{b, one, x, 3.0}), nil); err != nil {
				return err
			}
			return l.Run(0, n)
		}))
		require.Equal(t, 3*one[n-1], a[n-1])
		a[n-1] = 0
	}
	require.Equal(t, one, b)
}

// TestFaultNearNilIsAnError hands a kernel a slice whose memory is gone altogether.
func TestFaultNearNilIsAnError(t *testing.T) {
	arena, err := cpu.NewArena()
	if err != nil {
		t.Skip(err)
	}
	defer func() { require.NoError(t, arena.Close()) }()
	k, err := loadKernels(t).Kernel("Triad64")
	require.NoError(t, err)
	r, err := cpu.NewKernelRunner(arena, k, cpu.Options{})
	require.NoError(t, err)
	gone := cpu.Value{Addr: nil, Len: 100}
	err = r.Call([]cpu.Value{gone, gone, gone, {}}, nil)
	var fault *cpu.FaultError
	require.ErrorAs(t, err, &fault)
}

// TestPanicsOfOthersGoOn: what happens around generated code is not taken for a fault in it.
func TestPanicsOfOthersGoOn(t *testing.T) {
	arena, err := cpu.NewArena()
	if err != nil {
		t.Skip(err)
	}
	defer func() { require.NoError(t, arena.Close()) }()
	k, err := loadKernels(t).Kernel("Triad64")
	require.NoError(t, err)
	r, err := cpu.NewKernelRunner(arena, k, cpu.Options{})
	require.NoError(t, err)
	x := make([]float64, 100)
	require.PanicsWithValue(t, "mine", func() {
		_ = r.Call(values([]any{x, x, x, 2.0}), func(l *cpu.Loop) error {
			require.NoError(t, l.Run(0, 50))
			panic("mine")
		})
	})
}
