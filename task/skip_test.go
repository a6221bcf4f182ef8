package task_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gompss/gompss/deps"
	"github.com/gompss/gompss/task"
)

// A skippingWorld is a rank of two on which no task runs. It counts those that it is asked about.
type skippingWorld struct {
	local              *task.LocalTasks
	submitted, skipped int
	last               []task.BlockAccess
	name               string
}

func (w *skippingWorld) Rank() int { return 0 }
func (w *skippingWorld) Size() int { return 2 }

func (w *skippingWorld) Attach(local *task.LocalTasks) error     { w.local = local; return nil }
func (w *skippingWorld) Submit(t *task.Submission) (bool, error) { w.submitted++; return false, nil }
func (w *skippingWorld) Complete() error                         { return nil }
func (w *skippingWorld) Share([]deps.Access) error               { return nil }
func (w *skippingWorld) Wait(_ context.Context, e error) error   { return e }
func (w *skippingWorld) Failed(error)                            {}
func (w *skippingWorld) Close(err error) error                   { return err }

// Block makes blocks of ten elements.
func (w *skippingWorld) Block(b deps.BufferID, lo, hi int64) (uint64, bool) {
	return uint64(b)<<32 | uint64(lo/10), lo%10 == 0 && hi == lo+10
}

func (w *skippingWorld) Skip(name string, n int, a, b, c task.BlockAccess) bool {
	w.skipped++
	w.name, w.last = name, []task.BlockAccess{a, b, c}[:n]
	return true
}

// A kernel is described once for each shape of its arguments: tasks of the same shape are skipped
// by the blocks of their arguments, all others are described.
func TestSkip_KernelsOfAKnownShape(t *testing.T) {
	w := &skippingWorld{}
	rt, err := task.New(task.Options{World: w, Devices: "smp:1"})
	require.NoError(t, err)
	defer rt.Close()
	x, err := task.Alloc[float64](rt, 100)
	require.NoError(t, err)
	part := func(lo, hi int) []float64 { return x[lo:hi] }
	number := func(s []float64) uint64 {
		r, err := w.local.Region(task.In(s))
		require.NoError(t, err)
		k, _ := w.Block(r.Buffer, r.Offset, r.Offset+r.Len())
		return k
	}
	scale := kernelOf(t, Scale)
	submit := func(skipped bool, at task.Submitter, a float64, x, y []float64, options ...task.Option) {
		t.Helper()
		before := *w
		_, err := scale.With(options...).Submit(at, y, x, a)
		require.NoError(t, err)
		require.Equal(t, 1, w.submitted-before.submitted+w.skipped-before.skipped)
		require.Equal(t, skipped, w.skipped > before.skipped)
	}
	submit(false, rt, 2, part(0, 10), part(10, 20))
	submit(true, rt, 2, part(0, 10), part(10, 20))
	submit(true, rt, 2, part(50, 60), part(20, 30))
	require.Equal(t, []task.BlockAccess{
		task.BlockAccess(number(part(50, 60))<<8 | uint64(deps.In)), task.BlockAccess(number(part(20, 30))<<8 | uint64(deps.Out)),
	}, w.last)
	require.Equal(t, "Scale", w.name)
	submit(true, rt, 2, part(90, 100), part(0, 10), task.Label("mine"), task.Priority(3))
	require.Equal(t, "mine", w.name)
	submit(false, rt, 3, part(0, 10), part(10, 20))                   // another scalar
	submit(false, rt, 2, part(5, 15), part(20, 30))                   // no block
	submit(false, rt, 2, part(0, 20), part(20, 40))                   // another length
	submit(false, rt, 2, part(0, 10), part(10, 20), task.OnRank(1))   // a rank of its own
	submit(false, rt, 2, part(0, 10), part(10, 20), task.If(true))    // an option that may be refused
	submit(false, task.NewGroup(rt), 2, part(0, 10), part(10, 20))    // of a group
	submit(true, rt, 3, part(70, 80), part(80, 90), task.Priority(1)) // known by now
}
