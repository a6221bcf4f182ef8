package export

import (
	"encoding/binary"
	"io"
	"math"
	"time"

	"github.com/gompss/gompss/deps"
	"github.com/gompss/gompss/trace/run"
)

// Field numbers of the published schema (protos/perfetto/trace).
const (
	tracePacket = 1

	packetTime       = 8
	packetSequence   = 10
	packetEvent      = 11
	packetInterned   = 12
	packetFlags      = 13
	packetDescriptor = 60

	trackUUID    = 1
	trackName    = 2
	trackProcess = 3
	trackThread  = 4
	trackParent  = 5
	trackCounter = 8

	processPID  = 1
	processName = 6
	threadPID   = 1
	threadTID   = 2
	threadName  = 5
	unitName    = 6

	eventAnnotation   = 4
	eventType         = 9
	eventNameID       = 10
	eventTrack        = 11
	eventDouble       = 44
	eventFlows        = 47
	eventTerminations = 48

	annotationNameID = 1
	annotationUint   = 3

	internedNames       = 2
	internedAnnotations = 3
	internedID          = 1
	internedText        = 2

	sliceBegin  = 1
	sliceEnd    = 2
	counterType = 4

	instant = 3

	stateCleared = 1
	needsState   = 2
)

// A message is protobuf being written.
type message []byte

func (m *message) tag(field, wire int)      { *m = binary.AppendUvarint(*m, uint64(field<<3|wire)) }
func (m *message) uint(field int, v uint64) { m.tag(field, 0); *m = binary.AppendUvarint(*m, v) }
func (m *message) fixed(field int, v uint64) {
	m.tag(field, 1)
	*m = binary.LittleEndian.AppendUint64(*m, v)
}
func (m *message) bytes(field int, b []byte) {
	m.tag(field, 2)
	*m = binary.AppendUvarint(*m, uint64(len(b)))
	*m = append(*m, b...)
}
func (m *message) text(field int, s string)    { m.bytes(field, []byte(s)) }
func (m *message) double(field int, v float64) { m.fixed(field, math.Float64bits(v)) }

// A perfetto writes one trace: one packet sequence, whose strings are numbered.
type perfetto struct {
	w      io.Writer
	out    []byte // not written yet
	packet message
	inner  message
	names  map[string]uint64
	recent [8]recentName // of tasks: there are few in a row
	tracks uint64
	err    error
}

type recentName struct {
	text string
	id   uint64
}

// chunk is how much is written at once.
const chunk = 1 << 16

// Perfetto writes a run for ui.perfetto.dev: a process for every place with a track for every lane
// and stream, one for the copies with a track for every link, a track for what the program and the
// runtime did besides, counters, and one flow to each task, from the predecessor that finished
// last. Flows for all edges would stall the viewer on dense graphs.
//
// Cost: about 60 bytes a task, and below 100 ns where the tasks are in order.
func Perfetto(w io.Writer, r *run.Run) error {
	p := &perfetto{w: w, out: make([]byte, 0, chunk+1<<12), names: map[string]uint64{}}
	p.packet.uint(packetSequence, 1)
	p.packet.uint(packetFlags, stateCleared)
	p.flush()
	for i, name := range []string{"task", "bytes"} {
		p.intern(internedAnnotations, uint64(i+1), name)
	}
	p.process(programPID, title(r))
	p.phases(r)
	flows, lanes := flowsOf(r)
	p.failures(r, flows.failed)
	for pid := programPID + 1; len(lanes) > 0; pid++ {
		n := 1
		for n < len(lanes) && lanes[n].Place == lanes[0].Place {
			n++
		}
		p.process(pid, r.Machine.Places[lanes[0].Place].Name)
		for i := range lanes[:n] {
			p.lane(pid, r, &lanes[i], flows)
		}
		lanes = lanes[n:]
	}
	p.copies(r)
	for _, c := range countersOf(r, flows) {
		p.counter(c)
	}
	p.write()
	return p.err
}

// programPID is the process of events of the whole run; the processes of places follow.
const programPID = 1

