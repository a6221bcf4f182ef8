package record

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"time"

	"github.com/gompss/gompss/deps"
	"github.com/gompss/gompss/trace/probe"
)

// The file: the 8 bytes of magic, the version (2 bytes), then blocks. All fixed numbers are
// little-endian.
//
//	block    mark (4 bytes), kind (1), length of the payload (4), CRC-32C of both (4), payload
//	machine  kind 1: probe.Machine as JSON; the first block
//	batch    kind 2: a Batch, see encode
//	end      kind 3: Totals as JSON; the last block of a run that was closed
//	packed   kind 4: the Packed of a Batch, see appendPacked
//	losses   kind 5: Losses since the start, as JSON; the last one counts
//
// In a batch numbers are varints, signed ones zigzag, times nanoseconds; strings are numbers of the
// table at its front; so a block can be read without those before it. Kinds that a reader does not
// know are skipped and counted. A change that an older reader would misread raises Version.
const (
	magic = "GOMPSSTR"
	mark  = "\xf5GTB"
	// Version 1 had no explanations and learned times, 2 no packed tasks, 3 no bytes of kernels; all
	// are read as before.
	Version = 4

	machineBlock = 1
	batchBlock   = 2
	endBlock     = 3
	packedBlock  = 4
	lossesBlock  = 5

	blockHead  = 13
	blockLimit = 64 << 20
)

// Totals are what the last block of a file says, to check the rest against. What is packed counts
// among Tasks, and its details nowhere.
type Totals struct {
	Tasks   uint64
	Details uint64
	Points  uint64
	Dropped uint64
}

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// appendBlock appends a block.
func appendBlock(out []byte, kind byte, payload []byte) []byte {
	at := len(out)
	out = append(appendHead(out, kind), payload...)
	return sealBlock(out, at)
}

// appendHead appends the head of a block whose payload is to follow; sealBlock fills it in.
func appendHead(out []byte, kind byte) []byte {
	var rest [blockHead - len(mark) - 1]byte
	return append(append(append(out, mark...), kind), rest[:]...)
}

// sealBlock completes the block that begins at an index and ends where out does.
func sealBlock(out []byte, at int) []byte {
	head, payload := out[at:at+blockHead], out[at+blockHead:]
	binary.LittleEndian.PutUint32(head[5:], uint32(len(payload)))
	binary.LittleEndian.PutUint32(head[9:], crc32.Update(crc32.Checksum(head[4:5], castagnoli), castagnoli, payload))
	return out
}

// An encoder makes the payloads of batches. It is used again, and keeps its memory.
type encoder struct {
	body    []byte
	out     []byte
	ids     map[string]uint64
	strings []string
	recent  [4]recentText // the strings of tasks repeat
}

type recentText struct {
	text string
	id   uint64
	ok   bool
}

func (e *encoder) u(v uint64)        { e.body = binary.AppendUvarint(e.body, v) }
func (e *encoder) i(v int64)         { e.body = binary.AppendVarint(e.body, v) }
func (e *encoder) d(v time.Duration) { e.i(int64(v)) }
func (e *encoder) error(err error)   { e.text(errorText(err)) }
func (e *encoder) flag(b bool, n byte) byte {
	if b {
		return n
	}
	return 0
}

// text encodes a string as its number in the table.
func (e *encoder) text(s string) {
	id, ok := e.ids[s]
	if !ok {
		id = uint64(len(e.strings))
		e.ids[s] = id
		e.strings = append(e.strings, s)
	}
	e.u(id)
}

// repeated is text for field n of a task.
func (e *encoder) repeated(n int, s string) {
	if x := &e.recent[n]; !x.ok || x.text != s {
		e.text(s)
		*x = recentText{s, e.ids[s], true}
	} else {
		e.u(x.id)
	}
}

