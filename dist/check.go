package dist

import (
	"encoding/binary"
	"fmt"
	"math/bits"
	"sync"

	"github.com/gompss/gompss/deps"
	"github.com/gompss/gompss/internal/goid"
	"github.com/gompss/gompss/task"
)

// This file checks control replication: that all ranks submit the same. A running hash of the
// submissions is compared at intervals, with each heartbeat and at each wait. Where it differs, the
// logs of the two ranks show the first submission that does.

const (
	ring     = 4096             // entries of a log
	logged   = ring - maxRecent // submissions whose text is kept
	interval = 256              // submissions between two reports to rank 0

	// maxRecent is the number of submissions up to which the log need not have them. It divides
	// interval.
	maxRecent = 64
)

// A logEntry is one submission.
type logEntry struct {
	hash  uint64 // of it and all before it
	name  string
	block task.BlockAccess // the first access of a blockEntry
	other *deps.Access     // of another one, whose Buffer is the number of that
	rank  int32
	kind  entryKind
}

// An entryKind says where a logEntry has the first access of its submission.
type entryKind uint8

const (
	noAccess entryKind = iota
	blockEntry
	otherEntry
)

// A submissionLog is what a rank has submitted.
type submissionLog struct {
	recent recentSubmissions

	mu       sync.Mutex
	sequence uint64
	hash     uint64
	buffers  []*buffer // of the directory
	marks    []uint64  // the hash at each multiple of interval

	// entries has submission n at n % ring. Those up to sequence are guarded by mu, the maxRecent
	// after it belong to the submitting goroutine.
	entries []logEntry
}

// recentSubmissions counts the latest submissions, which are in entries but not yet in the log.
// They belong to the submitting goroutine: it adds one without a lock, and all of them to the log
// with one.
type recentSubmissions struct {
	submitter uintptr // the goroutine, as goid.Of tells it apart
	hash      uint64  // after the latest
	lastName  string  // of the latest, and its hash
	lastHash  uint64
	count     uint64
	next      uint64 // the number of the next one
}

// mix joins a word to a hash.
func mix(h, x uint64) uint64 {
	hi, lo := bits.Mul64(h^x, 0x9e3779b97f4a7c15)
	return hi ^ lo ^ h<<7
}

func mixText(h uint64, s string) uint64 {
	h = mix(h, uint64(len(s)))
	for len(s) >= 8 {
		h = mix(h, uint64(s[0])|uint64(s[1])<<8|uint64(s[2])<<16|uint64(s[3])<<24|uint64(s[4])<<32|uint64(s[5])<<40|uint64(s[6])<<48|uint64(s[7])<<56)
		s = s[8:]
	}
	for i := range len(s) {
		h = mix(h, uint64(s[i]))
	}
	return h
}

// noteBuffer adds a distributed buffer and its owners to the hash.
func (l *submissionLog) noteBuffer(name string, n, elem int, owners []int32, b *buffer) {
	h := mix(mix(mixText(l.recent.hash, name), uint64(n)), uint64(elem))
	for _, rank := range owners {
		h = mix(h, uint64(rank))
	}
	l.recent.hash = h
	l.mu.Lock()
	defer l.mu.Unlock()
	l.buffers = append(l.buffers, b)
}

// nameHash returns the hash of a submission's name and rank. That of its accesses is added to it.
func (r *recentSubmissions) nameHash(name string, rank int32) uint64 {
	if name != r.lastName {
		r.lastName, r.lastHash = name, mixText(0, name)
	}
	return r.lastHash + uint64(uint32(rank))
}

// intervalHash returns the hash of elements [lo, hi) of a buffer, which has a number from 1 on.
func intervalHash(number int32, lo, hi int64) uint64 {
	high, low := bits.Mul64(uint64(lo)^0xff51afd7ed558ccd, uint64(hi)^0xc4ceb9fe1a85ec53^uint64(number)<<40)
	return high ^ low
}

// joinAccess joins the hash of a region that is accessed in a mode to those before it.
func joinAccess(h uint64, mode deps.Mode, region uint64) uint64 {
	return bits.RotateLeft64(h, 23) + region*(2*uint64(mode)+1)
}

// add adds a submission whose hash is h, and returns its entry, of which the caller writes the
// first access. Requires: fewer than maxRecent are recent.
func (l *submissionLog) add(name string, rank int32, h uint64) *logEntry {
	r := &l.recent
	r.hash = mix(r.hash, h)
	r.next++
	r.count++
	e := &l.entries[r.next%ring]
	e.hash, e.rank, e.name = r.hash, rank, name
	return e
}

// lock begins a submission, or what stands between two: it locks mu, and flushes. The goroutine
// that calls it is the submitting one from now on; another one may have been before, where the
// program has ordered the two.
func (w *World) lock() {
	w.mu.Lock()
	w.flush()
	w.log.recent.submitter = goid.Of()
}

// flush adds the recent submissions to the log, and reports to rank 0 at intervals. Requires: mu
// held, by the submitting goroutine.
func (w *World) flush() {
	w.counted.Tasks = w.directory.sequence
	if w.log.recent.count == 0 {
		return
	}
	if sequence, hash, due := w.log.flush(); due && w.size > 1 {
		w.control.report(sequence, hash)
	}
}

// flush adds the recent submissions. Where a multiple of interval is among them it is due, to be
// reported.
func (l *submissionLog) flush() (sequence, hash uint64, due bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	marked := l.sequence / interval
	l.sequence, l.hash = l.recent.next, l.recent.hash
	l.recent.count = 0
	if now := l.sequence / interval; now != marked {
		sequence, due = now*interval, true
		hash = l.entries[sequence%ring].hash
		l.marks = append(l.marks, hash)
	}
	return sequence, hash, due
}

