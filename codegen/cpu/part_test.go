package cpu_test

import (
	_ "embed"
	"fmt"
	"reflect"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gompss/gompss/codegen"
	"github.com/gompss/gompss/codegen/cpu"
	"github.com/gompss/gompss/codegen/ir"
)

//go:embed part_kernels_test.go
var partSource string

// TestPartsReachToTheCapacity cuts slices past their length, which Go allows up to their capacity, and past that, which is an error with the
// bound and the most that it may be.
func TestPartsReachToTheCapacity(t *testing.T) {
	p, err := codegen.Load(codegen.File{Name: "part_kernels_test.go", Text: partSource})
	require.NoError(t, err)
	arena, err := cpu.NewArena()
	if err != nil {
		t.Skip(err)
	}
	defer func() { require.NoError(t, arena.Close()) }()
	for _, c := range []struct {
		fn   func(x, out []int, n, m int)
		name string
		n, m int
		fail string // of the vector code, where Go panics
	}{
		{Behind, "Behind", 3, 4, ""}, {Behind, "Behind", 7, 9, ""}, {Behind, "Behind", 9, 5, ""},
		{Behind, "Behind", 10, 4, "x[:n]: slice bound 10 out of range: limit 9"}, {Behind, "Behind", 3, 12, "x[i & 1:m]: slice bound 12 out of range: limit 9"},
		{Behind, "Behind", 3, 0, "x[i & 1:m]: slice bound 1 out of range: limit 0"}, {Behind, "Behind", -1, 3, "x[:n]: slice bound -1 out of range"},
		{Onwards, "Onwards", 3, 8, ""}, {Onwards, "Onwards", 9, 2, ""}, {Onwards, "Onwards", 9, 9, "x[:m]: slice bound 9 out of range: limit 8"},
		{Onwards, "Onwards", 0, 1, "x[1:n]: slice bound 1 out of range: limit 0"},
		{Limited, "Limited", 2, 8, ""}, {Limited, "Limited", 8, 9, ""}, {Limited, "Limited", 5, 4, "x[:n:m]: slice bound 5 out of range: limit 4"},
		{Limited, "Limited", 5, 10, "x[:n:m]: slice bound 10 out of range: limit 9"}, {Limited, "Limited", 0, 8, "y[1:]: slice bound 1 out of range: limit 0"},
	} {
		k, err := p.Kernel(c.name)
		require.NoError(t, err)
		for machine, o := range machines() {
			o.Single = cpu.SingleNever // one iteration after the other, what fails first is what does in Go
			t.Run(fmt.Sprintf("%s/%d_%d/%s", c.name, c.n, c.m, machine), func(t *testing.T) {
				code, err := cpu.Compile(k, o)
				require.NoError(t, err)
				prog, err := arena.Install(code)
				require.NoError(t, err)
				whole := []int{1, 2, 3, 4, 5, 6, 7, 8, 9}
				theirs, out, want := slices.Clip(slices.Clone(whole)), make([]int, 37), make([]int, 37)
				args := []cpu.Value{sliceOf(whole[:5]), sliceOf(out), {Bits: uint64(c.n)}, {Bits: uint64(c.m)}}
				err = cpu.NewRunner(prog).Call(args, nil)
				if c.fail != "" {
					require.Panics(t, func() { c.fn(theirs[:5], want, c.n, c.m) })
					var bounds *ir.CheckError
					require.ErrorAs(t, err, &bounds)
					require.Equal(t, ir.SliceCheck, bounds.Kind)
					require.ErrorIs(t, err, ir.ErrBounds)
					require.ErrorContains(t, err, ": "+c.fail)
					return
				}
				require.NoError(t, err)
				c.fn(theirs[:5], want, c.n, c.m)
				require.Equal(t, want, out)
				require.Equal(t, theirs, whole)
			})
		}
	}
}

func sliceOf(x []int) cpu.Value {
	v := reflect.ValueOf(x)
	return cpu.Value{Addr: v.UnsafePointer(), Len: int64(len(x)), Cap: int64(cap(x))}
}
