package record

import (
	"encoding/binary"
	"math/bits"
	"time"

	"github.com/gompss/gompss/deps"
	"github.com/gompss/gompss/trace/probe"
)

// The payload of a block of packed tasks: records dropped so far, the number of tasks and their place (varints), then each task behind the one
// before it. A task is seven numbers, and the words of its brief (8 bytes each, as probe.Brief has them). The lengths of the numbers in bytes
// come first, half a byte each in 4 bytes; to write and read a number takes no decision that way.
//
//	0  task, from the one before
//	1  worker (16 bits), predecessors (8), accesses (4), words (4)
//	2  last predecessor, from the task back; 0 for none
//	3  submit, from that of the task before
//	4  ready, from submit
//	5  start, from ready
//	6  end, from start
//
// Numbers from 3 on are signed, as 0 is: zigzag.
const (
	packedNumbers = 7
	mostPacked    = 4 + 8*packedNumbers + 8*8 // bytes of a task
)

func zigzag(v int64) uint64   { return uint64(v<<1) ^ uint64(v>>63) }
func unzigzag(v uint64) int64 { return int64(v>>1) ^ -int64(v&1) }

// encodePacked returns the payload of a block of packed tasks, which is good until the next call.
func (e *encoder) encodePacked(b *Batch) []byte {
	p := &b.Packed
	out := binary.AppendUvarint(e.out[:0], b.Dropped)
	out = binary.AppendUvarint(out, uint64(p.tasks))
	out = binary.AppendVarint(out, int64(p.place))
	var id, submit int64
	at := len(out)
	for words := p.words; len(words) > 0; {
		n := length(words)
		if cap(out)-at < mostPacked+8 {
			more := make([]byte, at, 2*cap(out)+1<<12)
			copy(more, out[:at])
			out = more
		}
		at += putPacked(out[at:at+mostPacked+8], words[:n], id, submit)
		id, submit = int64(words[0]>>16), int64(words[2])
		words = words[n:]
	}
	e.out = out[:at]
	return e.out
}

// putPacked writes a task and returns how many bytes it takes; to is a little longer than that.
func putPacked(to []byte, words []uint64, id, submit int64) int {
	back := uint64(0)
	if last := words[1] >> 16; last != 0 {
		back = words[0]>>16 - last
	}
	at, lengths := 4, uint64(0)
	at, lengths = putNumber(to, at, lengths, 0, zigzag(int64(words[0]>>16)-id))
	at, lengths = putNumber(to, at, lengths, 1, words[1]&0xffff<<16|words[0]&0xffff)
	at, lengths = putNumber(to, at, lengths, 2, back)
	at, lengths = putNumber(to, at, lengths, 3, zigzag(int64(words[2])-submit))
	at, lengths = putNumber(to, at, lengths, 4, zigzag(int64(words[3]-words[2])))
	at, lengths = putNumber(to, at, lengths, 5, zigzag(int64(words[4]-words[3])))
	at, lengths = putNumber(to, at, lengths, 6, zigzag(int64(words[5]-words[4])))
	binary.LittleEndian.PutUint32(to, uint32(lengths))
	for _, w := range words[packedHead:] {
		binary.LittleEndian.PutUint64(to[at:], w)
		at += 8
	}
	return at
}

// putNumber writes number i, and its length among those of the others.
func putNumber(to []byte, at int, lengths uint64, i int, v uint64) (int, uint64) {
	n := uint(bits.Len64(v)+7) / 8
	binary.LittleEndian.PutUint64(to[at:], v)
	return at + int(n), lengths | uint64(n)<<(4*i)
}

// decodePacked reads a payload of packed tasks.
func decodePacked(payload []byte) (*Batch, error) {
	d := &decoder{rest: payload}
	b := &Batch{Dropped: d.u()}
	n := d.count()
	b.Packed.place = int16(d.i())
	var before [packedHead]uint64
	for ; n > 0 && d.err == nil; n-- {
		d.packed(&b.Packed, &before)
	}
	if len(d.rest) > 0 {
		d.fail()
	}
	return b, d.err
}

// packed reads the task that follows before over it.
func (d *decoder) packed(to *Packed, before *[packedHead]uint64) {
	lengths := d.fixed(4)
	var v [packedNumbers]uint64
	for i := range v {
		v[i] = d.fixed(int(lengths >> (4 * i) & 15))
	}
	before[0] = uint64(int64(before[0]>>16)+unzigzag(v[0]))<<16 | v[1]&0xffff
	id := before[0] >> 16
	before[1] = v[1] >> 16 & 0xffff
	if v[2] != 0 {
		before[1] |= (id - v[2]) << 16
	}
	before[2] += uint64(unzigzag(v[3]))
	for i := range 3 {
		before[3+i] = before[2+i] + uint64(unzigzag(v[4+i]))
	}
	from := len(to.words)
	to.words = append(to.words, before[:]...)
	for range before[0] & 15 {
		to.words = append(to.words, d.fixed(8))
	}
	if d.err == nil && !wellFormed(to.words[from:]) {
		d.fail()
	}
	if d.err != nil {
		to.words = to.words[:from]
		return
	}
	to.count(1, deps.TaskID(id), deps.TaskID(id), time.Duration(before[2]))
}

// fixed reads a number of so many bytes, at most 8.
func (d *decoder) fixed(n int) (v uint64) {
	if n > 8 || n > len(d.rest) {
		d.fail()
		return 0
	}
	for i := range n {
		v |= uint64(d.rest[i]) << (8 * i)
	}
	d.rest = d.rest[n:]
	return v
}

// wellFormed reports whether the words of a task hold what its head says and no more.
func wellFormed(words []uint64) bool {
	rest := words[packedHead:]
	for range words[0] >> 4 & 15 {
		var ok bool
		if _, _, _, _, rest, ok = probe.UnpackAccess(rest); !ok {
			return false
		}
	}
	return len(rest) == (int(words[0]>>8&255)+1)/2
}
