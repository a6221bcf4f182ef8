// Command cholesky factors a symmetric positive definite matrix in tiles. The tiles are distributed
// to the ranks block-cyclically in two dimensions; the tiles of a column are broadcast along trees
// to the ranks of their rows.
package main

import (
	"context"
	"fmt"
	"math"
	"time"

	_ "github.com/gompss/gompss/devices/all"
	"github.com/gompss/gompss/dist"
	"github.com/gompss/gompss/examples/internal/demo"
	"github.com/gompss/gompss/task"
)

func main() {
	f := demo.Parse(demo.Flags{N: 1024, Rounds: 1, Block: 64, Devices: "smp", Policy: "locality"}, "rounds")
	f.Exit(run(f))
}

// A matrix is nt by nt tiles of b by b elements. Each tile is contiguous.
type matrix struct {
	data  []float64
	nt, b int
}

func (m matrix) tile(i, j int) []float64 {
	size := m.b * m.b
	return m.data[(i*m.nt+j)*size : (i*m.nt+j+1)*size]
}

func run(f demo.Flags) int {
	if f.N%f.Block != 0 {
		demo.Fail(fmt.Errorf("cholesky: -n %d is no multiple of -block %d", f.N, f.Block))
	}
	rt, err := task.New(f.Options())
	if err != nil {
		demo.Fail(err)
	}
	m := matrix{nt: f.N / f.Block, b: f.Block}
	if m.data, err = task.Alloc[float64](rt, f.N*f.N); err != nil {
		demo.Fail(err)
	}
	err = dist.Distribute(rt, m.data, dist.By(m.b*m.b, func(k, ranks int) int {
		p, q := dist.Grid(ranks)
		return k/m.nt%p*q + k%m.nt%q
	}))
	if err != nil {
		demo.Fail(err)
	}
	owned, err := dist.Owned(rt, m.data)
	if err != nil {
		demo.Fail(err)
	}
	m.fill(owned)
	start := time.Now()
	if err := m.factor(rt); err != nil {
		demo.Fail(err)
	}
	elapsed := time.Since(start)
	r := demo.Result{Example: "cholesky", N: f.N, Devices: f.Devices, Check: "off"}
	r.Count(rt, elapsed)
	r.Gflops = math.Pow(float64(f.N), 3) / 3 / elapsed.Seconds() / 1e9
	if f.Check {
		if f.World != nil {
			if err := rt.WaitOn(context.Background(), task.In(m.data)); err != nil {
				demo.Fail(err)
			}
		}
		r.Judge(m.difference(), 0)
	}
	if err := rt.Close(); err != nil {
		demo.Fail(err)
	}
	return r.Print(f.Output(), f.JSON)
}

// fill sets the elements of some ranges of a matrix that is symmetric and diagonally dominant. A
// rank fills what it owns: other memory stays without pages until a tile is received.
func (m matrix) fill(ranges []dist.Range) {
	n, size := m.nt*m.b, m.b*m.b
	for _, r := range ranges {
		for e := r.Lo; e < r.Hi; e++ {
			tile, within := e/size, e%size
			i, j := tile/m.nt*m.b+within/m.b, tile%m.nt*m.b+within%m.b
			m.data[e] = 1 / float64(1+max(i, j)-min(i, j))
			if i == j {
				m.data[e] += float64(n)
			}
		}
	}
}

// factor submits the tasks of the factorisation and waits for them.
func (m matrix) factor(rt *task.Runtime) error {
	for k := range m.nt {
		if err := m.column(rt, k); err != nil {
			return err
		}
	}
	return rt.Wait(context.Background())
}

// column submits the tasks that finish column k and update the columns to the right of it. The
// priority of a task is the length of the longest chain of tasks that depend on it: tiles that the
// next columns need first have priority.
func (m matrix) column(rt *task.Runtime, k int) error {
	d := m.tile(k, k)
	if _, err := rt.Go(func() error { return potrf(d, m.b) }, task.InOut(d), task.Label("Potrf"), task.Priority(3*(m.nt-k))); err != nil {
		return err
	}
	for i := k + 1; i < m.nt; i++ {
		x := m.tile(i, k)
		if _, err := rt.Go(func() error { trsm(d, x, m.b); return nil }, task.In(d), task.InOut(x), task.Label("Trsm"), task.Priority(3*(m.nt-k)-1)); err != nil {
			return err
		}
	}
	for i := k + 1; i < m.nt; i++ {
		for j := k + 1; j <= i; j++ {
			x, y, z := m.tile(i, k), m.tile(j, k), m.tile(i, j)
			if _, err := rt.Go(func() error { gemm(x, y, z, m.b); return nil }, task.InOut(z), task.In(x), task.In(y), task.Label("Gemm"), task.Priority(3*(m.nt-j)-2)); err != nil {
				return err
			}
		}
	}
	return nil
}

// potrf factors a tile on the diagonal.
func potrf(a []float64, b int) error {
	for j := range b {
		for k := range j {
			for i := j; i < b; i++ {
				a[i*b+j] -= a[i*b+k] * a[j*b+k]
			}
		}
		if a[j*b+j] <= 0 {
			return fmt.Errorf("cholesky: the matrix is not positive definite: pivot %g", a[j*b+j])
		}
		d := math.Sqrt(a[j*b+j])
		for i := j; i < b; i++ {
			a[i*b+j] /= d
		}
	}
	return nil
}

// trsm solves x = x * inverse of the transposed lower d.
func trsm(d, x []float64, b int) {
	for i := range b {
		for j := range b {
			v := x[i*b+j]
			for k := range j {
				v -= x[i*b+k] * d[j*b+k]
			}
			x[i*b+j] = v / d[j*b+j]
		}
	}
}

// gemm subtracts x * transposed y from z.
func gemm(x, y, z []float64, b int) {
	for i := range b {
		for j := range b {
			v := z[i*b+j]
			for k := range b {
				v -= x[i*b+k] * y[j*b+k]
			}
			z[i*b+j] = v
		}
	}
}

// difference is 0 if the lower triangle is bit-identical to the result of the same operations in
// sequence. Otherwise it is the largest difference.
func (m matrix) difference() float64 {
	w := matrix{make([]float64, len(m.data)), m.nt, m.b}
	w.fill([]dist.Range{{Lo: 0, Hi: len(w.data)}})
	worst := 0.0
	for k := range w.nt {
		if err := potrf(w.tile(k, k), w.b); err != nil {
			return math.Inf(1)
		}
		for i := k + 1; i < w.nt; i++ {
			trsm(w.tile(k, k), w.tile(i, k), w.b)
		}
		for i := k + 1; i < w.nt; i++ {
			for j := k + 1; j <= i; j++ {
				gemm(w.tile(i, k), w.tile(j, k), w.tile(i, j), w.b)
			}
		}
	}
	for i, want := range w.data {
		if math.Float64bits(want) != math.Float64bits(m.data[i]) {
			worst = math.Max(worst, math.Max(math.Abs(want-m.data[i]), math.SmallestNonzeroFloat64))
		}
	}
	return worst
}
