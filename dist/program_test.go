package dist_test

import (
	"context"
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"slices"

	"github.com/gompss/gompss/deps"
	"github.com/gompss/gompss/dist"
	"github.com/gompss/gompss/task"
)

// A program is a random one: buffers with owners, tasks with regions in all modes, waits, gathers,
// scatters. It is the same on all ranks, and sequential says what it computes.
type program struct {
	seed    uint64
	ranks   int
	lengths []int
	cols    []int // of each buffer as a matrix
	layouts []dist.Distribution
	ops     []op
}

type opKind int

const (
	opTask opKind = iota
	opWait
	opWaitOn
	opGather
	opScatter
)

type op struct {
	kind     opKind
	rank     int // of OnRank, -1 where none; of Gather and Scatter
	accesses []access
}

// An access is rows [r0, r1) and columns [c0, c1) of a buffer.
type access struct {
	buffer         int
	mode           deps.Mode
	r0, r1, c0, c1 int
}

func newProgram(seed uint64, ranks, tasks int) *program {
	r := rand.New(rand.NewPCG(seed, 1))
	p := &program{seed: seed, ranks: ranks}
	for range 1 + r.IntN(3) {
		cols, rows := 1+r.IntN(12), 1+r.IntN(12)
		p.lengths, p.cols = append(p.lengths, cols*rows), append(p.cols, cols)
		var d dist.Distribution
		switch r.IntN(5) {
		case 0:
			d = dist.Block(1 + r.IntN(cols))
		case 1:
			d = dist.Cyclic(cols * (1 + r.IntN(2))) // rows
		case 2:
			bp, bq := dist.Grid(ranks)
			d = dist.BlockCyclic2D(cols, 1+r.IntN(4), 1+r.IntN(4), bp, bq)
		case 3:
			d = dist.On(r.IntN(ranks))
		case 4:
			salt := r.IntN(100)
			d = dist.By(1+r.IntN(20), func(k, ranks int) int { return (k*7 + salt) % ranks })
		}
		p.layouts = append(p.layouts, d)
	}
	for range tasks {
		o := op{rank: -1}
		switch n := r.IntN(100); {
		case n < 3:
			o.kind = opWait
		case n < 7:
			o.kind, o.accesses = opWaitOn, []access{p.access(r, deps.In)}
		case n < 9:
			o.kind, o.rank, o.accesses = opGather, r.IntN(ranks), []access{p.access(r, deps.In)}
		case n < 11:
			o.kind, o.rank, o.accesses = opScatter, r.IntN(ranks), []access{p.access(r, deps.InOut)}
		default:
			if r.IntN(6) == 0 {
				o.rank = r.IntN(ranks)
			}
			for range r.IntN(4) {
				mode := []deps.Mode{deps.In, deps.In, deps.Out, deps.InOut, deps.Commutative, deps.Reduction}[r.IntN(6)]
				a := p.access(r, mode)
				if !slices.ContainsFunc(o.accesses, func(b access) bool { return overlap(a, b) }) {
					o.accesses = append(o.accesses, a)
				}
			}
		}
		p.ops = append(p.ops, o)
	}
	return p
}

func (p *program) access(r *rand.Rand, mode deps.Mode) access {
	b := r.IntN(len(p.lengths))
	cols, rows := p.cols[b], p.lengths[b]/p.cols[b]
	a := access{buffer: b, mode: mode, r1: rows, c1: cols}
	if r.IntN(5) > 0 {
		a.r0 = r.IntN(rows)
		a.r1 = a.r0 + 1 + r.IntN(rows-a.r0)
	}
	if r.IntN(2) > 0 {
		a.c0 = r.IntN(cols)
		a.c1 = a.c0 + 1 + r.IntN(cols-a.c0)
	}
	return a
}

func overlap(a, b access) bool {
	if a.mode == deps.Reduction && b.mode == deps.Reduction && a.buffer == b.buffer {
		return true // one private copy a buffer
	}
	return a.buffer == b.buffer && a.r0 < b.r1 && b.r0 < a.r1 && a.c0 < b.c1 && b.c0 < a.c1
}

// each calls f with the index of every element of a.
func (p *program) each(a access, f func(i int)) {
	for r := a.r0; r < a.r1; r++ {
		for c := a.c0; c < a.c1; c++ {
			f(r*p.cols[a.buffer] + c)
		}
	}
}

// body runs task n on data; into has the private copies of reductions.
func (p *program) body(n int, o *op, data [][]int64, into func(a access) (y []int64, first int)) {
	sum := int64(n)
	for _, a := range o.accesses {
		if a.mode == deps.In || a.mode == deps.InOut {
			p.each(a, func(i int) { sum = sum*31 + data[a.buffer][i] + int64(i) })
		}
	}
	for _, a := range o.accesses {
		x := data[a.buffer]
		switch a.mode {
		case deps.Out, deps.InOut:
			p.each(a, func(i int) { x[i] = sum ^ int64(i)<<8 })
		case deps.Commutative:
			p.each(a, func(i int) { x[i] += sum })
		case deps.Reduction:
			y, first := into(a)
			p.each(a, func(i int) { y[i-first] += sum + int64(i) })
		}
	}
}

// initial fills a buffer as its owner has it.
func initial(b int, x []int64) {
	for i := range x {
		x[i] = int64(b*1000 + i)
	}
}

