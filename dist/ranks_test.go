package dist_test

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/gompss/gompss/dist"
	"github.com/gompss/gompss/dist/internal/ranktest"
	"github.com/gompss/gompss/task"
)

// rankVariable names what a process of this test binary does as a rank.
const rankVariable = "GOMPSS_TEST_RANK_PROGRAM"

func TestMain(m *testing.M) {
	if name := os.Getenv(rankVariable); name != "" {
		os.Exit(rankProgram(name))
	}
	os.Exit(m.Run())
}

// rankProgram is the program of a rank: its name, and what comes behind a colon.
func rankProgram(text string) int {
	name, argument, _ := strings.Cut(text, ":")
	if rest, limited := strings.CutPrefix(name, "limited "); limited {
		limitMPI()
		name = rest
	}
	if name == "alone" {
		return 0
	}
	w, err := dist.Init(dist.Options{Silence: 2 * time.Second})
	if err != nil {
		fmt.Println(err)
		return 4
	}
	devices := "smp:2"
	if name == "scans" {
		devices = "smp:1,sim:2"
	}
	rt, err := task.New(task.Options{World: w, Devices: devices})
	if err == nil {
		err = rankPrograms[name](rt, w, argument)
	}
	if err != nil {
		fmt.Printf("rank %d returns: %v\n", w.Rank(), err)
		return 3
	}
	if err := rt.Close(); err != nil {
		fmt.Println(err)
		return 5
	}
	w.Exit(0)
	return 0
}

// limitMPI is set where there is MPI.
var limitMPI func()

var rankPrograms = map[string]func(rt *task.Runtime, w *dist.World, argument string) error{
	"random": func(rt *task.Runtime, w *dist.World, argument string) error {
		var first, n uint64
		fmt.Sscanf(argument, "%d,%d", &first, &n)
		for seed := first; seed < first+n; seed++ {
			p := newProgram(seed, w.Size(), 60)
			sum, err := p.run(context.Background(), rt, w.Rank())
			if err != nil {
				return fmt.Errorf("seed %d: %w", seed, err)
			}
			if want := p.sequential(); sum != want {
				return fmt.Errorf("seed %d: %x, sequential %x", seed, sum, want)
			}
		}
		fmt.Printf("rank %d of %d has run %d programs\n", w.Rank(), w.Size(), n)
		return nil
	},
	"large": func(rt *task.Runtime, w *dist.World, argument string) error {
		n, _ := strconv.Atoi(argument)
		x, err := vector(rt, n, dist.On(0))
		if err != nil {
			return err
		}
		_, err = rt.Go(func() error {
			for i := range x {
				x[i] = int64(i) * 3
			}
			return nil
		}, task.Out(x))
		if err != nil {
			return err
		}
		if err := rt.WaitOn(context.Background(), task.In(x)); err != nil {
			return err
		}
		for i := range x {
			if x[i] != int64(i)*3 {
				return fmt.Errorf("rank %d: element %d is %d", w.Rank(), i, x[i])
			}
		}
		fmt.Printf("rank %d has all\n", w.Rank())
		return rt.Wait(context.Background())
	},
	// Rank 1 reads blocks of rank 0, all at once and each by its own priority.
	"many": func(rt *task.Runtime, w *dist.World, argument string) error {
		const block = 4000
		blocks, _ := strconv.Atoi(argument)
		x, err := vector(rt, blocks*block, dist.On(0))
		if err != nil {
			return err
		}
		var read atomic.Int32
		for k := range blocks {
			part := x[k*block : (k+1)*block]
			if _, err := rt.Go(func() error { part[0], part[block-1] = int64(k), int64(k); return nil }, task.InOut(part)); err != nil {
				return err
			}
			check := func() error {
				if part[0] != int64(k) || part[block-1] != int64(k) {
					return fmt.Errorf("block %d begins with %d", k, part[0])
				}
				read.Add(1)
				return nil
			}
			if _, err := rt.Go(check, task.In(part), task.OnRank(1), task.Priority(k%5)); err != nil {
				return err
			}
		}
		if err := rt.Wait(context.Background()); err != nil {
			return err
		}
		if w.Rank() == 1 {
			fmt.Printf("rank 1 has read %d blocks\n", read.Load())
		}
		return nil
	},
	// A fault of rank 1 while all wait for all.
	"fault": func(rt *task.Runtime, w *dist.World, kind string) error {
		x, err := vector(rt, 8*w.Size(), dist.Block(1))
		if err != nil {
			return err
		}
		return ring(rt, x, w.Size(), 300, func(round int) error {
			if round != 150 {
				return nil
			}
			if kind == "diverge" && w.Rank() == 1 {
				_, err := rt.Go(increment(x[:8]), task.InOut(x[:8]), task.Label("Extra"))
				return err
			}
			_, err := rt.Go(func() error { return fault(kind) }, task.InOut(x[8:16]), task.Label("Faulty"))
			return err
		})
	},
}

