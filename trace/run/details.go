package run

import (
	"encoding/binary"
	"iter"
	"slices"
	"sort"

	"github.com/gompss/gompss/deps"
	"github.com/gompss/gompss/trace/record"
)

// details are the details of tasks as text, in blocks; most take 6 to 12 bytes. A group is those of
// a task that came together. Blocks are shared and numbered as those of rows are.
type details struct {
	blocks []detailBlock
	shared int
	idle   []detailBlock
	order  []uint32 // the groups, by task, after finish
	spare  []uint32
	shift  uint8
	tally
}

// A tally is how many details there are.
type tally struct {
	count  int
	extra  int // that say which tasks others waited for, beyond the first of a group
	waits  int // predecessors that they name
	inside int // that say whose body submitted a task
}

// add adds the numbers of another tally so many times.
func (t *tally) add(o tally, times int) {
	t.count, t.extra, t.waits, t.inside = t.count+times*o.count, t.extra+times*o.extra, t.waits+times*o.waits, t.inside+times*o.inside
}

// A detailBlock is groups, as they came.
type detailBlock struct {
	tasks  []deps.TaskID // of each group
	begins []uint32      // of each group, in text
	text   []byte
	kind   record.DetailKind // of the last detail
	newest deps.TaskID
	tally
}

// add appends a detail.
func (l *details) add(d *record.Detail) {
	n := len(l.blocks)
	continues := n > l.shared && len(l.blocks[n-1].tasks) > 0 && l.blocks[n-1].tasks[len(l.blocks[n-1].tasks)-1] == d.Task
	if !continues && (n == l.shared || len(l.blocks[n-1].tasks) == 1<<shiftOf(l.shift)) {
		l.blocks = append(l.blocks, l.room())
		n++
	}
	b, one := &l.blocks[n-1], tally{count: 1}
	switch {
	case !continues:
		b.tasks, b.begins = append(b.tasks, d.Task), append(b.begins, uint32(len(b.text)))
		b.newest = max(b.newest, d.Task)
	case d.What == record.Waits && b.kind == record.Waits:
		one.extra = 1
	}
	switch d.What {
	case record.Waits:
		one.waits = int(d.Count)
	case record.Inside:
		one.inside = 1
	}
	b.kind = d.What
	b.text = appendDetail(b.text, d)
	b.tally.add(one, 1)
	l.tally.add(one, 1)
}

func (l *details) room() (b detailBlock) {
	if n := len(l.idle); n > 0 {
		b, l.idle = l.idle[n-1], l.idle[:n-1]
		return b
	}
	if len(l.blocks) > 0 {
		n := 1 << shiftOf(l.shift)
		b.tasks, b.begins, b.text = make([]deps.TaskID, 0, n), make([]uint32, 0, n), make([]byte, 0, 24*n)
	}
	return b
}

// appendDetail appends the text of a detail: its kind, count, mode and place, which of its values
// are not 0, and these. Predecessors are distances from the task, and the last element of an access
// is one from where its length puts it.
func appendDetail(text []byte, d *record.Detail) []byte {
	v := distances(d, d.Values)
	mask := byte(0)
	for i, x := range v {
		if x != 0 {
			mask |= 1 << i
		}
	}
	text = append(text, byte(d.What), d.Count, byte(d.Mode), mask)
	text = binary.AppendVarint(text, int64(d.Place))
	for _, x := range v {
		if x != 0 {
			text = binary.AppendVarint(text, x)
		}
	}
	return text
}

// distances takes values of d to what is written of them, and back.
func distances(d *record.Detail, v [6]int64) [6]int64 {
	switch d.What {
	case record.Waits:
		for i := range min(int(d.Count), len(v)) {
			v[i] = int64(d.Task) - v[i]
		}
	case record.Accesses:
		v[3] = v[1] + v[2] - 1 - v[3]
	}
	return v
}

// detailAt reads the detail of a task at the front of text into d, and returns the rest.
func detailAt(text []byte, task deps.TaskID, d *record.Detail) []byte {
	*d = record.Detail{Task: task, What: record.DetailKind(text[0]), Count: text[1], Mode: deps.Mode(text[2])}
	mask := text[3]
	place, n := binary.Varint(text[4:])
	d.Place, text = int16(place), text[4+n:]
	var v [6]int64
	for i := range v {
		if mask&(1<<i) != 0 {
			v[i], n = binary.Varint(text)
			text = text[n:]
		}
	}
	d.Values = distances(d, v)
	return text
}

