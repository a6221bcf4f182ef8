// Package demotest is what the tests of demonstration programs on several ranks share.
package demotest

import (
	"errors"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/gompss/gompss/dist"
	"github.com/gompss/gompss/examples/internal/demo"
	"github.com/gompss/gompss/task"
)

// rankVariable says that a test program is to be the demonstration program: a rank of Launch.
const rankVariable = "GOMPSS_TEST_EXAMPLE"

// Main is the TestMain of a demonstration program whose function main is given.
func Main(m *testing.M, main func()) {
	if os.Getenv(rankVariable) != "" {
		main()
		os.Exit(0)
	}
	goleak.VerifyTestMain(m)
}

// Launch runs the program, whose tests call Main, on processes as ranks, with -check, and expects
// the result of the sequential run.
func Launch(t *testing.T, ranks int, args ...string) {
	t.Helper()
	if runtime.GOOS != "linux" {
		t.Skip("ranks are tried on Linux")
	}
	c := exec.CommandContext(t.Context(), os.Args[0], append(args, "-ranks", strconv.Itoa(ranks), "-check", "-json")...)
	c.Env = append(os.Environ(), rankVariable+"=1")
	out, err := c.CombinedOutput()
	require.NoError(t, err, string(out))
	require.Contains(t, string(out), `"check":"ok"`)
}

// SameBits calls f on ranks of this process, of which there are 1, 2, 3 and 5, and expects the same
// result on each rank of each number.
func SameBits[T any](t *testing.T, flags demo.Flags, f func(rt *task.Runtime, flags demo.Flags) (T, error)) {
	t.Helper()
	want := onRanks(t, 1, flags, f)[0]
	for _, ranks := range []int{2, 3, 5} {
		for rank, got := range onRanks(t, ranks, flags, f) {
			require.Equal(t, want, got, "rank %d of %d", rank, ranks)
		}
	}
}

// onRanks returns the results of f on so many ranks.
func onRanks[T any](t *testing.T, ranks int, flags demo.Flags, f func(*task.Runtime, demo.Flags) (T, error)) []T {
	t.Helper()
	results, errs := make([]T, ranks), make([]error, ranks)
	var all sync.WaitGroup
	for rank, transport := range dist.InProcess(ranks, uint64(ranks)) {
		all.Go(func() {
			mine := flags
			var err error
			if mine.World, err = dist.NewWorld(transport, dist.Options{}); err != nil {
				errs[rank] = err
				return
			}
			rt, err := task.New(mine.Options())
			if err != nil {
				errs[rank] = err
				return
			}
			results[rank], err = f(rt, mine)
			errs[rank] = errors.Join(err, rt.Close())
		})
	}
	all.Wait()
	require.NoError(t, errors.Join(errs...))
	return results
}
