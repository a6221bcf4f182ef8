package record

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"io"

	"github.com/gompss/gompss/trace/probe"
)

// A Writer is a Sink that writes a trace file.
type Writer struct {
	w      io.Writer
	closer io.Closer
	e      encoder
	block  []byte
	totals Totals
}

// NewWriter returns a sink that writes to w; Close closes it when it is an io.Closer.
func NewWriter(w io.Writer) *Writer {
	c, _ := w.(io.Closer)
	return &Writer{w: w, closer: c}
}

// Open writes the head of the file.
func (w *Writer) Open(m *probe.Machine) error {
	text, err := json.Marshal(m)
	if err != nil {
		return fmt.Errorf("trace: write: %w", err)
	}
	head := binary.LittleEndian.AppendUint16([]byte(magic), Version)
	return w.write(appendBlock(head, machineBlock, text))
}

// Take writes one block, or one more for what is packed.
func (w *Writer) Take(b *Batch) error {
	w.totals.Tasks += uint64(len(b.Tasks) + b.Packed.tasks)
	w.totals.Details += uint64(len(b.Details))
	w.totals.Points += uint64(len(b.Points))
	w.totals.Dropped = b.Dropped
	w.block = w.block[:0]
	if b.Lost != nil {
		text, err := json.Marshal(b.Lost)
		if err != nil {
			return fmt.Errorf("trace: write: %w", err)
		}
		if w.block = appendBlock(w.block, lossesBlock, text); b.Len() == 0 {
			return w.write(w.block)
		}
	}
	if b.Len() > b.Packed.tasks || b.Packed.tasks == 0 {
		w.block = appendBlock(w.block, batchBlock, w.e.encode(b))
	}
	if b.Packed.tasks > 0 {
		at := len(w.block)
		w.block = sealBlock(appendPacked(appendHead(w.block, packedBlock), b), at)
	}
	return w.write(w.block)
}

// Close writes the last block.
func (w *Writer) Close() error {
	text, err := json.Marshal(w.totals)
	if err == nil {
		err = w.write(appendBlock(nil, endBlock, text))
	}
	if w.closer != nil {
		err = errors.Join(err, w.closer.Close())
	}
	return err
}

func (w *Writer) write(b []byte) error {
	if _, err := w.w.Write(b); err != nil {
		return fmt.Errorf("trace: write: %w", err)
	}
	return nil
}

// Damage says what is wrong with a file that was read. The zero value is a whole file.
type Damage struct {
	Head    bool   // it does not start as a trace file does, or the machine is missing
	Open    bool   // the end is missing: the run was not closed, or the file is cut off
	Skipped int64  // bytes that are no block
	Blocks  int    // blocks whose content is wrong
	Unknown int    // blocks of a kind that this version does not know
	Lost    uint64 // tasks, details and points that the end says were written, and were not found
}

// Whole reports whether nothing is wrong.
func (d Damage) Whole() bool { return d == Damage{} }

func (d Damage) String() string {
	if d.Whole() {
		return ""
	}
	var b bytes.Buffer
	say := func(cond bool, format string, args ...any) {
		if cond {
			if b.Len() > 0 {
				b.WriteString(", ")
			}
			fmt.Fprintf(&b, format, args...)
		}
	}
	say(d.Head, "the head is damaged")
	say(d.Open, "the end is missing: the run was not closed or the file is cut off")
	say(d.Skipped > 0, "%d bytes are unreadable", d.Skipped)
	say(d.Blocks > 0, "%d blocks are damaged", d.Blocks)
	say(d.Unknown > 0, "%d blocks are of a newer version", d.Unknown)
	say(d.Lost > 0, "%d records are lost", d.Lost)
	return b.String()
}

// ErrNotTrace means that there is not one readable block.
var ErrNotTrace = errors.New("not a trace file")

// Read gives what is in a trace file to the sink, which it opens and does not close: what is
// damaged or cut off is left out and told.
//
// Errors: reading, the sink, a newer version of the format, ErrNotTrace; not damage.
func Read(r io.Reader, s Sink) (Damage, error) {
	f := &reader{in: bufio.NewReaderSize(r, 1<<16), sink: s, names: map[string]string{}}
	if err := f.head(); err != nil {
		return f.damage, err
	}
	f.damage.Open = true
	for {
		kind, payload, err := f.next()
		if err == io.EOF {
			break
		}
		if err == nil {
			err = f.take(kind, payload)
		}
		if err != nil {
			return f.damage, fmt.Errorf("trace: read: %w", err)
		}
	}
	if !f.any {
		return f.damage, fmt.Errorf("trace: read: %w", ErrNotTrace)
	}
	f.damage.Head = f.damage.Head || !f.opened
	return f.damage, f.start(&probe.Machine{})
}