// A flowSet is, for each task by index, the tasks that it made ready, by index; and what else one
// look at all tasks finds.
type flowSet struct {
	first []int32 // of to, by index of the task; two more than there are tasks
	to    []int32
	ends  []bool  // by index: a flow ends there
	by    []int32 // the task by index that it comes from, -1 for none

	ready, taken    []time.Duration // when tasks that ran became ready, and were given a place; not in order
	failed, holding []int32         // those with errors, and with tokens
}

// flowsOf returns the flows between the tasks of a run, and its lanes.
func flowsOf(r *run.Run) (*flowSet, []run.Lane) {
	n := r.Len()
	f := &flowSet{first: make([]int32, n+2), ends: make([]bool, n), ready: make([]time.Duration, 0, n), taken: make([]time.Duration, 0, n)}
	by := make([]int32, n)
	messages := run.MessagesOf(r)
	for i := range n {
		t := r.Row(i)
		last := t.Last()
		if messages[t.ID()] != nil {
			last = run.SenderOf(r, r.Task(i))
		}
		by[i] = f.look(r, i, t, last)
	}
	for i := range n + 1 {
		f.first[i+1] += f.first[i]
	}
	f.to = make([]int32, f.first[n+1])
	for i, k := range by { // first[k+1] goes from where those of k begin to where they end
		if k >= 0 {
			f.to[f.first[k+1]] = int32(i)
			f.first[k+1]++
		}
	}
	f.by = by
	return f, r.TaskLanes()
}

// look notes what is of interest of a task, and returns the index of the task that a flow comes
// from, -1 when there is none: the last predecessor, or the sender of a message.
func (f *flowSet) look(r *run.Run, i int, t run.Row, last deps.TaskID) int32 {
	if t.Class().Err != "" {
		f.failed = append(f.failed, int32(i))
	}
	if !t.Ran() {
		return -1
	}
	f.ready, f.taken = append(f.ready, t.Ready()), append(f.taken, max(t.Ready(), t.Choice()))
	if t.Class().Tokens > 0 {
		f.holding = append(f.holding, int32(i))
	}
	if last == 0 {
		return -1
	}
	k, ok := r.Index(last)
	if !ok || !r.Row(k).Ran() {
		return -1
	}
	f.ends[i] = true
	f.first[k+2]++
	return int32(k)
}

// source returns the task from which the flow to a task of an index comes.
func (f *flowSet) source(r *run.Run, i int32) deps.TaskID {
	if k := f.by[i]; k >= 0 {
		return r.Row(int(k)).ID()
	}
	return 0
}

// from returns the tasks that the task of an index made ready.
func (f *flowSet) from(i int32) []int32 { return f.to[f.first[i]:f.first[i+1]] }

// write passes the encoded events to the writer.
func (p *perfetto) write() {
	if _, err := p.w.Write(p.out); err != nil && p.err == nil {
		p.err = err
	}
	p.out = p.out[:0]
}

// flush ends the packet.
func (p *perfetto) flush() {
	p.out = append(p.out, tracePacket<<3|2)
	p.out = binary.AppendUvarint(p.out, uint64(len(p.packet)))
	p.out = append(p.out, p.packet...)
	p.packet, p.inner = p.packet[:0], p.inner[:0]
	if len(p.out) > chunk {
		p.write()
	}
}

func (p *perfetto) describe() {
	p.packet.bytes(packetDescriptor, p.inner)
	p.packet.uint(packetSequence, 1)
	p.flush()
}

func (p *perfetto) process(pid int, name string) {
	p.tracks++
	p.inner.uint(trackUUID, p.tracks)
	var m message
	m.uint(processPID, uint64(pid))
	m.text(processName, name)
	p.inner.bytes(trackProcess, m)
	p.describe()
}

// thread makes a track and returns its number.
func (p *perfetto) thread(pid int, name string) uint64 {
	p.tracks++
	p.inner.uint(trackUUID, p.tracks)
	var m message
	m.uint(threadPID, uint64(pid))
	m.uint(threadTID, p.tracks)
	m.text(threadName, name)
	p.inner.bytes(trackThread, m)
	p.describe()
	return p.tracks
}

