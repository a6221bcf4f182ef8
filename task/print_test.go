package task_test

import (
	"bytes"
	"context"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gompss/gompss/task"
)

const printSource = `package k

import "fmt"

//omp:target device(acc, smp)
//omp:task inout(x)
func Printing(n int, x []float32) {
	println("begin", n)
	//omp:teams distribute parallel for
	for i := n - 1; i >= 0; i-- {
		x[i] *= 2
		if x[i] > 4 {
			fmt.Printf("x[%d] = %.1f %v", i, x[i], i%2 == 0)
		}
		for j := range 2 {
			fmt.Println("inner", uint8(j), int8(-j))
		}
	}
	//omp:teams distribute parallel for
	for i := range x {
		println(x[i], int32(i))
	}
}
`

// Printing is the Go function of the kernel of that name: what it prints, it prints to out, with the
// marks that the runtime adds.
func printingWants(n int, x []float32) (out, err string) {
	err = fmt.Sprintf("Printing (k.go:8): begin %d\n", n)
	for i := n - 1; i >= 0; i-- {
		x[i] *= 2
		if x[i] > 4 {
			out += fmt.Sprintf("Printing i=%d (k.go:13): x[%d] = %.1f %v\n", i, i, x[i], i%2 == 0)
		}
		for j := range 2 {
			out += fmt.Sprintf("Printing i=%d j=%d (k.go:16): inner %d %d\n", i, j, j, -j)
		}
	}
	for i := range x {
		err += fmt.Sprintf("Printing i=%d (k.go:21): %s %d\n", i, builtinFloat(x[i]), i)
	}
	return out, err
}

// builtinFloat is a float as println writes it.
func builtinFloat(f float32) string {
	text := fmt.Sprintf("%+.6e", f)
	return text[:len(text)-2] + "0" + text[len(text)-2:]
}

func printingGo(n int, x []float32) {
	for i := n - 1; i >= 0; i-- {
		x[i] *= 2
	}
}

func Printing(n int, x []float32) { printingGo(n, x) }

func TestPrint_LinesAreThoseOfGoOnEveryDevice(t *testing.T) {
	t.Setenv("GOMPSS_PRINT", "1")
	k, err := task.NewKernel(Printing, task.SourceFile{Name: "k.go", Text: printSource})
	require.NoError(t, err)
	for _, devices := range []string{"smp:2", "sim:1(exec=simt)", "sim:2(exec=simt,races=on)", "sim:1(exec=cpu)", "smp:1,sim:2"} {
		t.Run(devices, func(t *testing.T) {
			rt, err := task.New(task.Options{Devices: devices})
			require.NoError(t, err)
			defer rt.Close()
			var out, errs bytes.Buffer
			task.PrintTo(rt, &out, &errs)
			const n = 40
			x, y := make([]float32, n), make([]float32, n)
			wantX, wantY := make([]float32, n), make([]float32, n)
			for i := range x {
				x[i], y[i], wantX[i], wantY[i] = float32(i), -float32(i), float32(i), -float32(i)
			}
			var wantOut, wantErr string
			for range 2 { // two waits
				for _, v := range [][2][]float32{{x, wantX}, {y, wantY}} {
					_, err = k.Submit(rt, n, v[0])
					require.NoError(t, err)
					o, e := printingWants(n, v[1])
					wantOut, wantErr = wantOut+o, wantErr+e
				}
				require.NoError(t, rt.Wait(context.Background()))
				require.Equal(t, wantOut, out.String())
				require.Equal(t, wantErr, errs.String())
			}
			require.Equal(t, wantX, x)
			require.Equal(t, wantY, y)
		})
	}
}

func TestPrint_OffByDefault(t *testing.T) {
	k, err := task.NewKernel(Printing, task.SourceFile{Name: "k.go", Text: printSource})
	require.NoError(t, err)
	require.Empty(t, k.IR().Globals)
	rt, err := task.New(task.Options{Devices: "smp:1,sim:1(exec=simt)"})
	require.NoError(t, err)
	defer rt.Close()
	var out, errs bytes.Buffer
	task.PrintTo(rt, &out, &errs)
	x := []float32{1, 2, 3}
	_, err = k.Submit(rt, 3, x)
	require.NoError(t, err)
	require.NoError(t, rt.Wait(context.Background()))
	require.Equal(t, []float32{2, 4, 6}, x)
	require.Empty(t, out.String()+errs.String())
}

