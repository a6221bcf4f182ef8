//go:build linux && (amd64 || arm64)

package cuda_test

import (
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/gompss/gompss/codegen"
	"github.com/gompss/gompss/codegen/ir"
	"github.com/gompss/gompss/codegen/target"
	"github.com/gompss/gompss/deps"
	"github.com/gompss/gompss/devices"
	"github.com/gompss/gompss/devices/cuda"
	"github.com/gompss/gompss/internal/machine"
)

const rowsSource = `package rows

//omp:target device(acc)
//omp:task in(start) inout(x)
func Rows(start, x []int64) {
	//omp:teams distribute parallel for
	for v := 0; v < len(start)-1; v++ {
		//omp:parallel for nested(auto)
		for e := start[v]; e < start[v+1]; e++ {
			//omp:atomic
			x[e&63]++
		}
	}
}
`

// setting is device IR with the parameters of Rows that sets x to v, so that a test sees which form
// has run.
func setting(v int64) *ir.Program {
	p := newProgram("setting")
	p.param("start", ir.SliceOf(ir.Int64Type))
	x := p.param("x", ir.SliceOf(ir.Int64Type))
	i := p.variable("i", ir.IntType, ir.Local)
	p.grid("setting", i, &ir.Len{X: ref(x)}, p.set(element(x, ref(i)), &ir.Const{T: ir.Int64Type, Bits: uint64(v)}))
	return p.prog
}

// rowsKernel is a kernel whose first form sets 100, and that for w lanes w.
func rowsKernel(t *testing.T, count func() (p, unchecked *ir.Program, err error)) *devices.Kernel {
	if count == nil {
		pkg, err := codegen.Load(codegen.File{Name: "rows.go", Text: rowsSource})
		require.NoError(t, err)
		loop, err := pkg.Kernel("Rows")
		require.NoError(t, err)
		free := codegen.NewContract(loop).Unchecked(loop)
		if free == nil {
			free = loop
		}
		count = func() (p, unchecked *ir.Program, err error) {
			p, err = codegen.CountLengths(free, codegen.LowerOptions{})
			return p, nil, err
		}
	}
	k := &devices.Kernel{Name: "Rows", Program: setting(100), Go: func(*devices.Args) {}}
	k.Rows = &devices.Rows{Count: count, Forms: func() (out []devices.RowForm) {
		for _, w := range target.Widths {
			out = append(out, devices.RowForm{Width: w, Program: setting(int64(w))})
		}
		return out
	}}
	return k
}

// rowsRig is a machine of one GPU on which forms are chosen.
func rowsRig(t *testing.T, tune cuda.Tuning) *rig {
	gpus(t)
	s := &suite{Accelerators: 1, Granule: cuda.DefaultGranule, Open: func(t testing.TB, s shape) *machine.Machine {
		o := cuda.Options{Memory: deps.Bytes(s.Granules) * cuda.DefaultGranule, Tune: tune}
		m, err := machine.Open("cuda:1", machine.Options{ByKind: map[devices.Kind]any{cuda.Kind: o}})
		require.NoError(t, err)
		return m
	}}
	return s.rig(t, shape{Granules: 16})
}

// starts adds a buffer with the beginnings of rows of the given lengths.
func (r *rig) starts(n int, length func(v int) int64) deps.BufferID {
	b := r.filled(int64(n) + 1)
	at := int64(0)
	for v := range n {
		r.buffers[b][v] = at
		at += length(v)
	}
	r.buffers[b][n] = at
	return b
}

// form launches k, and returns what it has set.
func (r *rig) form(k *devices.Kernel, start, x deps.BufferID) int64 {
	r.submit(acc(0), k, []devices.Arg{r.slice(start), r.slice(x)}, in(r.whole(start)), inout(r.whole(x)))
	r.finish()
	return r.buffers[x][0]
}

// until launches k until it has a form, or another one for a minute.
func (r *rig) until(want int64, k *devices.Kernel, start, x deps.BufferID) {
	var got int64
	for end := time.Now().Add(time.Minute); got != want && time.Now().Before(end); {
		got = r.form(k, start, x)
	}
	require.Equal(r.t, want, got)
}

// The form of a launch follows from the lengths that an earlier one met, once they have come to the
// host and the form is compiled; no launch waits for that. What follows from other lengths follows
// again.
func TestRows_FormFollowsFromEarlierLaunches(t *testing.T) {
	r := rowsRig(t, cuda.TuneAuto)
	const n = 5000
	short := r.starts(n, func(int) int64 { return 3 })
	mixed := r.starts(n, func(v int) int64 { return 3 + int64(v%8/7)*300 })
	few := r.starts(40, func(int) int64 { return 3 })
	x := r.filled(64)
	k := rowsKernel(t, nil)
	require.EqualValues(t, 100, r.form(k, short, x), "nothing is known of the first launch")
	r.until(1, k, short, x)
	r.until(100, k, mixed, x) // no other form is clearly better
	r.until(1, k, short, x)
	for range 20 {
		require.EqualValues(t, 100, r.form(k, few, x), "a class of its own, too small to choose by")
	}
}

// A kernel whose lengths cannot be counted keeps its first form, and so does each where nothing is
// tried.
func TestRows_FirstFormWhereNothingIsKnown(t *testing.T) {
	r := rowsRig(t, cuda.TuneAuto)
	start, x := r.starts(5000, func(int) int64 { return 3 }), r.filled(64)
	asked := make(chan bool, 1)
	k := rowsKernel(t, func() (p, unchecked *ir.Program, err error) {
		asked <- true
		return nil, nil, errors.New("it changes memory before its nested loop")
	})
	for range 30 {
		require.EqualValues(t, 100, r.form(k, start, x))
	}
	<-asked
	off := rowsRig(t, cuda.TuneOff)
	start, x = off.starts(5000, func(int) int64 { return 3 }), off.filled(64)
	k = rowsKernel(t, func() (p, unchecked *ir.Program, err error) {
		t.Error("lengths are counted")
		return nil, nil, errors.New("no")
	})
	for range 30 {
		require.EqualValues(t, 100, off.form(k, start, x))
	}
}
