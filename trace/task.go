package trace

import (
	"fmt"
	"time"

	"github.com/gompss/gompss/deps"
	"github.com/gompss/gompss/trace/record"
	"github.com/gompss/gompss/trace/run"
)

// A taskState is all that a page shows of one task.
type taskState struct {
	ID, Last                                    deps.TaskID
	Name, Kernel, Variant, Place, Err           string
	Worker                                      int
	Submit, Ready, Choice, Start, End, Released time.Duration
	Missing                                     deps.Bytes
	Tokens                                      int
	Short, Skipped                              bool
	Accesses                                    []string
	Predecessors                                []deps.TaskID
	Considered                                  []candidate
	Why                                         string
}

// A candidate is a place that a task could have run at.
type candidate struct {
	Place   string
	Missing deps.Bytes
}

func taskOf(r *run.Run, id deps.TaskID) *taskState {
	t := r.Find(id)
	if t == nil {
		return nil
	}
	s := &taskState{ID: t.ID, Last: t.Last, Name: run.Name(t), Kernel: t.Kernel, Variant: t.Variant, Place: r.PlaceName(t.Place), Err: t.Err, Worker: int(t.Worker),
		Submit: t.Submit, Ready: t.Ready, Choice: t.Choice, Start: t.Start, End: t.End, Released: t.Release, Missing: t.Missing, Tokens: int(t.Tokens),
		Short: t.Short, Skipped: t.Skipped, Predecessors: r.Predecessors(id)}
	for _, d := range r.DetailsOf(id) {
		switch d.What {
		case record.Accesses:
			v := d.Values
			s.Accesses = append(s.Accesses, fmt.Sprintf("%v buffer %d, elements %d to %d, %d of them", d.Mode, v[0], v[1], v[3], v[2]))
		case record.Considered:
			for i, b := range d.Values[1 : 1+min(int(d.Count), 5)] {
				if b >= 0 {
					s.Considered = append(s.Considered, candidate{r.PlaceName(int16(d.Values[0]) + int16(i)), deps.Bytes(b)})
				}
			}
		}
	}
	s.Why = s.why(r.Machine.Policy)
	return s
}

// why says in a sentence why the task ran where it did.
func (s *taskState) why(policy string) string {
	switch {
	case s.Place == "":
		return "it got no place: " + s.Err
	case len(s.Considered) == 0:
		return fmt.Sprintf("policy %s: nothing had to be moved for it, or it could run on %s alone", policy, s.Place)
	}
	least := s.Considered[0]
	for _, c := range s.Considered {
		if c.Missing < least.Missing {
			least = c
		}
	}
	text := fmt.Sprintf("policy %s gave it to %s, where %v were missing", policy, s.Place, s.Missing)
	if s.Missing > least.Missing {
		text += fmt.Sprintf("; %s missed only %v, and had more to do or lacked tokens", least.Place, least.Missing)
	}
	if s.Short {
		text += "; it was short of tokens for a while"
	}
	return text
}