func errorText(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

// encode returns the payload of b, which is good until the next call.
func (e *encoder) encode(b *Batch) []byte {
	if e.ids == nil {
		e.ids = map[string]uint64{}
	}
	clear(e.ids)
	e.recent = [4]recentText{}
	e.strings, e.body = e.strings[:0], e.body[:0]
	e.u(b.Dropped)
	e.u(uint64(len(b.Tasks)))
	var last probe.Task
	for i := range b.Tasks {
		e.task(&b.Tasks[i], &last)
		last = b.Tasks[i]
	}
	e.u(uint64(len(b.Details)))
	task := deps.TaskID(0)
	for i := range b.Details {
		e.detail(&b.Details[i], task)
		task = b.Details[i].Task
	}
	e.u(uint64(len(b.Points)))
	for i := range b.Points {
		e.point(&b.Points[i])
	}
	e.out = binary.AppendUvarint(e.out[:0], uint64(len(e.strings)))
	for _, s := range e.strings {
		e.out = binary.AppendUvarint(e.out, uint64(len(s)))
		e.out = append(e.out, s...)
	}
	return append(e.out, e.body...)
}

// task encodes t behind the task before it: times as distances along its life.
func (e *encoder) task(t, before *probe.Task) {
	e.i(int64(t.ID) - int64(before.ID))
	e.i(int64(t.ID) - int64(t.Last))
	e.d(t.Submit - before.Submit)
	e.d(t.Ready - t.Submit)
	e.d(t.Choice - t.Ready)
	e.d(t.Launch)
	e.d(t.Start - t.Choice)
	e.d(t.End - t.Start)
	e.d(t.Release - t.End)
	e.i(int64(t.Missing))
	e.repeated(0, t.Kernel)
	e.repeated(1, t.Label)
	e.repeated(2, t.Variant)
	e.repeated(3, t.Err)
	e.i(int64(t.Place))
	e.i(int64(t.Worker))
	e.i(int64(t.Tokens))
	e.body = append(e.body, e.flag(t.Short, 1)|e.flag(t.Skipped, 2)|e.flag(t.Bytes != 0, 4))
	if t.Bytes != 0 {
		e.i(int64(t.Bytes))
	}
}

func (e *encoder) detail(d *Detail, before deps.TaskID) {
	e.i(int64(d.Task) - int64(before))
	e.body = append(e.body, byte(d.What), d.Count, byte(d.Mode))
	e.i(int64(d.Place))
	for _, v := range d.Values {
		e.i(v)
	}
}

func (e *encoder) point(p *probe.Point) {
	e.body = append(e.body, byte(p.Kind), e.flag(p.Hit, 1))
	e.u(uint64(p.Task))
	e.u(uint64(p.Other))
	e.d(p.Begin)
	e.d(p.Time - p.Begin)
	if p.Kind == probe.Phase { // it has no kernel
		e.text(p.Label)
	} else {
		e.text(p.Kernel)
	}
	e.text(p.Device)
	e.text(p.From)
	e.text(p.To)
	if p.Kind == probe.Explain { // it has no error
		e.text(p.Label)
	} else {
		e.error(p.Err)
	}
	e.i(int64(p.Bytes))
	e.u(uint64(p.Region.Buffer))
	e.i(p.Region.Offset)
	e.body = append(e.body, p.Region.N)
	for _, d := range p.Region.Dims[:p.Region.N] {
		e.i(d.Count)
		e.i(d.Stride)
	}
	if p.Kind == probe.Learn {
		l := p.Learned
		if l == nil {
			l = &probe.Learned{}
		}
		e.i(l.Samples)
		e.d(l.Middle)
		e.d(l.Least)
		e.d(l.Most)
	}
}

// A decoder reads payloads of batches. It never panics: after the first error in one everything is
// 0. It is used again, and keeps its memory.
type decoder struct {
	rest    []byte
	strings []string
	err     error
}

var errMalformed = errors.New("malformed batch")

func (d *decoder) fail() { d.err, d.rest = errMalformed, nil }

func (d *decoder) u() uint64 {
	if len(d.rest) > 0 && d.rest[0] < 0x80 { // most numbers are small
		v := d.rest[0]
		d.rest = d.rest[1:]
		return uint64(v)
	}
	v, n := binary.Uvarint(d.rest)
	if n <= 0 {
		d.fail()
		return 0
	}
	d.rest = d.rest[n:]
	return v
}

func (d *decoder) i() int64 { return unzigzag(d.u()) }

func (d *decoder) d() time.Duration { return time.Duration(d.i()) }

func (d *decoder) byte() byte {
	if len(d.rest) == 0 {
		d.fail()
		return 0
	}
	b := d.rest[0]
	d.rest = d.rest[1:]
	return b
}

// count reads the number of things that take at least one byte each.
func (d *decoder) count() int {
	n := d.u()
	if n > uint64(len(d.rest)) {
		d.fail()
		return 0
	}
	return int(n)
}

func (d *decoder) text() string {
	id := d.u()
	if id >= uint64(len(d.strings)) {
		d.fail()
		return ""
	}
	return d.strings[id]
}

// decode reads a payload into an empty batch; known strings are shared through names.
func (d *decoder) decode(b *Batch, payload []byte, names map[string]string) error {
	d.rest, d.err, d.strings = payload, nil, d.strings[:0]
	for n := d.count(); n > 0 && d.err == nil; n-- {
		size := d.count()
		s, ok := names[string(d.rest[:size])]
		if !ok {
			s = string(d.rest[:size])
			names[s] = s
		}
		d.rest = d.rest[size:]
		d.strings = append(d.strings, s)
	}
	b.Dropped = d.u()
	var last probe.Task
	for n := d.count(); n > 0 && d.err == nil; n-- {
		d.task(&last)
		b.Tasks = append(b.Tasks, last)
	}
	task := deps.TaskID(0)
	for n := d.count(); n > 0 && d.err == nil; n-- {
		b.Details = append(b.Details, d.detail(&task))
	}
	for n := d.count(); n > 0 && d.err == nil; n-- {
		b.Points = append(b.Points, d.point())
	}
	if d.err == nil && len(d.rest) > 0 {
		d.err = fmt.Errorf("%w: %d bytes too many", errMalformed, len(d.rest))
	}
	return d.err
}

// task reads the task that follows t over it.
func (d *decoder) task(t *probe.Task) {
	n := probe.Task{ID: deps.TaskID(int64(t.ID) + d.i())}
	n.Last = deps.TaskID(int64(n.ID) - d.i())
	n.Submit = t.Submit + d.d()
	n.Ready = n.Submit + d.d()
	n.Choice = n.Ready + d.d()
	n.Launch = d.d()
	n.Start = n.Choice + d.d()
	n.End = n.Start + d.d()
	n.Release = n.End + d.d()
	n.Missing = deps.Bytes(d.i())
	n.Kernel, n.Label, n.Variant, n.Err = d.text(), d.text(), d.text(), d.text()
	n.Place, n.Worker, n.Tokens = int16(d.i()), int16(d.i()), int32(d.i())
	flags := d.byte()
	n.Short, n.Skipped = flags&1 != 0, flags&2 != 0
	if flags&4 != 0 {
		n.Bytes = deps.Bytes(d.i())
	}
	*t = n
}

func (d *decoder) detail(task *deps.TaskID) Detail {
	*task = deps.TaskID(int64(*task) + d.i())
	x := Detail{Task: *task, What: DetailKind(d.byte()), Count: d.byte(), Mode: deps.Mode(d.byte()), Place: int16(d.i())}
	for i := range x.Values {
		x.Values[i] = d.i()
	}
	x.Count = min(x.Count, uint8(len(x.Values)))
	return x
}

func (d *decoder) point() probe.Point {
	p := probe.Point{Kind: probe.Kind(d.byte()), Hit: d.byte()&1 != 0, Task: deps.TaskID(d.u()), Other: deps.TaskID(d.u())}
	p.Begin = d.d()
	p.Time = p.Begin + d.d()
	p.Kernel, p.Device, p.From, p.To = d.text(), d.text(), d.text(), d.text()
	if p.Kind == probe.Phase {
		p.Label, p.Kernel = p.Kernel, ""
	}
	if text := d.text(); p.Kind == probe.Explain {
		p.Label = text
	} else if text != "" {
		p.Err = errors.New(text)
	}
	p.Bytes = deps.Bytes(d.i())
	p.Region.Buffer = deps.BufferID(d.u())
	p.Region.Offset = d.i()
	p.Region.N = min(d.byte(), deps.MaxDims)
	for i := range p.Region.Dims[:p.Region.N] {
		p.Region.Dims[i] = deps.Dim{Count: d.i(), Stride: d.i()}
	}
	if p.Kind == probe.Learn {
		p.Learned = &probe.Learned{Samples: d.i(), Middle: d.d(), Least: d.d(), Most: d.d()}
	}
	return p
}
