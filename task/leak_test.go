package task

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gompss/gompss/deps"
	"github.com/gompss/gompss/sched"
)

// TestLeaksAreFound loses one thing after the other and looks whether Close would say so.
func TestLeaksAreFound(t *testing.T) {
	rt, err := New(Options{Devices: "smp:2"})
	require.NoError(t, err)
	rt.pool.workers.Close() // as in Close
	require.NoError(t, rt.leak())
	var item sched.Item
	require.NoError(t, rt.ready.sched.Prepare(&item, rt.topology.hostOnly(), []sched.Tokens{{Kind: "smp", Count: 40}}))
	var node deps.Node
	for what, lose := range map[string]func() (found func()){
		"records: 1":             func() func() { r := rt.root.takeRecord(); return func() { rt.root.putRecord(r, -1) } },
		"details of records: 1":  func() func() { d := rt.freeDetails.get(rt); return func() { rt.freeDetails.put(d) } },
		"tasks in the window: 1": func() func() { rt.window.Enter(); return func() { rt.window.Leave(-1) } },
		"tokens of smp: 40": func() func() {
			rt.ready.sched.Push(&item)
			rt.ready.sched.Pop(rt.topology.host)
			return func() { rt.ready.sched.Done(&item) }
		},
		"tasks with concurrent accesses": func() func() {
			rt.ready.concurrent.held = []*record{nil}
			return func() { rt.ready.concurrent.held = nil }
		},
		"tasks counted on smp: 1": func() func() {
			rt.ready.counts.grant(rt.topology.host)
			return func() { rt.ready.counts.end(rt.topology.host) }
		},
		"regions of tasks in the graph: 1": func() func() { return loseNode(rt, &node) },
		"commutative regions of tasks: 1":  func() func() { return loseRegion(rt) },
	} {
		found := lose()
		require.ErrorContains(t, rt.leak(), what)
		found()
		require.NoError(t, rt.leak(), what)
	}
	require.NoError(t, rt.Close())
}

func loseNode(rt *Runtime, n *deps.Node) func() {
	rt.root.graph.domain = rt.getDomain(&rt.root)
	rt.root.graph.domain.Submit(n, []deps.Access{{Region: deps.Interval(0, 0, 4), Mode: deps.Out}})
	return func() { rt.root.graph.domain.Complete(n, func(*deps.Node, bool) {}) }
}

func loseRegion(rt *Runtime) func() {
	var d deps.Domain
	n := &deps.Node{}
	d.Submit(n, []deps.Access{{Region: deps.Interval(0, 0, 4), Mode: deps.Commutative}})
	rt.root.exclusion.TryAcquire(n)
	return func() { rt.root.exclusion.Release(n, nil) }
}
