package dist

import (
	"encoding/binary"
	"fmt"
	"math/bits"
	"sync"

	"github.com/gompss/gompss/deps"
	"github.com/gompss/gompss/task"
)

// This file checks control replication: that all ranks submit the same. A running hash of the
// submissions is compared at intervals, with each heartbeat and at each wait. Where it differs, the
// logs of the two ranks show the first submission that does.

const (
	logged   = 4096 // submissions whose text is kept
	interval = 256  // submissions between two reports to rank 0
)

// A logEntry is one submission.
type logEntry struct {
	hash   uint64 // of it and all before it
	name   string
	rank   int32
	access deps.Access // the first; empty where there is none
	number int32       // of its buffer
}

// A submissionLog is what a rank has submitted.
type submissionLog struct {
	mu       sync.Mutex
	sequence uint64
	hash     uint64
	lastName string // of the latest submission, and its hash
	lastHash uint64
	entries  []logEntry // of submission n at n % logged
	marks    []uint64   // the hash at each multiple of interval
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
func (l *submissionLog) noteBuffer(name string, n, elem int, owners []int32) {
	l.mu.Lock()
	defer l.mu.Unlock()
	h := mix(mix(mixText(l.hash, name), uint64(n)), uint64(elem))
	for _, rank := range owners {
		h = mix(h, uint64(rank))
	}
	l.hash = h
}

// mixStart and mixAccess are the parts of the hash of a submission: its name and rank, and the
// interval [lo, hi) of each access.
func (l *submissionLog) mixStart(name string, rank int32) uint64 {
	if name != l.lastName {
		l.lastName, l.lastHash = name, mixText(0, name)
	}
	return mix(l.hash, l.lastHash+uint64(uint32(rank)))
}

func mixInterval(h uint64, mode deps.Mode, number int32, lo, hi int64) uint64 {
	return mix(h, uint64(lo)*0xff51afd7ed558ccd+uint64(hi)*0xc4ceb9fe1a85ec53+uint64(mode)<<56+uint64(number)<<32)
}

// noteSkipped is note for a task whose accesses are intervals. Requires: w.mu held.
func (w *World) noteSkipped(name string, rank int32, spans []task.Span) {
	h := w.log.mixStart(name, rank)
	for i := range spans {
		s := &spans[i]
		h = mixInterval(h, s.Mode, w.directory.byID[s.Buffer], s.Lo, s.Hi)
	}
	e, due := w.log.next(h)
	e.name, e.rank, e.access.Region.N = name, rank, 0
	if len(spans) > 0 {
		s := &spans[0]
		e.access.SetInterval(s.Buffer, s.Lo, s.Hi, s.Mode)
		e.number = w.directory.byID[s.Buffer] - 1
	}
	sequence := w.log.sequence
	w.log.mu.Unlock()
	if due && w.size > 1 {
		w.control.report(sequence, h)
	}
}

// next takes the entry of the next submission, with its hash. It leaves mu locked.
func (l *submissionLog) next(h uint64) (e *logEntry, due bool) {
	l.mu.Lock()
	if l.entries == nil {
		l.entries = make([]logEntry, logged)
	}
	l.sequence++
	l.hash = h
	e = &l.entries[l.sequence%logged]
	e.hash = h
	due = l.sequence%interval == 0
	if due {
		l.marks = append(l.marks, h)
	}
	return e, due
}

// note adds a submission to the log, and reports to rank 0 at intervals. Requires: w.mu held.
func (w *World) note(name string, rank int32, accesses []deps.Access) {
	l := &w.log
	h := l.mixStart(name, rank)
	for i := range accesses {
		r := &accesses[i].Region
		if r.N == 0 {
			continue
		}
		number := w.directory.byID[r.Buffer]
		if lo, hi := r.Bounds(); r.Contiguous() {
			h = mixInterval(h, accesses[i].Mode, number, lo, hi)
			continue
		}
		h = mix(h, uint64(accesses[i].Mode)<<32|uint64(number))
		h = mix(h, uint64(r.Offset))
		for k := range r.N {
			h = mix(mix(h, uint64(r.Dims[k].Count)), uint64(r.Dims[k].Stride))
		}
	}
	e, due := l.next(h)
	e.name, e.rank, e.access.Region.N = name, rank, 0
	if len(accesses) > 0 {
		e.access, e.number = accesses[0], w.directory.byID[accesses[0].Region.Buffer]-1
	}
	sequence := l.sequence
	l.mu.Unlock()
	if due && w.size > 1 {
		w.control.report(sequence, h)
	}
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
	case sequence+logged > l.sequence && l.entries[sequence%logged].name != "":
		return l.entries[sequence%logged].hash, true, false
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
	return l.sequence, l.entries[l.sequence%logged].hash
}

// text describes a submission.
func (e *logEntry) text(sequence uint64) string {
	s := fmt.Sprintf("%s #%d", e.name, sequence)
	if e.access.Region.N > 0 {
		r := e.access.Region
		r.Buffer = deps.BufferID(e.number)
		s += fmt.Sprintf(" (%s %v)", e.access.Mode, r)
	}
	return fmt.Sprintf("%s on rank %d", s, e.rank)
}

// pack writes what the log keeps as a message: sequence, hash and text of each submission.
func (w *World) pack(message []byte) []byte {
	l := &w.log
	l.mu.Lock()
	defer l.mu.Unlock()
	first := uint64(1)
	if l.sequence > logged {
		first = l.sequence - logged + 1
	}
	for n := first; n <= l.sequence; n++ {
		e := &l.entries[n%logged]
		text := e.text(n)
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
		e := &l.entries[n%logged]
		if e.hash == hash {
			seen = true
			continue
		}
		if !seen && n > 1 {
			return &DivergenceError{0, w.rank, other, fmt.Sprintf("something else before #%d", n), "something else too long ago to be named, or distributed other buffers"}
		}
		mine := e.text(n)
		if mine == text {
			mine += " after other calls of Distribute, or with other accesses"
		}
		return &DivergenceError{n, w.rank, other, mine, text}
	}
	if last < l.sequence {
		return &DivergenceError{last + 1, w.rank, other, l.entries[(last+1)%logged].text(last + 1), fmt.Sprintf("nothing after #%d (%s)", last, lastText)}
	}
	return nil
}
