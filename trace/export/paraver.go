package export

import (
	"bufio"
	"cmp"
	"embed"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/gompss/gompss/trace/run"
)

// Types of Paraver events. Values of prvSort number the sorts of tasks, 0 is the end of a task.
const (
	prvSort    = 9500001
	prvTask    = 9500002
	prvReady   = 9500003
	prvTokens  = 9500004
	prvFetch   = 9500005
	prvFailure = 9500006
	prvPhase   = 9500007
	prvDropped = 9500009
)

// States of Paraver, by run.State.
var prvStates = [...]struct {
	number int
	name   string
	colour string
}{run.Idle: {0, "Idle", "{117,195,255}"}, run.Busy: {1, "Running", "{0,0,255}"}, run.Transferring: {12, "Waiting for a copy", "{255,130,171}"}, run.Overhead: {7, "Runtime", "{255,255,0}"}}

//go:embed cfg/*.cfg
var cfgs embed.FS

// Paraver writes base.prv, base.pcf and base.row, and views for them in the folder base.cfgs. Every
// lane is a thread of one application; host memory is the last thread, so that copies between
// memories are communications between threads. Where an accelerator runs several tasks at once,
// events are of the one that started last.
func Paraver(base string, r *run.Run) error {
	base = strings.TrimSuffix(base, ".prv")
	p := newParaver(r)
	return errors.Join(
		toFile(base+".prv", p.prv), toFile(base+".pcf", p.pcf), toFile(base+".row", p.row), writeCfgs(base+".cfgs"))
}

func toFile(name string, write func(w io.Writer) error) error {
	f, err := os.Create(name)
	if err != nil {
		return fmt.Errorf("trace: export paraver: %w", err)
	}
	b := bufio.NewWriter(f)
	return errors.Join(write(b), b.Flush(), f.Close())
}

func writeCfgs(dir string) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return fmt.Errorf("trace: export paraver: %w", err)
	}
	list, err := fs.Glob(cfgs, "cfg/*.cfg")
	for _, name := range list {
		text, readErr := cfgs.ReadFile(name)
		err = errors.Join(err, readErr, os.WriteFile(filepath.Join(dir, filepath.Base(name)), text, 0o644))
	}
	return err
}

type paraver struct {
	run   *run.Run
	lanes []run.Lane
	from  time.Duration
	to    time.Duration
	sorts []string
	// phases are the names of activities that are not tasks.
	phases []string
}

func newParaver(r *run.Run) *paraver {
	p := &paraver{run: r, lanes: r.Lanes()}
	p.from, p.to = r.Bounds()
	seen := map[string]bool{}
	for i := range r.Len() {
		if s := run.Sort(r.Task(i)); !seen[s] {
			seen[s] = true
			p.sorts = append(p.sorts, s)
		}
	}
	slices.Sort(p.sorts)
	for _, x := range r.Phases() {
		p.phases = append(p.phases, x.Name)
	}
	slices.Sort(p.phases)
	p.phases = slices.Compact(p.phases)
	return p
}

// A prvRecord is a line with its sort key.
type prvRecord struct {
	at    time.Duration
	order int
	text  string
}

func (p *paraver) prv(w io.Writer) error {
	n := len(p.lanes) + 1
	opened := p.run.Machine.Opened
	fmt.Fprintf(w, "#Paraver (%s at %s):%d_ns:1(%d):1:1(%d:1)\n", opened.Format("02/01/06"), opened.Format("15:04"), int64(p.to-p.from), n, n)
	var lines []prvRecord
	for i := range p.lanes {
		lines = p.lane(lines, i)
	}
	lines = p.program(p.copies(lines))
	lines = append(lines, p.event(len(p.lanes), p.to, 2, prvDropped, int64(p.run.Dropped)))
	slices.SortStableFunc(lines, func(a, b prvRecord) int { return cmp.Or(cmp.Compare(a.at, b.at), cmp.Compare(a.order, b.order)) })
	for i := range lines {
		if _, err := io.WriteString(w, lines[i].text); err != nil {
			return err
		}
	}
	return nil
}

// event makes the line of an event of a lane; order is that of events at one moment.
func (p *paraver) event(lane int, at time.Duration, order, kind int, value int64) prvRecord {
	at -= p.from
	return prvRecord{at, order, fmt.Sprintf("2:%d:1:1:%d:%d:%d:%d\n", lane+1, lane+1, int64(at), kind, value)}
}

