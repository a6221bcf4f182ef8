package task_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/gompss/gompss/task"
	"github.com/stretchr/testify/require"
)

// A worker continues with what it has just made ready, whose data its caches have, whatever else became ready before: tasks with tokens
// and tasks beside accelerators as plain ones.
func TestAWorkerGoesOnWithTheChain(t *testing.T) {
	for _, devices := range []string{"smp:1", "smp:1,sim:1"} {
		for _, options := range [][]task.Option{nil, {task.Resources("smp", 40)}, {task.Priority(1)}} {
			t.Run(fmt.Sprint(devices, len(options)), func(t *testing.T) {
				rt := open(t, task.Options{Devices: devices})
				held := make(chan struct{})
				start := [4][]int{}
				var order []string
				for i := range start {
					start[i] = []int{0}
				}
				_, err := rt.Go(func() error { <-held; return nil }, task.Out(start[0]), task.Out(start[1]), task.Out(start[2]), task.Out(start[3]))
				require.NoError(t, err)
				for step := range 3 {
					for i, x := range start {
						body := func() error { order = append(order, fmt.Sprint(i, step)); return nil }
						_, err := rt.Go(body, append([]task.Option{task.InOut(x)}, options...)...)
						require.NoError(t, err)
					}
				}
				close(held)
				require.NoError(t, rt.Wait(context.Background()))
				require.Equal(t, []string{"0 0", "0 1", "0 2", "1 0", "1 1", "1 2", "2 0", "2 1", "2 2", "3 0", "3 1", "3 2"}, order)
				require.NoError(t, rt.Close())
			})
		}
	}
}
