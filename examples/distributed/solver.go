package main

import (
	"context"
	"errors"
	"io/fs"
	"math"

	"github.com/gompss/gompss/dist"
	"github.com/gompss/gompss/task"
)

// A solver solves A x = b by conjugate gradients, where A is the Laplace operator on a grid of n by
// n points with edges of zero. A task works on some rows, on the rank that owns them.
//
// The result has the same bits on any number of ranks: tasks store the sums of their own rows, and
// one task adds those in order.
// Source: Hestenes, Stiefel, "Methods of conjugate gradients for solving linear systems", 1952,
// section 3.
type solver struct {
	rt      *task.Runtime
	n, rows int       // rows of one task
	x, r    []float64 // the approximate solution, and the residual b - A x
	p, q    []float64 // the search direction, and A p
	part    []float64 // the partial sum of each task
	scalars []float64 // indexed by the constants below
}

const (
	square = iota // the sum of r[i]*r[i]
	alpha         // the step length
	beta          // the factor of the old direction in the new one
	count         // the number of iterations so far
	scalars
)

// newSolver allocates the vectors, with b = 1, and distributes them among the ranks.
func newSolver(rt *task.Runtime, n, rows int) (*solver, error) {
	s := &solver{rt: rt, n: n, rows: rows}
	for _, v := range []struct {
		x     *[]float64
		n     int
		owner dist.Distribution
	}{
		{&s.x, n * n, dist.Block(rows * n)}, {&s.r, n * n, dist.Block(rows * n)},
		{&s.p, n * n, dist.Block(rows * n)}, {&s.q, n * n, dist.Block(rows * n)},
		{&s.part, (n + rows - 1) / rows, dist.Block(1)}, {&s.scalars, scalars, dist.On(0)},
	} {
		var err error
		if *v.x, err = task.Alloc[float64](rt, v.n); err != nil {
			return nil, err
		}
		if err := dist.Distribute(rt, *v.x, v.owner); err != nil {
			return nil, err
		}
	}
	for i := range s.r { // before the first task, the contents on the owner are valid
		s.r[i], s.p[i] = 1, 1
	}
	s.scalars[square] = float64(n * n)
	return s, nil
}

// saved returns the slices of a checkpoint. Each iteration computes q and part again.
func (s *solver) saved() []dist.Saved {
	return []dist.Saved{dist.Save("x", s.x), dist.Save("r", s.r), dist.Save("p", s.p), dist.Save("scalars", s.scalars)}
}

// solve iterates until the residual is below tolerance, or until iteration most. It starts from the
// checkpoint at path, if there is one, and writes a checkpoint at the end; an empty path means no
// checkpoints. It returns the number of iterations so far and the residual, on all ranks.
func (s *solver) solve(ctx context.Context, tolerance float64, most int, path string) (int, float64, error) {
	if path != "" {
		if err := dist.Restore(s.rt, path, s.saved()...); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return 0, 0, err
		}
	}
	for {
		if err := s.iterate(); err != nil {
			return 0, 0, err
		}
		// All ranks get the same scalars, so that all make the same decision.
		if err := s.rt.WaitOn(ctx, task.In(s.scalars)); err != nil {
			return 0, 0, err
		}
		residual := math.Sqrt(s.scalars[square])
		if n := int(s.scalars[count]); residual < tolerance || n >= most {
			if path != "" {
				return n, residual, dist.Checkpoint(ctx, s.rt, path, s.saved()...)
			}
			return n, residual, s.rt.Wait(ctx)
		}
	}
}

// iterate submits the tasks of one iteration.
func (s *solver) iterate() error {
	if err := s.eachBlock(s.submitProduct); err != nil {
		return err
	}
	if err := s.submitSum(func(sum float64) { s.scalars[alpha] = s.scalars[square] / sum }); err != nil {
		return err
	}
	if err := s.eachBlock(s.submitStep); err != nil {
		return err
	}
	if err := s.submitSum(func(sum float64) {
		s.scalars[beta], s.scalars[square] = sum/s.scalars[square], sum
		s.scalars[count]++
	}); err != nil {
		return err
	}
	return s.eachBlock(s.submitTurn)
}

// eachBlock calls submit for the rows of each task.
func (s *solver) eachBlock(submit func(k, lo, hi int) error) error {
	for k := range s.part {
		if err := submit(k, k*s.rows, min((k+1)*s.rows, s.n)); err != nil {
			return err
		}
	}
	return nil
}

// submitProduct computes rows lo to hi of q = A p, and their part of the dot product of p and q.
func (s *solver) submitProduct(k, lo, hi int) error {
	p, q, n, part := s.p, s.q, s.n, s.part[k:k+1]
	above, below := max(lo-1, 0), min(hi+1, n)
	_, err := s.rt.Go(func() error {
		part[0] = 0
		for i := lo; i < hi; i++ {
			for j := range n {
				at := i*n + j
				sum := 4 * p[at]
				if i > 0 {
					sum -= p[at-n]
				}
				if i < n-1 {
					sum -= p[at+n]
				}
				if j > 0 {
					sum -= p[at-1]
				}
				if j < n-1 {
					sum -= p[at+1]
				}
				q[at] = sum
				part[0] += p[at] * sum
			}
		}
		return nil
	}, task.In(p[above*n:below*n]), task.Out(q[lo*n:hi*n]), task.Out(part), task.Label("Product"))
	return err
}

// submitStep updates rows lo to hi of x and r, and computes their part of the new square of r.
func (s *solver) submitStep(k, lo, hi int) error {
	lo, hi = lo*s.n, hi*s.n
	x, r, p, q, part, c := s.x[lo:hi], s.r[lo:hi], s.p[lo:hi], s.q[lo:hi], s.part[k:k+1], s.scalars
	_, err := s.rt.Go(func() error {
		part[0] = 0
		for i := range x {
			x[i] += c[alpha] * p[i]
			r[i] -= c[alpha] * q[i]
			part[0] += r[i] * r[i]
		}
		return nil
	}, task.In(c), task.In(p), task.In(q), task.InOut(x), task.InOut(r), task.Out(part), task.Label("Step"))
	return err
}

// submitTurn computes rows lo to hi of the next search direction.
func (s *solver) submitTurn(_, lo, hi int) error {
	p, r, c := s.p[lo*s.n:hi*s.n], s.r[lo*s.n:hi*s.n], s.scalars
	_, err := s.rt.Go(func() error {
		for i := range p {
			p[i] = r[i] + c[beta]*p[i]
		}
		return nil
	}, task.In(c), task.In(r), task.InOut(p), task.Label("Turn"))
	return err
}

// submitSum adds the parts, on rank 0, and calls use with the sum.
func (s *solver) submitSum(use func(sum float64)) error {
	part := s.part
	_, err := s.rt.Go(func() error {
		sum := 0.0
		for _, v := range part {
			sum += v
		}
		use(sum)
		return nil
	}, task.In(part), task.InOut(s.scalars), task.Label("Sum"))
	return err
}
