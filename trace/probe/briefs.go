package probe

import (
	"math/bits"
	"sync"
	"sync/atomic"

	"github.com/gompss/gompss/deps"
)

// sheetTasks is the number of tasks that a sheet is for, and mostSheets how many sheets there may
// be: they bound the memory to 32 MiB.
const (
	sheetTasks = 1 << 10
	mostSheets = 1 << 8
	// wakeSheets is after how many sheets the collecting goroutine is called.
	wakeSheets = 2
	// publishEvery is after how many tasks those of a sheet that is not full are shown to the
	// collecting goroutine.
	publishEvery = 64
	// patience is how many tasks of a sheet that are not over a sweep looks at for one that is.
	patience = 64
	// epochSheets is how many sheets in a row have tasks with different marks.
	epochSheets = 1 << 30 / sheetTasks
)

// Briefs holds the tasks of a runtime that a Brief describes completely, until they are collected.
//
// They lie in sheets, in order of their ids. A submitting goroutine takes a sheet for the next ids,
// one that was used last if there is one, so that what is written lies in a cache; workers find a
// task by its id; the collecting goroutine takes what has finished and gives sheets back. No two of
// them write the same line at the same time, but for a lock that submission and collection take
// once for each sheet.
//
// Where all sheets are in use, because no collector runs or tasks take long, New returns nil:
// Recorder.Ended then records such tasks.
type Briefs struct {
	sheets [mostSheets]atomic.Pointer[sheet] // by the ids that they are for
	// Fields of submission.
	current   *sheet
	at        uint32 // behind the last one that was written in current
	published uint32
	settle    func()
	_         [64]byte

	mu    sync.Mutex // guards the fields below
	fresh []*sheet   // that are in use, and the collecting goroutine does not know
	free  []*sheet
	made  int

	wake func()
	live []*sheet // of the collecting goroutine: in use, in order
}

// A sheet is the briefs of tasks whose ids lie side by side. Not all ids need be there.
type sheet struct {
	number uint64        // its first id over sheetTasks
	told   atomic.Uint32 // those below are written, as far as they exist
	_      [52]byte

	list [sheetTasks]Brief

	// Of the collecting goroutine.
	seen   uint32                  // those below were taken, or are late
	late   [sheetTasks / 64]uint64 // a bit for each
	lately int
}

// NewBriefs returns an empty store. The collecting goroutine calls settle, which calls Publish when
// no submission is under way, and must not wait.
func NewBriefs(settle func()) *Briefs { return &Briefs{settle: settle} }

// New returns the brief of a task that is submitted, nil when there is no room: its ID is set, and
// no words, predecessor, start and end are. One call at a time, with ids that grow. A nil *Briefs
// has no room.
func (l *Briefs) New(id deps.TaskID) *Brief {
	if l == nil {
		return nil
	}
	s := l.current
	if s == nil || s.number != uint64(id)/sheetTasks {
		if s = l.turn(uint64(id) / sheetTasks); s == nil {
			return nil
		}
	}
	at := uint32(id) % sheetTasks
	if at-l.published >= publishEvery {
		s.told.Store(at)
		l.published = at
	}
	l.at = at + 1
	b := &s.list[at]
	b.ID, b.Filled, b.Touched, b.Waited, b.Last, b.Start, b.End = id, 0, 0, 0, 0, 0, 0
	return b
}

// turn begins a sheet.
func (l *Briefs) turn(number uint64) *sheet {
	if l.current != nil {
		l.current.told.Store(sheetTasks)
		l.current = nil
	}
	entry := &l.sheets[number%mostSheets]
	if entry.Load() != nil { // some of its tasks are not over, or were not collected
		return nil
	}
	l.mu.Lock()
	var s *sheet
	if n := len(l.free); n > 0 {
		s, l.free = l.free[n-1], l.free[:n-1]
	} else if l.made < mostSheets {
		l.made++
		s = &sheet{}
	} else {
		l.mu.Unlock()
		return nil
	}
	if s.number/epochSheets != number/epochSheets {
		s.forget()
	}
	if s.number, s.seen, s.lately = number, 0, 0; number == 0 {
		s.list[0].ID = 1 // no task has the number 0, and this one is not in its place
	}
	s.told.Store(0)
	entry.Store(s)
	l.fresh = append(l.fresh, s)
	l.mu.Unlock()
	l.current, l.at, l.published = s, 0, 0
	if number%wakeSheets == 0 && l.wake != nil {
		l.wake()
	}
	return s
}

