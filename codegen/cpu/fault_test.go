//go:build linux && amd64

package cpu_test

import (
	"errors"
	"fmt"
	"runtime"
	"sync"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/gompss/gompss/codegen/cpu"
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

// TestFaultsAreErrors reads and writes pages in the middle of buffers that may not be, alone and in chunks on several goroutines, on every
// machine: the error names the element, and the same runner works again afterwards.
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