// A reader reads a file once.
type reader struct {
	in     *bufio.Reader
	back   []byte // to be read before in
	sink   Sink
	damage Damage
	names  map[string]string
	opened bool
	any    bool
	seen   Totals
}

// fill returns the next n bytes without taking them, fewer at the end.
func (f *reader) fill(n int) ([]byte, error) {
	for len(f.back) < n {
		chunk := make([]byte, min(1<<16, n-len(f.back)))
		k, err := io.ReadFull(f.in, chunk)
		f.back = append(f.back, chunk[:k]...)
		if err == io.EOF || err == io.ErrUnexpectedEOF {
			return f.back, nil
		}
		if err != nil {
			return nil, err
		}
	}
	return f.back[:n], nil
}

func (f *reader) head() error {
	b, err := f.fill(len(magic) + 2)
	if err != nil {
		return fmt.Errorf("trace: read: %w", err)
	}
	if len(b) < len(magic)+2 || string(b[:len(magic)]) != magic {
		f.damage.Head = true
		return nil
	}
	if v := binary.LittleEndian.Uint16(b[len(magic):]); v > Version {
		return fmt.Errorf("trace: read: the file has version %d of the format, this program reads up to %d", v, Version)
	}
	f.back = f.back[len(magic)+2:]
	return nil
}

// next finds the next block whose checksum is right.
func (f *reader) next() (kind byte, payload []byte, err error) {
	for {
		b, err := f.fill(blockHead)
		if err != nil {
			return 0, nil, err
		}
		if len(b) < blockHead {
			f.damage.Skipped += int64(len(b))
			f.back = nil
			return 0, nil, io.EOF
		}
		size := binary.LittleEndian.Uint32(b[5:])
		if string(b[:4]) != mark || size > blockLimit {
			f.skip()
			continue
		}
		kind, sum := b[4], binary.LittleEndian.Uint32(b[9:])
		if b, err = f.fill(blockHead + int(size)); err != nil {
			return 0, nil, err
		}
		if len(b) < blockHead+int(size) || crc32.Update(crc32.Checksum([]byte{kind}, castagnoli), castagnoli, b[blockHead:]) != sum {
			f.skip()
			continue
		}
		f.back = f.back[len(b):]
		return kind, b[blockHead:], nil
	}
}

// skip goes to the next byte that may begin a block.
func (f *reader) skip() {
	n := bytes.IndexByte(f.back[1:], mark[0]) + 1
	if n == 0 {
		n = len(f.back)
	}
	f.damage.Skipped += int64(n)
	f.back = f.back[n:]
}

func (f *reader) take(kind byte, payload []byte) error {
	f.any = true
	switch kind {
	case machineBlock:
		var m probe.Machine
		if json.Unmarshal(payload, &m) != nil {
			f.damage.Blocks++
			return nil
		}
		return f.start(&m)
	case batchBlock, packedBlock:
		b, err := f.decode(kind, payload)
		if err != nil {
			f.damage.Blocks++
			return nil
		}
		f.seen.Tasks += uint64(len(b.Tasks) + b.Packed.tasks)
		f.seen.Details += uint64(len(b.Details))
		f.seen.Points += uint64(len(b.Points))
		if err := f.start(&probe.Machine{}); err != nil {
			return err
		}
		return f.sink.Take(b)
	case lossesBlock:
		return f.losses(payload)
	case endBlock:
		return f.end(payload)
	}
	f.damage.Unknown++
	return nil
}

// losses gives the sink what was lost until then. The counts of a later block include those of an
// earlier one.
func (f *reader) losses(payload []byte) error {
	var l Losses
	if json.Unmarshal(payload, &l) != nil {
		f.damage.Blocks++
		return nil
	}
	if err := f.start(&probe.Machine{}); err != nil {
		return err
	}
	return f.sink.Take(&Batch{Dropped: l.Records(), Lost: &l})
}

func (f *reader) decode(kind byte, payload []byte) (*Batch, error) {
	if kind == packedBlock {
		return decodePacked(payload)
	}
	return decode(payload, f.names)
}

// start opens the sink, once. A batch before any machine means that the machine is lost.
func (f *reader) start(m *probe.Machine) error {
	if f.opened {
		return nil
	}
	f.opened = true
	f.damage.Head = f.damage.Head || len(m.Places) == 0
	return f.sink.Open(m)
}

func (f *reader) end(payload []byte) error {
	var t Totals
	if json.Unmarshal(payload, &t) != nil {
		f.damage.Blocks++
		return nil
	}
	f.damage.Open = false
	if all, seen := t.Tasks+t.Details+t.Points, f.seen.Tasks+f.seen.Details+f.seen.Points; all > seen {
		f.damage.Lost = all - seen
	}
	return nil
}