func fault(kind string) error {
	switch kind {
	case "error":
		return errors.New("it broke")
	case "panic":
		panic("it broke")
	case "kill":
		syscall.Kill(os.Getpid(), syscall.SIGKILL)
	case "stop":
		syscall.Kill(os.Getpid(), syscall.SIGSTOP)
	case "exit":
		os.Exit(0)
	}
	time.Sleep(10 * time.Millisecond)
	return nil
}

// ways are the launchers of the ranks.
var ways = append([]string{"sockets"}, ranktest.Families...)

// launch runs a rank program and returns what the ranks print.
func launch(t *testing.T, way string, n int, program string, env ...string) (string, error) {
	t.Helper()
	if runtime.GOOS != "linux" {
		t.Skip("launchers are tried on Linux")
	}
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	for _, e := range append(env, rankVariable+"="+program) {
		name, value, _ := strings.Cut(e, "=")
		t.Setenv(name, value)
	}
	if way == "sockets" {
		var out lockedBuffer
		err := dist.Launch(ctx, n, os.Args[:1], &out, &out)
		return out.String(), err
	}
	l := ranktest.Find(way)
	if l.Missing != "" {
		t.Skip(l.Missing)
	}
	l.Set(t.Setenv)
	command := l.Command
	c := exec.CommandContext(ctx, command[0], append(command[1:], "-np", strconv.Itoa(n), os.Args[0])...)
	var out bytes.Buffer
	c.Stdout, c.Stderr, c.WaitDelay = &out, &out, time.Second
	err := c.Run()
	return out.String(), err
}

// A program that never joins its ranks runs as a whole in each of them: the launcher says so.
func TestLaunch_WarnsWithoutInit(t *testing.T) {
	const warning = "dist: launch: no rank called dist.Init: the program ran 3 times, each time as a whole\n"
	said, err := launch(t, "sockets", 3, "alone")
	require.NoError(t, err)
	require.Equal(t, warning, said)
	said, err = launch(t, "sockets", 1, "alone")
	require.NoError(t, err)
	require.Empty(t, said, "one process is the whole program")
	said, err = launch(t, "sockets", 3, "random:1,1")
	require.NoError(t, err)
	require.NotContains(t, said, "dist.Init")
}

func eachWay(t *testing.T, test func(t *testing.T, way string)) {
	for _, way := range ways {
		t.Run(way, func(t *testing.T) { test(t, way) })
	}
}

var processPrograms = flag.Int("rankprograms", 40, "random programs that 4 processes run, from -firstseed on")

// The random programs give the same bytes as processes, by sockets and by MPI.
func TestRanks_RandomProgramsAreSequential(t *testing.T) {
	n := *processPrograms
	if testing.Short() {
		n = 10
	}
	const together = 500
	eachWay(t, func(t *testing.T, way string) {
		for first, end := int(*firstSeed), int(*firstSeed)+n; first < end; first += together {
			some := min(together, end-first)
			out, err := launch(t, way, 4, fmt.Sprintf("random:%d,%d", first, some))
			require.NoError(t, err, out)
			require.Equal(t, 4, strings.Count(out, fmt.Sprintf("of 4 has run %d programs", some)), out)
		}
	})
}

// Messages that are longer than what travels with its key arrive whole.
func TestRanks_LargeMessages(t *testing.T) {
	eachWay(t, func(t *testing.T, way string) {
		out, err := launch(t, way, 4, "large:2000000")
		require.NoError(t, err, out)
		require.Equal(t, 4, strings.Count(out, "has all"), out)
	})
}

// requireEnds checks that a job that began then has ended by itself: within 5 s with GOMPSS_SOAK,
// on a machine that does nothing else. A launcher of MPI takes 2 s to start and to end.
func requireEnds(t *testing.T, began time.Time, launcher bool, out any) {
	t.Helper()
	limit := time.Minute
	if os.Getenv("GOMPSS_SOAK") != "" {
		limit = 5 * time.Second
		if launcher {
			limit += 2 * time.Second
		}
	}
	require.Less(t, time.Since(began), limit, "%v", out)
}