// forget takes the marks away.
func (s *sheet) forget() {
	for i := range s.list {
		s.list[i].over.Store(0)
	}
}

// Publish shows all that was written to the collecting goroutine. Requires: no call of New is under
// way, and what New returned last is written.
func (l *Briefs) Publish() {
	if s := l.current; s != nil && l.at != l.published {
		s.told.Store(l.at)
		l.published = l.at
	}
}

// Find returns the brief of a task that has one and is not over.
func (l *Briefs) Find(id deps.TaskID) *Brief {
	if s := l.sheets[uint64(id)/sheetTasks%mostSheets].Load(); s != nil {
		if b := &s.list[id%sheetTasks]; b.ID == id {
			return b
		}
	}
	panic("gompss: bug: trace: a task has no brief")
}

// Collect sets the function that is called when there are records to collect. It must not wait.
// Call it before the first New.
func (l *Briefs) Collect(wake func()) { l.wake = wake }

// Sweep calls take for tasks that have finished, each once, about most of them at most, and returns
// how many there were. It may leave out some that have finished while many before them are not,
// unless it is to be thorough, which costs a look at every task in flight. Sweep is for one
// goroutine.
func (l *Briefs) Sweep(most int, thorough bool, take func(*Brief)) (n int) {
	l.settle()
	l.mu.Lock()
	l.live = append(l.live, l.fresh...)
	l.fresh = l.fresh[:0]
	l.mu.Unlock()
	kept := l.live[:0]
	for i, s := range l.live {
		took, stands := s.sweep(most-n, thorough, take)
		n += took
		if s.taken() {
			l.giveBack(s)
			continue
		}
		kept = append(kept, s)
		if n >= most || stands && took == 0 && !thorough {
			kept = append(kept, l.live[i+1:]...)
			break
		}
	}
	clear(l.live[len(kept):])
	l.live = kept
	return n
}

func (l *Briefs) giveBack(s *sheet) {
	l.sheets[s.number%mostSheets].Store(nil)
	l.mu.Lock()
	l.free = append(l.free, s)
	l.mu.Unlock()
}

// taken reports whether all tasks of a sheet that is full were taken.
func (s *sheet) taken() bool {
	return s.seen == sheetTasks && s.lately == 0
}

// sweep takes the finished tasks. stands says that it stopped where many are not.
func (s *sheet) sweep(most int, thorough bool, take func(*Brief)) (n int, stands bool) {
	if s.lately > 0 && (thorough || s.lately <= patience) {
		n = s.sweepLate(take)
	}
	to, first := s.told.Load(), deps.TaskID(s.number*sheetTasks)
	waits, at := 0, s.seen // waits counts those from seen on that are not over
	for ; at < to; at++ {
		b := &s.list[at]
		switch {
		case b.ID != first+deps.TaskID(at): // not here
		case !b.isOver():
			if waits++; waits >= patience && !thorough {
				return n, true
			}
		default:
			take(b)
			if waits > 0 {
				s.mark(first, at)
				waits = 0
			}
			if s.seen = at + 1; n+1 >= most {
				return n + 1, false
			}
			n++
		}
	}
	if waits == 0 {
		s.seen = to
	}
	return n, waits > 0
}

// mark makes those from seen to at, that are not over, late.
func (s *sheet) mark(first deps.TaskID, at uint32) {
	for i := s.seen; i < at; i++ {
		if s.list[i].ID == first+deps.TaskID(i) {
			s.late[i/64] |= 1 << (i % 64) // it may be over by now
			s.lately++
		}
	}
}

func (s *sheet) sweepLate(take func(*Brief)) (n int) {
	for i := range s.late {
		for left := s.late[i]; left != 0; left &= left - 1 {
			at := bits.TrailingZeros64(left)
			if b := &s.list[64*i+at]; b.isOver() {
				take(b)
				s.late[i] &^= 1 << at
				s.lately--
				n++
			}
		}
	}
	return n
}
