package run

import (
	"cmp"
	"iter"
	"math"
	"math/bits"
	"slices"
	"time"

	"github.com/gompss/gompss/deps"
	"github.com/gompss/gompss/trace/probe"
)

// mostShift is the logarithm of how many elements a block has at most.
const mostShift = 12

// rows are tasks in columns, in blocks: a simple task takes 52 bytes. Blocks are only added to, so
// that a copy shares them.
//
// Invariant: a number is that of a block, shifted, and of an element in it; order has the numbers
// of all tasks that are not hidden, by id, after finish.
type rows struct {
	blocks []block
	shared int     // the first blocks, that others see too: nothing is added to them
	idle   []block // memory for more
	order  []uint32
	spare  []uint32
	shift  uint8       // of the numbers; 0 is mostShift
	first  deps.TaskID // after finish, the id of the first task
	dense  bool        // and whether each id is one more than the one before
}

// A block is tasks, as they came.
type block struct {
	ids, lasts                []deps.TaskID
	submit, ready, start, end []time.Duration
	choice, launch, release   column[time.Duration] // choice from start on, release from end on
	parent                    column[deps.TaskID]
	missing, bytes            column[deps.Bytes]
	what                      []uint16 // of described
	described                 []Class
	numbers                   map[Class]uint16
	recent                    [16]uint16 // by worker: most tasks are like the one before
	newest                    deps.TaskID
}

// A Class has the properties that many tasks have in common.
type Class struct {
	Kernel, Label, Variant, Err string
	Place, Worker               int16
	Tokens                      int32
	Short, Skipped              bool
}

// A column has the values of a field that is 0 in most blocks: those behind its end are.
type column[T ~int64 | ~uint64] struct{ values []T }

func (c *column[T]) add(i int, v T) {
	if v == 0 {
		return
	}
	for len(c.values) < i {
		c.values = append(c.values, 0)
	}
	c.values = append(c.values, v)
}

func (c *column[T]) at(i int) T {
	if i < len(c.values) {
		return c.values[i]
	}
	return 0
}

// shiftFor returns the shift of numbers for runs with a limit: what lies in a block goes together.
func shiftFor(limit int) uint8 {
	shift := uint8(mostShift)
	for shift > 4 && limit > 0 && limit>>3 < 1<<shift {
		shift--
	}
	return shift
}

func shiftOf(shift uint8) uint8 {
	if shift == 0 {
		return mostShift
	}
	return shift
}

// len returns how many tasks there are, those that finish will hide among them.
func (r *rows) len() (n int) {
	for i := range r.blocks {
		n += len(r.blocks[i].ids)
	}
	return n
}

// add appends a task.
func (r *rows) add(t *probe.Task) {
	n := len(r.blocks)
	if n == r.shared || len(r.blocks[n-1].ids) == 1<<shiftOf(r.shift) {
		r.blocks = append(r.blocks, r.room())
		n++
	}
	r.blocks[n-1].add(t)
}

// room returns an empty block; all but the first will be filled.
func (r *rows) room() (b block) {
	if n := len(r.idle); n > 0 {
		b, r.idle = r.idle[n-1], r.idle[:n-1]
		return b
	}
	if len(r.blocks) == 0 {
		return b
	}
	n := 1 << shiftOf(r.shift)
	ids, times := make([]deps.TaskID, 2*n), make([]time.Duration, 4*n)
	return block{ids: ids[:0:n], lasts: ids[n : n : 2*n], submit: times[:0:n], ready: times[n : n : 2*n], start: times[2*n : 2*n : 3*n], end: times[3*n : 3*n : 4*n], what: make([]uint16, 0, n)}
}

