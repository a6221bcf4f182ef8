package record

import (
	"time"

	"github.com/gompss/gompss/deps"
	"github.com/gompss/gompss/trace/probe"
)

// What is recorded of a task before it ends lies in rings of words: a head and what it counts. A
// ring of details would be several times as much memory to write, which is most of the price.
//
//	head        task (48 bits), sort (8), count (8)
//	accesses    each buffer (48), mode (8), dimensions (7), near (1); then, near: first element (32),
//	            number of elements (32), contiguous; else three words: first element, number of
//	            elements, last element
//	near waits  each the distance to a predecessor (32), two a word
//	far waits   each a predecessor, a word
//	candidates  each place (16), flags (8), and the five values of a Detail
type words = ring[uint64]

const (
	wordAccesses = iota + 1
	wordNear
	wordFar
	wordCandidates

	mostCounted     = 255
	candidateWords  = 6
	waitsOfDetail   = len(Detail{}.Values)
	nearBit         = 1 << 7
	mostNear        = 1<<32 - 1
	mostAccessWords = 4
)

func head(id deps.TaskID, sort, n int) uint64 {
	return uint64(id)<<16 | uint64(sort)<<8 | uint64(n)
}

// isNear reports whether a is some elements side by side that two halves of a word describe.
func isNear(a *deps.Access) bool {
	r := &a.Region
	return r.N == 1 && (r.Dims[0].Stride == 1 || r.Dims[0].Count == 1) && uint64(r.Offset) <= mostNear && uint64(r.Dims[0].Count) <= mostNear
}

// firstWord says buffer, mode and dimensions; near that two words say all.
func firstWord(a *deps.Access) uint64 {
	return uint64(a.Region.Buffer)<<16 | uint64(a.Mode)<<8 | uint64(a.Region.N)
}
func near(a *deps.Access) uint64 { return firstWord(a) | nearBit }

// accessWords returns how many words putAccesses writes.
func accessWords(list []deps.Access) (n int) {
	if len(list) == 0 {
		return 0
	}
	n = 1
	for i := range list {
		if n += 2; !isNear(&list[i]) {
			n += mostAccessWords - 2
		}
	}
	return n
}

// putAccesses writes accesses, at most mostCounted of them, from at on.
func putAccesses(r *words, at int64, id deps.TaskID, list []deps.Access) {
	if len(list) == 0 {
		return
	}
	*r.slot(at) = head(id, wordAccesses, len(list))
	at++
	for i := range list {
		a := &list[i]
		if isNear(a) {
			*r.slot(at), *r.slot(at + 1) = near(a), uint64(a.Region.Offset)<<32|uint64(a.Region.Dims[0].Count)
			at += 2
			continue
		}
		n, last := extent(&a.Region)
		*r.slot(at), *r.slot(at + 1), *r.slot(at + 2), *r.slot(at + 3) = firstWord(a), uint64(a.Region.Offset), uint64(n), uint64(last)
		at += mostAccessWords
	}
}

// extent returns the number of elements of a region, and its last element.
func extent(r *deps.Region) (n, last int64) {
	n, last = 1, r.Offset
	for _, dim := range r.Dims[:r.N] {
		last += (dim.Count - 1) * dim.Stride
		n *= dim.Count
	}
	return n, last
}

// detailOfAccess returns the detail that takeWords makes of what putAccesses writes.
func detailOfAccess(id deps.TaskID, a *deps.Access) Detail {
	n, last := extent(&a.Region)
	return Detail{Task: id, What: Accesses, Count: a.Region.N, Mode: a.Mode, Values: [6]int64{int64(a.Region.Buffer), a.Region.Offset, n, last}}
}

// nearWaits reports whether all distances from a task to its predecessors fit in half a word.
func nearWaits(id deps.TaskID, list []deps.TaskID) bool {
	for _, p := range list {
		if uint64(id-p) > mostNear {
			return false
		}
	}
	return true
}

// waitWords returns how many words putWaits writes for n predecessors.
func waitWords(n int, near bool) int {
	switch {
	case n == 0:
		return 0
	case near:
		return 1 + (n+1)/2
	}
	return 1 + n
}

func putWaits(r *words, at int64, id deps.TaskID, list []deps.TaskID, near bool) {
	switch {
	case len(list) == 0:
	case near:
		putNear(r, at, id, list)
	default:
		putFar(r, at, id, list)
	}
}

// putNear writes predecessors, at most mostCounted of them, from at on: 1 + half of them words.
func putNear(r *words, at int64, id deps.TaskID, list []deps.TaskID) {
	*r.slot(at) = head(id, wordNear, len(list))
	for at++; len(list) > 1; at++ {
		*r.slot(at) = uint64(id-list[0]) | uint64(id-list[1])<<32
		list = list[2:]
	}
	if len(list) == 1 {
		*r.slot(at) = uint64(id - list[0])
	}
}

