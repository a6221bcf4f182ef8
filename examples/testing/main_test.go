package main

import (
	"context"
	"os"
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gompss/gompss/task"
)

// 1. A kernel is a Go function: its tests are Go tests, with no runtime.
func TestSmooth_Edges(t *testing.T) {
	for _, c := range []struct {
		radius  int
		x, want []float64
	}{
		{0, []float64{1, 2, 6}, []float64{1, 2, 6}},
		{1, []float64{1, 2, 6}, []float64{1.5, 3, 4}},
		{9, []float64{1, 2, 6}, []float64{3, 3, 3}}, // beyond both ends
		{1, nil, nil},
	} {
		y := make([]float64, len(c.x))
		Smooth(c.radius, c.x, y)
		require.Equal(t, append([]float64{}, c.want...), y)
	}
}

// 2. The Go function says what every device must give, bit for bit.
var everywhere = []string{
	"smp:2",                     // vector code
	"sim:1(exec=simt,races=on)", // the device code, thread by thread; two threads at one element are an error
	"sim:2,smp:1",               // copies between memories
	"sim:1(memory=64KiB),smp:1", // a memory that is too small
	"auto",                      // what the machine has: GPUs, too
}

func compare(t *testing.T, o task.Options, radius int, x []float64, bins int) {
	t.Helper()
	y, want, got := make([]float64, len(x)), make([]int32, bins), make([]int32, bins)
	Smooth(radius, x, y)
	Count(y, want)
	require.NoError(t, histogram(o, radius, x, got), o.Devices)
	require.Equal(t, want, got, o.Devices)
}

func TestHistogram_OnEveryDevice(t *testing.T) {
	for _, devices := range everywhere {
		for _, n := range []int{0, 1, 7, 1000, 3001} { // no multiple of a vector or a team
			compare(t, task.Options{Devices: devices}, 3, values(uint64(n), n), 10)
		}
	}
}

// 3. Random inputs, by the fuzzer of package testing: go test -fuzz Histogram ./examples/testing
func FuzzHistogram(f *testing.F) {
	f.Add(uint64(1), uint16(100), uint8(2), uint8(10))
	f.Add(uint64(2), uint16(3), uint8(255), uint8(1))
	f.Fuzz(func(t *testing.T, seed uint64, n uint16, radius, bins uint8) {
		compare(t, task.Options{Devices: "sim:1(exec=simt,races=on)"}, int(radius), values(seed, int(n)%512), 1+int(bins))
	})
}

// 4. The directives: writes that no access declares are errors with Check.
func TestHistogram_DeclaresItsWrites(t *testing.T) {
	compare(t, task.Options{Devices: "smp:2", Check: true}, 3, values(5, 1000), 10)
}

// 5. The tests above can fail: Racy lacks the atomic of Count, and the interpreter says so.
func TestRaces_AreFound(t *testing.T) {
	rt, err := task.New(task.Options{Devices: "sim:1(exec=simt,races=on)"})
	require.NoError(t, err)
	defer rt.Close()
	text, err := os.ReadFile("racy_test.go")
	require.NoError(t, err)
	k, err := task.NewKernel(Racy, task.SourceFile{Name: "racy_test.go", Text: string(text)})
	require.NoError(t, err)
	_, err = k.Submit(rt, []float64{0.1, 0.1, 0.9}, make([]int32, 2))
	require.NoError(t, err)
	require.ErrorContains(t, rt.Wait(context.Background()), "data race")
}

// 6. The order: ready tasks in a random order, the same for the same seed.
func TestHistogram_InAnyOrder(t *testing.T) {
	for seed := range uint64(5) {
		compare(t, task.Options{Devices: "smp:2,sim:2", Policy: "random", Seed: seed}, 3, values(seed, 500), 10)
	}
}

// 7. The speed: a change that takes the vector code from a kernel is an error here, not a surprise.
func TestSmooth_HasVectorCode(t *testing.T) {
	o := task.Options{Devices: "smp:1"} // the widest vectors of the processor
	if runtime.GOARCH == "amd64" {
		o.Vector = task.VectorAVX2
	}
	rt, err := task.New(o)
	require.NoError(t, err)
	defer rt.Close()
	require.NoError(t, rt.Vectorised(smoothKernel))
}