// reset empties b, which keeps its memory.
func (b *block) reset() {
	for _, list := range []*[]deps.TaskID{&b.ids, &b.lasts, &b.parent.values} {
		*list = (*list)[:0]
	}
	for _, list := range []*[]time.Duration{&b.submit, &b.ready, &b.start, &b.end, &b.choice.values, &b.launch.values, &b.release.values} {
		*list = (*list)[:0]
	}
	clear(b.described) // of its strings
	b.missing.values, b.bytes.values, b.what, b.described = b.missing.values[:0], b.bytes.values[:0], b.what[:0], b.described[:0]
	clear(b.numbers)
	b.newest = 0
}

func (b *block) add(t *probe.Task) {
	i := len(b.ids)
	b.ids, b.lasts = append(b.ids, t.ID), append(b.lasts, t.Last)
	b.submit, b.ready, b.start, b.end = append(b.submit, t.Submit), append(b.ready, t.Ready), append(b.start, t.Start), append(b.end, t.End)
	b.choice.add(i, t.Choice-t.Start)
	b.launch.add(i, t.Launch)
	b.release.add(i, t.Release-t.End)
	b.parent.add(i, t.Parent)
	b.missing.add(i, t.Missing)
	b.bytes.add(i, t.Bytes)
	b.what = append(b.what, b.describe(t))
	b.newest = max(b.newest, t.ID)
}

// describe returns the number of the class of a task.
func (b *block) describe(t *probe.Task) uint16 {
	d := Class{t.Kernel, t.Label, t.Variant, t.Err, t.Place, t.Worker, t.Tokens, t.Short, t.Skipped}
	recent := &b.recent[int(uint16(t.Worker))%len(b.recent)]
	if int(*recent) < len(b.described) && b.described[*recent] == d {
		return *recent
	}
	n, ok := b.numbers[d]
	if !ok {
		if b.numbers == nil {
			b.numbers = map[Class]uint16{}
		}
		n = uint16(len(b.described))
		b.numbers[d], b.described = n, append(b.described, d)
	}
	*recent = n
	return n
}

// find returns where the i-th task is. Requires: finish.
func (r *rows) find(i int) (*block, int) {
	shift, n := shiftOf(r.shift), r.order[i]
	return &r.blocks[n>>shift], int(n & (1<<shift - 1))
}

// row returns the i-th task where it is. Requires: finish.
func (r *rows) row(i int) Row {
	b, k := r.find(i)
	return Row{b, k}
}

// id returns the id of the i-th task. Requires: finish.
func (r *rows) id(i int) deps.TaskID {
	if r.dense {
		return r.first + deps.TaskID(i)
	}
	return r.row(i).ID()
}

// finish puts the tasks in order, each once, and returns how many it hides: those up to the oldest.
func (r *rows) finish(oldest deps.TaskID) (hidden int64) {
	shift := shiftOf(r.shift)
	id := func(n uint32) uint64 { return uint64(r.blocks[n>>shift].ids[n&(1<<shift-1)]) }
	order := r.order[:0]
	if n := r.len(); cap(order) < n {
		order = make([]uint32, 0, n)
	}
	for i := range r.blocks {
		for k, id := range r.blocks[i].ids {
			if id > oldest || oldest == 0 {
				order = append(order, uint32(i)<<shift|uint32(k))
			} else {
				hidden++
			}
		}
	}
	r.order, r.spare = sorted(order, r.spare, func(n *uint32) uint64 { return id(*n) })
	r.order = slices.CompactFunc(r.order, func(a, b uint32) bool { return id(a) == id(b) }) // a damaged file may have one twice
	r.dense = false
	if n := len(r.order); n > 0 {
		r.first = r.row(0).ID()
		r.dense = r.row(n-1).ID()-r.first == deps.TaskID(n-1)
	}
	return hidden
}

// forget drops the blocks that have only tasks up to the oldest. It returns how many these are, and
// the earliest submission of a task after the oldest.
func (r *rows) forget(oldest deps.TaskID) (gone int64, since time.Duration) {
	since = math.MaxInt64
	n := len(r.blocks)
	r.blocks = slices.DeleteFunc(r.blocks, func(b block) bool {
		if len(b.ids) > 0 && b.newest <= oldest {
			gone += int64(len(b.ids))
			return true
		}
		for i, id := range b.ids {
			if id > oldest {
				since = min(since, b.submit[i])
			}
		}
		return false
	})
	if r.shared > 0 {
		r.shared -= n - len(r.blocks)
	}
	r.order, r.dense = r.order[:0], false
	return gone, since
}

