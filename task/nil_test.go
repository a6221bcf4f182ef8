package task_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gompss/gompss/devices"
	"github.com/gompss/gompss/task"
)

const nilSource = `package p

//omp:target device(acc, smp)
//omp:task inout(x) ACCESS
func Nil(when int32, x []int32, p *int32) {
	BEFORE
	//omp:teams distribute parallel for
	for i := range x {
		INSIDE
	}
}
`

// A pointer that a kernel does not use may be nil; a use of a nil pointer fails the task, where it
// is in the source, on every device.
func TestNilPointers_UnusedOrErrors(t *testing.T) {
	goBody := map[string]func(when int32, x []int32, p *int32){
		"if when > 0 {\n\t\t\tx[i] += *p\n\t\t}": func(when int32, x []int32, p *int32) {
			for i := range x {
				if when > 0 {
					x[i] += *p
				}
			}
		},
		"if x[i] == 3 && when > 0 {\n\t\t\tx[i] = *p\n\t\t}": func(when int32, x []int32, p *int32) {
			for i := range x {
				if x[i] == 3 && when > 0 {
					x[i] = *p
				}
			}
		},
		"if when > 0 {\n\t\t\t//omp:atomic\n\t\t\t*p += x[i]\n\t\t}": func(when int32, x []int32, p *int32) {
			for i := range x {
				if when > 0 {
					*p += x[i]
				}
			}
		},
		"q := p\n\t\tif when > 0 {\n\t\t\tx[i] = *q + 1\n\t\t}": func(when int32, x []int32, p *int32) {
			for i := range x {
				q := p
				if when > 0 {
					x[i] = *q + 1
				}
			}
		},
	}
	for inside, body := range goBody {
		for _, access := range []string{"in(*p)", "inout(*p)"} {
			if access == "in(*p)" && strings.Contains(inside, "*p +=") {
				continue
			}
			source := strings.NewReplacer("ACCESS", access, "BEFORE", "_ = 0", "INSIDE", inside).Replace(nilSource)
			k := task.MustKernel(task.KernelSpec{Name: "Nil", Go: func(a *task.Args) {
				body(devices.ScalarArg[int32](a, 0), devices.SliceArg[int32](a, 1), devices.PointerArg[int32](a, 2))
			}, Files: []task.SourceFile{{Name: "k.go", Text: source}}})
			for _, o := range []task.Options{{Devices: "smp:2"}, {Devices: "smp:2", Vector: "off"}, {Devices: "smp:1,sim:1(exec=simt)"}, {Devices: "smp:1,sim:1(exec=cpu)"}} {
				t.Run(inside+access+o.Devices+o.Vector, func(t *testing.T) {
					rt := open(t, o)
					x := numbers32(40)
					_, err := k.Submit(rt, int32(0), x, (*int32)(nil))
					require.NoError(t, err)
					require.NoError(t, rt.Wait(t.Context()))
					require.Equal(t, numbers32(40), x)
					one := int32(1)
					_, err = k.Submit(rt, int32(1), x, &one)
					require.NoError(t, err)
					require.NoError(t, rt.Wait(t.Context()))
					want := numbers32(40)
					body(1, want, &one)
					require.Equal(t, want, x)
					copy(x, numbers32(40))
					_, err = k.Submit(rt, int32(1), x, (*int32)(nil))
					if err == nil {
						err = rt.Wait(t.Context())
					}
					require.ErrorIs(t, err, task.ErrNil)
					require.ErrorContains(t, err, "k.go:")
				})
			}
		}
	}
}

// A task cannot reduce into a nil pointer: there is nothing to combine.
func TestNilPointers_OfReductions(t *testing.T) {
	const source = `package p

//omp:target device(acc, smp)
//omp:task in(x) reduction(+: *p)
func Nil(x []int32, p *int32) {
	//omp:teams distribute parallel for reduction(+: *p)
	for i := range x {
		*p += x[i]
	}
}
`
	k := task.MustKernel(task.KernelSpec{Name: "Nil", Go: func(a *task.Args) {
		for _, v := range devices.SliceArg[int32](a, 0) {
			*devices.PointerArg[int32](a, 1) += v
		}
	}, Files: []task.SourceFile{{Name: "k.go", Text: source}}})
	for _, o := range []task.Options{{Devices: "smp:2"}, {Devices: "smp:2", Vector: "off"}, {Devices: "smp:1,sim:1(exec=simt)"}} {
		rt := open(t, o)
		_, err := k.Submit(rt, numbers32(9), (*int32)(nil))
		if err == nil {
			err = rt.Wait(t.Context())
		}
		require.ErrorIs(t, err, task.ErrNil)
	}
}

func numbers32(n int) []int32 {
	x := make([]int32, n)
	for i := range x {
		x[i] = int32(i)
	}
	return x
}
