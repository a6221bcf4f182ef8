package cpubench

import (
	"fmt"
	"unsafe"

	"github.com/klauspost/cpuid/v2"
)

// A spec is a row without its element type: a kernel, a size, and the work of a run.
type spec struct {
	name string // of the row, and in c/rows.c
	size string // as text
	n, m int
	unit string  // GB/s, GFLOP/s or ns
	work float64 // of one run, in 1e9 bytes or operations; in elements if unit is ns
	fn   string  // the kernel
}

// machine has the cache sizes of the machine in bytes. The sizes of rows depend on them.
type machine struct{ l1, l2, l3 int }

func thisMachine() machine {
	c := cpuid.CPU.Cache
	return machine{l1: max(c.L1D, 16<<10), l2: max(c.L2, 128<<10), l3: max(c.L3, 4<<20)}
}

func (m machine) String() string {
	return fmt.Sprintf("%s, %d threads, L1d %d KiB, L2 %d KiB, L3 %d MiB", cpuid.CPU.BrandName, cpuid.CPU.LogicalCores, m.l1>>10, m.l2>>10, m.l3>>20)
}

// A stream is one of the kernels that stream through arrays.
type stream struct {
	name, fn       string
	arrays, passes int // arrays that it accesses; loads and stores per element
}

var streams = []stream{{"copy", "Copy", 2, 2}, {"scale", "Scale", 2, 2}, {"add", "Add", 3, 3}, {"triad", "Triad", 3, 3}, {"saxpy", "Saxpy", 2, 3}, {"dot", "Dot", 2, 2}}

// specs returns all rows for elements of size bytes.
func specs(mc machine, size int) []spec {
	var out []spec
	for _, st := range streams {
		for _, at := range []struct {
			name  string
			bytes int // of all arrays
		}{{"L1", mc.l1 * 3 / 4}, {"L2", mc.l2 / 2}, {"memory", st.arrays * min(max(2*mc.l3, 64<<20), 256<<20)}} {
			n := at.bytes / st.arrays / size &^ 63
			out = append(out, spec{st.name, at.name, n, 0, "GB/s", float64(n*size*st.passes) / 1e9, st.fn})
		}
	}
	gflops := func(f float64) float64 { return f / 1e9 }
	bytes := func(f float64) float64 { return f / 1e9 }
	return append(out,
		spec{"nbody", "4096", 4096, 0, "GFLOP/s", gflops(20 * 4096 * 4096), "NBody"},
		spec{"jacobi", "512x512", 512, 512, "GB/s", bytes(510 * 510 * 2 * float64(size)), "Jacobi"},
		spec{"jacobi", "4096x4096", 4096, 4096, "GB/s", bytes(4094 * 4094 * 2 * float64(size)), "Jacobi"},
		spec{"spmv", "8-56 a row", 65536, 32, "GB/s", bytes(65536 * 32 * float64(size+4)), "SpMV"},
		spec{"spmv", "2-13 a row", 131072, 8, "GB/s", bytes(131072 * 8 * float64(size+4)), "SpMV"},
		spec{"exp", "8192", 8192, 0, "ns", 8192, "Exp"},
		spec{"blackscholes", "16384", 16384, 0, "ns", 16384, "BlackScholes"},
		spec{"matmul", "1024", 1024, 0, "GFLOP/s", gflops(2 << 30), "MatMul"},
		spec{"mandelbrot", "512x512", 512, 512, "ns", 512 * 512, "Mandelbrot"},
		spec{"histogram", "1Mi", 1 << 20, 0, "ns", 1 << 20, "Histogram"})
}

// small returns the row at the size at which it is compared with the Go function, element by
// element. The size is odd, so that there are remainder loops.
func (s spec) small() spec {
	switch {
	case s.name == "matmul" || s.name == "mandelbrot" || s.name == "jacobi":
		s.n, s.m = 67, min(s.m, 83)
	case s.name == "spmv":
		s.n = 301
	default:
		s.n = min(s.n, 1021)
	}
	return s
}

// poolSize returns the bytes of memory for the largest row.
func poolSize(list []spec, size int) int {
	most := 0
	for _, s := range list {
		elements := 6 * s.n
		switch s.name {
		case "copy", "scale", "add", "triad", "saxpy", "dot":
			elements = 3 * s.n
		case "matmul":
			elements = 3 * s.n * s.n
		case "jacobi", "mandelbrot":
			elements = 2 * s.n * s.m
		case "spmv":
			elements = 3*s.n + 4*s.n*s.m
		}
		most = max(most, elements*max(size, 4))
	}
	return most + 1<<20
}