func putFar(r *words, at int64, id deps.TaskID, list []deps.TaskID) {
	*r.slot(at) = head(id, wordFar, len(list))
	for i, p := range list {
		*r.slot(at + 1 + int64(i)) = uint64(p)
	}
}

// putCandidates writes candidates, at most mostCounted of them, from at on.
func putCandidates(r *words, at int64, id deps.TaskID, list []probe.Candidate) {
	*r.slot(at) = head(id, wordCandidates, len(list))
	at++
	for i := range list {
		c := &list[i]
		flags := uint64(0)
		if c.Meant {
			flags |= 1
		}
		if c.Known {
			flags |= 2
		}
		for k, v := range [candidateWords]uint64{uint64(uint16(c.Place))<<8 | flags, uint64(c.Missing), uint64(c.Run), uint64(c.Ahead), uint64(both(c.Queued, c.Load)), uint64(both(c.Need, c.Free))} {
			*r.slot(at + int64(k)) = v
		}
		at += candidateWords
	}
}

// A wordReader reads the content of a ring of words.
type wordReader struct {
	r  *words
	at int64
}

func (w *wordReader) next() uint64 {
	w.at++
	return *w.r.slot(w.at - 1)
}

// takeWords appends details that are in a ring to out until there are most of them or a few more,
// and frees their words. It returns false when the ring is empty.
func takeWords(r *words, out []Detail, most int) ([]Detail, bool) {
	w, to := wordReader{r, int64(r.tail.Load())}, int64(r.written())
	for w.at < to && len(out) < most {
		out = w.details(out)
	}
	r.tail.Store(uint64(w.at))
	return out, w.at < to
}

// details appends those of one head.
func (w *wordReader) details(out []Detail) []Detail {
	first := w.next()
	id, n := deps.TaskID(first>>16), int(first&mostCounted)
	switch first >> 8 & 255 {
	case wordAccesses:
		for range n {
			out = append(out, Detail{})
			w.access(&out[len(out)-1], id)
		}
	case wordCandidates:
		for range n {
			out = append(out, w.candidate(id))
		}
	case wordNear:
		out = w.waits(out, id, n, true)
	case wordFar:
		out = w.waits(out, id, n, false)
	default:
		panic("gompss: bug: trace: a ring holds words of no sort")
	}
	return out
}

// access fills in a zero detail. Values: buffer, first element, elements, last element.
func (w *wordReader) access(d *Detail, id deps.TaskID) {
	first, second := w.next(), w.next()
	d.Task, d.What, d.Count, d.Mode, d.Values[0] = id, Accesses, uint8(first&(nearBit-1)), deps.Mode(first>>8), int64(first>>16)
	if first&nearBit != 0 {
		from, n := int64(second>>32), int64(uint32(second))
		d.Values[1], d.Values[2], d.Values[3] = from, n, from+n-1
		return
	}
	d.Values[1], d.Values[2], d.Values[3] = int64(second), int64(w.next()), int64(w.next())
}

// candidate returns a detail. Values: bytes missing, expected running time, time that the place has
// to do before it, queued and load in 32 bits each, tokens needed and left in 32 bits each; Count
// has the flags.
func (w *wordReader) candidate(id deps.TaskID) Detail {
	first := w.next()
	d := Detail{Task: id, What: Candidate, Count: uint8(first), Place: int16(first >> 8)}
	for k := range candidateWords - 1 {
		d.Values[k] = int64(w.next())
	}
	return d
}

// waits appends details of n predecessors.
func (w *wordReader) waits(out []Detail, id deps.TaskID, n int, near bool) []Detail {
	for word := uint64(0); n > 0; {
		out = append(out, Detail{})
		d, k := &out[len(out)-1], min(n, waitsOfDetail)
		d.Task, d.What, d.Count = id, Waits, uint8(k)
		for i := range k { // a detail holds an even number: word is used up with it
			switch {
			case !near:
				d.Values[i] = int64(w.next())
			case i%2 == 0:
				word = w.next()
				d.Values[i] = int64(id) - int64(uint32(word))
			default:
				d.Values[i] = int64(id) - int64(word>>32)
			}
		}
		n -= k
	}
	return out
}

// Candidate returns the arguments of putCandidates.
func (d *Detail) Candidate() probe.Candidate {
	c := probe.Candidate{Place: d.Place, Meant: d.Count&1 != 0, Known: d.Count&2 != 0, Missing: deps.Bytes(d.Values[0]), Run: time.Duration(d.Values[1]), Ahead: time.Duration(d.Values[2])}
	c.Queued, c.Load = apart(d.Values[3])
	c.Need, c.Free = apart(d.Values[4])
	return c
}

func both(a, b int32) int64      { return int64(a)<<32 | int64(uint32(b)) }
func apart(v int64) (a, b int32) { return int32(v >> 32), int32(v) }