func (p *paraver) lane(lines []prvRecord, lane int) []prvRecord {
	l := &p.lanes[lane]
	for _, s := range l.Segments {
		from, to := s.From-p.from, s.To-p.from
		lines = append(lines, prvRecord{from, 0, fmt.Sprintf("1:%d:1:1:%d:%d:%d:%d\n", lane+1, lane+1, int64(from), int64(to), prvStates[s.State].number)})
	}
	for k, i := range l.Tasks {
		t := p.run.Task(int(i))
		begin, end := 3+2*k, 4+2*k // a task that took no time ends behind its beginning, and before that of the next one
		sort, _ := slices.BinarySearch(p.sorts, run.Sort(t))
		lines = append(lines,
			p.event(lane, t.Start, begin, prvSort, int64(sort+1)), p.event(lane, t.Start, begin, prvTask, int64(t.ID)), p.event(lane, t.Start, begin, prvReady, int64(t.Start-t.Ready)),
			p.event(lane, t.End, end, prvSort, 0), p.event(lane, t.End, end, prvTask, 0))
		if t.Tokens > 0 {
			lines = append(lines, p.event(lane, t.Start, begin, prvTokens, int64(t.Tokens)), p.event(lane, t.Start, begin, prvFetch, int64(t.Start-t.Choice)), p.event(lane, t.End, end, prvTokens, 0))
		}
	}
	return lines
}

// program appends what is of no lane, on that of the host's memory: failures, and what the program
// and the runtime did besides tasks, as far as it is within the run.
func (p *paraver) program(lines []prvRecord) []prvRecord {
	last := len(p.lanes)
	for i := range p.run.Len() {
		t := p.run.Task(int(i))
		switch {
		case t.Skipped:
			lines = append(lines, p.event(last, t.Release, 2, prvFailure, 2))
		case t.Err != "":
			lines = append(lines, p.event(last, t.Release, 2, prvFailure, 1))
		}
	}
	for _, x := range p.run.Phases() {
		from, to := max(x.From, p.from), min(x.To, p.to)
		if k := slices.Index(p.phases, x.Name); k >= 0 && from < to {
			lines = append(lines, p.event(last, from, 2, prvPhase, int64(k+1)), p.event(last, to, 1, prvPhase, 0))
		}
	}
	return lines
}

func (p *paraver) copies(lines []prvRecord) []prvRecord {
	laneOf := func(space string) int {
		for i := range p.lanes {
			if place := p.run.Machine.Places[p.lanes[i].Place]; place.Name == space && !place.Host {
				return i + 1
			}
		}
		return len(p.lanes) + 1 // host memory
	}
	for _, m := range movesOf(p.run) {
		a, b := laneOf(m.from), laneOf(m.to)
		for i, c := range m.copies {
			from, to := int64(c.Begin-p.from), int64(c.Time-p.from)
			lines = append(lines, prvRecord{c.Begin - p.from, 3, fmt.Sprintf("3:%d:1:1:%d:%d:%d:%d:1:1:%d:%d:%d:%d:%d\n", a, a, from, from, b, b, to, to, int64(c.Bytes), i+1)})
		}
	}
	return lines
}

func (p *paraver) pcf(w io.Writer) error {
	fmt.Fprint(w, "DEFAULT_OPTIONS\n\nLEVEL               THREAD\nUNITS               NANOSEC\nLOOK_BACK           100\nSPEED               1\nFLAG_ICONS          ENABLED\nNUM_OF_STATE_COLORS 1000\nYMAX_SCALE          37\n\nDEFAULT_SEMANTIC\n\nTHREAD_FUNC          State As Is\n\nSTATES\n")
	for _, s := range prvStates {
		fmt.Fprintf(w, "%d    %s\n", s.number, s.name)
	}
	fmt.Fprint(w, "\nSTATES_COLOR\n")
	for _, s := range prvStates {
		fmt.Fprintf(w, "%d    %s\n", s.number, s.colour)
	}
	fmt.Fprintf(w, "\nEVENT_TYPE\n0    %d    Task\nVALUES\n0      End\n", prvSort)
	for i, s := range p.sorts {
		fmt.Fprintf(w, "%d      %s\n", i+1, strings.ReplaceAll(s, "\n", " "))
	}
	fmt.Fprintf(w, "\nEVENT_TYPE\n0    %d    Task number\n\nEVENT_TYPE\n0    %d    Time from ready to start (ns)\n", prvTask, prvReady)
	fmt.Fprintf(w, "\nEVENT_TYPE\n0    %d    Tokens held\n\nEVENT_TYPE\n0    %d    Time from the choice of a place to start (ns)\n", prvTokens, prvFetch)
	fmt.Fprintf(w, "\nEVENT_TYPE\n0    %d    Failures\nVALUES\n1      failed\n2      skipped\n", prvFailure)
	fmt.Fprintf(w, "\nEVENT_TYPE\n0    %d    Program and runtime\nVALUES\n0      End\n", prvPhase)
	for i, s := range p.phases {
		fmt.Fprintf(w, "%d      %s\n", i+1, strings.ReplaceAll(s, "\n", " "))
	}
	_, err := fmt.Fprintf(w, "\nEVENT_TYPE\n0    %d    Records dropped\n", prvDropped)
	return err
}

func (p *paraver) row(w io.Writer) error {
	names := make([]string, 0, len(p.lanes)+1)
	for i := range p.lanes {
		names = append(names, p.lanes[i].Name)
	}
	names = append(names, fmt.Sprintf("host memory (%s)", title(p.run)))
	var err error
	for _, level := range []string{"CPU", "THREAD"} {
		_, err = fmt.Fprintf(w, "LEVEL %s SIZE %d\n%s\n\n", level, len(names), strings.Join(names, "\n"))
	}
	return err
}