// A pool is the memory of the arguments: one mapping, cut as c/rows.c cuts its own.
type pool struct {
	mem   []byte
	used  int
	taken int
}

func take[E any](p *pool, n int) []E {
	var e E
	p.used = (p.used+4095)/4096*4096 + 576*p.taken
	p.taken++
	at := p.used
	p.used += n * int(unsafe.Sizeof(e))
	if p.used > len(p.mem) {
		panic(fmt.Sprintf("gompss: bug: bench: the pool has %d bytes, a row needs more", len(p.mem)))
	}
	if n == 0 {
		return nil
	}
	// Safe: the range was checked just now, and the mapping outlives the row.
	return unsafe.Slice((*E)(unsafe.Pointer(&p.mem[at])), n)
}

// unit returns a number in [0, 1) that depends only on i and seed.
func unit(i, seed int) float64 {
	x := uint32(i)*2654435761 + uint32(seed)*40503
	x ^= x >> 15
	x *= 2246822519
	x ^= x >> 13
	return float64(x>>8) / 16777216
}

func fill[T float32 | float64](p *pool, n, seed int, lo, hi float64) []T {
	x := take[T](p, n)
	for i := range x {
		x[i] = T(lo + (hi-lo)*unit(i, seed))
	}
	return x
}

// arguments creates the arguments of a row, which equal those of c/rows.c.
func arguments[T float32 | float64](p *pool, s spec) []any {
	p.used, p.taken = 0, 0
	n, m := s.n, s.m
	out := func(n int) []T { return fill[T](p, n, 0, 0, 0) }
	in := func(n, seed int) []T { return fill[T](p, n, seed, -1, 1) }
	switch s.name {
	case "matmul":
		return []any{n, out(n * n), in(n*n, 1), in(n*n, 2)}
	case "jacobi":
		return []any{n, m, out(n * m), in(n*m, 1)}
	case "mandelbrot":
		return []any{n, m, 256, T(3) / T(n), T(2) / T(m), take[int32](p, n*m)}
	case "histogram":
		bins := take[int32](p, 256)
		clear(bins)
		return []any{bins, fill[T](p, n, 1, 0, 1)}
	case "dot":
		return []any{out(1), in(n, 1), in(n, 2)}
	case "nbody":
		return []any{in(n, 1), in(n, 2), in(n, 3), out(n), out(n), out(n)}
	case "blackscholes":
		return []any{out(n), out(n), fill[T](p, n, 1, 5, 30), fill[T](p, n, 2, 1, 100), fill[T](p, n, 3, 0.25, 10), T(0.02), T(0.3)}
	case "exp":
		return []any{out(n), fill[T](p, n, 1, -20, 20)}
	case "spmv":
		return sparse[T](p, n, m)
	}
	a, b, c := out(n), in(n, 1), in(n, 2)
	switch s.name {
	case "copy":
		return []any{a, b}
	case "scale", "saxpy":
		return []any{a, b, T(1e-3)}
	case "add":
		return []any{a, b, c}
	}
	return []any{a, b, c, T(1e-3)}
}

// sparse creates a matrix of n rows with m entries each on average, and its vectors.
func sparse[T float32 | float64](p *pool, n, m int) []any {
	start := take[int32](p, n+1)
	start[0] = 0
	for r := range n {
		start[r+1] = start[r] + int32(float64(m/4)+unit(r, 9)*float64(m*3/2))
	}
	nnz := int(start[n])
	col := take[int32](p, nnz)
	for k := range col {
		col[k] = int32(unit(k, 7) * float64(n))
	}
	y := fill[T](p, n, 0, 0, 0)
	return []any{y, fill[T](p, n, 1, -1, 1), fill[T](p, nnz, 2, -1, 1), col, start}
}

// results returns the arguments that a row writes.
func (s spec) results(args []any) []any {
	switch s.name {
	case "matmul":
		return args[1:2]
	case "jacobi":
		return args[2:3]
	case "mandelbrot":
		return args[5:6]
	case "nbody":
		return args[3:6]
	case "blackscholes":
		return args[0:2]
	}
	return args[0:1]
}
