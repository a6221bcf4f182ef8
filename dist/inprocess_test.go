package dist_test

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/gompss/gompss/dist"
	"github.com/gompss/gompss/task"
)

var (
	programs  = flag.Int("programs", 2000, "random programs")
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

// Random programs leave the same bytes, and their waits see the same, on every rank as when they
// are run one task after the other. Ranks run some programs each: to open them takes longer.
func TestWorld_RandomProgramsAreSequential(t *testing.T) {
	n := uint64(*programs)
	if testing.Short() {
		n /= 20
	}
	const together = 50
	for first := *firstSeed; first < *firstSeed+n; first += together {
		ranks := 1 + int(first/together%5)
		errs := inProcess(t, ranks, first, func(rt *task.Runtime, rank int) error {
			for seed := first; seed < min(first+together, *firstSeed+n); seed++ {
				p := newProgram(seed, ranks, 40)
				sum, err := p.run(context.Background(), rt, rank)
				if want := p.sequential(); err != nil || sum != want {
					return fmt.Errorf("seed %d, rank %d of %d: %x, sequential %x: %w", seed, rank, ranks, sum, want, err)
				}
			}
			return nil
		})
		require.NoError(t, errors.Join(errs...), "seeds from %d", first)
	}
}

// The programs give the same bytes where every message of more than two elements is in pieces.
func TestWorld_RandomProgramsInPieces(t *testing.T) {
	defer dist.SetPieces(16)()
	for ranks := 2; ranks < 5; ranks++ {
		errs := inProcess(t, ranks, 7, func(rt *task.Runtime, rank int) error {
			for seed := range uint64(40) {
				p := newProgram(seed, ranks, 40)
				sum, err := p.run(context.Background(), rt, rank)
				if want := p.sequential(); err != nil || sum != want {
					return fmt.Errorf("seed %d, rank %d of %d: %x, sequential %x: %w", seed, rank, ranks, sum, want, err)
				}
			}
			return nil
		})
		require.NoError(t, errors.Join(errs...))
	}
}

// A buffer may be larger than the memory of the machine: each rank backs what its tasks touch.
func TestWorld_BuffersAreBackedWhereTouched(t *testing.T) {
	if policy, err := os.ReadFile("/proc/sys/vm/overcommit_memory"); err != nil || strings.TrimSpace(string(policy)) == "2" {
		t.Skipf("the system sets memory aside for all that is mapped, or is not Linux: %q, %v", policy, err)
	}
	if cost := mappingCost(t); cost > 1<<20 {
		t.Skipf("to map 4 GiB takes %d bytes, as an emulator keeps a record of each page: all memory would not do for this test", cost)
	}
	errs := inProcess(t, 4, 1, func(rt *task.Runtime, rank int) error {
		x, err := task.Alloc[byte](rt, 1<<40)
		if err == nil {
			err = dist.Distribute(rt, x, dist.Block(1<<20))
		}
		for of := range 4 {
			part := x[of<<38 : of<<38+100]
			if err == nil {
				_, err = rt.Go(func() error { part[99] += byte(of); return nil }, task.InOut(part))
			}
		}
		if err == nil {
			err = rt.WaitOn(context.Background(), task.In(x[3<<38:3<<38+100]))
		}
		if err == nil && x[3<<38+99] != 3 {
			err = fmt.Errorf("rank %d has %d", rank, x[3<<38+99])
		}
		return err
	})
	require.NoError(t, errors.Join(errs...))
}

// mappingCost returns the bytes by which the process grows where 4 GiB are mapped and not touched.
func mappingCost(t *testing.T) int64 {
	resident := func() (pages int64) {
		text, err := os.ReadFile("/proc/self/statm")
		require.NoError(t, err)
		_, err = fmt.Sscan(strings.Fields(string(text))[1], &pages)
		require.NoError(t, err)
		return pages
	}
	before := resident()
	memory, err := syscall.Mmap(-1, 0, 4<<30, syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_ANON|syscall.MAP_PRIVATE)
	require.NoError(t, err)
	defer func() { require.NoError(t, syscall.Munmap(memory)) }()
	return (resident() - before) * int64(os.Getpagesize())
}

// A notingTransport keeps the priorities of the messages that it sends.
type notingTransport struct {
	dist.Transport
	mu         *sync.Mutex
	priorities *[]int
}

func (n notingTransport) Send(to int, key dist.Key, priority int, data []byte, done func(error)) {
	n.mu.Lock()
	*n.priorities = append(*n.priorities, priority)
	n.mu.Unlock()
	n.Transport.Send(to, key, priority, data, done)
}

// A message is sent before other tasks that are ready run, whatever their priority.
func TestWorld_MessagesGoFirst(t *testing.T) {
	var mu sync.Mutex
	var order []string
	var priorities []int
	note := func(what string) {
		mu.Lock()
		defer mu.Unlock()
		for range priorities {
			order = append(order, "send")
		}
		order, priorities = append(order, what), nil
	}
	errs := make([]error, 2)
	var all sync.WaitGroup
	for rank, tr := range dist.InProcess(2, 0) {
		all.Go(func() {
			errs[rank] = func() error {
				w, err := dist.NewWorld(notingTransport{tr, &mu, &priorities}, dist.Options{})
				if err != nil {
					return err
				}
				rt, err := task.New(task.Options{World: w, Devices: "smp:1"})
				if err != nil {
					return err
				}
				x, err := vector(rt, 8, dist.On(0))
				submitted := make(chan struct{})
				body := func(k int) func() error {
					return func() error {
						if k == 0 {
							<-submitted // all others are ready
						}
						note(fmt.Sprint(k))
						return nil
					}
				}
				for k := range 7 {
					if err == nil {
						_, err = rt.Go(body(k), task.InOut(x[k:k+1]), task.Priority(100))
					}
				}
				if err == nil {
					_, err = rt.Go(func() error { return nil }, task.In(x[7:]), task.OnRank(1))
				}
				close(submitted)
				return errors.Join(err, rt.Close())
			}()
		})
	}
	all.Wait()
	require.NoError(t, errors.Join(errs...))
	require.Contains(t, order[:2], "send", "%v", order) // the goroutine that waits runs tasks, too
}

// A message has the priority of the task that it is for.
func TestWorld_MessagesHaveThePriorityOfTheirTask(t *testing.T) {
	var mu sync.Mutex
	var priorities []int
	errs := make([]error, 2)
	var all sync.WaitGroup
	for rank, tr := range dist.InProcess(2, 0) {
		all.Go(func() {
			errs[rank] = func() error {
				w, err := dist.NewWorld(notingTransport{tr, &mu, &priorities}, dist.Options{})
				if err != nil {
					return err
				}
				rt, err := task.New(task.Options{World: w, Devices: "smp:1"})
				if err != nil {
					return err
				}
				x, err := vector(rt, 4, dist.On(0))
				for k := range 4 {
					if err == nil {
						_, err = rt.Go(func() error { return nil }, task.In(x[k:k+1]), task.OnRank(1), task.Priority(10*k))
					}
				}
				return errors.Join(err, rt.Close())
			}()
		})
	}
	all.Wait()
	require.NoError(t, errors.Join(errs...))
	require.ElementsMatch(t, []int{0, 10, 20, 30}, priorities)
}
