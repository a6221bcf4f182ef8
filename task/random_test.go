package task_test

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"runtime"
	"slices"
	"sync"
	"testing"

	"github.com/gompss/gompss/sched"
	"github.com/gompss/gompss/task"
	"github.com/stretchr/testify/require"
)

var (
	seeds     = flag.Int("seeds", 2500, "random task graphs to run")
	graphOn   = flag.String("graphdevices", "", "the machine of the random task graphs, instead of several")
	firstSeed = flag.Uint64("firstseed", 1, "the first of them")
)

// TestRandomGraphsAreSequential runs random tasks, kernels and Go bodies, over random overlapping regions of vectors and
// matrices on CPU and accelerators, under every policy and with random delays. The result must be that of running them
// one after the other, bit for bit.
func TestRandomGraphsAreSequential(t *testing.T) {
	n := *seeds
	if testing.Short() || raceEnabled {
		n = min(n, 150)
	}
	ks := loadGraphKernels(t)
	next := make(chan uint64)
	var all sync.WaitGroup
	for range 2 {
		all.Go(func() {
			for seed := range next {
				runGraph(t, ks, seed)
			}
		})
	}
	for i := range n {
		if t.Failed() {
			break
		}
		next <- *firstSeed + uint64(i)
	}
	close(next)
	all.Wait()
}

type graphKernels struct{ fill, mix, fillBox, mixBox *task.Kernel }

func loadGraphKernels(t *testing.T) graphKernels {
	return graphKernels{kernelOf(t, Fill), kernelOf(t, Mix), kernelOf(t, FillBox), kernelOf(t, MixBox)}
}

// graphSpecs are the machines: much memory, little of it (eviction), no links between accelerators,
// accelerators that interpret the device code.
var graphSpecs = []string{
	"smp,sim:3(exec=cpu)",
	"smp:2,sim:3(exec=cpu,memory=12KiB,granule=1KiB)",
	"smp:3,sim:3(exec=cpu,peer=off)",
	"sim:2(exec=cpu,memory=16KiB,granule=4KiB),smp:1",
	"smp:2,sim:2(exec=simt)",
	"smp:2,sim:3(exec=cpu,memory=12KiB,granule=1KiB,helper=on)",
	"sim:2(exec=cpu,helper=on),smp:1",
}

func runGraph(t *testing.T, ks graphKernels, seed uint64) { runGraphAs(t, ks, seed, &modelSetup{}) }

func runGraphAs(t *testing.T, ks graphKernels, seed uint64, setup *modelSetup) {
	rng := rand.New(rand.NewPCG(seed, 42))
	policies := sched.Policies()
	o := task.Options{
		Devices: graphSpecs[rng.IntN(len(graphSpecs))],
		Policy:  policies[rng.IntN(len(policies))],
		Seed:    seed,
		Window:  []int{0, 4, 32}[rng.IntN(3)],
		Vector:  []string{task.VectorAuto, task.VectorAVX2, task.VectorOff}[rng.IntN(3)],
	}
	o.Machine.WriteThrough = rng.IntN(4) == 0
	if *graphOn != "" {
		o.Devices = *graphOn
	}
	setup.apply(&o)
	rt, err := task.New(o)
	if err != nil {
		t.Errorf("seed %d: %v", seed, err)
		return
	}
	g := &graphRun{rt: rt, rng: rng, ks: ks}
	err = g.run()
	setup.look(rt)
	if closed := rt.Close(); err == nil {
		err = closed
	}
	if err != nil {
		t.Errorf("seed %d (%+v): %v", seed, o, err)
	}
}

// A graphRun is one random program. It keeps two copies of the data: tasks work on one, the program itself on the other.
type graphRun struct {
	rt       *task.Runtime
	rng      *rand.Rand
	ks       graphKernels
	vectors  []pair
	matrices []pair
	n, m     int
	spin     int
}

// used says which elements were submitted to a task.
type pair struct {
	got, want []uint32
	used      []bool
}

func (p *pair) use(lo, hi int) {
	for i := lo; i < hi; i++ {
		p.used[i] = true
	}
}

func (g *graphRun) run() error {
	for range 1 + g.rng.IntN(3) {
		if err := g.addPair(&g.vectors, 1+g.rng.IntN(1500)); err != nil {
			return err
		}
	}
	g.n, g.m = 1+g.rng.IntN(24), 1+g.rng.IntN(40)
	for range 1 + g.rng.IntN(2) {
		if err := g.addPair(&g.matrices, g.n*g.m); err != nil {
			return err
		}
	}
	for range 10 + g.rng.IntN(110) {
		g.spin = g.rng.IntN(3) * g.rng.IntN(2000)
		if err := g.step(); err != nil {
			return err
		}
	}
	if err := g.rt.Wait(context.Background()); err != nil {
		return err
	}
	return g.compare()
}

func (g *graphRun) addPair(to *[]pair, n int) error {
	p := pair{make([]uint32, n), make([]uint32, n), make([]bool, n)}
	if g.rng.IntN(2) == 0 {
		var err error
		if p.got, err = task.Alloc[uint32](g.rt, n); err != nil {
			return err
		}
	} else if err := task.Register(g.rt, p.got); err != nil {
		return err
	}
	for i := range p.want {
		p.want[i] = g.rng.Uint32()
	}
	copy(p.got, p.want)
	*to = append(*to, p)
	return nil
}

// part returns 0 <= lo < hi <= n.
func (g *graphRun) part(n int) (lo, hi int) {
	switch g.rng.IntN(4) {
	case 0:
		return 0, n
	case 1: // tiles that meet again
		size := max(1, n/4)
		lo = g.rng.IntN((n+size-1)/size) * size
		return lo, min(n, lo+size)
	}
	lo = g.rng.IntN(n)
	return lo, lo + 1 + g.rng.IntN(n-lo)
}

