package dist_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"

	"github.com/gompss/gompss/dist"
	"github.com/gompss/gompss/lib"
	"github.com/gompss/gompss/task"
)

func init() {
	rankPrograms["scans"] = func(rt *task.Runtime, w *dist.World, argument string) error {
		var block int
		fmt.Sscan(argument, &block)
		got, err := scans(rt, block)
		if err != nil {
			return err
		}
		alone, err := task.New(task.Options{Devices: "smp:2"})
		if err != nil {
			return err
		}
		defer alone.Close()
		if want, err := scans(alone, block); err != nil || !slices.Equal(got, want) {
			return fmt.Errorf("not as on one rank: %w", err)
		}
		fmt.Printf("rank %d is as alone, in place: %t\n", w.Rank(), w.Stats().InPlace > 0)
		return rt.Wait(context.Background())
	}
}

// scans makes prefix sums of blocks of a vector from other blocks of it, on accelerators where
// there are some, and returns the vector.
func scans(rt *task.Runtime, block int) ([]int64, error) {
	const blocks, rounds = 6, 40
	x, err := vector(rt, block*blocks, dist.Cyclic(block))
	if err != nil {
		return nil, err
	}
	at := func(k int) []int64 { return x[k%blocks*block : (k%blocks+1)*block] }
	for k := range blocks {
		if _, err := rt.Go(func() error { at(k)[0] = int64(k + 1); return nil }, task.Out(at(k))); err != nil {
			return nil, err
		}
	}
	for k := range rounds {
		if k%7 == 3 { // on the host, of what accelerators have
			if _, err := rt.Go(increment(at(k)), task.InOut(at(k))); err != nil {
				return nil, err
			}
		}
		from := k*k + 1
		if _, err := lib.SubmitScan(rt, at(from), at(from+1+k%5), device(rt)...); err != nil {
			return nil, err
		}
	}
	if err := rt.WaitOn(context.Background(), task.In(x)); err != nil {
		return nil, err
	}
	return slices.Clone(x), nil
}

// device returns the options of a kernel that is to run on an accelerator.
func device(rt *task.Runtime) []task.Option {
	if rt.World() == nil {
		return nil
	}
	return []task.Option{task.OnDevice("sim")}
}

// A placedTransport takes memory of simulated devices, which is memory of this process.
type placedTransport struct {
	dist.Transport
	t testing.TB
}

func (p placedTransport) LeastInPlace() int { return 64 }

func (p placedTransport) SendInPlace(to int, key dist.Key, priority int, m dist.DeviceMemory, done func(error)) {
	p.Send(to, key, priority, p.memory(&m), done)
}

func (p placedTransport) RecvInPlace(from int, key dist.Key, m dist.DeviceMemory, done func(error)) {
	p.Recv(from, key, p.memory(&m), done)
}

func (p placedTransport) memory(m *dist.DeviceMemory) []byte {
	if err := m.Current(); err != nil {
		p.t.Error(err)
	}
	return unsafe.Slice(*(**byte)(unsafe.Pointer(&m.Address)), m.Bytes)
}

// Where a transport takes memory of accelerators, messages begin and end there, and programs leave
// the same values: with much memory, and with so little that messages may hold none or some of it.
func TestWorld_MessagesInPlace(t *testing.T) {
	for devices, some := range map[string]bool{
		"smp:1,sim:2": true, "smp:1,sim:1(memory=256KiB,granule=4KiB)": true, "smp:1,sim:1(memory=28KiB,granule=4KiB)": false,
	} {
		t.Run(devices, func(t *testing.T) {
			const ranks, block = 3, 1000
			alone, err := task.New(task.Options{Devices: "smp:1"})
			require.NoError(t, err)
			defer alone.Close()
			want, err := scans(alone, block)
			require.NoError(t, err)
			var all sync.WaitGroup
			errs, inPlace := make([]error, ranks), make([]uint64, ranks)
			for rank, tr := range dist.InProcess(ranks, 3) {
				all.Go(func() {
					errs[rank] = func() error {
						w, err := dist.NewWorld(placedTransport{tr, t}, dist.Options{Errors: io.Discard})
						if err != nil {
							return err
						}
						rt, err := task.New(task.Options{World: w, Devices: devices})
						if err != nil {
							return err
						}
						got, err := scans(rt, block)
						if err == nil && !slices.Equal(got, want) {
							err = fmt.Errorf("rank %d: %v, want %v", rank, got[:10], want[:10])
						}
						inPlace[rank] = w.Stats().InPlace
						return errors.Join(err, rt.Close())
					}()
				})
			}
			all.Wait()
			require.NoError(t, errors.Join(errs...))
			require.Equal(t, some, slices.Max(inPlace) > 0, "%v", inPlace)
		})
	}
}

// MPI takes memory of simulated devices, as a library takes that of GPUs.
func TestRanks_MessagesInPlace(t *testing.T) {
	eachWay(t, func(t *testing.T, way string) {
		for variable, inPlace := range map[string]bool{"on": true, "off": false} {
			out, err := launch(t, way, 3, "scans:3000", "GOMPSS_MPI_GPU="+variable)
			require.NoError(t, err, out)
			want := fmt.Sprintf("is as alone, in place: %t", inPlace && way != "sockets")
			require.Equal(t, 3, strings.Count(out, want), out)
		}
	})
}
