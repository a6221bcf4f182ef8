package task_test

import (
	"context"
	"sync"
	"testing"

	"github.com/gompss/gompss/task"
	"github.com/stretchr/testify/require"
)

// TestHammerOnAccelerators submits kernels and bodies from many goroutines at once, each on its own part of shared
// buffers, on devices that are nearly full, and looks at the data in between.
func TestHammerOnAccelerators(t *testing.T) {
	fill, mix := kernelOf(t, Fill), kernelOf(t, Mix)
	rt := open(t, task.Options{Devices: "smp:3,sim:2(exec=cpu,memory=24KiB,granule=1KiB)", Window: 64})
	const submitters, part, steps = 6, 700, 60
	x := make([]uint32, submitters*part)
	require.NoError(t, task.Register(rt, x))
	var all sync.WaitGroup
	for s := range submitters {
		all.Go(func() {
			lo, hi := s*part, (s+1)*part
			want := make([]uint32, len(x))
			for i := range steps {
				k := uint32(s*steps + i)
				var err error
				switch i % 5 {
				case 0:
					_, err = fill.Submit(rt, lo+i, hi, k, x)
					Fill(lo+i, hi, k, want)
				case 1, 2:
					middle := lo + part/2 - i
					_, err = mix.Submit(rt, lo, middle, middle, hi, k, x, x)
					Mix(lo, middle, middle, hi, k, want, want)
				case 3:
					_, err = rt.Go(func() error { Mix(lo+i, hi, lo, hi, k, x, x); return nil }, task.InOut(x[lo:hi]))
					Mix(lo+i, hi, lo, hi, k, want, want)
				case 4:
					if i%3 == 0 {
						err = rt.Wait(context.Background())
					} else {
						err = rt.WaitOn(context.Background(), task.In(x[lo:hi]))
					}
					if err == nil {
						err = same(x, want, lo, hi)
					}
				}
				if err != nil {
					t.Errorf("submitter %d, step %d: %v", s, i, err)
					return
				}
			}
		})
	}
	all.Wait()
}
