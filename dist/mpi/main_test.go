//go:build linux && (amd64 || arm64)

package mpi_test

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/gompss/gompss/dist/internal/ranktest"
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

// launch runs a program of this test binary on n ranks and returns what they print, and the error
// of the launcher.
func launch(t *testing.T, family, program string, n int, env ...string) (string, error) {
	t.Helper()
	return launchCommand(t, family, os.Args[0], n, append(env, programVariable+"="+program)...)
}

func launchCommand(t *testing.T, family, command string, n int, env ...string) (string, error) {
	t.Helper()
	l := ranktest.Find(family)
	if l.Missing != "" {
		t.Skip(l.Missing)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	args := append(append([]string{}, l.Command[1:]...), "-np", strconv.Itoa(n), command)
	c := exec.CommandContext(ctx, l.Command[0], args...)
	c.Env = append(l.Environ(), env...)
	c.WaitDelay = time.Second
	out, err := c.CombinedOutput()
	return string(out), err
}

func eachLauncher(t *testing.T, test func(t *testing.T, family string)) {
	for _, family := range ranktest.Families {
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

// The calls take about as long as in C. Both programs run in turn, and the best time of each
// counts: neighbours on the machine only add to it. Ranks that wait spin, so the test needs a
// processor for each.
func TestProcess_CallsCostAsInC(t *testing.T) {
	if os.Getenv("GOMPSS_SOAK") == "" {
		t.Skip("needs a machine that does nothing else: GOMPSS_SOAK=1")
	}
	for _, family := range ranktest.System {
		t.Run(family, func(t *testing.T) {
			compiler := "mpicc." + family
			if _, err := exec.LookPath(compiler); err != nil {
				t.Skipf("no %s: %v", compiler, err)
			}
			program := filepath.Join(t.TempDir(), "costs")
			out, err := exec.Command(compiler, "-O2", "-o", program, "testdata/costs.c").CombinedOutput()
			require.NoError(t, err, string(out))
			inC, inGo := map[string]int{}, map[string]int{}
			for range 3 {
				least(t, inC, func() (string, error) { return launchCommand(t, family, program, 2) })
				least(t, inGo, func() (string, error) { return launch(t, family, "costs", 2) })
			}
			for name := range inC {
				t.Logf("%s: %d ns in C, %d ns in Go, %.2f", name, inC[name], inGo[name], float64(inGo[name])/float64(inC[name]))
			}
			// The goal is 100 ns a call; the bound allows for a virtual machine.
			require.Less(t, inGo["probe"], inC["probe"]+400)
		})
	}
}

// least notes the least number of each name that a program of costs prints.
func least(t *testing.T, of map[string]int, run func() (string, error)) {
	t.Helper()
	out, err := run()
	require.NoError(t, err, out)
	for line := range strings.Lines(out) {
		var name string
		var ns int
		if n, _ := fmt.Sscanf(line, "%s %d", &name, &ns); n == 2 && (of[name] == 0 || ns < of[name]) {
			of[name] = ns
		}
	}
	require.NotZero(t, of["probe"], out)
}

func TestInit_RefusesSingletons(t *testing.T) {
	eachLauncher(t, func(t *testing.T, family string) {
		l := ranktest.Find(family)
		if l.Missing != "" {
			t.Skip(l.Missing)
		}
		c := exec.CommandContext(t.Context(), os.Args[0])
		c.Env = append(l.Environ(), programVariable+"=singleton", "SLURM_NTASKS=4")
		if lib := map[string]string{"openmpi": "libmpi.so.40", "mpich": "libmpich.so.12"}[family]; lib != "" {
			c.Env = append(c.Env, "GOMPSS_MPI_LIB="+lib)
		}
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
		out, err := launch(t, family, "abort", 4)
		require.Error(t, err)
		require.NotContains(t, out, "not reached")
	})
}
