package task_test

import (
	"context"
	"math/rand/v2"
	"slices"
	"sync/atomic"
	"testing"

	"github.com/gompss/gompss/task"
	"github.com/stretchr/testify/require"
)

// This file holds the programs that the literature of OmpSs and OpenMP tasks shows, each with an answer that is known.
// N-queens, Fibonacci and a nested Cholesky are in nest_test.go, a pipeline with events is in group_test.go.

// merge puts the sorted a and b into out, in two halves by tasks while they are long.
func merge(s *task.Scope, a, b, out []int32) error {
	if len(out) <= 64 {
		i, j := 0, 0
		for k := range out {
			if j == len(b) || i < len(a) && a[i] <= b[j] {
				out[k] = a[i]
				i++
			} else {
				out[k] = b[j]
				j++
			}
		}
		return nil
	}
	if len(a) < len(b) {
		a, b = b, a
	}
	i := len(a) / 2
	j, _ := slices.BinarySearch(b, a[i])
	for _, p := range [2][3][]int32{{a[:i], b[:j], out[:i+j]}, {a[i:], b[j:], out[i+j:]}} {
		_, err := s.GoScope(func(s *task.Scope) error { return merge(s, p[0], p[1], p[2]) }, task.In(p[0]), task.In(p[1]), task.Out(p[2]))
		if err != nil {
			return err
		}
	}
	return nil
}

func multisort(s *task.Scope, x, scratch []int32) error {
	n := len(x)
	if n <= 64 {
		slices.Sort(x)
		return nil
	}
	q := n / 4
	cuts := [5]int{0, q, 2 * q, 3 * q, n}
	for i := range 4 {
		lo, hi := cuts[i], cuts[i+1]
		_, err := s.GoScope(func(s *task.Scope) error { return multisort(s, x[lo:hi], scratch[lo:hi]) }, task.InOut(x[lo:hi]), task.Out(scratch[lo:hi]))
		if err != nil {
			return err
		}
	}
	for _, m := range [][3][]int32{
		{x[:q], x[q : 2*q], scratch[:2*q]}, {x[2*q : 3*q], x[3*q:], scratch[2*q:]}, {scratch[:2*q], scratch[2*q:], x},
	} {
		_, err := s.GoScope(func(s *task.Scope) error { return merge(s, m[0], m[1], m[2]) }, task.In(m[0]), task.In(m[1]), task.Out(m[2]))
		if err != nil {
			return err
		}
	}
	return nil
}

func TestMultisort(t *testing.T) {
	everywhere(t, func(t *testing.T, rt *task.Runtime) {
		x, scratch := make([]int32, 3000), make([]int32, 3000)
		rng := rand.New(rand.NewPCG(1, 1))
		for i := range x {
			x[i] = rng.Int32()
		}
		want := slices.Sorted(slices.Values(x))
		_, err := rt.GoScope(func(s *task.Scope) error { return multisort(s, x, scratch) }, task.InOut(x), task.Out(scratch))
		require.NoError(t, err)
		require.NoError(t, rt.Wait(context.Background()))
		require.Equal(t, want, x)
	})
}

// tile is one of nb*nb tiles of bs*bs elements, stored one after the other.
func tile(a []float64, nb, bs, i, j int) []float64 {
	at := (i*nb + j) * bs * bs
	return a[at : at+bs*bs : at+bs*bs]
}

func getrf(a []float64, n int) {
	for k := range n {
		for i := k + 1; i < n; i++ {
			a[i*n+k] /= a[k*n+k]
			for j := k + 1; j < n; j++ {
				a[i*n+j] -= a[i*n+k] * a[k*n+j]
			}
		}
	}
}

func solveLower(l, b []float64, n int) { // b = inverse of unit lower l, times b
	for k := range n {
		for i := k + 1; i < n; i++ {
			for j := range n {
				b[i*n+j] -= l[i*n+k] * b[k*n+j]
			}
		}
	}
}

func solveUpper(u, b []float64, n int) { // b = b, times inverse of upper u
	for i := range n {
		for k := range n {
			b[i*n+k] /= u[k*n+k]
			for j := k + 1; j < n; j++ {
				b[i*n+j] -= b[i*n+k] * u[k*n+j]
			}
		}
	}
}

func gemmMinus(a, b, c []float64, n int) {
	for i := range n {
		for k := range n {
			for j := range n {
				c[i*n+j] -= a[i*n+k] * b[k*n+j]
			}
		}
	}
}