// name returns the number of a name, which it writes on its first use.
func (p *perfetto) name(s string) uint32 {
	at := &p.recent[len(s)%len(p.recent)]
	if at.id != 0 && at.text == s {
		return uint32(at.id)
	}
	id, ok := p.names[s]
	if !ok {
		id = uint64(len(p.names) + 1)
		p.names[s] = id
		p.intern(internedNames, id, s)
	}
	*at = recentName{s, id}
	return uint32(id)
}

// intern gives a text a number among those of one sort.
func (p *perfetto) intern(sort int, id uint64, s string) {
	var m message
	m.uint(internedID, id)
	m.text(internedText, s)
	p.inner.bytes(sort, m)
	p.packet.bytes(packetInterned, p.inner)
	p.packet.uint(packetSequence, 1)
	p.packet.uint(packetFlags, needsState)
	p.flush()
}

func (p *perfetto) event(at time.Duration) {
	p.packet.uint(packetTime, uint64(max(0, at)))
	p.packet.uint(packetSequence, 1)
	p.packet.uint(packetFlags, needsState)
	p.packet.bytes(packetEvent, p.inner)
	p.flush()
}

// A slice is a time on a track: of a task, with the flows that begin and that end at its beginning,
// or of something else.
type slice struct {
	from, to time.Duration
	value    uint64 // of the annotation
	name     uint32
	task     int32 // by index
}

// A sheaf is slices of one sort.
type sheaf struct {
	list       []slice
	flows      *flowSet // of tasks
	annotation byte     // the name of value; 0 for none
}

// The names of annotations, by number.
const (
	annotateTask = iota + 1
	annotateBytes
)

// slice writes a beginning and an end. Nearly all of a trace is slices, so they are put together
// here, and not by message.
func (p *perfetto) slice(of *sheaf, s *slice, track uint64) {
	b, at := open(p.out, s.from, sliceBegin, track)
	b = number(b, eventNameID<<3, uint64(s.name))
	if of.annotation != 0 {
		b = annotate(b, of.annotation, s.value)
	}
	if of.flows != nil {
		for _, f := range of.flows.from(s.task) {
			b = flow(b, eventFlows, f)
		}
		if of.flows.ends[s.task] {
			b = flow(b, eventTerminations, s.task)
		}
	}
	b = p.close(b, at)
	b, at = open(b, s.to, sliceEnd, track)
	p.out = p.close(b, at)
	if len(p.out) > chunk {
		p.write()
	}
}

// flow appends the flow to the task of an index; its field takes two bytes.
func flow(b []byte, field int, to int32) []byte {
	tag := field<<3 | 1
	return binary.LittleEndian.AppendUint64(append(b, byte(tag)|0x80, byte(tag>>7)), uint64(to)+1)
}

// An opened packet is where its lengths go.
type opened struct{ packet, event int }

// open begins a packet with an event, whose lengths close fills in.
func open(b []byte, at time.Duration, kind byte, track uint64) ([]byte, opened) {
	begin := len(b)
	b = number(append(b, tracePacket<<3|2, 0), packetTime<<3, uint64(max(0, at)))
	b = append(b, packetSequence<<3, 1, packetFlags<<3, needsState, packetEvent<<3|2, 0, eventType<<3, kind)
	o := opened{begin + 2, len(b) - 2}
	return number(b, eventTrack<<3, track), o
}

// number appends a field that is a varint.
func number(b []byte, tag byte, v uint64) []byte {
	return binary.AppendUvarint(append(b, tag), v)
}

// annotate appends a number with a name to an event.
func annotate(b []byte, name byte, v uint64) []byte {
	b = append(b, eventAnnotation<<3|2, 0, annotationNameID<<3, name)
	begin := len(b) - 2
	b = number(b, annotationUint<<3, v)
	b[begin-1] = byte(len(b) - begin)
	return b
}

// close fills in the lengths of an event and its packet. One of a task that made many others ready
// takes more than the byte that there is for them: it is moved.
func (p *perfetto) close(b []byte, o opened) []byte {
	whole, event := len(b)-o.packet, len(b)-o.event
	if whole < 0x80 {
		b[o.packet-1], b[o.event-1] = byte(whole), byte(event)
		return b
	}
	p.packet = append(p.packet[:0], b[o.packet:o.event-1]...)
	p.packet = binary.AppendUvarint(p.packet, uint64(event))
	p.packet = append(p.packet, b[o.event:]...)
	p.out = b[:o.packet-2]
	p.flush()
	return p.out
}

