//go:build linux && amd64

package exec

import (
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/gompss/gompss/codegen/cpu/x86"
)

// machine assembles insts and a return into a fresh arena.
func machine(t testing.TB, insts ...x86.Inst) uintptr {
	t.Helper()
	var code []byte
	for _, in := range insts {
		var err error
		code, err = x86.Append(code, in)
		require.NoError(t, err)
	}
	code = append(code, 0xC5, 0xF8, 0x77, 0xC3) // VZEROUPPER, RET
	a, err := NewArena()
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, a.Close()) })
	entry, err := a.Add(code)
	require.NoError(t, err)
	return entry
}

func TestCallRunsGeneratedCode(t *testing.T) {
	entry := machine(t,
		x86.I(x86.VMOVUPS, x86.W256, x86.RegArg(x86.V(1)), x86.MemArg(x86.At(x86.DI, 0))),
		x86.I(x86.VADDPS, x86.W256, x86.RegArg(x86.V(1)), x86.RegArg(x86.V(1)), x86.RegArg(x86.V(1))),
		x86.I(x86.VMOVUPSStore, x86.W256, x86.MemArg(x86.At(x86.DI, 32)), x86.RegArg(x86.V(1))))
	block := [16]float32{1, 2, 3, 4, 5, 6, 7, 8}
	call(entry, unsafe.Pointer(&block))
	require.Equal(t, [16]float32{1, 2, 3, 4, 5, 6, 7, 8, 2, 4, 6, 8, 10, 12, 14, 16}, block)
	require.Zero(t, testing.AllocsPerRun(100, func() { call(entry, unsafe.Pointer(&block)) }))
}

func TestFaultInGeneratedCodeIsAPanicOfTheCaller(t *testing.T) {
	entry := machine(t, x86.I(x86.XORQ, x86.W128, x86.RegArg(x86.AX), x86.RegArg(x86.AX)), x86.I(x86.MOVQ, x86.W128, x86.RegArg(x86.CX), x86.MemArg(x86.At(x86.AX, 0))))
	var block [8]uint64
	require.Panics(t, func() { call(entry, unsafe.Pointer(&block)) })
}

func TestArenaFull(t *testing.T) {
	a, err := NewArena()
	require.NoError(t, err)
	defer func() { require.NoError(t, a.Close()) }()
	_, err = a.Add(make([]byte, arenaSize+1))
	require.ErrorContains(t, err, "arena full")
}

// refused is executable memory of which the system gives no part, or only what mprotect gives.
func refused(protect bool) Memory {
	m := Memory{File: func(string, int) (int, error) { return 0, unix.ENOSYS }}
	if protect {
		m.Protect = func([]byte, int) error { return unix.EACCES }
	}
	return m
}

// TestArenaByProtection refuses memory files: pages are made executable by mprotect, and code runs
// in them.
func TestArenaByProtection(t *testing.T) {
	a, err := refused(false).NewArena()
	require.NoError(t, err)
	defer func() { require.NoError(t, a.Close()) }()
	require.Equal(t, "mprotect", a.How())
	for range 3 {
		entry, err := a.Add([]byte{0xC3})
		require.NoError(t, err)
		var block [8]uint64
		call(entry, unsafe.Pointer(&block))
	}
}

// TestNoArenaSaysWhy refuses both.
func TestNoArenaSaysWhy(t *testing.T) {
	_, err := refused(true).NewArena()
	require.ErrorIs(t, err, unix.ENOSYS)
	require.ErrorIs(t, err, unix.EACCES)
	require.ErrorContains(t, err, "cpu: executable memory: memfd_create: function not implemented\nmprotect: permission denied")
}

func BenchmarkCall(b *testing.B) {
	entry := machine(b)
	var block [8]uint64
	for b.Loop() {
		call(entry, unsafe.Pointer(&block))
	}
}
