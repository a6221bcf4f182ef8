package run

import (
	"testing"
	"time"

	"github.com/gompss/gompss/deps"
	"github.com/gompss/gompss/trace/probe"
	"github.com/gompss/gompss/trace/record"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// A nester makes runs of nested tasks on one worker: each body does something, submits tasks, waits
// for them and does something again.
type nester struct {
	run  Run
	at   time.Duration
	next deps.TaskID
}

// scope runs n tasks of a scope one after the other and returns their longest chain, were there
// more workers.
func (x *nester) scope(t *rapid.T, parent deps.TaskID, depth int) (longest time.Duration) {
	n := rapid.IntRange(1, 4).Draw(t, "tasks")
	ids, chain, before := make([]deps.TaskID, n), make([]time.Duration, n), make([][]int, n)
	submit := x.at
	for i := range n {
		x.next++
		ids[i] = x.next
		var preds []deps.TaskID
		for p := range i {
			if rapid.Bool().Draw(t, "edge") {
				preds, before[i] = append(preds, ids[p]), append(before[i], p)
			}
		}
		if parent != 0 {
			x.run.AppendDetails(record.Detail{Task: ids[i], What: record.Inside, Count: 1, Values: [6]int64{int64(parent)}})
		}
		x.run.AppendDetails(waits(ids[i], preds)...)
	}
	for i, id := range ids {
		task := probe.Task{ID: id, Submit: submit, Ready: submit, Choice: x.at, Start: x.at}
		for _, p := range before[i] {
			chain[i] = max(chain[i], chain[p])
		}
		chain[i] += x.body(t, id, depth)
		task.End, task.Release = x.at, x.at
		x.run.Append(task)
		longest = max(longest, chain[i])
	}
	return longest
}

// body runs the body of a task and returns how long it would take, were there more workers.
func (x *nester) body(t *rapid.T, id deps.TaskID, depth int) time.Duration {
	before, after, inside := time.Duration(rapid.IntRange(1, 20).Draw(t, "before")), time.Duration(0), time.Duration(0)
	x.at += before
	if depth > 0 && rapid.Bool().Draw(t, "nested") {
		inside = x.scope(t, id, depth-1)
		after = time.Duration(rapid.IntRange(0, 20).Draw(t, "after"))
		x.at += after
	}
	return before + inside + after
}

// The critical path of nested tasks goes through the bodies that wait for them: it is what the run
// would take with a worker for every task.
func TestCriticalPathOfNestedTasks(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		x := &nester{at: 1}
		x.run.Machine = probe.Machine{Places: []probe.Place{{Name: "smp", Kind: "smp", Workers: 1, Host: true}}}
		want := x.scope(t, 0, 3)
		x.run.Finish()
		got := x.run.Critical()
		require.Equal(t, want, got.Length)
		var sum time.Duration
		for _, l := range x.run.Collapse(got) {
			sum += l.Time
		}
		require.Equal(t, want, sum)
		for _, id := range got.Tasks {
			require.Zero(t, x.run.ParentOf(id), "what is inside is part of its parent")
		}
	})
}