// luTasks factors the tiles of a where there are any: with present nil everywhere, else fill-in appears.
func luTasks(rt *task.Runtime, a []float64, nb, bs int, present []bool) error {
	g := task.NewGroup(rt)
	has := func(i, j int) bool { return present == nil || present[i*nb+j] }
	var first error
	note := func(_ task.Task, err error) {
		if first == nil {
			first = err
		}
	}
	for k := range nb {
		akk := tile(a, nb, bs, k, k)
		note(g.Go(func() error { getrf(akk, bs); return nil }, task.InOut(akk), task.Priority(2)))
		for j := k + 1; j < nb; j++ {
			if akj := tile(a, nb, bs, k, j); has(k, j) {
				note(g.Go(func() error { solveLower(akk, akj, bs); return nil }, task.In(akk), task.InOut(akj), task.Priority(1)))
			}
			if ajk := tile(a, nb, bs, j, k); has(j, k) {
				note(g.Go(func() error { solveUpper(akk, ajk, bs); return nil }, task.In(akk), task.InOut(ajk), task.Priority(1)))
			}
		}
		for i := k + 1; i < nb; i++ {
			for j := k + 1; j < nb; j++ {
				if !has(i, k) || !has(k, j) {
					continue
				}
				if present != nil {
					present[i*nb+j] = true
				}
				aik, akj, aij := tile(a, nb, bs, i, k), tile(a, nb, bs, k, j), tile(a, nb, bs, i, j)
				note(g.Go(func() error { gemmMinus(aik, akj, aij, bs); return nil }, task.In(aik), task.In(akj), task.InOut(aij)))
			}
		}
	}
	if err := g.Wait(context.Background()); first == nil {
		first = err
	}
	return first
}

// TestLU and the sparse one: the product of the factors is the matrix again.
func TestLUAndSparseLU(t *testing.T) {
	for _, sparse := range []bool{false, true} {
		everywhere(t, func(t *testing.T, rt *task.Runtime) {
			const nb, bs = 5, 6
			const n = nb * bs
			a := make([]float64, n*n)
			require.NoError(t, task.Register(rt, a))
			var present []bool
			if sparse {
				present = make([]bool, nb*nb)
			}
			for i := range nb {
				for j := range nb {
					if sparse {
						present[i*nb+j] = i == j || (i*3+j*5)%4 == 0
						if !present[i*nb+j] {
							continue
						}
					}
					for k, x := 0, tile(a, nb, bs, i, j); k < len(x); k++ {
						x[k] = float64((i*7+j*11+k*13)%17) / 17
					}
				}
				for k := range bs {
					tile(a, nb, bs, i, i)[k*bs+k] += 2 * n
				}
			}
			at := func(x []float64, i, j int) float64 { return tile(x, nb, bs, i/bs, j/bs)[i%bs*bs+j%bs] }
			before := slices.Clone(a)
			require.NoError(t, luTasks(rt, a, nb, bs, present))
			for i := range n {
				for j := range n {
					sum := 0.0
					for k := range min(i, j) + 1 {
						l := at(a, i, k)
						if k == i {
							l = 1
						}
						sum += l * at(a, k, j)
					}
					require.InDelta(t, at(before, i, j), sum, 1e-9, "%d,%d", i, j)
				}
			}
		})
	}
}

// TestHeat is Gauss-Seidel in tiles of one grid: each waits for the tiles above and left of it in this sweep, and below and
// right of it in the one before. Several sweeps are in flight at once.
func TestHeat(t *testing.T) {
	sweep := func(u []float64, n, i0, i1, j0, j1 int) {
		for i := i0; i < i1; i++ {
			for j := j0; j < j1; j++ {
				u[i*n+j] = (u[(i-1)*n+j] + u[(i+1)*n+j] + u[i*n+j-1] + u[i*n+j+1]) / 4
			}
		}
	}
	everywhere(t, func(t *testing.T, rt *task.Runtime) {
		const n, bs, sweeps = 34, 8, 6
		u, want := make([]float64, n*n), make([]float64, n*n)
		for j := range n {
			u[j], want[j] = float64(j), float64(j)
		}
		for range sweeps {
			sweep(want, n, 1, n-1, 1, n-1)
			for i0 := 1; i0 < n-1; i0 += bs {
				for j0 := 1; j0 < n-1; j0 += bs {
					i1, j1 := min(n-1, i0+bs), min(n-1, j0+bs)
					box := func(o task.Option, a, b, c, d int) task.Option { return o.Box([]int{n, n}, []int{a, c}, []int{b, d}) }
					_, err := rt.Go(func() error { sweep(u, n, i0, i1, j0, j1); return nil }, box(task.InOut(u), i0, i1, j0, j1),
						box(task.In(u), i0-1, i0, j0, j1), box(task.In(u), i1, i1+1, j0, j1), box(task.In(u), i0, i1, j0-1, j0), box(task.In(u), i0, i1, j1, j1+1))
					require.NoError(t, err)
				}
			}
		}
		require.NoError(t, rt.Wait(context.Background()))
		require.Equal(t, want, u)
	})
}

