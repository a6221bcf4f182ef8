package task_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gompss/gompss/task"
)

// Nested loops compute the same in every strategy as tasks on one, two and four devices, as the Go
// functions do.
func TestNestedStrategies_OnDevices(t *testing.T) {
	const n, parts = 96, 6
	r := rand.New(rand.NewPCG(1, 2))
	start, col := make([]int32, n+1), []int32{}
	for i := range n {
		length := r.IntN(9)
		if i%13 == 0 {
			length = 1 + r.IntN(1400)
		}
		for range length {
			col = append(col, int32(r.IntN(n)))
		}
		start[i+1] = int32(len(col))
	}
	val, x := make([]int64, len(col)), make([]int64, n)
	for i := range val {
		val[i] = int64(r.IntN(50))
	}
	for i := range x {
		x[i] = int64(i * 3)
	}
	wantY, wantReached := make([]int64, n), make([]int64, n)
	for range 2 {
		NestedRows(0, n, start, col, val, x, wantY)
		NestedReach(0, n, start, col, wantY, wantReached)
	}
	for _, how := range []string{"auto", "inline", "eager", "warp", "cta", "host"} {
		text := strings.ReplaceAll(nestedSource, "nested(auto)", "nested("+how+")")
		rows, err := task.NewKernel(NestedRows, task.SourceFile{Name: "nested_kernels_test.go", Text: text})
		require.NoError(t, err)
		reach, err := task.NewKernel(NestedReach, task.SourceFile{Name: "nested_kernels_test.go", Text: text})
		require.NoError(t, err)
		for _, devices := range []int{1, 2, 4} {
			t.Run(fmt.Sprint(how, " on ", devices), func(t *testing.T) {
				rt := open(t, task.Options{Devices: fmt.Sprintf("smp:1,sim:%d(exec=simt)", devices)})
				y, reached := make([]int64, n), make([]int64, n)
				for range 2 {
					for p := range parts {
						lo, hi := p*n/parts, (p+1)*n/parts
						_, err := rows.With(task.OnDevice("sim")).Submit(rt, lo, hi, start, col, val, x, y)
						require.NoError(t, err)
						_, err = reach.With(task.OnDevice("sim")).Submit(rt, lo, hi, start, col, y, reached)
						require.NoError(t, err)
					}
				}
				require.NoError(t, rt.Wait(context.Background()))
				require.Equal(t, wantY, y)
				require.Equal(t, wantReached, reached)
			})
		}
	}
}
