//go:build linux && amd64

package cpu

import (
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

// machine assembles insts and a return into a fresh arena.
func machine(t testing.TB, insts ...Inst) uintptr {
	t.Helper()
	var code []byte
	for _, in := range insts {
		var err error
		code, err = Append(code, in)
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
		I(VMOVUPS, W256, RegArg(V(1)), MemArg(At(DI, 0))),
		I(VADDPS, W256, RegArg(V(1)), RegArg(V(1)), RegArg(V(1))),
		I(VMOVUPSStore, W256, MemArg(At(DI, 32)), RegArg(V(1))))
	block := [16]float32{1, 2, 3, 4, 5, 6, 7, 8}
	call(entry, unsafe.Pointer(&block))
	require.Equal(t, [16]float32{1, 2, 3, 4, 5, 6, 7, 8, 2, 4, 6, 8, 10, 12, 14, 16}, block)
	require.Zero(t, testing.AllocsPerRun(100, func() { call(entry, unsafe.Pointer(&block)) }))
}

func TestFaultInGeneratedCodeIsAPanicOfTheCaller(t *testing.T) {
	entry := machine(t, I(XORQ, W128, RegArg(AX), RegArg(AX)), I(MOVQ, W128, RegArg(CX), MemArg(At(AX, 0))))
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

func TestArenaByProtection(t *testing.T) {
	mem, err := unix.Mmap(-1, 0, arenaSize, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANON)
	require.NoError(t, err)
	require.NoError(t, probeProtect(mem))
	a := &Arena{write: mem, exec: mem}
	defer func() { require.NoError(t, a.Close()) }()
	for range 3 {
		entry, err := a.Add([]byte{0xC3})
		require.NoError(t, err)
		var block [8]uint64
		call(entry, unsafe.Pointer(&block))
	}
}

func BenchmarkCall(b *testing.B) {
	entry := machine(b)
	var block [8]uint64
	for b.Loop() {
		call(entry, unsafe.Pointer(&block))
	}
}
