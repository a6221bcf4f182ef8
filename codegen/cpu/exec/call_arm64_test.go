//go:build linux && arm64

package exec

import (
	"encoding/binary"
	"runtime"
	"sync"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/gompss/gompss/codegen/cpu/arm64"
	"github.com/gompss/gompss/codegen/cpu/image"
)

// assemble makes code of instructions. A branch with Imm2 n goes to the one of number n.
func assemble(t testing.TB, list ...arm64.Inst) []byte {
	t.Helper()
	var code []byte
	for at, i := range list {
		switch i.Op {
		case arm64.B, arm64.BCOND, arm64.CBZ, arm64.CBNZ:
			i.Imm, i.Imm2 = (i.Imm2-int64(at))*4, 0
		}
		w, err := arm64.Encode(i)
		require.NoError(t, err)
		code = binary.LittleEndian.AppendUint32(code, w)
	}
	return code
}

// machine puts instructions into a fresh arena of m.
func machine(t testing.TB, m Memory, list ...arm64.Inst) uintptr {
	t.Helper()
	a, err := m.NewArena()
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, a.Close()) })
	entry, err := a.Add(assemble(t, list...))
	require.NoError(t, err)
	return entry
}

var ret = arm64.Inst{Op: arm64.RET, N: 30}

// triad is a[i] = b[i] + 3*c[i] for n float32: words 0 to 3 of the block are the addresses and n.
var triad = []arm64.Inst{
	{Op: arm64.LDR, D: 1, Imm: 0}, {Op: arm64.LDR, D: 2, Imm: 8}, {Op: arm64.LDR, D: 3, Imm: 16}, {Op: arm64.LDR, D: 4, Imm: 24},
	{Op: arm64.MOVZW, D: 5, Imm: 0x4040, Imm2: 16},
	{Op: arm64.VDUP, T: arm64.S4, D: 16, N: 5},
	{Op: arm64.SUBSI, D: arm64.ZR, N: 4, Imm: 4}, // 6: four at once
	{Op: arm64.BCOND, Cond: arm64.LT, Imm2: 18},
	{Op: arm64.LDRFQ, D: 0, N: 2}, {Op: arm64.LDRFQ, D: 1, N: 3},
	{Op: arm64.VFMUL, T: arm64.S4, D: 1, N: 1, M: 16},
	{Op: arm64.VFADD, T: arm64.S4, D: 0, N: 0, M: 1},
	{Op: arm64.STRFQ, D: 0, N: 1},
	{Op: arm64.ADDI, D: 1, N: 1, Imm: 16}, {Op: arm64.ADDI, D: 2, N: 2, Imm: 16}, {Op: arm64.ADDI, D: 3, N: 3, Imm: 16},
	{Op: arm64.SUBI, D: 4, N: 4, Imm: 4},
	{Op: arm64.B, Imm2: 6},
	{Op: arm64.CBZ, D: 4, Imm2: 29}, // 18: one by one
	{Op: arm64.LDRFS, D: 0, N: 2}, {Op: arm64.LDRFS, D: 1, N: 3},
	{Op: arm64.FMULS, D: 1, N: 1, M: 16}, {Op: arm64.FADDS, D: 0, N: 0, M: 1},
	{Op: arm64.STRFS, D: 0, N: 1},
	{Op: arm64.ADDI, D: 1, N: 1, Imm: 4}, {Op: arm64.ADDI, D: 2, N: 2, Imm: 4}, {Op: arm64.ADDI, D: 3, N: 3, Imm: 4},
	{Op: arm64.SUBI, D: 4, N: 4, Imm: 1},
	{Op: arm64.B, Imm2: 18},
	ret, // 29
}

// block holds the words that generated code reads.
type block [image.WordParams]uint64

func address(x []float32) uint64 { return uint64(uintptr(unsafe.Pointer(unsafe.SliceData(x)))) }

// guarded returns memory for n elements that ends right before a page that must not be touched.
func guarded(t testing.TB, n int) []float32 {
	t.Helper()
	page := unix.Getpagesize()
	size := (4*n + page - 1) / page * page
	mem, err := unix.Mmap(-1, 0, size+page, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANON)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, unix.Munmap(mem)) })
	require.NoError(t, unix.Mprotect(mem[size:], unix.PROT_NONE))
	if n == 0 {
		return nil
	}
	return unsafe.Slice((*float32)(unsafe.Pointer(&mem[size-4*n])), n)
}