// regionHash returns the hash of a region of a buffer, which has a number from 1 on.
func regionHash(r *deps.Region, number int32) uint64 {
	if lo, hi := r.Bounds(); r.Contiguous() {
		return intervalHash(number, lo, hi)
	}
	h := mix(uint64(number), uint64(r.Offset))
	for k := range r.N {
		h = mix(mix(h, uint64(r.Dims[k].Count)), uint64(r.Dims[k].Stride))
	}
	return h
}

// note adds a submission to the log. Requires: mu held.
func (w *World) note(name string, rank int32, accesses []deps.Access) {
	r := &w.log.recent
	if r.count == maxRecent {
		w.flush()
	}
	h := uint64(0)
	for i := range accesses {
		if a := &accesses[i]; a.Region.N > 0 {
			h = joinAccess(h, a.Mode, regionHash(&a.Region, w.directory.byID[a.Region.Buffer]))
		}
	}
	e := w.log.add(name, rank, r.nameHash(name, rank)+h)
	e.kind = noAccess
	if len(accesses) > 0 && accesses[0].Region.N > 0 {
		e.kind = otherEntry
		if e.other == nil {
			e.other = new(deps.Access)
		}
		*e.other = accesses[0]
		e.other.Region.Buffer = deps.BufferID(w.directory.byID[accesses[0].Region.Buffer] - 1)
	}
	w.flush()
}

// at returns the hash after a submission; known is false where it is not kept, or not there yet.
func (l *submissionLog) at(sequence uint64) (hash uint64, known, later bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case sequence == 0:
		return 0, false, false
	case sequence > l.sequence:
		return 0, false, true
	case sequence+logged > l.sequence && l.entries[sequence%ring].name != "":
		return l.entries[sequence%ring].hash, true, false
	case sequence%interval == 0:
		return l.marks[sequence/interval-1], true, false
	}
	return 0, false, false
}

// now returns the last submission and the hash after it.
func (l *submissionLog) now() (sequence, hash uint64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.sequence == 0 {
		return 0, 0
	}
	return l.sequence, l.entries[l.sequence%ring].hash
}

// text describes a submission.
func (l *submissionLog) text(sequence uint64) string {
	e := &l.entries[sequence%ring]
	s := fmt.Sprintf("%s #%d", e.name, sequence)
	switch e.kind {
	case blockEntry:
		number := e.block.Block()
		lo, hi := l.buffers[number>>32].elementsOf(number)
		s += fmt.Sprintf(" (%s %v)", e.block.Mode(), deps.Interval(deps.BufferID(number>>32), lo, hi))
	case otherEntry:
		s += fmt.Sprintf(" (%s %v)", e.other.Mode, e.other.Region)
	}
	return fmt.Sprintf("%s on rank %d", s, e.rank)
}

// pack writes what the log keeps as a message: sequence, hash and text of each submission.
func (l *submissionLog) pack(message []byte) []byte {
	l.mu.Lock()
	defer l.mu.Unlock()
	first := uint64(1)
	if l.sequence > logged {
		first = l.sequence - logged + 1
	}
	for n := first; n <= l.sequence; n++ {
		e := &l.entries[n%ring]
		text := l.text(n)
		message = binary.LittleEndian.AppendUint64(message, n)
		message = binary.LittleEndian.AppendUint64(message, e.hash)
		message = binary.LittleEndian.AppendUint32(message, uint32(len(text)))
		message = append(message, text...)
	}
	return message
}

// A DivergenceError means that two ranks did not submit the same.
type DivergenceError struct {
	Sequence     uint64 // the first submission that differs, from 1; 0 where it is not known any more
	Rank, Other  int
	Mine, Theirs string
}

func (e *DivergenceError) Error() string {
	return fmt.Sprintf("dist: the ranks do not submit the same: rank %d submitted %s, rank %d %s", e.Rank, e.Mine, e.Other, e.Theirs)
}

// compare finds the first difference between this log and that of another rank, as pack has written
// it; nil where there is none.
func (w *World) compare(other int, message []byte) *DivergenceError {
	l := &w.log
	l.mu.Lock()
	defer l.mu.Unlock()
	last, lastText, seen := uint64(0), "", false
	for len(message) >= 20 {
		n, hash := binary.LittleEndian.Uint64(message), binary.LittleEndian.Uint64(message[8:])
		size := int(binary.LittleEndian.Uint32(message[16:]))
		text := string(message[20 : 20+size])
		message = message[20+size:]
		last, lastText = n, text
		if n > l.sequence {
			return &DivergenceError{n, w.rank, other, fmt.Sprintf("nothing after #%d", l.sequence), text}
		}
		if n+logged <= l.sequence {
			continue
		}
		e := &l.entries[n%ring]
		if e.hash == hash {
			seen = true
			continue
		}
		if !seen && n > 1 {
			return &DivergenceError{0, w.rank, other, fmt.Sprintf("something else before #%d", n), "something else too long ago to be named, or distributed other buffers"}
		}
		mine := l.text(n)
		if mine == text {
			mine += " after other calls of Distribute, or with other accesses"
		}
		return &DivergenceError{n, w.rank, other, mine, text}
	}
	if last < l.sequence {
		return &DivergenceError{last + 1, w.rank, other, l.text(last + 1), fmt.Sprintf("nothing after #%d (%s)", last, lastText)}
	}
	return nil
}
