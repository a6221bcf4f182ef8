package state

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// legal is the table as text: state, event -> state, action. Each entry of the table is here, and
// no other.
const legal = `
free submit -> blocked
blocked offer -> offered
blocked launch -> enqueued begin
blocked release -> ready queue
blocked start -> running
offered withdraw -> blocked
offered launch -> enqueued begin
offered release -> ready queue
enqueued release -> caught
enqueued kernel end -> ended
ended release -> caught end
caught kernel end -> caught end
caught requeue -> ready
ready place -> placed
ready acquire -> fetching
ready start -> running
placed kernel end -> placed end
placed acquire -> acquiring
placed leave -> placed late
placed start -> running
placed requeue -> ready
acquiring leave -> fetching
acquiring arrive -> placed
fetching arrive -> placed hand over
running start -> running
running lend -> waiting
running return -> returned
running requeue -> ready
waiting recall -> recalled
waiting claim -> resuming
recalled claim -> resuming
resuming resume -> running
done forget -> free
failed forget -> free
skipped forget -> free
`

// finishes are the states in which a task may end, in any way; breaks those where it may only fail
// or be skipped.
var (
	finishes = []State{Blocked, Caught, Ready, Placed, Fetching, Running, Returned}
	breaks   = []State{Enqueued}
)

func eachPair(f func(s State, e Event)) {
	for s := range State(States) {
		for e := range Event(Events) {
			f(s, e)
		}
	}
}

// TestTable_EveryPair compares every state and event with the text above: legal, or a panic.
func TestTable_EveryPair(t *testing.T) {
	want := map[string]string{}
	for _, line := range strings.Split(strings.TrimSpace(legal), "\n") {
		from, to, _ := strings.Cut(line, " -> ")
		want[from] = to
	}
	for _, s := range finishes {
		want[s.String()+" finish"] = "done"
	}
	for _, s := range append(breaks, finishes...) {
		want[s.String()+" fail"], want[s.String()+" skip"] = "failed", "skipped"
	}
	actions := [Actions]string{"", " queue", " begin", " end", " hand over", " late"}
	eachPair(func(s State, e Event) {
		pair := fmt.Sprintf("%v %v", s, e)
		next := s.Next(e)
		to, legal := want[pair]
		require.Equal(t, legal, next.Legal(), pair)
		if !legal {
			require.Zero(t, next, pair)
			require.PanicsWithValue(t, fmt.Sprintf("gompss: bug: task state: event %v in state %v", e, s), func() { s.After(e) })
			return
		}
		require.Equal(t, to, next.To.String()+actions[next.Do], pair)
		require.Equal(t, next, s.After(e))
		delete(want, pair)
	})
	require.Empty(t, want, "in the text and not in the table")
}

func TestNames_AreDifferent(t *testing.T) {
	seen := map[string]bool{}
	for s := range State(States) {
		require.NotEmpty(t, s.String())
		require.False(t, seen[s.String()])
		seen[s.String()] = true
	}
	for e := range Event(Events) {
		require.NotEmpty(t, e.String())
		require.False(t, seen[e.String()])
		seen[e.String()] = true
	}
}

// TestTable_LeadsToFree: from every state a task can end, and every state is reached.
func TestTable_LeadsToFree(t *testing.T) {
	reached, ends := map[State]bool{Free: true}, map[State]bool{Free: true}
	for range States {
		eachPair(func(s State, e Event) {
			if next := s.Next(e); next.Legal() {
				reached[next.To] = reached[next.To] || reached[s]
				ends[s] = ends[s] || ends[next.To]
			}
		})
	}
	require.Len(t, reached, States)
	require.Len(t, ends, States)
	for s := range State(States) {
		require.True(t, reached[s], s)
		require.True(t, ends[s], s)
	}
}

// TestEarlyLaunch_TheSecondEventEnds: a task that is launched behind its predecessors ends once,
// with its kernel or with them, whichever comes last.
func TestEarlyLaunch_TheSecondEventEnds(t *testing.T) {
	for _, order := range [][]Event{{Release, KernelEnd}, {KernelEnd, Release}} {
		s := Blocked.After(Launch).To
		first := s.After(order[0])
		second := first.To.After(order[1])
		require.Equal(t, Nothing, first.Do, order)
		require.Equal(t, End, second.Do, order)
		require.Equal(t, Caught, second.To, order)
	}
}

// TestFetch_OneOfTwoGoesOn: of the worker that leaves and the data that arrive the later one
// continues with the task.
func TestFetch_OneOfTwoGoesOn(t *testing.T) {
	s := Placed.After(Acquire).To
	require.Equal(t, HandOver, s.After(Leave).To.After(Arrive).Do)
	require.Equal(t, Nothing, s.After(Arrive).Do)
	require.Equal(t, Late, s.After(Arrive).To.After(Leave).Do)
}

// A model is what the states say of a task, as independent facts: the table must keep them.
type model struct {
	task, preds, queued, launched, kernel, placed, body, worker, children bool
}

// facts are those of a state; preds and kernel say that they have not finished.
func facts(s State) model {
	m := model{task: s != Free && !s.Over()}
	switch s {
	case Blocked:
		m.preds = true
	case Offered:
		m.preds, m.queued = true, true
	case Enqueued:
		m.preds, m.launched, m.kernel = true, true, true
	case Ended:
		m.preds, m.launched = true, true
	case Caught:
		m.launched = true
	case Placed, Acquiring, Fetching:
		m.placed = true
	case Running:
		m.body, m.worker = true, true
	case Waiting, Recalled, Resuming:
		m.body = true
	case Returned:
		m.children = true
	}
	return m
}

// TestTable_RandomWalks takes legal events at random, and checks the facts of the states on the way:
// what an event changes, and what it must leave.
func TestTable_RandomWalks(t *testing.T) {
	rng := rand.New(rand.NewPCG(21, 1))
	seen := map[[2]int]bool{}
	for range 200_000 / 20 {
		s := Free
		for range 20 {
			e := Event(rng.IntN(Events))
			next := s.Next(e)
			if !next.Legal() {
				continue
			}
			seen[[2]int{int(s), int(e)}] = true
			a, b := facts(s), facts(next.To)
			at := fmt.Sprintf("%v %v -> %v", s, e, next.To)
			if a.preds && !b.preds {
				require.True(t, e == Release || e == Start || next.To.Over(), at)
			}
			if !a.preds && b.preds {
				require.Equal(t, Submit, e, at)
			}
			if a.launched && !b.launched {
				require.True(t, e == Requeue || next.To.Over(), at)
			}
			if !a.launched && b.launched {
				require.True(t, e == Launch && a.preds, at)
			}
			if a.queued && !b.queued {
				require.True(t, e == Withdraw || e == Launch || e == Release, at)
			}
			if a.kernel && !b.kernel && !next.To.Over() {
				require.True(t, e == KernelEnd || e == Release, at)
			}
			if a.body && !b.body {
				require.True(t, a.worker, at+": a body ends on a worker")
			}
			if next.Do == Begin {
				require.True(t, a.preds && b.launched, at)
			}
			if next.Do == Queue {
				require.True(t, a.preds && next.To == Ready, at)
			}
			if next.To.Over() {
				require.True(t, a.task && e >= Finish, at)
			}
			require.Equal(t, a.task && !next.To.Over() || e == Submit, b.task, at)
			require.Equal(t, b.launched, next.To.Early(), at)
			s = next.To
		}
	}
	pairs := 0
	eachPair(func(s State, e Event) {
		if s.Next(e).Legal() {
			pairs++
		}
	})
	require.Len(t, seen, pairs, "each legal pair is walked")
}