func TestMatmul(t *testing.T) {
	everywhere(t, func(t *testing.T, rt *task.Runtime) {
		const n, bs = 24, 8
		a, b, c := make([]float64, n*n), make([]float64, n*n), make([]float64, n*n)
		for i := range n {
			for j := range n {
				a[i*n+j], b[i*n+j] = float64(i+1), float64(j+1)
			}
		}
		box := func(o task.Option, i, j int) task.Option {
			return o.Box([]int{n, n}, []int{i, j}, []int{i + bs, j + bs})
		}
		for i := 0; i < n; i += bs {
			for j := 0; j < n; j += bs {
				for k := 0; k < n; k += bs {
					_, err := rt.Go(func() error {
						for x := i; x < i+bs; x++ {
							for y := j; y < j+bs; y++ {
								for z := k; z < k+bs; z++ {
									c[x*n+y] += a[x*n+z] * b[z*n+y]
								}
							}
						}
						return nil
					}, box(task.In(a), i, k), box(task.In(b), k, j), box(task.Commutative(c), i, j))
					require.NoError(t, err)
				}
			}
		}
		require.NoError(t, rt.Wait(context.Background()))
		for i := range n {
			for j := range n {
				require.Equal(t, float64(n*(i+1)*(j+1)), c[i*n+j])
			}
		}
	})
}

func TestDotConcurrentAndReduced(t *testing.T) {
	everywhere(t, func(t *testing.T, rt *task.Runtime) {
		const n, bs = 4096, 100
		x := make([]int64, n)
		for i := range x {
			x[i] = int64(i)
		}
		atomics, reduced := make([]int64, 1), make([]int64, 1)
		for lo := 0; lo < n; lo += bs {
			part := x[lo:min(n, lo+bs)]
			dot := func() (s int64) {
				for _, v := range part {
					s += v * v
				}
				return s
			}
			if lo == 0 {
				require.NoError(t, task.Register(rt, x))
			}
			_, err := rt.Go(func() error { atomic.AddInt64(&atomics[0], dot()); return nil }, task.In(part), task.Concurrent(atomics))
			require.NoError(t, err)
			_, err = rt.GoScope(func(s *task.Scope) error { task.Private(s, reduced)[0] += dot(); return nil }, task.In(part), task.Reduce(reduced, task.Sum[int64]()))
			require.NoError(t, err)
		}
		same := false
		_, err := rt.Go(func() error { same = atomics[0] == reduced[0]; return nil }, task.In(atomics), task.In(reduced))
		require.NoError(t, err)
		require.NoError(t, rt.Wait(context.Background()))
		require.True(t, same)
		require.EqualValues(t, (n-1)*n*(2*n-1)/6, reduced[0])
	})
}

