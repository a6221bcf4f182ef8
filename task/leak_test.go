package task

import (
	"testing"

	"github.com/gompss/gompss/deps"
	"github.com/gompss/gompss/sched"
	"github.com/gompss/gompss/task/internal/engine"
	"github.com/stretchr/testify/require"
)

// TestLeaksAreFound loses one thing after the other and looks whether Close would say so.
func TestLeaksAreFound(t *testing.T) {
	rt, err := New(Options{Devices: "smp:2"})
	require.NoError(t, err)
	rt.core.Pool.Workers.Close() // as in Close
	require.NoError(t, leakOf(&rt.core))
	var item sched.Item
	require.NoError(t, rt.core.Ready.Sched.Prepare(&item, rt.core.Topology.HostOnly(), []sched.Tokens{{Kind: "smp", Count: 40}}))
	var node deps.Node
	for what, lose := range map[string]func() (found func()){
		"records: 1": func() func() {
			r := engine.TakeRecord(&rt.core.Root)
			return func() { engine.PutRecord(&rt.core.Root, r, -1) }
		},
		"details of records: 1":  func() func() { d := rt.core.FreeDetails.Get(&rt.core); return func() { rt.core.FreeDetails.Put(d) } },
		"tasks in the window: 1": func() func() { rt.core.Window.Enter(); return func() { rt.core.Window.Leave(-1) } },
		"tokens of smp: 40": func() func() {
			rt.core.Ready.Sched.Push(&item)
			rt.core.Ready.Sched.Pop(rt.core.Topology.Host)
			return func() { rt.core.Ready.Sched.Done(&item) }
		},
		"tasks with concurrent accesses": func() func() {
			rt.core.Ready.Concurrent.Held = []*engine.Record{nil}
			return func() { rt.core.Ready.Concurrent.Held = nil }
		},
		"tasks counted on smp: 1": func() func() {
			rt.core.Ready.Counts.Grant(rt.core.Topology.Host)
			return func() { rt.core.Ready.Counts.End(rt.core.Topology.Host) }
		},
		"regions of tasks in the graph: 1": func() func() { return loseNode(rt, &node) },
		"commutative regions of tasks: 1":  func() func() { return loseRegion(rt) },
	} {
		found := lose()
		require.ErrorContains(t, leakOf(&rt.core), what)
		found()
		require.NoError(t, leakOf(&rt.core), what)
	}
	require.NoError(t, rt.Close())
}

func loseNode(rt *Runtime, n *deps.Node) func() {
	rt.core.Root.Graph.Domain = rt.core.GetDomain(&rt.core.Root)
	rt.core.Root.Graph.Domain.Submit(n, []deps.Access{{Region: deps.Interval(0, 0, 4), Mode: deps.Out}})
	return func() { rt.core.Root.Graph.Domain.Complete(n, func(*deps.Node, bool) {}) }
}

func loseRegion(rt *Runtime) func() {
	var d deps.Domain
	n := &deps.Node{}
	d.Submit(n, []deps.Access{{Region: deps.Interval(0, 0, 4), Mode: deps.Commutative}})
	rt.core.Root.Exclusion.TryAcquire(n)
	return func() { rt.core.Root.Exclusion.Release(n, nil) }
}