func TestPrint_WhatDoesNotFitIsCounted(t *testing.T) {
	t.Setenv("GOMPSS_PRINT", "1024")
	k, err := task.NewKernel(Printing, task.SourceFile{Name: "k.go", Text: printSource})
	require.NoError(t, err)
	rt, err := task.New(task.Options{Devices: "sim:1(exec=simt)"})
	require.NoError(t, err)
	defer rt.Close()
	var out, errs bytes.Buffer
	task.PrintTo(rt, &out, &errs)
	_, err = k.Submit(rt, 100, make([]float32, 100))
	require.NoError(t, err)
	require.NoError(t, rt.Wait(context.Background()))
	require.Contains(t, errs.String(), "bytes more than the buffer holds: set GOMPSS_PRINT=")
	require.Contains(t, out.String()+errs.String(), "Printing i=")
}

func TestPrint_RefusesABadVariable(t *testing.T) {
	t.Setenv("GOMPSS_PRINT", "yes")
	_, err := task.NewKernel(Printing, task.SourceFile{Name: "k.go", Text: printSource})
	require.ErrorContains(t, err, "GOMPSS_PRINT=yes: want 1, off")
}

const printCalledSource = `package k

import "fmt"

type point struct{ x, y int32 }

func (p point) show() { fmt.Println("at", p.x, p.y) }

func note[T int | int32](v T) T {
	println("note", v)
	return v + 1
}

func row(i int, v int32) int32 {
	if v < 3 {
		return v
	}
	for k := range 2 {
		fmt.Printf("%d: %d", k, note(v))
	}
	point{v, int32(i)}.show()
	return note(v) + note(v)
}

//omp:target device(acc, smp)
//omp:task inout(a, b)
func PrintsInCalls(a, b []int32) {
	x, y := a, b
	for t := range 3 {
		//omp:teams distribute parallel for
		for i := range x {
			y[i] = row(i, x[i]) & 7
		}
		note(t)
		if t != 1 {
			x, y = y, x
		}
		fmt.Println("step", t, x[0])
	}
}
`

// printingCalls is what PrintsInCalls prints, and does.
func printingCalls(a, b []int32) (out, err string) {
	note := func(v int32, at string) int32 {
		err += fmt.Sprintf("PrintsInCalls %s (k.go:10): note %d\n", at, v)
		return v + 1
	}
	x, y := a, b
	for t := range 3 {
		for i := range x {
			v := x[i]
			if at := fmt.Sprintf("t=%d i=%d", t, i); v >= 3 {
				for k := range 2 {
					n := note(v, fmt.Sprintf("%s k=%d", at, k))
					out += fmt.Sprintf("PrintsInCalls %s k=%d (k.go:19): %d: %d\n", at, k, k, n)
				}
				out += fmt.Sprintf("PrintsInCalls %s (k.go:7): at %d %d\n", at, v, i)
				v = note(v, at) + note(v, at)
			}
			y[i] = v & 7
		}
		note(int32(t), fmt.Sprintf("t=%d", t))
		if t != 1 {
			x, y = y, x
		}
		out += fmt.Sprintf("PrintsInCalls t=%d (k.go:38): step %d %d\n", t, t, x[0])
	}
	return out, err
}

func PrintsInCalls(a, b []int32) { printingCalls(a, b) }

// Functions that a kernel calls print, too, with the iterations of the kernel around them.
func TestPrint_InFunctionsThatAKernelCalls(t *testing.T) {
	t.Setenv("GOMPSS_PRINT", "1")
	k, err := task.NewKernel(PrintsInCalls, task.SourceFile{Name: "k.go", Text: printCalledSource})
	require.NoError(t, err)
	for _, devices := range []string{"smp:2", "sim:1(exec=simt,races=on)", "sim:1(exec=cpu)"} {
		rt, err := task.New(task.Options{Devices: devices})
		require.NoError(t, err)
		var out, errs bytes.Buffer
		task.PrintTo(rt, &out, &errs)
		a, b, wantA, wantB := make([]int32, 20), make([]int32, 20), make([]int32, 20), make([]int32, 20)
		for i := range a {
			a[i], wantA[i] = int32(i), int32(i)
		}
		_, err = k.Submit(rt, a, b)
		require.NoError(t, err)
		require.NoError(t, rt.Wait(context.Background()))
		wantOut, wantErr := printingCalls(wantA, wantB)
		require.Equal(t, wantOut, out.String(), devices)
		require.Equal(t, wantErr, errs.String(), devices)
		require.Equal(t, wantA, a)
		require.Equal(t, wantB, b)
		require.NoError(t, rt.Close())
	}
}
