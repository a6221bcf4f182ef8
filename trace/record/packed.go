package record

import (
	"time"

	"github.com/gompss/gompss/deps"
	"github.com/gompss/gompss/trace/probe"
)

// Packed is tasks of which a probe.Brief says all, with what they touch and wait for, in few words.
// Sinks that keep them, or write them, do that as they are; Batch.Unpack makes tasks and details of
// them.
//
// A task is six words, and those of its brief behind them:
//
//	task (48 bits), words of the brief (4), accesses (4), predecessors (8)
//	last predecessor (48), worker (16)
//	submit, ready, start, end; start is 0 where only the words count
type Packed struct {
	words []uint64
	tasks int
	first deps.TaskID   // the smallest id
	last  deps.TaskID   // the largest
	since time.Duration // the earliest submission
	place int16         // of all of them
}

const packedHead = 6

// Len returns how many tasks there are.
func (p *Packed) Len() int { return p.tasks }

// IDs returns the smallest and the largest id of a task.
func (p *Packed) IDs() (first, last deps.TaskID) { return p.first, p.last }

// Since returns the earliest submission of a task.
func (p *Packed) Since() time.Duration { return p.since }

// Words returns how many words they take.
func (p *Packed) Words() int { return len(p.words) }

// Place returns where they ran.
func (p *Packed) Place() int16 { return p.place }

// Append appends the tasks of other, which ran at the same place.
func (p *Packed) Append(other *Packed) {
	if other.tasks == 0 {
		return
	}
	p.words = append(p.words, other.words...)
	p.count(other.tasks, other.first, other.last, other.since)
}

// Takes reports whether Append of other needs no memory.
func (p *Packed) Takes(other *Packed) bool {
	return p.place == other.place && cap(p.words)-len(p.words) >= len(other.words)
}

// NewPacked returns room for so many words, of tasks that ran at a place.
func NewPacked(words int, place int16) Packed {
	return Packed{words: make([]uint64, 0, words), place: place}
}

// Reset empties p, which continues with its memory, for tasks that ran at a place.
func (p *Packed) Reset(place int16) {
	p.clear()
	p.place = place
}

func (p *Packed) clear() { p.words, p.tasks = p.words[:0], 0 }

// Add appends a task that has finished.
func (p *Packed) Add(b *probe.Brief) {
	p.count(1, b.ID, b.ID, b.Submit)
	n := len(p.words)
	if cap(p.words)-n < packedHead+len(b.Words) {
		p.grow()
	}
	to := p.words[n : n+packedHead+len(b.Words)]
	to[0] = uint64(b.ID)<<16 | uint64(b.Waited)<<8 | uint64(b.Touched)<<4 | uint64(b.Filled)
	to[1] = uint64(b.Last)<<16 | uint64(uint16(b.Worker))
	to[2], to[3], to[4], to[5] = uint64(b.Submit), uint64(b.Ready), uint64(b.Start), uint64(max(b.Start, b.End))
	for i := range b.Filled {
		to[packedHead+i] = b.Words[i&7]
	}
	p.words = p.words[:n+packedHead+int(b.Filled)]
}

// count counts n tasks more.
func (p *Packed) count(n int, first, last deps.TaskID, since time.Duration) {
	if p.tasks == 0 {
		p.first, p.last, p.since = first, last, since
	}
	p.tasks += n
	p.first, p.last, p.since = min(p.first, first), max(p.last, last), min(p.since, since)
}

func (p *Packed) grow() {
	more := make([]uint64, len(p.words), 2*cap(p.words)+largestBatch*packedHead)
	copy(more, p.words)
	p.words = more
}

// length returns how many words the task at the front of words takes.
func length(words []uint64) int { return packedHead + int(words[0]&15) }

// Unpack makes tasks and details of the packed records of b.
func (b *Batch) Unpack() {
	for words := b.Packed.words; len(words) > 0; {
		n := length(words)
		b.unpack(words[:n:n], b.Packed.place)
		words = words[n:]
	}
	b.Packed.clear()
}

// unpack appends one task, and its details. What is left over in words says nothing: they come from
// a Brief, or were checked by wellFormed.
func (b *Batch) unpack(words []uint64, place int16) {
	id, last := deps.TaskID(words[0]>>16), deps.TaskID(words[1]>>16)
	if start := time.Duration(words[4]); start != 0 {
		b.Tasks = append(b.Tasks, probe.Task{})
		t := &b.Tasks[len(b.Tasks)-1]
		t.ID, t.Last, t.Worker, t.Place = id, last, int16(words[1]), place
		t.Submit, t.Ready, t.Choice, t.Start, t.End = time.Duration(words[2]), time.Duration(words[3]), start, start, time.Duration(words[5])
		t.Release = t.End
	}
	touched, waited := int(words[0]>>4&15), int(words[0]>>8&255)
	words = words[packedHead:]
	for range touched {
		mode, buffer, first, n, rest, ok := probe.UnpackAccess(words)
		if !ok {
			return
		}
		b.Details = append(b.Details, Detail{Task: id, What: Accesses, Count: 1, Mode: mode, Values: [6]int64{int64(buffer), first, n, first + n - 1}})
		words = rest
	}
	for k := 0; k < min(waited, 2*len(words)); k++ {
		if k%waitsOfDetail == 0 {
			b.Details = append(b.Details, Detail{Task: id, What: Waits})
		}
		d := &b.Details[len(b.Details)-1]
		d.Values[d.Count] = int64(id) - int64(uint32(words[k/2]>>(k%2*32)))
		d.Count++
	}
}
