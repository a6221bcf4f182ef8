package lib_test

import (
	"context"
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gompss/gompss/lib"
	"github.com/gompss/gompss/task"
)

// BenchmarkLib runs each function on large arrays that stay where they are, on the device that
// GOMPSS_TEST_DEVICE names, else on the CPU workers. It reports bytes a second of what the accesses
// name, and operations a second for products of matrices.
func BenchmarkLib(b *testing.B) {
	device := os.Getenv("GOMPSS_TEST_DEVICE")
	if device == "" {
		device = "smp"
	}
	n, m := 1<<22, 512 // elements of a vector, rows of a matrix
	if device != "smp" {
		n, m = 1<<27, 4096
	}
	rt, err := task.New(task.Options{Devices: device})
	require.NoError(b, err)
	defer func() { require.NoError(b, rt.Close()) }()
	x, y := make([]float32, n), make([]float32, n)
	for i := range x {
		x[i] = float32(i*7919%1001) - 500
	}
	bytes, counts := make([]uint32, n), make([]uint32, 256)
	for i := range bytes {
		bytes[i] = uint32(i * 7919 % 256)
	}
	const perRow = 32
	rows, columns := make([]int32, n/perRow+1), make([]int32, n)
	for i := range columns {
		columns[i] = int32((i/perRow + (i%perRow)*97) % (n / perRow))
	}
	for i := range rows {
		rows[i] = int32(i * perRow)
	}
	var sum float32
	wide := m * m
	for _, of := range []struct {
		name       string
		submit     func() (task.Task, error)
		moved, ops int // bytes, operations
	}{
		{"Sum", func() (task.Task, error) { return lib.SubmitSum(rt, x, &sum) }, 4 * n, 0},
		{"Dot", func() (task.Task, error) { return lib.SubmitDot(rt, x, y, &sum) }, 8 * n, 0},
		{"Scan", func() (task.Task, error) { return lib.SubmitScan(rt, x, y) }, 8 * n, 0},
		{"Histogram", func() (task.Task, error) { return lib.SubmitHistogram(rt, bytes, counts) }, 4 * n, 0},
		{"Transpose", func() (task.Task, error) { return lib.SubmitTranspose(rt, m, m, x[:wide], y[:wide]) }, 8 * wide, 0},
		{"MatMul", func() (task.Task, error) { return lib.SubmitMatMul(rt, m, m, m, x[:wide], x[:wide], y[:wide]) }, 12 * wide, 2 * m * wide},
		{"Gemv", func() (task.Task, error) { return lib.SubmitGemv(rt, m, m, x[:wide], x[:m], y[:m]) }, 4 * wide, 2 * wide},
		{"SpMV", func() (task.Task, error) {
			return lib.SubmitSpMV(rt, rows, columns, x, x[:n/perRow], y[:n/perRow])
		}, 8 * n, 2 * n},
		{"Sort", func() (task.Task, error) { return lib.SubmitSort(rt, x[:n/16]) }, n / 4, 0},
	} {
		b.Run(of.name, func(b *testing.B) {
			run := func() {
				_, err := of.submit()
				require.NoError(b, err)
				require.NoError(b, rt.Wait(context.Background(), task.KeepOnDevice()))
			}
			run() // it is compiled, and the data come
			b.ResetTimer()
			for range b.N {
				run()
			}
			b.SetBytes(int64(of.moved))
			if of.ops > 0 {
				b.ReportMetric(float64(of.ops)*float64(b.N)/b.Elapsed().Seconds()/1e9, "GFLOP/s")
			}
		})
	}
}