// sequential returns the sum of what the program leaves, and of what its waits see.
func (p *program) sequential() uint64 {
	data := make([][]int64, len(p.lengths))
	for b := range data {
		data[b] = make([]int64, p.lengths[b])
		initial(b, data[b])
	}
	h := fnv.New64a()
	for n := range p.ops {
		switch o := &p.ops[n]; o.kind {
		case opTask:
			p.body(n, o, data, func(a access) ([]int64, int) { return data[a.buffer], 0 })
		case opWaitOn:
			p.see(h, o.accesses[0], data)
		case opScatter:
			p.each(o.accesses[0], func(i int) { data[o.accesses[0].buffer][i] = int64(n + i) })
		}
	}
	for b := range data {
		p.see(h, p.all(b), data)
	}
	return h.Sum64()
}

func (p *program) all(b int) access {
	return access{buffer: b, r1: p.lengths[b] / p.cols[b], c1: p.cols[b]}
}

func (p *program) see(h interface{ Write([]byte) (int, error) }, a access, data [][]int64) {
	p.each(a, func(i int) { fmt.Fprintf(h, "%d ", data[a.buffer][i]) })
}

func (p *program) option(a access, data [][]int64) task.Option {
	x, cols := data[a.buffer], p.cols[a.buffer]
	whole := a.c0 == 0 && a.c1 == cols // rows: a part of the slice
	part := x
	if whole {
		part = x[a.r0*cols : a.r1*cols]
	}
	var o task.Option
	switch a.mode {
	case deps.In:
		o = task.In(part)
	case deps.Out:
		o = task.Out(part)
	case deps.InOut:
		o = task.InOut(part)
	case deps.Commutative:
		o = task.Commutative(part)
	case deps.Reduction:
		o = task.Reduce(part, task.Sum[int64]())
	}
	if whole {
		return o
	}
	return o.Box([]int{len(x) / cols, cols}, []int{a.r0, a.c0}, []int{a.r1, a.c1})
}

// run runs the program as a rank and returns the sum that sequential returns.
func (p *program) run(ctx context.Context, rt *task.Runtime, rank int) (uint64, error) {
	data := make([][]int64, len(p.lengths))
	for b := range data {
		var err error
		if data[b], err = task.Alloc[int64](rt, p.lengths[b]); err != nil {
			return 0, err
		}
		if err := dist.Distribute(rt, data[b], p.layouts[b]); err != nil {
			return 0, err
		}
		owned, err := dist.Owned(rt, data[b])
		if err != nil {
			return 0, err
		}
		whole := make([]int64, len(data[b]))
		initial(b, whole)
		for _, r := range owned { // what others own must come from them
			copy(data[b][r.Lo:r.Hi], whole[r.Lo:r.Hi])
		}
	}
	h := fnv.New64a()
	for n := range p.ops {
		if err := p.submit(ctx, rt, rank, n, data, h); err != nil {
			return 0, fmt.Errorf("operation %d: %w", n, err)
		}
	}
	if err := rt.Wait(ctx); err != nil {
		return 0, err
	}
	for b := range data {
		if err := rt.WaitOn(ctx, task.In(data[b])); err != nil {
			return 0, err
		}
		p.see(h, p.all(b), data)
	}
	return h.Sum64(), nil
}

func (p *program) submit(ctx context.Context, rt *task.Runtime, rank, n int, data [][]int64, h interface{ Write([]byte) (int, error) }) error {
	o := &p.ops[n]
	switch o.kind {
	case opWait:
		return rt.Wait(ctx)
	case opWaitOn:
		if err := p.touch(rt, o.accesses[0], data); err != nil {
			return err
		}
		if err := rt.WaitOn(ctx, p.option(o.accesses[0], data)); err != nil {
			return err
		}
		p.see(h, o.accesses[0], data)
		return nil
	case opGather:
		a := p.all(o.accesses[0].buffer)
		a.mode = deps.In
		if err := p.touch(rt, a, data); err != nil {
			return err
		}
		return dist.Gather(ctx, rt, o.rank, data[a.buffer])
	case opScatter:
		return p.scatter(ctx, rt, rank, n, data)
	}
	var options []task.Option
	for _, a := range o.accesses {
		options = append(options, p.option(a, data))
	}
	if o.rank >= 0 {
		options = append(options, task.OnRank(o.rank))
	}
	if !slices.ContainsFunc(o.accesses, func(a access) bool { return a.mode == deps.Reduction }) {
		if n%3 == 0 {
			options = append(options, task.Label("labelled"))
		}
		_, err := rt.Go(func() error { p.body(n, o, data, nil); return nil }, options...)
		return err
	}
	_, err := rt.GoScope(func(s *task.Scope) error {
		p.body(n, o, data, func(a access) ([]int64, int) {
			cols := p.cols[a.buffer]
			lo, hi := a.r0*cols+a.c0, (a.r1-1)*cols+a.c1
			return task.Private(s, data[a.buffer][lo:hi]), lo
		})
		return nil
	}, options...)
	return err
}

// touch has a task use the elements, for which WaitOn asks.
func (p *program) touch(rt *task.Runtime, a access, data [][]int64) error {
	_, err := rt.Go(func() error { return nil }, p.option(a, data))
	return err
}

// scatter writes elements on one rank, between waits, and scatters the buffer.
func (p *program) scatter(ctx context.Context, rt *task.Runtime, rank, n int, data [][]int64) error {
	o := &p.ops[n]
	x := data[o.accesses[0].buffer]
	if err := p.touch(rt, access{buffer: o.accesses[0].buffer, mode: deps.In, r1: len(x) / p.cols[o.accesses[0].buffer], c1: p.cols[o.accesses[0].buffer]}, data); err != nil {
		return err
	}
	if err := dist.Gather(ctx, rt, o.rank, x); err != nil {
		return err
	}
	if err := rt.Wait(ctx); err != nil {
		return err
	}
	if rank == o.rank {
		p.each(o.accesses[0], func(i int) { x[i] = int64(n + i) })
	}
	return dist.Scatter(rt, o.rank, x)
}
