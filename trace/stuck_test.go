package trace

import (
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/gompss/gompss/deps"
	"github.com/gompss/gompss/trace/probe"
	"github.com/gompss/gompss/trace/record"
	"github.com/stretchr/testify/require"
)

// A stuck client takes the head of an answer and nothing of its body.
type stuck struct {
	http.ResponseWriter
	gate, blocked chan struct{}
	deadline      time.Time
	writes        int
}

func (s *stuck) SetWriteDeadline(t time.Time) error { s.deadline = t; return nil }
func (s *stuck) Flush()                             {}
func (s *stuck) Write(b []byte) (int, error) {
	if s.writes++; s.writes > 1 { // the first is the hint when to come back
		close(s.blocked)
		<-s.gate
		return 0, http.ErrHandlerTimeout
	}
	return len(b), nil
}

// While a write to a client blocks, records are taken, others get new snapshots, tasks and columns,
// and the run can end; the client has a deadline, after which the system ends its write.
func TestAStuckClientHoldsUpNobody(t *testing.T) {
	s, err := Serve("127.0.0.1:0")
	require.NoError(t, err)
	require.NoError(t, s.Open(&probe.Machine{Places: []probe.Place{{Name: "smp", Kind: "smp", Workers: 1, Host: true}}}))
	take := func(id int) {
		require.NoError(t, s.Take(&record.Batch{Tasks: []probe.Task{{ID: deps.TaskID(id), Start: time.Duration(id), End: time.Duration(id) + 1, Release: time.Duration(id) + 1}}}))
	}
	take(1)
	w := &stuck{ResponseWriter: httptest.NewRecorder(), gate: make(chan struct{}), blocked: make(chan struct{})}
	over := make(chan struct{})
	go func() {
		defer close(over)
		s.events(w, httptest.NewRequest("GET", "/api/events", nil))
	}()
	<-w.blocked
	require.WithinDuration(t, time.Now(), w.deadline, time.Minute)
	require.False(t, w.deadline.IsZero())

	done := make(chan error, 1)
	go func() { done <- s.look(take) }()
	select {
	case err := <-done:
		require.NoError(t, err)
	case <-time.After(time.Minute):
		t.Fatal("a client that does not read holds up the others")
	}
	close(w.gate)
	<-over
}

// look does what others do with a page: records come, and what is new is asked for, until the run
// has finished.
func (s *Server) look(take func(id int)) error {
	for id := 2; id < 20; id++ {
		take(id)
		s.content.making.Lock()
		s.content.next = time.Time{} // it is time for a snapshot
		s.content.making.Unlock()
		if _, _, err := s.content.tasks(); err != nil {
			return err
		}
		if m, err := s.content.task(deps.TaskID(id)); m == nil || err != nil {
			return err
		}
	}
	return s.Close()
}
