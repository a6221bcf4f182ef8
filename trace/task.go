package trace

import (
	"fmt"
	"slices"
	"time"

	"github.com/gompss/gompss/deps"
	"github.com/gompss/gompss/trace/probe"
	"github.com/gompss/gompss/trace/record"
	"github.com/gompss/gompss/trace/run"
)

// A taskState is all that a page shows of one task.
type taskState struct {
	ID, Last, Parent                  deps.TaskID
	Name, Kernel, Variant, Place, Err string
	Worker                            int
	taskTimes
	Missing        deps.Bytes
	Tokens         int
	Short, Skipped bool
	Accesses       []string
	Predecessors   []deps.TaskID
	EdgesGone      int64 // predecessors that are not kept
	Considered     []candidate
	Part           string // "step 3 of replay 12", "replay 12, of 40 steps", or ""
	Why            string
}

// taskTimes are the steps of a task, on the clock of the run.
type taskTimes struct {
	Submit, Ready, Choice, Start, End, Released time.Duration
}

// A candidate is a place that a task could have run at, as the policy saw it.
type candidate struct {
	Place        string
	Meant, Known bool
	Missing      deps.Bytes
	Run, Ahead   time.Duration
	Queued, Load int32
	Need, Free   int32
}

func taskOf(r *run.Run, id deps.TaskID) *taskState {
	t := r.Find(id)
	if t == nil {
		return nil
	}
	s := &taskState{ID: t.ID, Last: t.Last, Parent: r.ParentOf(id), Name: run.Name(t), Kernel: t.Kernel, Variant: t.Variant, Place: r.PlaceName(t.Place), Err: t.Err, Worker: int(t.Worker),
		taskTimes: taskTimes{Submit: t.Submit, Ready: t.Ready, Choice: t.Choice, Start: t.Start, End: t.End, Released: t.Release}, Missing: t.Missing, Tokens: int(t.Tokens),
		Short: t.Short, Skipped: t.Skipped, Predecessors: r.Predecessors(id), EdgesGone: r.EdgesGoneOf(id)}
	for _, d := range r.DetailsOf(id) {
		switch d.What {
		case record.Accesses:
			v := d.Values
			s.Accesses = append(s.Accesses, fmt.Sprintf("%v buffer %d, elements %d to %d, %d of them", d.Mode, v[0], v[1], v[3], v[2]))
		case record.Candidate:
			c := d.Candidate()
			if slices.ContainsFunc(s.Considered, func(x candidate) bool { return x.Place == r.PlaceName(c.Place) }) {
				s.Considered = nil // it was chosen again, after a failure or a wait: the last time counts
			}
			s.Considered = append(s.Considered, candidate{r.PlaceName(c.Place), c.Meant, c.Known, c.Missing, c.Run, c.Ahead, c.Queued, c.Load, c.Need, c.Free})
		}
	}
	n := r.NestingOf(id)
	s.Part = part(n)
	switch {
	case n.Step > 0 && run.Ran(t) && len(s.Considered) == 0:
		s.Why = s.Part + ": a recorded step runs as soon as the steps before it have finished"
	case n.Replay > 0 && n.Step == 0:
		s.Why = s.Part + ": each step has its own place"
	case s.Part != "":
		s.Why = s.Part + "; " + s.why(r.Machine.Policy)
	default:
		s.Why = s.why(r.Machine.Policy)
	}
	return s
}

// part says what a task is a part of, or how many parts it has.
func part(n probe.Nesting) string {
	switch {
	case n.Step > 0:
		return fmt.Sprintf("step %d of replay %d", n.Step, n.Replay)
	case n.Replay > 0:
		return fmt.Sprintf("replay %d, of %d steps", n.Replay, n.Steps)
	case n.Steps > 0:
		return fmt.Sprintf("a device graph of %d kernels, which are not timed one by one", n.Steps)
	}
	return ""
}

// why says in a few words why the task ran where it did, from what the policy saw when the task
// became ready.
func (s *taskState) why(policy string) string {
	if s.Place == "" {
		return "it got no place: " + s.Err
	}
	if len(s.Considered) == 0 {
		return fmt.Sprintf("policy %s: it could run on %s alone, or was handed on by the task before it", policy, s.Place)
	}
	var here, meant *candidate
	for i := range s.Considered {
		c := &s.Considered[i]
		if c.Place == s.Place {
			here = c
		}
		if c.Meant {
			meant = c
		}
	}
	text := fmt.Sprintf("policy %s gave it to %s", policy, s.Place)
	if meant != nil && meant.Place != s.Place {
		text = fmt.Sprintf("policy %s meant it for %s, %s; %s had nothing to do and took it", policy, meant.Place, meant.say(), s.Place)
	}
	if here != nil {
		text += ", " + here.say()
	}
	if other := s.better(here); other != nil && other != meant {
		text += fmt.Sprintf("; on %s, %s", other.Place, other.say())
	}
	if s.Short {
		text += "; it was short of tokens for a while"
	}
	return text
}

// better returns a candidate that was better than here in something, the one with the fewest bytes
// missing; nil when there is none.
func (s *taskState) better(here *candidate) (best *candidate) {
	for i := range s.Considered {
		c := &s.Considered[i]
		if here != nil && c != here && (c.Missing < here.Missing || c.Known && here.Known && c.Run+c.Ahead < here.Run+here.Ahead) && (best == nil || c.Missing < best.Missing) {
			best = c
		}
	}
	return best
}

// say describes the data that the policy saw.
func (c *candidate) say() string {
	text := fmt.Sprintf("where %v were missing", c.Missing)
	if c.Known {
		text += fmt.Sprintf(", it was expected to run %v", run.Round(c.Run))
	}
	if c.Queued > 0 || c.Load > 0 {
		text += fmt.Sprintf(", tasks queued there: %d, started: %d", c.Queued, c.Load)
		if c.Ahead > 0 {
			text += fmt.Sprintf(" (about %v)", run.Round(c.Ahead))
		}
	}
	if c.Need > c.Free {
		text += fmt.Sprintf(", %d of the %d tokens it needs were free", c.Free, c.Need)
	}
	return text
}
