package codegen_test

import (
	_ "embed"
	"fmt"
	"math/rand/v2"
	"reflect"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gompss/gompss/codegen"
	"github.com/gompss/gompss/codegen/simt"
)

//go:embed hostile_strides_test.go
var stridesSource string

// strideKernels are the kernels of hostile_strides_test.go. Those with wide have a third number, a width.
var strideKernels = []struct {
	fn    any
	wide  bool
	where string // what the version with all threads asks for, as explain says it; "" where there is none
}{
	{StrideOnly, false, "m != 0 and no index wraps"},
	{StrideGuarded, false, "m != 0 and no index wraps"},
	{StrideRows, false, "no index wraps and 3 <= m"},
	{StrideWidth, true, "no index wraps and w <= m"},
	{StrideBroken, false, "no index wraps"},
	{StrideProduct, true, "m * w != 0 and no index wraps"},
	{StrideColumn, true, ""},
	{StrideChanged, false, "m != 0 and no index wraps"},
}

// hostileStrides are good ones, 0, those with which rows overlap and those with which an index comes back.
var hostileStrides = []int{1, 2, 3, 4, 7, 0, -1, -3, 1 << 31, 1 << 32, 1 << 33, 1 << 40, 1 << 61, 1 << 62, -1 << 62, -1 << 63, 1<<63 - 1, 1<<62 + 1, 1<<32 + 1, 1<<63 - 2}

func strideArgs(n, m, w int, wide bool) []any {
	r := rand.New(rand.NewPCG(uint64(n), uint64(m)))
	all := []any{n, m, ints[int](r, 700, 1000), ints[int](r, 64, 1000)}
	if wide {
		all = append([]any{n, m, w}, all[2:]...)
	}
	return all
}

// TestStrides compares loops without directives with Go, for every stride.
func TestStrides(t *testing.T) {
	p, err := codegen.Load(codegen.File{Name: "hostile_strides_test.go", Text: stridesSource})
	require.NoError(t, err)
	for _, c := range strideKernels {
		k, err := p.Kernel(name(c.fn))
		require.NoError(t, err)
		l, err := codegen.Lower(k, codegen.LowerOptions{})
		require.NoError(t, err)
		program, err := simt.New(l.Program)
		require.NoError(t, err)
		t.Run(k.Name, func(t *testing.T) {
			if c.where != "" {
				require.Contains(t, l.Explain(), "two versions: more of it is parallel where x and y do not overlap and "+c.where)
			}
			for _, n := range []int{0, 1, 2, 5, 9, 33, 64} {
				for i, m := range hostileStrides {
					for _, w := range []int{0, 1, 2, 4, 9, hostileStrides[len(hostileStrides)-1-i]} {
						if w > 64 && k.Name != "StrideProduct" || !c.wide && w != 1 {
							continue // a loop of years
						}
						want, got := strideArgs(n, m, w, c.wide), strideArgs(n, m, w, c.wide)
						panicked := faultOf(c.fn, want)
						err := runDevice(program, got, simt.Config{Teams: 3, Threads: 5, Seed: uint64(n), Races: true, Steps: 50_000_000})
						where := fmt.Sprintf("n=%d m=%d w=%d: Go: %v", n, m, w, panicked)
						require.Equal(t, panicked != nil, err != nil, "%s, device: %v", where, err)
						if err == nil {
							require.Empty(t, (corpusCase{}).differ(want, got), where)
						}
					}
				}
			}
		})
	}
}

// faultOf calls a function and returns what it panics with.
func faultOf(fn any, args []any) (fault any) {
	defer func() { fault = recover() }()
	in := make([]reflect.Value, len(args))
	for i := range args {
		in[i] = reflect.ValueOf(args[i])
	}
	reflect.ValueOf(fn).Call(in)
	return nil
}
