//go:build linux && (amd64 || arm64)

package cuda_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"sync"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"

	"github.com/gompss/gompss/devices/cuda"
	"github.com/gompss/gompss/dist"
	"github.com/gompss/gompss/task"
)

// A driverTransport takes memory of the tests' driver, which is memory of this process.
type driverTransport struct{ dist.Transport }

func (d driverTransport) LeastInPlace() int { return 1 }

func (d driverTransport) SendInPlace(to int, key dist.Key, priority int, m dist.DeviceMemory, done func(error)) {
	if err := m.Current(); err != nil {
		done(err)
		return
	}
	d.Send(to, key, priority, bytesOf(&m), done)
}

func (d driverTransport) RecvInPlace(from int, key dist.Key, m dist.DeviceMemory, done func(error)) {
	d.Recv(from, key, bytesOf(&m), done)
}

func bytesOf(m *dist.DeviceMemory) []byte {
	return unsafe.Slice(*(**byte)(unsafe.Pointer(&m.Address)), m.Bytes)
}

// Two ranks with all GPUs each exchange blocks from and to memory of GPUs: the message of a block
// begins when the kernel that writes it has ended, and the kernel that reads it comes after.
func TestRanks_ExchangeMemoryOfGPUs(t *testing.T) {
	n := gpus(t)
	if _, real, _ := cuda.Ground(); real {
		t.Skip("the transport of this test reads memory of GPUs as memory of the process")
	}
	triad := task.MustKernel(task.KernelSpec{Name: "Triad", Files: []task.SourceFile{{Name: "bench.go", Text: taskSource}}, Go: func(*task.Args) { panic("no CPU worker runs it") }})
	const ranks, block, rounds = 2, 5000, 12
	run := func(tr dist.Transport) (inPlace uint64, err error) {
		w, err := dist.NewWorld(driverTransport{tr}, dist.Options{Errors: io.Discard})
		if err != nil {
			return 0, err
		}
		rt, err := task.New(task.Options{World: w, Devices: fmt.Sprintf("smp:1,cuda:%d(memory=64MiB)", n)})
		if err != nil {
			return 0, err
		}
		defer func() { err = errors.Join(err, rt.Close()) }()
		x, err := task.Alloc[float64](rt, ranks*block)
		if err != nil {
			return 0, err
		}
		if err := dist.Distribute(rt, x, dist.Block(block)); err != nil {
			return 0, err
		}
		want := make([]float64, ranks*block)
		for i := range block {
			want[i] = float64(i * i % 1009)
		}
		first := slices.Clone(want[:block])
		if _, err := rt.Go(func() error { copy(x[:block], first); return nil }, task.Out(x[:block])); err != nil {
			return 0, err
		}
		for k := range rounds {
			from, to := k%ranks*block, (k+1)%ranks*block
			if _, err := triad.Submit(rt, x[to:to+block], x[from:from+block], x[from:from+block], 2.0); err != nil {
				return 0, err
			}
			for i := range block {
				want[to+i] = 3 * want[from+i]
			}
		}
		if err := rt.WaitOn(context.Background(), task.In(x)); err != nil {
			return 0, err
		}
		for i := range x {
			if x[i] != want[i] {
				return 0, fmt.Errorf("rank %d: element %d is %v, want %v", w.Rank(), i, x[i], want[i])
			}
		}
		return w.Stats().InPlace, rt.Wait(context.Background())
	}
	var all sync.WaitGroup
	errs, inPlace := make([]error, ranks), make([]uint64, ranks)
	for rank, tr := range dist.InProcess(ranks, 5) {
		all.Go(func() { inPlace[rank], errs[rank] = run(tr) })
	}
	all.Wait()
	require.NoError(t, errors.Join(errs...))
	require.GreaterOrEqual(t, inPlace[0], uint64(rounds-2), "%v", inPlace)
}