func TestStreamWithBarriersAndWithDependencies(t *testing.T) {
	everywhere(t, func(t *testing.T, rt *task.Runtime) {
		const n, bs, rounds = 600, 50, 3
		for _, barriers := range []bool{true, false} {
			a, b, c := make([]float64, n), make([]float64, n), make([]float64, n)
			for i := range a {
				a[i] = 1
			}
			for _, x := range [][]float64{a, b, c} {
				require.NoError(t, task.Register(rt, x))
			}
			each := func(dst, x, y []float64, f func(x, y float64) float64) {
				for lo := 0; lo < n; lo += bs {
					d, p, q := dst[lo:lo+bs], x[lo:lo+bs], y[lo:lo+bs]
					_, err := rt.Go(func() error {
						for i := range d {
							d[i] = f(p[i], q[i])
						}
						return nil
					}, task.Out(d), task.In(p), task.In(q))
					require.NoError(t, err)
				}
				if barriers {
					require.NoError(t, rt.Wait(context.Background(), task.KeepOnDevice()))
				}
			}
			want := [3]float64{1, 0, 0}
			for range rounds {
				each(c, a, a, func(x, _ float64) float64 { return x })
				each(b, c, c, func(x, _ float64) float64 { return 3 * x })
				each(c, a, b, func(x, y float64) float64 { return x + y })
				each(a, b, c, func(x, y float64) float64 { return x + 3*y })
				want[1] = 3 * want[0]
				want[2] = want[0] + want[1]
				want[0] = want[1] + 3*want[2]
			}
			require.NoError(t, rt.Wait(context.Background()))
			for i := range a {
				require.Equal(t, want, [3]float64{a[i], b[i], c[i]})
			}
		}
	})
}

func TestDiningPhilosophers(t *testing.T) {
	everywhere(t, func(t *testing.T, rt *task.Runtime) {
		const seats, meals = 7, 40
		forks := make([]int32, seats*16) // a fork every 64 bytes
		require.NoError(t, task.Register(rt, forks))
		var eaten [seats]int
		for range meals {
			for p := range seats {
				left, right := forks[p*16:p*16+1], forks[(p+1)%seats*16:(p+1)%seats*16+1]
				_, err := rt.Go(func() error {
					if left[0] != 0 || right[0] != 0 {
						t.Errorf("philosopher %d eats with a fork that is in use", p)
					}
					left[0], right[0] = 1, 1
					delay(200)
					left[0], right[0] = 0, 0
					eaten[p]++
					return nil
				}, task.Commutative(left), task.Commutative(right))
				require.NoError(t, err)
			}
		}
		require.NoError(t, rt.Wait(context.Background()))
		for p := range eaten {
			require.Equal(t, meals, eaten[p])
		}
	})
}

func TestReadersAndWriters(t *testing.T) {
	everywhere(t, func(t *testing.T, rt *task.Runtime) {
		book := make([]int, 8)
		var readers, writers atomic.Int32
		for i := range 200 {
			var err error
			if i%10 == 0 {
				_, err = rt.Go(func() error {
					if writers.Add(1) != 1 || readers.Load() != 0 {
						t.Error("a writer is not alone")
					}
					for k := range book {
						book[k] = i
						delay(100)
					}
					writers.Add(-1)
					return nil
				}, task.InOut(book))
			} else {
				_, err = rt.Go(func() error {
					readers.Add(1)
					for k := range book {
						if book[k] != i/10*10 {
							t.Errorf("reader %d reads %d", i, book[k])
						}
					}
					if writers.Load() != 0 {
						t.Error("somebody writes beside a reader")
					}
					readers.Add(-1)
					return nil
				}, task.In(book))
			}
			require.NoError(t, err)
		}
		require.NoError(t, rt.Wait(context.Background()))
	})
}

// TestMandelbrotLoop: iterations of very different length, in chunks. The area is known to three digits.
func TestMandelbrotLoop(t *testing.T) {
	rt := open(t, task.Options{Devices: "smp:3"})
	const rows, columns, limit = 120, 180, 400
	inside := make([]int32, rows)
	_, err := task.Taskloop(rt, 0, rows, func(_ *task.Scope, lo, hi int) error {
		for r := lo; r < hi; r++ {
			for c := range columns {
				z, p := complex(0, 0), complex(-2+3*(float64(c)+0.5)/columns, -1+2*(float64(r)+0.5)/rows)
				n := 0
				for ; n < limit && real(z)*real(z)+imag(z)*imag(z) < 4; n++ {
					z = z*z + p
				}
				if n == limit {
					inside[r]++
				}
			}
		}
		return nil
	}, task.Grain(5), task.PerChunk(func(lo, hi int) []task.Option { return []task.Option{task.Out(inside[lo:hi])} }))
	require.NoError(t, err)
	require.NoError(t, rt.Wait(context.Background()))
	sum := 0
	for _, n := range inside {
		sum += int(n)
	}
	cell := 3.0 / columns * 2 / rows
	require.InDelta(t, 1.507, float64(sum)*cell, 0.03)
	require.Equal(t, inside[10], inside[rows-11], "it is symmetric")
}
