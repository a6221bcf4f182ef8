package dist_test

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/gompss/gompss/dist"
	"github.com/gompss/gompss/task"
)

var (
	programs  = flag.Int("programs", 150, "random programs")
	firstSeed = flag.Uint64("firstseed", 1, "of the random programs")
)

// inProcess runs f as each of n ranks of this process and returns their errors.
func inProcess(t testing.TB, n int, seed uint64, f func(rt *task.Runtime, rank int) error) []error {
	t.Helper()
	errs := make([]error, n)
	var all sync.WaitGroup
	for rank, tr := range dist.InProcess(n, seed) {
		all.Go(func() {
			errs[rank] = asRank(tr, func(rt *task.Runtime) error { return f(rt, rank) })
		})
	}
	done := make(chan struct{})
	go func() { all.Wait(); close(done) }()
	select {
	case <-done:
	case <-time.After(time.Minute):
		panic(fmt.Sprintf("seed %d: the ranks hang", seed))
	}
	return errs
}

func asRank(tr dist.Transport, f func(rt *task.Runtime) error) error {
	w, err := dist.NewWorld(tr, dist.Options{Errors: io.Discard, Silence: -1})
	if err != nil {
		return err
	}
	rt, err := task.New(task.Options{World: w, Devices: "smp:2"})
	if err != nil {
		return err
	}
	err = f(rt)
	if failed := rt.Close(); err == nil {
		err = failed
	}
	return err
}

// A random program leaves the same bytes, and its waits see the same, on every rank as when it is
// run one task after the other.
func TestWorld_RandomProgramsAreSequential(t *testing.T) {
	n := *programs
	if testing.Short() {
		n /= 3
	}
	for i := range uint64(n) {
		seed := *firstSeed + i
		p := newProgram(seed, 1+int(seed%5), 60)
		want := p.sequential()
		sums := make([]uint64, p.ranks)
		errs := inProcess(t, p.ranks, seed, func(rt *task.Runtime, rank int) (err error) {
			sums[rank], err = p.run(context.Background(), rt, rank)
			return err
		})
		require.NoError(t, errors.Join(errs...), "seed %d", seed)
		for rank, sum := range sums {
			require.Equal(t, want, sum, "seed %d, rank %d of %d", seed, rank, p.ranks)
		}
	}
}
