//go:build linux && (amd64 || arm64)

package cuda

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gompss/gompss/codegen/ir"
	"github.com/gompss/gompss/devices"
	"github.com/gompss/gompss/devices/cuda/internal/tuner"
	"github.com/gompss/gompss/devices/devicetest"
)

// byScratch is a kernel of one launch that copies x to y by way of scratch memory, to which it
// adds: byScratch(x, y []int64).
func byScratch() *devices.Kernel {
	k := *devicetest.Twice()
	p := *k.Program
	pad := &ir.Var{Name: "pad", Type: ir.SliceOf(ir.Int64Type), Space: ir.Scratch, ID: p.NumVars}
	p.NumVars++
	p.Scratch = []ir.Scratchpad{{Var: pad, Count: &ir.Len{X: &ir.Ref{Var: p.Params[0]}}}}
	l := *p.Launches[0]
	l.Body = (&ir.Rewrite{Stmt: func(s ir.Stmt) []ir.Stmt {
		a, ok := s.(*ir.Assign)
		if !ok || ir.RootVar(a.Place) != nil { // a variable of its own
			return []ir.Stmt{s}
		}
		i := a.Place.(*ir.Index).I
		of := func(v *ir.Var) ir.Expr { return &ir.Index{X: &ir.Ref{Var: v}, I: i, At: a.At} }
		sum := &ir.Binary{Op: ir.Add, X: of(pad), Y: of(p.Params[0]), T: ir.Int64Type, At: a.At}
		return []ir.Stmt{&ir.Assign{Place: of(pad), Value: sum, At: a.At}, &ir.Assign{Place: of(p.Params[1]), Value: of(pad), At: a.At}}
	}}).CopyStmts(l.Body)
	p.Launches = []*ir.Launch{&l}
	k.Name, k.Program = "byScratch", &p
	return &k
}

// TestMeasuringLeavesPendingScratchMemoryAlone measures a kernel while another one is pending on
// that stream, whose scratch memory it would take: as a lap ends between the two.
func TestMeasuringLeavesPendingScratchMemoryAlone(t *testing.T) {
	s := newSubject(t, Options{})
	k := byScratch()
	require.NoError(t, s.d.Prepare(k))
	require.NoError(t, waitFor(s.copy(s.d, devices.Host, s.d.gpu.space)))
	const n = 5000
	x := devices.Arg{Type: ir.SliceOf(ir.Int64Type), Len: n, Cap: n}
	y := x
	y.Offset = 2 * n * 8
	l := &devices.Launch{Kernel: k, Args: &devices.Args{List: []devices.Arg{x, y}}}
	home := s.d.streams.kernels[0]
	func() {
		s.d.gpu.enter()
		defer s.d.gpu.leave()
		s.d.submitter.mu.Lock()
		defer s.d.submitter.mu.Unlock()
		o := newLaunchOp(s.d, k, "")
		require.NoError(t, s.d.choose(l, o, (*tuner.Kernel).Next))
		require.True(t, o.run.lone)
		require.True(t, s.d.engine.accept(&o.operation, nil))
		s.d.submitter.enlist(&o.operation, home)
		require.Len(t, home.pending, 1)
		home.ring.used = ringSize
	}()
	e := home.tail
	_, err := s.d.Time(l, 1, 1)
	require.NoError(t, err)
	s.d.gpu.enter()
	s.d.submitter.flushAll()
	s.d.gpu.leave()
	s.d.engine.notify()
	require.NoError(t, waitFor(e))
	require.NoError(t, waitFor(s.copy(s.d, s.d.gpu.space, devices.Host)))
	for i := range int64(n) {
		require.Equal(t, i, s.host[2*n+i])
	}
	s.close()
}