func runTriad(t testing.TB, entry uintptr, n int) {
	a, b, c := guarded(t, n), guarded(t, n), guarded(t, n)
	for i := range n {
		b[i], c[i] = float32(i)*0.37-5, 1/float32(i+1)
	}
	blk := block{address(a), address(b), address(c), uint64(n)}
	call(entry, unsafe.Pointer(&blk))
	for i := range n {
		product := float32(3 * c[i]) // the conversion rounds: nothing is fused
		if want := b[i] + product; a[i] != want {
			t.Errorf("element %d of %d: %v, want %v", i, n, a[i], want)
			return
		}
	}
}

// TestRun_ALoopBetweenGuardPages runs a loop of NEON code, for sizes with every remainder, from a file in memory and
// from memory that is made executable.
func TestRun_ALoopBetweenGuardPages(t *testing.T) {
	for _, m := range []Memory{{}, refused(false)} {
		entry := machine(t, m, triad...)
		for _, n := range []int{0, 1, 2, 3, 4, 5, 7, 8, 63, 1000, 1023} {
			runTriad(t, entry, n)
		}
	}
}

// TestRun_FreshCodeIsSeen writes pieces of code one behind the other and runs each between the writes, on several
// goroutines while the collector runs.
func TestRun_FreshCodeIsSeen(t *testing.T) {
	a, err := NewArena()
	require.NoError(t, err)
	defer func() { require.NoError(t, a.Close()) }()
	stop := make(chan struct{})
	var all sync.WaitGroup
	all.Go(func() {
		for {
			select {
			case <-stop:
				return
			default:
				runtime.GC()
			}
		}
	})
	var workers sync.WaitGroup
	for w := range 3 {
		workers.Go(func() {
			for k := range 40 {
				n := int64(w*1000 + k)
				entry, err := a.Add(assemble(t, arm64.Inst{Op: arm64.MOVZ, D: 1, Imm: n}, arm64.Inst{Op: arm64.STR, D: 1, N: 0}, ret))
				if err != nil {
					t.Error(err)
					return
				}
				var blk block
				call(entry, unsafe.Pointer(&blk))
				if blk[0] != uint64(n) {
					t.Errorf("piece %d of worker %d gives %d", k, w, blk[0])
				}
			}
		})
	}
	workers.Wait()
	close(stop)
	all.Wait()
}

// TestRun_AFaultIsAPanicOfTheCaller reads address 0, and a page that must not be touched.
func TestRun_AFaultIsAPanicOfTheCaller(t *testing.T) {
	entry := machine(t, Memory{}, arm64.Inst{Op: arm64.LDR, D: 1}, arm64.Inst{Op: arm64.LDR, D: 2, N: 1}, ret)
	var blk block
	require.Panics(t, func() { call(entry, unsafe.Pointer(&blk)) })
	own := uint64(7)
	blk[0] = uint64(uintptr(unsafe.Pointer(&own)))
	require.NotPanics(t, func() { call(entry, unsafe.Pointer(&blk)) })
}

func TestStoppable_LayoutOfGoroutines(t *testing.T) {
	require.NoError(t, stoppable(ownStack()))
	entry := machine(t, Memory{}, ret)
	var blk block
	call(entry, unsafe.Pointer(&blk))
	_, _, guard, _ := ownStack()
	at := uintptr(blk[image.WordStop])
	require.Equal(t, guard, *(*uintptr)(*(*unsafe.Pointer)(unsafe.Pointer(&at)))) // safe: a word of the record of this goroutine
}

// TestProbe_RunsWhatIsWritten: code is written by the hook of the arena; memory that cannot be run is an error, not the end of the process.
func TestProbe_RunsWhatIsWritten(t *testing.T) {
	mem, err := unix.Mmap(-1, 0, 1<<16, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANON)
	require.NoError(t, err)
	writes := 0
	a := &Arena{write: mem, exec: mem, how: "test", writing: func(write func()) { writes++; write() }}
	require.ErrorContains(t, probe(a), "code in memory of the kind test: ")
	require.Equal(t, 1, writes)
	require.NoError(t, unix.Mprotect(mem, unix.PROT_READ|unix.PROT_WRITE|unix.PROT_EXEC))
	require.NoError(t, probe(a))
	require.NoError(t, a.tried())
	require.Equal(t, 5, writes)
	require.NoError(t, unix.Mprotect(mem, unix.PROT_READ|unix.PROT_WRITE))
	require.Error(t, a.tried())
	require.Nil(t, a.write, "a failed arena is closed")
}
