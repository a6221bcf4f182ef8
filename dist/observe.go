package dist

import (
	"fmt"
	"strconv"
	"time"

	"github.com/gompss/gompss/deps"
	"github.com/gompss/gompss/task"
	"github.com/gompss/gompss/trace/probe"
)

// This file records messages and clocks for the trace of a rank. gompss trace merge joins the two
// sides of a message by its key, and puts the times of all ranks on the clock of rank 0.

// rankName returns the name of a rank in traces.
func rankName(rank int) string { return fmt.Sprintf("rank %d", rank) }

// observed returns done. If the runtime is observed, it returns a function that records the message
// of step s and then calls done.
func (w *World) observed(s *step, m *task.Memory, scope *task.Scope, done func(error)) func(error) {
	if !w.local.Observed() {
		return done
	}
	p := probe.Point{Kind: probe.Message, Task: w.local.TaskOf(scope), Other: deps.TaskID(s.key.Submission), Kernel: strconv.Itoa(int(s.key.Part)), From: rankName(w.rank), To: rankName(int(s.peer)),
		Bytes: deps.Bytes(s.region.Len()) * deps.Bytes(m.Elem), Region: s.region, Begin: w.local.Now()}
	if s.kind != stepSend {
		p.Kind, p.From, p.To = probe.Arrive, p.To, p.From
	}
	return func(err error) {
		p.Time, p.Err = w.local.Now(), err
		w.local.Observe(p)
		done(err)
	}
}

// clockReadings is the number of readings of rank 0's clock that start at the same time. The
// reading with the shortest round trip is the most exact.
const clockReadings = 4

// readClocks starts readings of rank 0's clock, if this rank is observed.
func (w *World) readClocks() {
	w.control.mu.Lock()
	local := w.local
	w.control.mu.Unlock()
	if w.rank == 0 || local == nil || !local.Observed() {
		return
	}
	for range clockReadings {
		w.transport.Control(0, words(clockMessage, uint64(local.Now()), 0), nil)
	}
}

// clock handles a clock message. Rank 0 answers it; the rank that started the reading records the
// answer.
//
// Source: Cristian, Probabilistic clock synchronization, 1989: half the time of the round trip
// bounds the error.
func (w *World) clock(from int, m []byte) {
	w.control.mu.Lock()
	local := w.local
	w.control.mu.Unlock()
	switch {
	case local == nil:
	case w.rank == 0:
		w.transport.Control(from, words(clockMessage, word(m, 0), uint64(local.Now())), nil)
	default:
		began, now := time.Duration(word(m, 0)), local.Now()
		ahead := time.Duration(word(m, 1)) - (began+now)/2
		local.Observe(probe.Point{Kind: probe.Clock, Begin: began, Time: now, Bytes: deps.Bytes(ahead)})
	}
}