// requireNoProcess checks that no other process with a variable of its environment is left. Those
// that a launcher has killed may take a moment.
func requireNoProcess(t *testing.T, variable string) {
	t.Helper()
	require.Eventually(t, func() bool {
		all, _ := filepath.Glob("/proc/[0-9]*/environ")
		return !slices.ContainsFunc(all, func(path string) bool {
			text, err := os.ReadFile(path)
			return err == nil && path != fmt.Sprintf("/proc/%d/environ", os.Getpid()) && bytes.Contains(text, []byte(variable+"\x00"))
		})
	}, 10*time.Second, 20*time.Millisecond, "a process with %s is left", variable)
}

// The collector and its signals disturb no message.
func TestRanks_StormOfCollections(t *testing.T) {
	eachWay(t, func(t *testing.T, way string) {
		if testing.Short() && way != "sockets" {
			t.Skip("a launcher takes seconds")
		}
		out, err := launch(t, way, 3, "storm:700001,12")
		require.NoError(t, err, out)
		require.Equal(t, 3, strings.Count(out, "has all"), out)
	})
}

// Many large messages from one rank to another are all received.
func TestRanks_ManyLargeMessages(t *testing.T) {
	eachWay(t, func(t *testing.T, way string) {
		out, err := launch(t, way, 2, "many:40")
		require.NoError(t, err, out)
		require.Contains(t, out, "rank 1 has read 40 blocks")
	})
}

// A job with a rank that fails, dies, stops or diverges ends; the cause is printed once,
// and kept by a rank.
func TestRanks_AFaultEndsTheJob(t *testing.T) {
	for kind, want := range map[string]string{
		"error":   "gompss: rank 1: task: Faulty",
		"panic":   "gompss: rank 1: task: Faulty",
		"diverge": "the ranks do not submit the same",
		"kill":    "", "exit": "", // a launcher of MPI may end all before a rank notices
		"stop": "gompss: rank 1: silent for 2s",
	} {
		t.Run(kind, func(t *testing.T) {
			eachWay(t, func(t *testing.T, way string) {
				if testing.Short() && way != "sockets" || strings.HasSuffix(way, "5") && kind != "stop" && kind != "error" {
					t.Skip("a launcher takes seconds: the others show it")
				}
				want := want
				if way == "sockets" && want == "" {
					want = "gompss: rank 1: the process is gone"
				}
				folder := t.TempDir()
				began := time.Now()
				out, err := launch(t, way, 4, "fault:"+kind, dist.ErrorsVariable+"="+folder)
				if kind != "exit" || !strings.HasPrefix(way, "mpich") { // MPICH's launcher may end all with the status of that rank, 0
					require.Error(t, err, out)
				}
				requireEnds(t, began, way != "sockets", out)
				requireNoProcess(t, dist.ErrorsVariable+"="+folder)
				if want == "" || way != "sockets" && kind == "kill" {
					return
				}
				require.Contains(t, out, want)
				require.Equal(t, 1, strings.Count(out, "gompss: rank"), out)
				kept, err := os.ReadFile(folder + "/rank-0.txt")
				require.NoError(t, err, out)
				require.Contains(t, string(kept), strings.TrimPrefix(want, "gompss: "))
			})
		})
	}
}

// Without a named folder the cause is kept in one of the program, which rank 0 prints.
func TestRanks_KeepTheCauseByDefault(t *testing.T) {
	cache := t.TempDir()
	folder := filepath.Join(cache, "gompss", "errors", filepath.Base(os.Args[0]))
	out, err := launch(t, "sockets", 3, "fault:error", "XDG_CACHE_HOME="+cache, dist.ErrorsVariable+"=off")
	require.Error(t, err, out)
	require.NoDirExists(t, folder)
	out, err = launch(t, "sockets", 3, "fault:error", "XDG_CACHE_HOME="+cache, dist.ErrorsVariable+"=")
	require.Error(t, err, out)
	require.Contains(t, out, "gompss: each rank keeps the cause in "+folder)
	for rank := range 3 {
		kept, err := os.ReadFile(filepath.Join(folder, fmt.Sprintf("rank-%d.txt", rank)))
		require.NoError(t, err, out)
		require.Contains(t, string(kept), "rank 1: task: Faulty")
		require.Contains(t, string(kept), "it broke")
	}
}
