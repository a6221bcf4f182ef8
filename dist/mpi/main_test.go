//go:build linux && (amd64 || arm64)

package mpi_test

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// programVariable names the program of programs_test.go that a process of this test binary runs as
// a rank.
const programVariable = "GOMPSS_TEST_MPI_PROGRAM"

func TestMain(m *testing.M) {
	if name := os.Getenv(programVariable); name != "" {
		runProgram(name)
	}
	os.Exit(m.Run())
}

// launchers are the commands that start ranks, by the family of their library.
var launchers = map[string][]string{
	"openmpi": {"mpirun.openmpi", "--allow-run-as-root", "--oversubscribe", "--mca", "btl", "self,vader,tcp", "--mca", "btl_vader_single_copy_mechanism", "none"},
	"mpich":   {"mpirun.mpich"},
}

// launch runs a program of this test binary on n ranks and returns what they print, and the error
// of the launcher.
func launch(t *testing.T, family, program string, n int, env ...string) (string, error) {
	t.Helper()
	command := launchers[family]
	if _, err := exec.LookPath(command[0]); err != nil {
		t.Skipf("no %s: %v", command[0], err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	args := append(append([]string{}, command[1:]...), "-np", strconv.Itoa(n), os.Args[0])
	c := exec.CommandContext(ctx, command[0], args...)
	c.Env = append(os.Environ(), programVariable+"="+program, "OMPI_ALLOW_RUN_AS_ROOT=1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1")
	c.Env = append(c.Env, env...)
	c.WaitDelay = time.Second
	out, err := c.CombinedOutput()
	return string(out), err
}

func eachLauncher(t *testing.T, test func(t *testing.T, family string)) {
	for _, family := range []string{"openmpi", "mpich"} {
		t.Run(family, func(t *testing.T) { test(t, family) })
	}
}

// requireRanks checks that every rank of n has printed that it is done.
func requireRanks(t *testing.T, out string, n int) {
	t.Helper()
	for r := range n {
		require.Contains(t, out, fmt.Sprintf("rank %d ok", r), "%s", strings.TrimSpace(out))
	}
}

func TestProcess_EveryCall(t *testing.T) {
	eachLauncher(t, func(t *testing.T, family string) {
		for _, n := range []int{2, 4} {
			out, err := launch(t, family, "calls", n)
			require.NoError(t, err, out)
			requireRanks(t, out, n)
		}
	})
}

func TestProcess_NilDereferenceIsStillRecovered(t *testing.T) {
	eachLauncher(t, func(t *testing.T, family string) {
		out, err := launch(t, family, "signals", 2)
		require.NoError(t, err, out)
		requireRanks(t, out, 2)
		t.Log(out)
	})
}

func TestProcess_NoAllocationPerCall(t *testing.T) {
	eachLauncher(t, func(t *testing.T, family string) {
		out, err := launch(t, family, "allocations", 2)
		require.NoError(t, err, out)
		requireRanks(t, out, 2)
	})
}

func TestProcess_GoroutinesAtOnce(t *testing.T) {
	eachLauncher(t, func(t *testing.T, family string) {
		out, err := launch(t, family, "goroutines", 2)
		require.NoError(t, err, out)
		requireRanks(t, out, 2)
	})
}

func TestProcess_PingPong(t *testing.T) {
	if testing.Short() {
		t.Skip("times, not a claim")
	}
	eachLauncher(t, func(t *testing.T, family string) {
		out, err := launch(t, family, "pingpong", 2)
		require.NoError(t, err, out)
		t.Log(out)
	})
}

func TestInit_RefusesSingletons(t *testing.T) {
	eachLauncher(t, func(t *testing.T, family string) {
		if _, err := exec.LookPath(launchers[family][0]); err != nil {
			t.Skipf("no %s: %v", launchers[family][0], err)
		}
		c := exec.CommandContext(t.Context(), os.Args[0])
		lib := map[string]string{"openmpi": "libmpi.so.40", "mpich": "libmpich.so.12"}[family]
		c.Env = append(os.Environ(), programVariable+"=singleton", "SLURM_NTASKS=4", "GOMPSS_MPI_LIB="+lib)
		out, err := c.CombinedOutput()
		require.NoError(t, err, string(out))
		require.Contains(t, string(out), "the launcher started 4 ranks")
	})
}

func TestInit_RefusesTheLibraryOfAnotherLauncher(t *testing.T) {
	if _, err := exec.LookPath("mpirun.openmpi"); err != nil {
		t.Skipf("no mpirun.openmpi: %v", err)
	}
	out, err := launch(t, "mpich", "mismatch", 2, "GOMPSS_MPI_LIB=libmpi.so.40")
	require.NoError(t, err, out)
	require.Contains(t, out, "the launcher is that of MPICH")
}

func TestAbort_EndsTheJob(t *testing.T) {
	eachLauncher(t, func(t *testing.T, family string) {
		began := time.Now()
		out, err := launch(t, family, "abort", 4)
		require.Error(t, err)
		require.Less(t, time.Since(began), 20*time.Second)
		require.NotContains(t, out, "not reached")
	})
}
