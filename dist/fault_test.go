package dist_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	_ "github.com/gompss/gompss/devices/sim"
	"github.com/gompss/gompss/dist"
	"github.com/gompss/gompss/lib"
	"github.com/gompss/gompss/task"
)

// This file has the faults that are no fault of a task: messages that are late or of another
// length, a rank that is slow, memory that is not there, an end that is announced.

func init() {
	// Rank 0 sends messages of some bytes, rank 1 receives them as some more, and as some less.
	rankPrograms["lengths"] = func(rt *task.Runtime, w *dist.World, argument string) error {
		var bytes int
		fmt.Sscan(argument, &bytes)
		for i, other := range []int{bytes + 8, bytes - 8} {
			key, ended := dist.Key{Submission: 1 << 40, Part: uint32(i)}, make(chan error, 1)
			switch w.Rank() {
			case 0:
				dist.TransportOf(w).Send(1, key, 0, make([]byte, bytes), func(err error) { ended <- nil })
			case 1:
				dist.TransportOf(w).Recv(0, key, make([]byte, other), func(err error) { ended <- err })
			default:
				ended <- nil
			}
			if err := <-ended; w.Rank() == 1 {
				if err == nil {
					return fmt.Errorf("%d bytes are received as %d without an error", bytes, other)
				}
				fmt.Printf("rank 1: %v\n", err)
			}
		}
		return rt.Wait(context.Background())
	}
	rankPrograms["term"] = terminated
	rankPrograms["storm"] = storm
}

// storm runs programs while the collector and its signals interrupt all threads, and memory comes
// and goes beside messages.
func storm(rt *task.Runtime, w *dist.World, argument string) error {
	defer debug.SetGCPercent(debug.SetGCPercent(5))
	var end atomic.Bool
	var kept atomic.Pointer[[]byte]
	var all sync.WaitGroup
	defer func() { end.Store(true); all.Wait() }()
	for range 2 {
		all.Go(func() {
			for n := 1; !end.Load(); n = n*5%4099 + 1 {
				garbage := make([]byte, n)
				kept.Store(&garbage)
				runtime.Gosched()
			}
		})
	}
	for _, program := range []struct{ name, argument string }{{"random", argument}, {"large", "300000"}, {"many", "30"}} {
		if err := rankPrograms[program.name](rt, w, program.argument); err != nil {
			return err
		}
	}
	return nil
}

// A message that is shorter or longer than its receive is an error of that: of those that travel
// with their key, and of large ones.
func TestTransport_MessageOfAnotherLength(t *testing.T) {
	eachWay(t, func(t *testing.T, way string) {
		for _, bytes := range []string{"100", "100000"} {
			out, err := launch(t, way, 2, "lengths:"+bytes)
			if way == "sockets" { // what follows such a message cannot be read
				require.Contains(t, out, fmt.Sprintf("a message of %s bytes for a receive of", bytes))
				continue
			}
			require.NoError(t, err, out)
			require.Equal(t, 2, strings.Count(out, "rank 1: "), out)
		}
	})
}

// A lateTransport sends the first message to rank 1 after a delay.
type lateTransport struct {
	dist.Transport
	once  *sync.Once
	delay time.Duration
}

func (l lateTransport) Send(to int, key dist.Key, priority int, data []byte, done func(error)) {
	late := false
	if to == 1 {
		l.once.Do(func() { late = true })
	}
	if !late {
		l.Transport.Send(to, key, priority, data, done)
		return
	}
	time.AfterFunc(l.delay, func() { l.Transport.Send(to, key, priority, data, done) })
}

// A message that is late, and a task that is slow, are waited for: a rank is silent only where its
// heartbeat is.
func TestFailure_NoneOfALateMessageOrASlowRank(t *testing.T) {
	const silence, delay = 300 * time.Millisecond, 900 * time.Millisecond
	errs := make([]error, 3)
	var once sync.Once
	var all sync.WaitGroup
	for rank, tr := range dist.InProcess(3, 3) {
		all.Go(func() {
			errs[rank] = func() error {
				w, err := dist.NewWorld(lateTransport{tr, &once, delay}, dist.Options{Errors: io.Discard, Silence: silence})
				if err != nil {
					return err
				}
				rt, err := task.New(task.Options{World: w, Devices: "smp:2"})
				if err != nil {
					return err
				}
				x, err := vector(rt, 30, dist.Block(10))
				if err != nil {
					return err
				}
				err = ring(rt, x, 3, 20, func(round int) error {
					_, err := rt.Go(func() error {
						if round == 10 {
							time.Sleep(delay)
						}
						return nil
					}, task.InOut(x[10:20]))
					return err
				})
				return errors.Join(err, rt.Close())
			}()
		})
	}
	all.Wait()
	require.NoError(t, errors.Join(errs...))
}

