package task_test

import (
	"context"
	"testing"

	"github.com/gompss/gompss/task"
	"github.com/stretchr/testify/require"
)

// What the program writes after a wait is what the next task reads on a device that has a copy from before.
func TestTheProgramMayWriteAfterWait(t *testing.T) {
	for _, devices := range []string{"sim:1(exec=cpu)", "sim:2", "smp:2,sim:2"} {
		rt := open(t, task.Options{Devices: devices})
		k := kernelOf(t, Copy)
		x, y := make([]float64, 1024), make([]float64, 1024)
		for round := 1; round < 20; round++ {
			for i := range x {
				x[i] = float64(round * i)
			}
			_, err := k.Submit(rt, y[:512], x[:512])
			require.NoError(t, err)
			_, err = k.Submit(rt, y[512:], x[512:])
			require.NoError(t, err)
			require.NoError(t, rt.Wait(context.Background()))
			require.Equal(t, x, y, "%s, round %d", devices, round)
		}
	}
}

// A program that only reads after a wait says so, and nothing that devices have moves again.
func TestReadingKeepsTheCopiesOfDevices(t *testing.T) {
	moved := func(options ...task.WaitOption) int64 {
		rt := open(t, task.Options{Devices: "sim:1(exec=cpu)"})
		k := kernelOf(t, Copy)
		x, y := make([]float64, 1024), make([]float64, 1024)
		for range 10 {
			_, err := k.Submit(rt, y, x)
			require.NoError(t, err)
			require.NoError(t, rt.Wait(context.Background(), options...))
		}
		return int64(rt.Stats().HostToDevice)
	}
	require.EqualValues(t, 8*1024, moved(task.ReadOnly()))
	require.EqualValues(t, 10*8*1024, moved())
}
