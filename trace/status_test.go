package trace

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/gompss/gompss/trace/probe"
	"github.com/stretchr/testify/require"
)

// A run that is stalled gets new snapshots, though no record comes, whose verdict says what it
// waits for.
func TestPage_ARunThatStandsStill(t *testing.T) {
	s, err := Serve("127.0.0.1:0")
	require.NoError(t, err)
	require.NoError(t, s.content.Open(&probe.Machine{Places: []probe.Place{{Name: "smp", Kind: "smp", Workers: 1, Host: true}}}))
	now := &probe.Status{Submitted: 2, Running: 1, Blocked: 1, Tasks: []probe.InFlight{
		{ID: 1, Label: "load", At: "main.go:21", State: "waiting", Waits: "an event that is not fulfilled", Since: 12 * time.Second},
		{ID: 2, Label: "sum", State: "blocked", Waits: "task 1", By: 1},
	}}
	s.ShowStatus(func() *probe.Status { return now })
	type shown struct {
		Version int64
		Summary struct {
			Notes   []string
			Verdict struct{ Bound, Sentence string }
		}
	}
	snapshot := func() (out shown) {
		s.content.making.Lock()
		s.content.next = time.Time{}
		s.content.making.Unlock()
		m, err := s.content.snapshot()
		require.NoError(t, err)
		require.NoError(t, json.Unmarshal(m.state, &out))
		return out
	}
	first := snapshot()
	require.NotEqual(t, "stalled", first.Summary.Verdict.Bound)
	require.Contains(t, first.Summary.Notes, "now 2 submitted, 1 blocked, 0 ready, 1 running, 0 waiting, 0 done")
	require.Equal(t, first.Version, snapshot().Version, "nothing is new")
	now.Idle = 12 * time.Second
	now.Stalled()
	second := snapshot()
	require.Greater(t, second.Version, first.Version)
	require.Equal(t, "no progress for 12s: task 1 load (main.go:21) waits for an event that is not fulfilled; 1 task is blocked", second.Summary.Verdict.Sentence)
	require.Equal(t, "task 1 load (main.go:21) waits for an event that is not fulfilled, for 12s", second.Summary.Notes[0])
	require.Equal(t, "task 2 sum waits for task 1", second.Summary.Notes[1])
	s.ShowStatus(nil)
	require.NoError(t, s.Close())
}