func (p *perfetto) counter(c counter) {
	p.tracks++
	p.inner.uint(trackUUID, p.tracks)
	p.inner.text(trackName, c.name)
	p.inner.uint(trackParent, 1)
	var m message
	if c.unit != "" {
		m.text(unitName, c.unit)
	}
	p.inner.bytes(trackCounter, m)
	p.describe()
	for _, s := range c.samples {
		p.inner.uint(eventType, counterType)
		p.inner.uint(eventTrack, p.tracks)
		p.inner.double(eventDouble, s.value)
		p.event(s.at)
	}
}

// lane writes the tasks of a lane: on one track for each stream.
func (p *perfetto) lane(pid int, r *run.Run, l *run.Lane, flows *flowSet) {
	of := sheaf{flows: flows, annotation: annotateTask}
	if !l.Overlap {
		track := p.thread(pid, l.Name)
		for _, at := range l.Tasks {
			s := p.taskSlice(r, at)
			p.slice(&of, &s, track)
		}
		return
	}
	of.list = make([]slice, len(l.Tasks))
	for i, at := range l.Tasks {
		of.list[i] = p.taskSlice(r, at)
	}
	p.slices(pid, l.Name, &of)
}

func (p *perfetto) taskSlice(r *run.Run, at int32) slice {
	t := r.Task(int(at))
	return slice{from: t.Start, to: t.End, value: uint64(t.ID), name: p.name(run.Name(t)), task: at}
}

// slices writes slices, in order of their beginning, on as few tracks as keep them apart.
func (p *perfetto) slices(pid int, name string, of *sheaf) {
	streams, n := streamsOf(of.list)
	tracks := make([]uint64, max(1, n))
	for i := range tracks {
		tracks[i] = p.thread(pid, streamName(name, i, n))
	}
	for i := range of.list {
		at := 0
		if n > 1 {
			at = streams[i]
		}
		p.slice(of, &of.list[i], tracks[at])
	}
}

// streamsOf is run.Streams of slices; none are dealt where they do not overlap.
func streamsOf(list []slice) ([]int, int) {
	apart := true
	for i := 1; i < len(list) && apart; i++ {
		apart = list[i-1].to <= list[i].from
	}
	if apart {
		return nil, 1
	}
	spans := make([]run.Span, len(list))
	for i := range list {
		spans[i] = run.Span{From: list[i].from, To: list[i].to}
	}
	return run.Streams(spans)
}

func (p *perfetto) copies(r *run.Run) {
	moves := movesOf(r)
	if len(moves) == 0 {
		return
	}
	pid := programPID + len(r.Machine.Places) + 1
	p.process(pid, "copies")
	for _, m := range moves {
		list := make([]slice, len(m.copies))
		for i, c := range m.copies {
			list[i] = slice{name: p.name(c.Bytes.String()), from: c.Begin, to: c.Time, value: uint64(c.Bytes)}
		}
		p.slices(pid, m.from+" -> "+m.to, &sheaf{list: list, annotation: annotateBytes})
	}
}

// phases writes the activities of the program and the runtime besides tasks.
func (p *perfetto) phases(r *run.Run) {
	var list []slice
	for _, x := range r.Phases() {
		list = append(list, slice{name: p.name(x.Name), from: x.From, to: x.To})
	}
	if len(list) > 0 {
		p.slices(programPID, "program", &sheaf{list: list})
	}
}

// failures marks the moments at which tasks failed or were skipped.
func (p *perfetto) failures(r *run.Run, failed []int32) {
	if len(failed) == 0 {
		return
	}
	track := p.thread(programPID, "failures")
	for _, i := range failed {
		t := r.Task(int(i))
		name := p.name(outcome(t) + ": " + t.Err)
		b, at := open(p.out, t.Release, instant, track)
		b = annotate(number(b, eventNameID<<3, uint64(name)), annotateTask, uint64(t.ID))
		p.out = p.close(b, at)
	}
}