// A copy of another rank's data that does not fit into the memory of the device is an error on all
// ranks, which names the device and what it needs.
func TestFailure_NoMemoryForARemoteCopy(t *testing.T) {
	const n = 1 << 16
	for rank, err := range ranksOn(2, "smp:1,sim:1(memory=64KiB,granule=4KiB)", func(rt *task.Runtime) error {
		x, err := task.Alloc[float64](rt, n)
		if err == nil {
			err = dist.Distribute(rt, x, dist.On(0))
		}
		sum, err2 := task.Alloc[float64](rt, 1)
		if err = errors.Join(err, err2); err == nil {
			err = dist.Distribute(rt, sum, dist.On(1))
		}
		if err == nil {
			_, err = lib.SubmitSum(rt, x, &sum[0], task.OnDevice("sim"))
		}
		return errors.Join(err, rt.Wait(context.Background()))
	}) {
		require.ErrorContains(t, err, "sim:0", "rank %d", rank)
		require.ErrorContains(t, err, "512.0 KiB", "rank %d", rank)
	}
}

// ranksOn runs f as each of n ranks of this process with devices, and returns their errors.
func ranksOn(n int, devices string, f func(rt *task.Runtime) error) []error {
	errs := make([]error, n)
	var all sync.WaitGroup
	for rank, tr := range dist.InProcess(n, 1) {
		all.Go(func() {
			w, err := dist.NewWorld(tr, dist.Options{Errors: io.Discard})
			if err != nil {
				errs[rank] = err
				return
			}
			rt, err := task.New(task.Options{World: w, Devices: devices})
			if err == nil {
				err = f(rt)
				rt.Close() // err says why
			}
			errs[rank] = err
		})
	}
	all.Wait()
	return errs
}

// terminated adds to a slice for 60 rounds, which a checkpoint divides where rank 0 is sent
// SIGTERM. argument is the path of that, and whether rank 0 sends it to itself.
func terminated(rt *task.Runtime, w *dist.World, argument string) error {
	path, kind, _ := strings.Cut(argument, ",")
	ctx := context.Background()
	x, err := vector(rt, 40, dist.Block(1))
	if err != nil {
		return err
	}
	end, err := vector(rt, 1, dist.On(0))
	if err != nil {
		return err
	}
	round, err := vector(rt, 1, dist.On(0))
	if err != nil {
		return err
	}
	saved := []dist.Saved{dist.Save("x", x), dist.Save("round", round)}
	if err := dist.Restore(rt, path, saved...); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	if err := rt.WaitOn(ctx, task.In(round)); err != nil {
		return err
	}
	asked := make(chan os.Signal, 1)
	signal.Notify(asked, syscall.SIGTERM)
	for r := round[0]; r < 60; r++ {
		if r == 20 && kind == "signal" && w.Rank() == 0 {
			syscall.Kill(os.Getpid(), syscall.SIGTERM)
			for len(asked) == 0 {
				time.Sleep(time.Millisecond)
			}
		}
		for k := range 4 {
			if _, err := rt.Go(increment(x[10*k:10*k+10]), task.InOut(x[10*k:10*k+10])); err != nil {
				return err
			}
		}
		// Rank 0 alone decides, and the others read its decision.
		_, err := rt.Go(func() error {
			round[0] = r + 1
			select {
			case <-asked:
				end[0] = 1
			default:
			}
			return nil
		}, task.InOut(end), task.InOut(round))
		if err != nil {
			return err
		}
		if err := rt.WaitOn(ctx, task.In(end)); err != nil {
			return err
		}
		if end[0] != 0 {
			fmt.Printf("rank %d ends\n", w.Rank())
			return dist.Checkpoint(ctx, rt, path, saved...)
		}
	}
	if err := rt.WaitOn(ctx, task.In(x)); err != nil {
		return err
	}
	for i, v := range x {
		if v != 60 {
			return fmt.Errorf("element %d is %d, want 60", i, v)
		}
	}
	fmt.Printf("rank %d has all\n", w.Rank())
	return rt.Wait(ctx)
}

// A job that is sent SIGTERM, as Slurm does before the time ends, leaves a checkpoint, from which
// another number of ranks continues.
func TestCheckpoint_BeforeTheEndThatSIGTERMAnnounces(t *testing.T) {
	eachWay(t, func(t *testing.T, way string) {
		path := filepath.Join(t.TempDir(), "state")
		out, err := launch(t, way, 4, "term:"+path+",signal")
		require.NoError(t, err, out)
		require.Equal(t, 4, strings.Count(out, "ends"), out)
		state, err := os.ReadFile(path)
		require.NoError(t, err)
		require.True(t, bytes.Contains(state, []byte("round")))
		out, err = launch(t, way, 3, "term:"+path)
		require.NoError(t, err, out)
		require.Equal(t, 3, strings.Count(out, "has all"), out)
	})
}