// after returns how many tasks have a larger id.
func (r *rows) after(oldest deps.TaskID) (n int) {
	for i := range r.blocks {
		for _, id := range r.blocks[i].ids {
			if id > oldest {
				n++
			}
		}
	}
	return n
}

// newest returns the largest id.
func (r *rows) newest() (id deps.TaskID) {
	for i := range r.blocks {
		id = max(id, r.blocks[i].newest)
	}
	return id
}

// copyOf is from, in the memory of r.
func (r *rows) copyOf(from *rows) rows {
	idle := r.idle
	for _, b := range r.blocks[r.shared:] {
		b.reset()
		idle = append(idle, b)
	}
	blocks := append(r.blocks[:0], from.blocks...)
	return rows{blocks: blocks, shared: len(blocks), idle: idle, order: r.order[:0], spare: r.spare, shift: from.shift}
}

// sorted returns list in order of a key, equals as they were, and memory for the next time: that of
// spare, or of list where spare is used. The elements are large: each moves once.
func sorted[T any](list, spare []T, key func(*T) uint64) (out, rest []T) {
	lo, hi, inOrder := uint64(math.MaxUint64), uint64(0), true
	for i := range list {
		k := key(&list[i])
		inOrder = inOrder && k >= hi
		lo, hi = min(lo, k), max(hi, k)
	}
	if inOrder {
		return list, spare
	}
	if cap(spare) < len(list) {
		spare = make([]T, 0, cap(list))
	}
	out = spare[:len(list)]
	if hi-lo < 4*uint64(len(list)) {
		deal(out, list, key, lo, int(hi-lo)+1)
	} else {
		place(out, list, key)
	}
	return out, list
}

// deal puts list in order of keys that are nearly dense: n of them from lo on.
func deal[T any](out, list []T, key func(*T) uint64, lo uint64, n int) {
	at := make([]int32, n+1)
	for i := range list {
		at[key(&list[i])-lo+1]++
	}
	for k := range n {
		at[k+1] += at[k]
	}
	for i := range list {
		to := &at[key(&list[i])-lo]
		out[*to] = list[i]
		*to++
	}
}

// place puts list in order of any keys: numbers are sorted in the place of the elements.
func place[T any](out, list []T, key func(*T) uint64) {
	for i, at := range byKey(len(list), func(i int) uint64 { return key(&list[i]) }) {
		out[i] = list[at]
	}
}

// byKey returns the numbers from 0 to n in order of their keys, equals as they were.
func byKey(n int, key func(i int) uint64) iter.Seq2[int, int] {
	words := make([]uint64, n)
	lo, hi := uint64(math.MaxUint64), uint64(0)
	for i := range words {
		words[i] = key(i)
		lo, hi = min(lo, words[i]), max(hi, words[i])
	}
	shift := bits.Len(uint(n))
	if n > 0 && bits.Len64(hi-lo)+shift > 64 { // key and number do not fit in a word
		return byWideKey(words)
	}
	for i := range words {
		words[i] = (words[i]-lo)<<shift | uint64(i)
	}
	slices.Sort(words)
	return func(yield func(i, at int) bool) {
		for i, w := range words {
			if !yield(i, int(w&(1<<shift-1))) {
				return
			}
		}
	}
}

// byTime is byKey of times, which are negative in damaged files only.
func byTime(n int, at func(i int) time.Duration) iter.Seq2[int, int] {
	return byKey(n, func(i int) uint64 { return uint64(at(i)) ^ 1<<63 })
}

func byWideKey(keys []uint64) iter.Seq2[int, int] {
	order := make([]int, len(keys))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(keys[a], keys[b]) })
	return slices.All(order)
}
