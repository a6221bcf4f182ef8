package record

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"sync"

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

// Take writes one block, and a second one for packed records.
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

// Damage describes the errors of a file that was read. The zero value is a whole file.
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
// damaged or cut off is left out and reported. A goroutine of Read decodes the blocks ahead of the
// sink.
//
// Errors: reading, the sink, a newer version of the format, ErrNotTrace; not damage.
func Read(r io.Reader, s Sink) (Damage, error) {
	f := &reader{in: r, names: map[string]string{}, decoded: make(chan content, decodedAhead), free: make(chan *Batch, decodedAhead+2), stop: make(chan struct{})}
	if err := f.head(); err != nil {
		return f.damage, err
	}
	f.damage.Open = true
	var decoding sync.WaitGroup
	decoding.Go(f.decodeAll)
	g := &giver{sink: s}
	err := g.giveAll(f)
	close(f.stop)
	decoding.Wait()
	f.damage.Head = f.damage.Head || g.headless
	if err == nil {
		err = f.err
	}
	switch {
	case err != nil:
		return f.damage, fmt.Errorf("trace: read: %w", err)
	case !f.any:
		return f.damage, fmt.Errorf("trace: read: %w", ErrNotTrace)
	}
	f.damage.Head = f.damage.Head || !g.opened
	return f.damage, g.start(&probe.Machine{})
}

// decodedAhead is how many blocks wait for the sink: one would do, if all took equally long.
const decodedAhead = 4

// A content is the content of a block of a file: a machine or a batch.
type content struct {
	machine *probe.Machine
	batch   *Batch
}

// A giver passes decoded records to a sink.
type giver struct {
	sink     Sink
	opened   bool
	headless bool // there was no machine with places at the front
}

// giveAll returns the first error of the sink, after which it takes nothing.
func (g *giver) giveAll(f *reader) error {
	for c := range f.decoded {
		if c.machine != nil {
			if err := g.start(c.machine); err != nil {
				return err
			}
			continue
		}
		if err := g.start(&probe.Machine{}); err != nil {
			return err
		}
		if err := g.sink.Take(c.batch); err != nil {
			return err
		}
		select {
		case f.free <- c.batch:
		default: // there are enough
		}
	}
	return nil
}

// start opens the sink, once. A batch before any machine means that the machine is lost.
func (g *giver) start(m *probe.Machine) error {
	if g.opened {
		return nil
	}
	g.opened, g.headless = true, len(m.Places) == 0
	return g.sink.Open(m)
}

// A reader reads and decodes a file once.
type reader struct {
	in     io.Reader
	buffer []byte // all that back may lie in
	back   []byte // bytes that were read from in and not taken
	damage Damage
	d      decoder
	names  map[string]string
	any    bool
	seen   Totals
	err    error // why decodeAll ended, nil at the end of the file
	// decoded has the blocks, in order; a batch comes back through free once the sink has taken it.
	decoded chan content
	free    chan *Batch
	stop    chan struct{} // closed when nothing more is wanted
}

// decodeAll decodes blocks until the file ends, or nothing more is wanted.
func (f *reader) decodeAll() {
	defer close(f.decoded)
	for {
		kind, payload, err := f.next()
		if err != nil {
			if err != io.EOF {
				f.err = err
			}
			return
		}
		c, ok := f.decode(kind, payload)
		if !ok {
			continue
		}
		select {
		case f.decoded <- c:
		case <-f.stop:
			return
		}
	}
}

// fill returns the next n bytes without taking them, fewer at the end. They are good until the next
// call.
func (f *reader) fill(n int) ([]byte, error) {
	for len(f.back) < n {
		if len(f.back) == cap(f.back) {
			f.grow()
		}
		k, err := io.ReadAtLeast(f.in, f.back[len(f.back):cap(f.back)], 1)
		f.back = f.back[:len(f.back)+k]
		if err == io.EOF {
			return f.back, nil
		}
		if err != nil {
			return nil, err
		}
	}
	return f.back[:n], nil
}

// grow makes room behind back: at least as much as back takes, so that all moves together cost as
// much as what is read.
func (f *reader) grow() {
	const least = 1 << 16
	if cap(f.buffer) < 2*len(f.back)+least {
		f.buffer = make([]byte, 0, 2*len(f.back)+least)
	}
	f.back = append(f.buffer[:0], f.back...)
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

// next finds the next block whose checksum is right. The payload is good until the next call.
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

// decode decodes a block; ok is false where it has nothing for the sink, or is damaged.
func (f *reader) decode(kind byte, payload []byte) (c content, ok bool) {
	f.any = true
	switch kind {
	case machineBlock:
		var m probe.Machine
		if json.Unmarshal(payload, &m) != nil {
			f.damage.Blocks++
			return c, false
		}
		return content{machine: &m}, true
	case batchBlock, packedBlock:
		return f.batch(kind, payload)
	case lossesBlock: // the counts of a later block include those of an earlier one
		var l Losses
		if json.Unmarshal(payload, &l) != nil {
			f.damage.Blocks++
			return c, false
		}
		return content{batch: &Batch{Dropped: l.Records(), Lost: &l}}, true
	case endBlock:
		f.end(payload)
		return c, false
	}
	f.damage.Unknown++
	return c, false
}

// batch decodes tasks, details and points into memory that the sink has done with.
func (f *reader) batch(kind byte, payload []byte) (c content, ok bool) {
	b := &Batch{}
	select {
	case b = <-f.free:
		b.reset()
	default:
	}
	var err error
	if kind == packedBlock {
		err = f.d.decodePacked(b, payload)
	} else {
		err = f.d.decode(b, payload, f.names)
	}
	if err != nil {
		f.damage.Blocks++
		return c, false
	}
	f.seen.Tasks += uint64(len(b.Tasks) + b.Packed.tasks)
	f.seen.Details += uint64(len(b.Details))
	f.seen.Points += uint64(len(b.Points))
	return content{batch: b}, true
}

func (f *reader) end(payload []byte) {
	var t Totals
	if json.Unmarshal(payload, &t) != nil {
		f.damage.Blocks++
		return
	}
	f.damage.Open = false
	if all, seen := t.Tasks+t.Details+t.Points, f.seen.Tasks+f.seen.Details+f.seen.Points; all > seen {
		f.damage.Lost = all - seen
	}
}