// waitsIn appends the predecessors that the text of a group names.
func waitsIn(out []deps.TaskID, text []byte, task deps.TaskID) []deps.TaskID {
	for len(text) > 0 {
		kind, count, mask := record.DetailKind(text[0]), int(text[1]), text[3]
		text = text[4:]
		for text[0] >= 0x80 { // the place
			text = text[1:]
		}
		text = text[1:]
		for i := range 6 {
			v, n := int64(0), 0
			if mask&(1<<i) != 0 {
				v, n = binary.Varint(text)
				text = text[n:]
			}
			if kind == record.Waits && i < count {
				out = append(out, task-deps.TaskID(v))
			}
		}
	}
	return out
}

// group returns the task and the text of the k-th group by task. Requires: finish.
func (l *details) group(k int) (deps.TaskID, []byte) {
	shift, n := shiftOf(l.shift), l.order[k]
	b, i := &l.blocks[n>>shift], int(n&(1<<shift-1))
	end := uint32(len(b.text))
	if i+1 < len(b.begins) {
		end = b.begins[i+1]
	}
	return b.tasks[i], b.text[b.begins[i]:end]
}

func (l *details) taskOf(k int) deps.TaskID {
	shift, n := shiftOf(l.shift), l.order[k]
	return l.blocks[n>>shift].tasks[n&(1<<shift-1)]
}

// all returns all details, by task; each is good until the next. Requires: finish.
func (l *details) all() iter.Seq[*record.Detail] {
	return func(yield func(*record.Detail) bool) {
		var d record.Detail
		for k := range l.order {
			for task, text := l.group(k); len(text) > 0; {
				if text = detailAt(text, task, &d); !yield(&d) {
					return
				}
			}
		}
	}
}

// of returns the details of a task. Requires: finish.
func (l *details) of(id deps.TaskID) (list []record.Detail) {
	k := sort.Search(len(l.order), func(k int) bool { return l.taskOf(k) >= id })
	for ; k < len(l.order) && l.taskOf(k) == id; k++ {
		list = l.appendGroup(list, k)
	}
	return list
}

func (l *details) appendGroup(list []record.Detail, k int) []record.Detail {
	for task, text := l.group(k); len(text) > 0; {
		list = append(list, record.Detail{})
		text = detailAt(text, task, &list[len(list)-1])
	}
	return list
}

// finish puts the groups in order, but for those of tasks up to the oldest.
func (l *details) finish(oldest deps.TaskID) {
	shift := shiftOf(l.shift)
	order := l.order[:0]
	for i := range l.blocks {
		order = slices.Grow(order, len(l.blocks[i].tasks))
		for k, task := range l.blocks[i].tasks {
			if task > oldest || oldest == 0 {
				order = append(order, uint32(i)<<shift|uint32(k))
			}
		}
	}
	l.order, l.spare = sorted(order, l.spare, func(n *uint32) uint64 { return uint64(l.blocks[*n>>shift].tasks[*n&(1<<shift-1)]) })
}

// forget drops the blocks that have only details of tasks up to the oldest.
func (l *details) forget(oldest deps.TaskID) {
	n := len(l.blocks)
	l.blocks = slices.DeleteFunc(l.blocks, func(b detailBlock) bool {
		if len(b.tasks) == 0 || b.newest > oldest {
			return false
		}
		l.tally.add(b.tally, -1)
		return true
	})
	if l.shared > 0 {
		l.shared -= n - len(l.blocks)
	}
	l.order = l.order[:0]
}

// size returns how many bytes the details take.
func (l *details) size() (n int) {
	for i := range l.blocks {
		n += len(l.blocks[i].text) + 12*len(l.blocks[i].tasks)
	}
	return n
}

// copyOf is from, in the memory of l.
func (l *details) copyOf(from *details) details {
	idle := l.idle
	for _, b := range l.blocks[l.shared:] {
		idle = append(idle, detailBlock{tasks: b.tasks[:0], begins: b.begins[:0], text: b.text[:0]})
	}
	blocks := append(l.blocks[:0], from.blocks...)
	return details{blocks: blocks, shared: len(blocks), idle: idle, order: l.order[:0], spare: l.spare, shift: from.shift, tally: from.tally}
}

// addAll appends the details of a list.
func (l *details) addAll(list []record.Detail) {
	for i := range list {
		l.add(&list[i])
	}
}
