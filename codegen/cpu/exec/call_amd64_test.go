//go:build linux && amd64

package exec

import (
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"

	"github.com/gompss/gompss/codegen/cpu/image"
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
	block := [2 * image.WordParams]float32{1, 2, 3, 4, 5, 6, 7, 8}
	call(entry, unsafe.Pointer(&block))
	require.Equal(t, []float32{1, 2, 3, 4, 5, 6, 7, 8, 2, 4, 6, 8, 10, 12, 14, 16}, block[:16])
	require.Zero(t, testing.AllocsPerRun(100, func() { call(entry, unsafe.Pointer(&block)) }))
}

func TestFaultInGeneratedCodeIsAPanicOfTheCaller(t *testing.T) {
	entry := machine(t, x86.I(x86.XORQ, x86.W128, x86.RegArg(x86.AX), x86.RegArg(x86.AX)), x86.I(x86.MOVQ, x86.W128, x86.RegArg(x86.CX), x86.MemArg(x86.At(x86.AX, 0))))
	var block [image.WordParams]uint64
	require.Panics(t, func() { call(entry, unsafe.Pointer(&block)) })
}

// TestStoppable_LayoutOfGoroutines: the guard that generated code looks at is there, and a runtime that keeps it elsewhere gets no vector code.
func TestStoppable_LayoutOfGoroutines(t *testing.T) {
	require.NoError(t, stoppable(ownStack()))
	entry := machine(t)
	var block [image.WordParams]uint64
	call(entry, unsafe.Pointer(&block))
	lo, hi, guard, pointer := ownStack()
	at := uintptr(block[image.WordStop])
	require.Equal(t, guard, *(*uintptr)(*(*unsafe.Pointer)(unsafe.Pointer(&at)))) // safe: a word of the record of this goroutine
	asked := int64(image.StopAsked)
	require.NoError(t, stoppable(lo, hi, uintptr(asked), pointer))
	for _, odd := range [][4]uintptr{{hi, lo, guard, pointer}, {lo, hi, 0, pointer}, {lo, hi, lo + mostGuard + 8, pointer}, {lo, hi, guard, hi + 8}} {
		require.ErrorContains(t, stoppable(odd[0], odd[1], odd[2], odd[3]), "could not be stopped")
	}
}

func BenchmarkCall(b *testing.B) {
	entry := machine(b)
	var block [image.WordParams]uint64
	for b.Loop() {
		call(entry, unsafe.Pointer(&block))
	}
}