func (g *graphRun) step() error {
	k := g.rng.Uint32()
	switch g.rng.IntN(12) {
	case 0, 1, 2:
		return g.fillStep(k)
	case 3, 4, 5, 6:
		return g.mixStep(k)
	case 7:
		return g.fillBoxStep(k)
	case 8, 9, 10:
		return g.mixBoxStep(k)
	}
	return g.readStep()
}

// delay takes some time, of a task on the CPU.
func delay(spin int) {
	for range spin / 100 {
		runtime.Gosched()
	}
}

func (g *graphRun) fillStep(k uint32) error {
	d := g.vectors[g.rng.IntN(len(g.vectors))]
	lo, hi := g.part(len(d.got))
	Fill(lo, hi, k, d.want)
	d.use(lo, hi)
	var err error
	if g.rng.IntN(3) == 0 {
		spin := g.spin
		_, err = g.rt.Go(func() error { delay(spin); Fill(lo, hi, k, d.got); return nil }, task.Out(d.got[lo:hi]))
	} else {
		_, err = g.ks.fill.Submit(g.rt, lo, hi, k, d.got)
	}
	return err
}

func (g *graphRun) mixStep(k uint32) error {
	d, s := g.vectors[g.rng.IntN(len(g.vectors))], g.vectors[g.rng.IntN(len(g.vectors))]
	lo, hi := g.part(len(d.got))
	a, b := g.part(len(s.got))
	Mix(lo, hi, a, b, k, d.want, s.want)
	d.use(lo, hi)
	s.use(a, b)
	var err error
	// A parallel loop must not read what other iterations write; a Go body may.
	meets := &d.got[0] == &s.got[0] && lo < b && a < hi
	if meets || g.rng.IntN(3) == 0 {
		spin := g.spin
		_, err = g.rt.Go(func() error { Mix(lo, hi, a, b, k, d.got, s.got); delay(spin); return nil }, task.InOut(d.got[lo:hi]), task.In(s.got[a:b]))
	} else {
		_, err = g.ks.mix.Submit(g.rt, lo, hi, a, b, k, d.got, s.got)
	}
	return err
}

func (g *graphRun) fillBoxStep(k uint32) error {
	d := g.matrices[g.rng.IntN(len(g.matrices))]
	i0, i1 := g.part(g.n)
	j0, j1 := g.part(g.m)
	FillBox(g.n, g.m, i0, i1, j0, j1, k, d.want)
	_, err := g.ks.fillBox.Submit(g.rt, g.n, g.m, i0, i1, j0, j1, k, d.got)
	return err
}

func (g *graphRun) mixBoxStep(k uint32) error {
	d, s := g.matrices[g.rng.IntN(len(g.matrices))], g.matrices[g.rng.IntN(len(g.matrices))]
	i0, i1 := g.part(g.n)
	j0, j1 := g.part(g.m)
	a, b := g.rng.IntN(g.n-(i1-i0)+1), g.rng.IntN(g.m-(j1-j0)+1)
	MixBox(g.n, g.m, i0, i1, j0, j1, a, b, k, d.want, s.want)
	var err error
	meets := &d.got[0] == &s.got[0] && i0 < a+i1-i0 && a < i1 && j0 < b+j1-j0 && b < j1
	if meets || g.rng.IntN(3) == 0 {
		spin, shape := g.spin, []int{g.n, g.m}
		_, err = g.rt.Go(func() error { delay(spin); MixBox(g.n, g.m, i0, i1, j0, j1, a, b, k, d.got, s.got); return nil },
			task.InOut(d.got).Box(shape, []int{i0, j0}, []int{i1, j1}),
			task.In(s.got).Box(shape, []int{a, b}, []int{a + i1 - i0, b + j1 - j0}))
	} else {
		_, err = g.ks.mixBox.Submit(g.rt, g.n, g.m, i0, i1, j0, j1, a, b, k, d.got, s.got)
	}
	return err
}

// readStep looks at a part of the data in the middle of the program.
func (g *graphRun) readStep() error {
	if g.rng.IntN(4) == 0 {
		if err := g.rt.Wait(context.Background()); err != nil {
			return err
		}
		return g.compare()
	}
	d := g.vectors[g.rng.IntN(len(g.vectors))]
	lo, hi := g.part(len(d.got))
	err := g.rt.WaitOn(context.Background(), task.In(d.got[lo:hi]))
	if !slices.Contains(d.used[lo:hi], true) {
		if !errors.Is(err, task.ErrUnused) {
			return fmt.Errorf("wait on elements %d to %d, which no task has used, returned %v", lo, hi, err)
		}
		return same(d.got, d.want, lo, hi)
	}
	if err != nil {
		return err
	}
	return same(d.got, d.want, lo, hi)
}

func (g *graphRun) compare() error {
	for _, p := range append(append([]pair(nil), g.vectors...), g.matrices...) {
		if err := same(p.got, p.want, 0, len(p.want)); err != nil {
			return err
		}
	}
	return nil
}

func same(got, want []uint32, lo, hi int) error {
	for i := lo; i < hi; i++ {
		if got[i] != want[i] {
			return fmt.Errorf("element %d of %d is %#x, want %#x", i, len(want), got[i], want[i])
		}
	}
	return nil
}

func TestSameCanFail(t *testing.T) {
	require.Error(t, same([]uint32{1, 2}, []uint32{1, 3}, 0, 2))
}
