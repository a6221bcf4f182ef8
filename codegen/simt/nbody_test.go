package simt_test

import (
	"fmt"
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gompss/gompss/codegen/ir"
	"github.com/gompss/gompss/codegen/simt"
)

// nbody is the kernel of the dialect's introduction, in one dimension less.
func nbody() *builder {
	b := newBuilder("Forces")
	s := ir.SliceOf(ir.Float32Type)
	px, py, vx, vy := b.param("px", s), b.param("py", s), b.param("vx", s), b.param("vy", s)
	i, j := b.local("i", ir.IntType), b.local("j", ir.IntType)
	fx, fy := b.local("fx", ir.Float32Type), b.local("fy", ir.Float32Type)
	dx, dy := b.local("dx", ir.Float32Type), b.local("dy", ir.Float32Type)
	inv, inv3 := b.local("inv", ir.Float32Type), b.local("inv3", ir.Float32Type)
	mul := func(x, y *ir.Var) ir.Expr { return b.bin(ir.Mul, b.ref(x), b.ref(y)) }
	n := &ir.Len{X: b.ref(px), At: b.at}
	b.l.Trip = n
	b.body(b.spread(i, n,
		b.decl(fx, nil), b.decl(fy, nil),
		b.forTo(j, n,
			b.decl(dx, b.bin(ir.Sub, b.elem(px, b.ref(j)), b.elem(px, b.ref(i)))),
			b.decl(dy, b.bin(ir.Sub, b.elem(py, b.ref(j)), b.elem(py, b.ref(i)))),
			b.decl(inv, b.math(ir.Rsqrt, b.bin(ir.Add, b.bin(ir.Add, mul(dx, dx), mul(dy, dy)), b.f32(0.01)))),
			b.decl(inv3, b.bin(ir.Mul, mul(inv, inv), b.ref(inv))),
			b.set(b.ref(fx), b.bin(ir.Add, b.ref(fx), mul(dx, inv3))),
			b.set(b.ref(fy), b.bin(ir.Add, b.ref(fy), mul(dy, inv3)))),
		b.set(b.elem(vx, b.ref(i)), b.ref(fx)),
		b.set(b.elem(vy, b.ref(i)), b.ref(fy)))...)
	return b
}

func goForces(px, py []float32) (vx, vy []float32) {
	for i := range px {
		var fx, fy float32
		for j := range px {
			dx, dy := px[j]-px[i], py[j]-py[i]
			inv := float32(1 / math.Sqrt(float64(float32(dx*dx)+float32(dy*dy)+0.01))) // conversions keep Go from fusing
			inv3 := inv * inv * inv
			fx += float32(dx * inv3)
			fy += float32(dy * inv3)
		}
		vx, vy = append(vx, fx), append(vy, fy)
	}
	return vx, vy
}

func bodies(n int) (px, py []float32) {
	for i := range n {
		px, py = append(px, float32(math.Sin(float64(i)))), append(py, float32(math.Cos(float64(3*i))))
	}
	return px, py
}

func TestForcesAreBitForBitGos(t *testing.T) {
	px, py := bodies(97)
	wantX, wantY := goForces(px, py)
	p := nbody().compile(t)
	for _, cfg := range []simt.Config{{}, {Teams: 3, Threads: 7}, {Teams: 1, Threads: 1}, {Teams: 5, Threads: 32, Seed: 9, Races: true}} {
		_, ax := floats("px", px...)
		_, ay := floats("py", py...)
		mx, vx := floats("vx", make([]float32, len(px))...)
		my, vy := floats("vy", make([]float32, len(px))...)
		stats, err := p.Run([]simt.Arg{ax, ay, vx, vy}, cfg)
		require.NoError(t, err)
		for i := range px {
			require.Equal(t, wantX[i], (&buffer{mx}).float(i))
			require.Equal(t, wantY[i], (&buffer{my}).float(i))
		}
		require.Positive(t, stats.Instructions)
	}
}

func BenchmarkForces(b *testing.B) {
	for _, races := range []bool{false, true} {
		b.Run(fmt.Sprintf("races=%v", races), func(b *testing.B) { benchmarkForces(b, races) })
	}
}

func benchmarkForces(b *testing.B, races bool) {
	const n = 1000
	px, py := bodies(n)
	p := nbody().compile(b)
	_, ax := floats("px", px...)
	_, ay := floats("py", py...)
	_, vx := floats("vx", px...)
	_, vy := floats("vy", py...)
	var steps int64
	for b.Loop() {
		stats, err := p.Run([]simt.Arg{ax, ay, vx, vy}, simt.Config{Races: races})
		require.NoError(b, err)
		steps += stats.Instructions
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(steps), "ns/step")
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/n/n, "ns/interaction")
}

// BenchmarkAccesses adds arrays of elements of 4 and 8 bytes by the loads and stores of the
// interpreter.
func BenchmarkAccesses(b *testing.B) {
	for _, elem := range []*ir.Type{ir.Int32Type, ir.Float64Type} {
		b.Run(elem.String(), func(b *testing.B) { benchmarkAccesses(b, elem) })
	}
}

func benchmarkAccesses(b *testing.B, elem *ir.Type) {
	const n = 1 << 16
	k := newBuilder("Add")
	x, y := k.param("x", ir.SliceOf(elem)), k.param("y", ir.SliceOf(elem))
	i := k.local("i", ir.IntType)
	length := &ir.Len{X: k.ref(x), At: k.at}
	k.l.Trip = length
	k.body(k.spread(i, length, k.set(k.elem(x, k.ref(i)), k.bin(ir.Add, k.elem(x, k.ref(i)), k.elem(y, k.ref(i)))))...)
	p := k.compile(b)
	_, ax := ints("x", make([]int64, n)...)
	_, ay := ints("y", make([]int64, n)...)
	for b.Loop() {
		_, err := p.Run([]simt.Arg{ax, ay}, simt.Config{Teams: 1, Threads: 1})
		require.NoError(b, err)
	}
}
