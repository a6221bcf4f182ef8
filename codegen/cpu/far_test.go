//go:build linux && amd64

package cpu_test

import (
	"fmt"
	"strings"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/gompss/gompss/codegen"
	"github.com/gompss/gompss/codegen/cpu"
)

// farSource gathers from elements whose size no addressing mode multiplies an index by.
const farSource = `package k

type E struct{ FIELDS }

//omp:target device(smp)
//omp:task in(at, x) out(y)
func Read(n int, at []INDEX, x []E, y []T) {
	//omp:teams distribute parallel for
	for i := 0; i < n; i++ {
		y[i] = x[at[i]].V
	}
}

//omp:target device(smp)
//omp:task in(at, y) inout(x)
func Write(n int, at []INDEX, x []E, y []T) {
	//omp:teams distribute parallel for
	for i := 0; i < n; i++ {
		x[at[i]].V = y[i]
	}
}
`

// TestGather_ElementsFarAway: an index of 32 bits times the size of an element was computed in 32
// bits where that size is none of 1, 2, 4 and 8, so that elements past 2 GiB of a slice were looked
// for in front of it. The slice lies in pages that are set aside when they are touched.
func TestGather_ElementsFarAway(t *testing.T) {
	arena, err := cpu.NewArena()
	if err != nil {
		t.Skip(err)
	}
	defer func() { require.NoError(t, arena.Close()) }()
	have, err := cpu.Detect()
	if err != nil {
		t.Skip(err)
	}
	const whole = 10 << 30
	mem, err := unix.Mmap(-1, 0, whole, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANON|unix.MAP_NORESERVE)
	if err != nil {
		t.Skip("no address space: ", err)
	}
	defer func() { require.NoError(t, unix.Munmap(mem)) }()
	ran := 0
	for _, e := range []struct {
		fields string
		size   int
	}{{"V T; W [2]T", 12}, {"V T; W [3]T", 16}, {"V T; W [4]T", 20}, {"V T; B [60]uint8", 64}, {"V T; B uint8", 8}} {
		for _, typ := range []string{"float32", "int32"} {
			for _, index := range []string{"int32", "uint32", "int"} {
				text := strings.NewReplacer("INDEX", index, "V T", "V "+typ, "]T", "]"+typ).Replace(strings.Replace(farSource, "FIELDS", e.fields, 1))
				p, err := codegen.Load(codegen.File{Name: "k.go", Text: text})
				require.NoError(t, err, text)
				for machine, o := range machines() {
					if o.AVX512 && !have.AVX512 {
						continue
					}
					ran++
					t.Run(fmt.Sprintf("%d/%s/%s/%s", e.size, typ, index, machine), func(t *testing.T) {
						for _, name := range []string{"Read", "Write"} {
							k, err := p.Kernel(name)
							require.NoError(t, err)
							code, err := cpu.Compile(k, o)
							require.NoError(t, err)
							prog, err := arena.Install(code)
							require.NoError(t, err)
							farRun(t, cpu.NewRunner(prog), mem, e.size, index == "int", name == "Write")
						}
					})
				}
			}
		}
	}
	require.Positive(t, ran)
}

// onHeap keeps what code gets the address of off the stack of a goroutine, which may move.
var onHeap []any

// farRun calls a kernel for elements in all of mem, 4 bytes of each.
func farRun(t *testing.T, r *cpu.Runner, mem []byte, size int, wide, write bool) {
	t.Helper()
	n := len(mem) / size
	const count = 37
	narrow, long, y := make([]int32, count), make([]int64, count), make([]uint32, count)
	onHeap = []any{narrow, long, y}
	element := func(i int) *uint32 { return (*uint32)(unsafe.Pointer(&mem[int(narrow[i])*size])) }
	for i := range count {
		narrow[i] = int32(min(n/count*i+i, 1<<31-1))
		long[i] = int64(narrow[i])
		y[i] = uint32(i+1) << 8
		*element(i) = 0
		if !write {
			*element(i), y[i] = y[i], 0
		}
	}
	at := unsafe.Pointer(&narrow[0])
	if wide {
		at = unsafe.Pointer(&long[0])
	}
	err := r.Call([]cpu.Value{{Bits: count}, {Addr: at, Len: count}, {Addr: unsafe.Pointer(&mem[0]), Len: int64(n)}, {Addr: unsafe.Pointer(&y[0]), Len: count}}, nil)
	require.NoError(t, err)
	for i := range count {
		require.Equal(t, uint32(i+1)<<8, y[i], "element %d of y", i)
		require.Equal(t, uint32(i+1)<<8, *element(i), "element %d", narrow[i])
	}
}
