//go:build linux && (amd64 || arm64)

package cpu_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/gompss/gompss/codegen"
	"github.com/gompss/gompss/codegen/cpu"
)

// Kernels over parts of memory with pages without access between them. None checks an index:
// what keeps code inside is the code alone.
const guardedSource = `package k

//omp:target device(smp) check(none)
//omp:task inout(out) in(in)
func Region(rows, cols, stride int, out, in []T) {
	//omp:teams distribute parallel for
	for r := 0; r < rows; r++ {
		//omp:simd
		for c := 0; c < cols; c++ {
			out[r*stride+c] = in[r*stride+c] + 1
		}
	}
}

//omp:target device(smp) check(none)
//omp:task inout(out) in(in)
func Backwards(rows, cols, stride int, out, in []T) {
	//omp:teams distribute parallel for
	for r := 0; r < rows; r++ {
		//omp:simd
		for c := cols - 1; c >= 0; c-- {
			out[r*stride+c] = in[r*stride+cols-1-c] + 1
		}
	}
}

//omp:target device(smp) check(none)
//omp:task inout(out) in(in)
func Columns(rows, cols, stride int, out, in []T) {
	//omp:teams distribute parallel for
	for c := 0; c < cols; c++ {
		for r := 0; r < rows; r++ {
			out[r*stride+c] = in[r*stride+c] + 1
		}
	}
}

//omp:target device(smp) check(none)
//omp:task inout(out) in(in)
func Thirds(rows, cols, stride int, out, in []T) {
	//omp:teams distribute parallel for
	for r := 0; r < rows; r++ {
		//omp:simd
		for c := (cols - 1) % 3; c < cols; c += 3 {
			out[r*stride+c] = in[r*stride+c] + 1
		}
	}
}

//omp:target device(smp) check(none)
//omp:task inout(out) in(in)
func Masked(rows, cols, stride int, out, in []T) {
	//omp:teams distribute parallel for
	for i := 0; i < rows*stride; i++ {
		if i%stride < cols {
			out[i] = in[i] + 1
		}
	}
}

//omp:target device(smp) check(none)
//omp:task inout(out) in(in)
func Gathered(rows, cols, stride int, out, in []T) {
	//omp:teams distribute parallel for
	for i := 0; i < rows*stride; i++ {
		at := i * 7 % (rows * stride)
		if at%stride < cols {
			out[at] = in[at] + 1
		}
	}
}

//omp:target device(smp) check(none)
//omp:task inout(out) in(in)
func OnePast(rows, cols, stride int, out, in []T) {
	//omp:teams distribute parallel for
	for i := 0; i < cols; i++ {
		out[i] = in[i+1] + 1
	}
}

//omp:target device(smp) check(none)
//omp:task inout(out) in(in)
func OneBefore(rows, cols, stride int, out, in []T) {
	//omp:teams distribute parallel for
	for i := 0; i < cols; i++ {
		out[i-1] = in[i] + 1
	}
}
`

const guardPage = 4096

// guarded is rows pages with a page between any two, before the first and behind the last that may
// not be touched.
type guarded struct{ mem []byte }

func newGuarded(t *testing.T, rows int) *guarded {
	t.Helper()
	mem, err := unix.Mmap(-1, 0, (2*rows+1)*guardPage, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANON)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, unix.Munmap(mem)) })
	for p := 0; p <= 2*rows; p += 2 {
		require.NoError(t, unix.Mprotect(mem[p*guardPage:(p+1)*guardPage], unix.PROT_NONE))
	}
	return &guarded{mem}
}

// row is the bytes of a row from element first on.
func (g *guarded) row(r, first, cols, size int) []byte {
	at := (2*r+1)*guardPage + first*size
	return g.mem[at : at+cols*size]
}

func (g *guarded) value(rows, first, size int) cpu.Value {
	return cpu.Value{Addr: unsafe.Pointer(&g.mem[guardPage+first*size]), Len: int64(rows * 2 * guardPage / size)}
}

