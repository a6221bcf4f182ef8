package run

import (
	"math"
	"slices"
	"time"

	"github.com/gompss/gompss/deps"
	"github.com/gompss/gompss/trace/record"
)

// packs are tasks with their details as they came.
type packs struct {
	list   []record.Packed
	idle   []record.Packed // memory for more
	copied bool            // a copy may refer to the elements of list
}

// packedWords is how many words of packed tasks are kept together, or more where they come
// together.
const packedWords = 1 << 13

// add appends the records of one batch.
func (k *packs) add(p *record.Packed) {
	n := len(k.list)
	if n == 0 || !k.list[n-1].Takes(p) {
		k.list = append(k.list, k.room(p))
		n++
	}
	k.list[n-1].Append(p)
}

// room returns room for p, or more.
func (k *packs) room(p *record.Packed) record.Packed {
	if n := len(k.idle); n > 0 {
		x := k.idle[n-1]
		k.idle = k.idle[:n-1]
		if x.Reset(p.Place()); x.Takes(p) {
			return x
		}
	}
	return record.NewPacked(max(packedWords, p.Words()), p.Place())
}

// len returns how many tasks there are.
func (k *packs) len() (n int) {
	for i := range k.list {
		n += k.list[i].Len()
	}
	return n
}

// newest returns the largest id.
func (k *packs) newest() (id deps.TaskID) {
	for i := range k.list {
		_, last := k.list[i].IDs()
		id = max(id, last)
	}
	return id
}

// after returns how many tasks have a larger id, or a few less.
func (k *packs) after(oldest deps.TaskID) (n int) {
	for i := range k.list {
		if first, _ := k.list[i].IDs(); first > oldest {
			n += k.list[i].Len()
		}
	}
	return n
}

// forget drops what has only tasks up to the oldest, and returns how many these are and the
// earliest submission of the rest.
func (k *packs) forget(oldest deps.TaskID) (gone int64, since time.Duration) {
	since = math.MaxInt64
	k.list = slices.DeleteFunc(k.list, func(p record.Packed) bool {
		if _, last := p.IDs(); last > oldest {
			since = min(since, p.Since())
			return false
		}
		gone += int64(p.Len())
		if !k.copied {
			k.idle = append(k.idle, p)
		}
		return true
	})
	return gone, since
}

// copyOf is from, in the memory of k: what list points to is only added to from now on.
func (k *packs) copyOf(from *packs) packs {
	from.copied = true
	return packs{list: append(k.list[:0], from.list...), copied: true}
}
