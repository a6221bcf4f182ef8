package record

import (
	"encoding/binary"
	"math/bits"
	"time"

	"github.com/gompss/gompss/deps"
	"github.com/gompss/gompss/trace/probe"
)

// The payload of a block of packed tasks: records dropped so far, the number of tasks and their
// place (varints), then each task behind the one before it. A task is seven numbers, and the words
// of its brief (8 bytes each, as probe.Brief has them):
//
//	0  task, from the one before
//	1  predecessors (8 bits), accesses (4), words (4); worker (16)
//	2  last predecessor, from the task back; 0 for none
//	3  submit, from that of the task before
//	4  ready, from submit
//	5  start, from ready
//	6  end, from start
//
// Mostly that is three words: 0 (8 bits, zigzag), the first half of 1 without what is 0 in it (13),
// worker (8), 0 (2), 1 (1), 2 (32); 3 (zigzag) and 4; 5 and 6. To write that takes one decision.
// What does not fit is 4 bytes with the lengths of the numbers, half a byte each, and the numbers
// in as many bytes; those from 3 on are signed, as 0 is: zigzag.
const (
	packedNumbers = 7
	shortTask     = 24 // bytes of one that fits
	shortBit      = 1 << 31
	shapeBits     = 13
	mostPacked    = 4 + 8*packedNumbers + 8*8 // bytes of a task
)

func zigzag(v int64) uint64   { return uint64(v<<1) ^ uint64(v>>63) }
func unzigzag(v uint64) int64 { return int64(v>>1) ^ -int64(v&1) }

// appendPacked appends the payload of a block of packed tasks.
func appendPacked(out []byte, b *Batch) []byte {
	p := &b.Packed
	out = binary.AppendUvarint(out, b.Dropped)
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
	return out[:at]
}

// putPacked writes a task and returns how many bytes it takes; to is a little longer than that.
func putPacked(to []byte, words []uint64, id, submit int64) int {
	back := uint64(0)
	if last := words[1] >> 16; last != 0 {
		back = words[0]>>16 - last
	}
	from, shape, worker := zigzag(int64(words[0]>>16)-id), words[0]&0xffff, words[1]&0xffff
	late, ready, start, end := zigzag(int64(words[2])-submit), words[3]-words[2], words[4]-words[3], words[5]-words[4]
	at := shortTask
	if (from|worker)>>8|shape>>shapeBits|(back|late|ready|start|end)>>32 == 0 {
		binary.LittleEndian.PutUint64(to, from|shape<<8|worker<<(8+shapeBits)|shortBit|back<<32)
		binary.LittleEndian.PutUint64(to[8:], late|ready<<32)
		binary.LittleEndian.PutUint64(to[16:], start|end<<32)
	} else {
		at = putNumbers(to, [packedNumbers]uint64{from, shape | worker<<16, back, late, zigzag(int64(ready)), zigzag(int64(start)), zigzag(int64(end))})
	}
	for _, w := range words[packedHead:] {
		binary.LittleEndian.PutUint64(to[at:], w)
		at += 8
	}
	return at
}

func putNumbers(to []byte, numbers [packedNumbers]uint64) int {
	at, lengths := 4, uint32(0)
	for i, v := range numbers {
		n := (bits.Len64(v) + 7) / 8
		binary.LittleEndian.PutUint64(to[at:], v)
		at += n
		lengths |= uint32(n) << (4 * i)
	}
	binary.LittleEndian.PutUint32(to, lengths)
	return at
}

// decodePacked reads a payload of packed tasks into an empty batch.
func (d *decoder) decodePacked(b *Batch, payload []byte) error {
	d.rest, d.err = payload, nil
	b.Dropped = d.u()
	n := d.count()
	b.Packed.place = int16(d.i())
	var before [packedHead]uint64
	for ; n > 0 && d.err == nil; n-- {
		d.packed(&b.Packed, &before)
	}
	if len(d.rest) > 0 {
		d.fail()
	}
	return d.err
}

// packed reads the task that follows before over it.
func (d *decoder) packed(to *Packed, before *[packedHead]uint64) {
	v := d.numbers()
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

// numbers reads those of a task.
func (d *decoder) numbers() (v [packedNumbers]uint64) {
	first := d.fixed(4)
	if first&shortBit != 0 {
		v[0], v[1] = first&0xff, first>>8&(1<<shapeBits-1)|first>>(8+shapeBits)&0xff<<16
		for i := 2; i < len(v); i++ {
			if v[i] = d.fixed(4); i > 3 {
				v[i] <<= 1 // as in the zigzag form of numbers that are not negative
			}
		}
		return v
	}
	for i := range v {
		v[i] = d.fixed(int(first >> (4 * i) & 15))
	}
	return v
}

// fixed reads a number of so many bytes, at most 8.
func (d *decoder) fixed(n int) (v uint64) {
	if n > 8 || n > len(d.rest) {
		d.fail()
		return 0
	}
	if len(d.rest) >= 8 {
		v = binary.LittleEndian.Uint64(d.rest) & (1<<(8*n) - 1)
	} else {
		for i := range n {
			v |= uint64(d.rest[i]) << (8 * i)
		}
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