// guardTypes are the element types, with what adds one to an element: exactly, in every type.
var guardTypes = map[string]struct {
	size int
	next func(b []byte)
}{
	"float32": {4, func(b []byte) { *(*float32)(unsafe.Pointer(&b[0]))++ }}, "float64": {8, func(b []byte) { *(*float64)(unsafe.Pointer(&b[0]))++ }},
	"int8": {1, func(b []byte) { b[0]++ }}, "uint16": {2, func(b []byte) { *(*uint16)(unsafe.Pointer(&b[0]))++ }},
	"int32": {4, func(b []byte) { *(*int32)(unsafe.Pointer(&b[0]))++ }}, "int64": {8, func(b []byte) { *(*int64)(unsafe.Pointer(&b[0]))++ }},
}

// TestNoByteOutsideIsTouched runs kernels over rows that begin or end at pages without access, at
// every alignment and with odd tails, so that one byte read or written before or behind a row, by
// lanes that are on or off, is a fault. Two kernels that do so are caught.
func TestNoByteOutsideIsTouched(t *testing.T) {
	arena, err := cpu.NewArena()
	if err != nil {
		t.Skip(err)
	}
	defer func() { require.NoError(t, arena.Close()) }()
	have, err := cpu.Detect()
	if err != nil {
		t.Skip(err)
	}
	const rows = 3
	for typ, element := range guardTypes {
		p, err := codegen.Load(codegen.File{Name: "k.go", Text: strings.ReplaceAll(guardedSource, "[]T", "[]"+typ)})
		require.NoError(t, err)
		for machine, o := range machines() {
			if o.AVX512 && !have.AVX512 {
				continue
			}
			for _, name := range []string{"Region", "Backwards", "Columns", "Thirds", "Masked", "Gathered", "OnePast", "OneBefore"} {
				t.Run(fmt.Sprintf("%s/%s/%s", name, typ, machine), func(t *testing.T) {
					k, err := p.Kernel(name)
					require.NoError(t, err)
					code, err := cpu.Compile(k, o)
					require.NoError(t, err)
					prog, err := arena.Install(code)
					require.NoError(t, err)
					guardRuns(t, name, cpu.NewRunner(prog), rows, element.size, element.next)
				})
			}
		}
	}
}

func guardRuns(t *testing.T, name string, r *cpu.Runner, rows, size int, next func([]byte)) {
	rng := rand.New(rand.NewPCG(uint64(size), 5))
	out, in := newGuarded(t, rows), newGuarded(t, rows)
	whole := guardPage / size
	for try := range 12 {
		first, cols := 0, whole-rng.IntN(40)
		if try%2 == 1 { // ends at a page
			first = rng.IntN(40)
			cols = whole - first
		}
		if try < 4 {
			cols = min(cols, rng.IntN(20)+1)
			if try%2 == 1 {
				first = whole - cols
			}
		}
		for row := range rows {
			for i, b := range [][]byte{out.row(row, 0, whole, size), in.row(row, 0, whole, size)} {
				for e := range whole {
					for k := range size {
						b[e*size+k] = 0
					}
					b[e*size] = byte(e%50 + i)
				}
				if size >= 4 { // small numbers of any type: floats are subnormal, and one more rounds to one
					for e := range whole {
						b[e*size+size-1] = 0
					}
				}
			}
		}
		err := r.Call([]cpu.Value{{Bits: uint64(rows)}, {Bits: uint64(cols)}, {Bits: uint64(2 * guardPage / size)}, out.value(rows, first, size), in.value(rows, first, size)}, nil)
		if name == "OnePast" || name == "OneBefore" {
			caught := name == "OnePast" && first+cols == whole || name == "OneBefore" && first == 0
			require.Equal(t, caught, err != nil, "%v: first=%d cols=%d", err, first, cols)
			continue
		}
		require.NoError(t, err, "first=%d cols=%d", first, cols)
		for row := range rows {
			a, b := out.row(row, 0, whole, size), in.row(row, 0, whole, size)
			for e := range whole {
				want := append([]byte{}, b[e*size:(e+1)*size]...)
				c := e - first
				on := c >= 0 && c < cols
				switch name {
				case "Thirds":
					on = on && (cols-1-c)%3 == 0
				case "Backwards":
					if on {
						at := first + cols - 1 - c
						want = append([]byte{}, b[at*size:(at+1)*size]...)
					}
				}
				if on {
					next(want)
				} else {
					want = make([]byte, size)
					want[0] = byte(e % 50)
				}
				require.Equal(t, want, a[e*size:(e+1)*size], "first=%d cols=%d row=%d element=%d", first, cols, row, e)
			}
		}
	}
}
