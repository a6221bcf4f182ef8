package probe

import (
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/gompss/gompss/deps"
)

// A Status describes a run at one moment. It is taken while tasks continue: exact for a run that
// is stalled.
type Status struct {
	Submitted, Done         int64
	Blocked, Ready, Running int64 // the tasks in flight
	Waiting                 int64 // and those that have started and cannot continue
	Window                  int64 // how many may be in flight; a submission waits where there are as many
	// Expected is how many tasks the program has said that it will submit, 0 where it has said
	// nothing; Left is how long the rest will take at the rate so far, 0 where that is not known.
	Expected int64
	Left     time.Duration
	// Idle is the least possible time since the last end of a task.
	Idle time.Duration
	// Verdict gives the reason why the run is stalled, "" where tasks have ended lately, or none is in
	// flight.
	Verdict string
	Tasks   []InFlight // the oldest ones, by ID
	More    int64      // in flight and not in Tasks
}

// An InFlight is a task that has not ended.
type InFlight struct {
	ID    deps.TaskID
	Label string
	Step  string // "step 3 of 8 of replay 12", for a task that is one; else ""
	At    string // "main.go:12", where the function is written; "" where that is not known
	// State is blocked, ready, waiting or running. A task is waiting when it has started and cannot
	// continue.
	State string
	// Waits is what for: a task, an event, tokens, memory, a worker; for one that runs, where.
	Waits string
	By    deps.TaskID   // the latest of the tasks that it waits for, 0 for none
	Since time.Duration // it has been in flight for at least so long
}

// Title names the task with its line.
func (t *InFlight) Title() string {
	text := fmt.Sprintf("task %d %s", t.ID, t.Label)
	if t.At != "" {
		text += " (" + t.At + ")"
	}
	if t.Step != "" {
		text += ", " + t.Step + ","
	}
	return text
}

// Line describes the state of the task in one sentence.
func (t *InFlight) Line() string {
	switch t.State {
	case "running":
		return t.Title() + " runs on " + t.Waits
	case "ready":
		return t.Title() + " is ready and waits for " + t.Waits
	}
	return t.Title() + " waits for " + t.Waits
}

// why names the reason of the stall: the oldest task that is not blocked by another one.
func (s *Status) why() string {
	for i := range s.Tasks {
		if k := &s.Tasks[i]; k.By == 0 && k.State != "blocked" {
			text := k.Line()
			if s.Blocked == 1 {
				text += "; 1 task is blocked"
			} else if s.Blocked > 0 {
				text += fmt.Sprintf("; %d tasks are blocked", s.Blocked)
			}
			return text
		}
	}
	return fmt.Sprintf("%d tasks are in flight, the oldest of which are blocked", s.Submitted-s.Done)
}

// Stalled sets the verdict of a run in which no task has ended for Idle.
func (s *Status) Stalled() {
	s.Verdict = fmt.Sprintf("no progress for %s: %s", Ago(s.Idle), s.why())
}

// String returns the numbers of tasks, and the verdict where there is one, in a line.
func (s *Status) String() string {
	if s.Verdict == "" {
		return s.counts()
	}
	return s.counts() + "; " + s.Verdict
}

func (s *Status) counts() string {
	text := fmt.Sprintf("tasks: %d submitted, %d blocked, %d ready, %d running, %d waiting, %d done", s.Submitted, s.Blocked, s.Ready, s.Running, s.Waiting, s.Done)
	if s.Expected > 0 {
		text += fmt.Sprintf("; %.0f %% of %d", 100*float64(s.Done)/float64(s.Expected), s.Expected)
		if s.Left > 0 {
			text += ", about " + Ago(s.Left) + " left"
		}
	}
	if s.Window > 0 && s.Submitted-s.Done >= s.Window {
		text += fmt.Sprintf("; the window of %d tasks is full", s.Window)
	}
	return text
}

// Write prints s as text.
func (s *Status) Write(w io.Writer) error {
	t := tabwriter.NewWriter(w, 0, 8, 2, ' ', 0)
	fmt.Fprintln(t, s.counts())
	if s.Verdict != "" {
		fmt.Fprintln(t, s.Verdict)
	}
	if len(s.Tasks) > 0 {
		fmt.Fprintf(t, "\ntask\tlabel\tline\tstate\twaits for, or runs on\tsince\n")
	}
	for i := range s.Tasks {
		k := &s.Tasks[i]
		label := k.Label
		if k.Step != "" {
			label += ", " + k.Step
		}
		fmt.Fprintf(t, "%d\t%s\t%s\t%s\t%s\t%s\n", k.ID, label, orDash(k.At), k.State, orDash(k.Waits), Ago(k.Since))
	}
	if s.More > 0 {
		fmt.Fprintf(t, "and %d more\n", s.More)
	}
	return t.Flush()
}

// Ago prints a duration that is known to be at least d.
func Ago(d time.Duration) string {
	switch {
	case d <= 0:
		return "-"
	case d < time.Second:
		return d.Round(time.Millisecond).String()
	}
	return d.Round(time.Second / 10).String()
}

func orDash(s string) string {
	if strings.TrimSpace(s) == "" {
		return "-"
	}
	return s
}
