package simt

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/gompss/gompss/codegen/ir"
)

// ErrArgument is a mistake in the arguments or the configuration of Run.
var ErrArgument = errors.New("bad argument")

// ErrSteps is returned when Config.Steps instructions were not enough.
var ErrSteps = errors.New("step limit reached")

// A Where says which thread of which launch was where in the user's source.
type Where struct {
	Kernel       string
	Launch       string
	At           ir.Pos
	Team, Thread int
}

func (w Where) String() string {
	return fmt.Sprintf("simt: %s: %s: team %d thread %d", w.Launch, w.At, w.Team, w.Thread)
}

// A CheckError is a check that failed in one thread. Check has the text that every device gives it.
type CheckError struct {
	Where
	Check *ir.CheckError
}

func (e *CheckError) Error() string { return fmt.Sprintf("%s: %s", e.Where, e.Check.Mistake()) }

// Unwrap returns Check.
func (e *CheckError) Unwrap() error { return e.Check }

// A Group is a set of threads of one team or warp that do the same.
type Group struct {
	What    string // "waits at barrier", "waits at shuffle", "has ended", ...
	At      ir.Pos // zero for threads that have ended
	Threads []int  // ascending
}

func (g Group) String() string {
	if (g.At == ir.Pos{}) {
		return fmt.Sprintf("%s %s", ranges(g.Threads), g.What)
	}
	return fmt.Sprintf("%s %s at %s", ranges(g.Threads), g.What, g.At)
}

// A DivergenceError is a barrier or shuffle that some threads wait at and others will never reach.
type DivergenceError struct {
	Where  // the first thread that waits
	Groups []Group
}

func (e *DivergenceError) Error() string {
	parts := make([]string, len(e.Groups))
	for i, g := range e.Groups {
		parts[i] = g.String()
	}
	return fmt.Sprintf("simt: %s: %s: team %d: threads do not meet: %s", e.Launch, e.At, e.Team, strings.Join(parts, "; "))
}

// An Access is one side of a race.
type Access struct {
	At           ir.Pos
	Place        string // as the source says it
	Team, Thread int
	Write        bool
	Atomic       bool
}

func (a Access) String() string {
	what := "read"
	if a.Write {
		what = "write"
	}
	if a.Atomic {
		what = "atomic " + what
	}
	return fmt.Sprintf("%s of %s at %s by team %d thread %d", what, a.Place, a.At, a.Team, a.Thread)
}

// A RaceError is two accesses of different threads to the same memory, at least one of them a write
// and not both atomic, which no barrier puts in order. First was made first in this run.
type RaceError struct {
	Kernel, Launch string
	Memory         string // the name of the buffer, or "team memory"
	Offset         int64  // in bytes
	Element        string // of a parameter: "x[3]", or "*s"; "" in other memory
	First, Second  Access
}

func (e *RaceError) Error() string {
	return "simt: " + e.Launch + ": " + e.what()
}

func (e *RaceError) what() string {
	where := e.Element
	if where == "" {
		where = fmt.Sprintf("%s at byte %d", e.Memory, e.Offset)
	}
	return fmt.Sprintf("data race in %s: %s, %s", where, e.First, e.Second)
}

// A report is the errors of one Run, of which the text shows the first.
type report []error

// shownErrors bounds the lines of a report.
const shownErrors = 4

func (r report) Error() string {
	var lines []string
	for i, e := range r[:min(len(r), shownErrors)] {
		text := e.Error()
		if race, ok := e.(*RaceError); ok && i > 0 {
			text = race.what()
		}
		lines = append(lines, text)
	}
	if n := len(r) - shownErrors; n > 0 {
		lines = append(lines, fmt.Sprintf("and %d more", n))
	}
	return strings.Join(lines, "\n")
}

func (r report) Unwrap() []error { return r }

// joined returns the errors of one Run as one, nil where there are none.
func joined(list []error) error {
	switch len(list) {
	case 0:
		return nil
	case 1:
		return list[0]
	}
	return report(list)
}

// An UnsetError is a read of team memory that no thread has written.
type UnsetError struct {
	Where
	Place string
}

func (e *UnsetError) Error() string {
	return fmt.Sprintf("%s: %s: read of team memory that nobody has written", e.Where, e.Place)
}

// ranges prints a list of thread numbers as "threads 0-3,7".
func ranges(list []int) string {
	slices.Sort(list)
	var parts []string
	for i := 0; i < len(list); {
		j := i
		for j+1 < len(list) && list[j+1] == list[j]+1 {
			j++
		}
		if i == j {
			parts = append(parts, fmt.Sprint(list[i]))
		} else {
			parts = append(parts, fmt.Sprintf("%d-%d", list[i], list[j]))
		}
		i = j + 1
	}
	word := "threads "
	if len(list) == 1 {
		word = "thread "
	}
	return word + strings.Join(parts, ",")
}
