package coherence_test

import (
	"github.com/gompss/gompss/deps"
	"github.com/gompss/gompss/devices"
)

// acc is the space of accelerator i.
func acc(i int) devices.SpaceID { return devices.SpaceID{Device: uint16(i + 1)} }

func in(r deps.Region) deps.Access    { return deps.Access{Region: r, Mode: deps.In} }
func out(r deps.Region) deps.Access   { return deps.Access{Region: r, Mode: deps.Out} }
func inout(r deps.Region) deps.Access { return deps.Access{Region: r, Mode: deps.InOut} }

// box is rows [r0,r1) and columns [c0,c1) of a matrix with the given number of columns.
func box(b deps.BufferID, columns, r0, r1, c0, c1 int64) deps.Region {
	r, err := deps.Box(b, 0, []int64{-1, columns}, []int64{r0, c0}, []int64{r1, c1})
	if err != nil {
		panic(err)
	}
	return r
}
