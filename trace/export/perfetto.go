package export

import (
	"bufio"
	"encoding/binary"
	"io"
	"math"
	"slices"
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

	eventType         = 9
	eventNameID       = 10
	eventTrack        = 11
	eventDouble       = 44
	eventFlows        = 47
	eventTerminations = 48

	internedNames = 2
	internedID    = 1
	internedText  = 2

	sliceBegin  = 1
	sliceEnd    = 2
	counterType = 4

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
	w      *bufio.Writer
	packet message
	inner  message
	names  map[string]uint64
	tracks uint64
	err    error
}

// Perfetto writes a run for ui.perfetto.dev: a process for every place with a track for every lane and stream, one for the copies with
// a track for every link, counters, and one flow to each task, from the predecessor that was over last. Flows for all edges would stall
// the viewer on dense graphs.
//
// Cost: about 60 bytes a task.
func Perfetto(w io.Writer, r *run.Run) error {
	p := &perfetto{w: bufio.NewWriterSize(w, 1<<16), names: map[string]uint64{}}
	p.packet = p.packet[:0]
	p.packet.uint(packetSequence, 1)
	p.packet.uint(packetFlags, stateCleared)
	p.flush()
	p.process(1, title(r))
	flows := flowsOf(r)
	for pid, lanes := 2, r.TaskLanes(); len(lanes) > 0; pid++ {
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
	for _, c := range countersOf(r) {
		p.counter(c)
	}
	if p.err != nil {
		return p.err
	}
	return p.w.Flush()
}

// A flowSet is, for each task by index, the tasks that it made ready.
type flowSet struct {
	run   *run.Run
	first []int32 // of ids, by index of the task; one more than there are tasks
	ids   []deps.TaskID
	ends  []bool // by index: a flow ends there
}

func flowsOf(r *run.Run) *flowSet {
	f := &flowSet{run: r, first: make([]int32, len(r.Tasks)+1), ends: make([]bool, len(r.Tasks))}
	by := make([]int32, len(r.Tasks))
	for i := range r.Tasks {
		by[i] = -1
		if t := &r.Tasks[i]; t.Last != 0 && run.Ran(t) {
			if k, ok := r.Index(t.Last); ok && run.Ran(&r.Tasks[k]) {
				by[i], f.ends[i] = int32(k), true
				f.first[k+1]++
			}
		}
	}
	for i := range r.Tasks {
		f.first[i+1] += f.first[i]
	}
	f.ids = make([]deps.TaskID, f.first[len(r.Tasks)])
	next := slices.Clone(f.first)
	for i, k := range by {
		if k >= 0 {
			f.ids[next[k]] = r.Tasks[i].ID
			next[k]++
		}
	}
	return f
}

// from returns the tasks that the task of an index made ready.
func (f *flowSet) from(i int32) []deps.TaskID { return f.ids[f.first[i]:f.first[i+1]] }

// flush writes the packet.
func (p *perfetto) flush() {
	var head [12]byte
	h := append(head[:0], tracePacket<<3|2)
	h = binary.AppendUvarint(h, uint64(len(p.packet)))
	if _, err := p.w.Write(h); err != nil {
		p.err = err
	}
	if _, err := p.w.Write(p.packet); err != nil {
		p.err = err
	}
	p.packet, p.inner = p.packet[:0], p.inner[:0]
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
func (p *perfetto) name(s string) uint64 {
	id, ok := p.names[s]
	if !ok {
		id = uint64(len(p.names) + 1)
		p.names[s] = id
		var m message
		m.uint(internedID, id)
		m.text(internedText, s)
		p.inner.bytes(internedNames, m)
		p.packet.bytes(packetInterned, p.inner)
		p.packet.uint(packetSequence, 1)
		p.packet.uint(packetFlags, needsState)
		p.flush()
	}
	return id
}

func (p *perfetto) event(at time.Duration) {
	p.packet.uint(packetTime, uint64(max(0, at)))
	p.packet.uint(packetSequence, 1)
	p.packet.uint(packetFlags, needsState)
	p.packet.bytes(packetEvent, p.inner)
	p.flush()
}

// slice writes a beginning and an end.
func (p *perfetto) slice(track, name uint64, from, to time.Duration, starts []deps.TaskID, ends deps.TaskID) {
	p.inner.uint(eventType, sliceBegin)
	p.inner.uint(eventTrack, track)
	p.inner.uint(eventNameID, name)
	for _, f := range starts {
		p.inner.fixed(eventFlows, uint64(f))
	}
	if ends != 0 {
		p.inner.fixed(eventTerminations, uint64(ends))
	}
	p.event(from)
	p.inner.uint(eventType, sliceEnd)
	p.inner.uint(eventTrack, track)
	p.event(to)
}

// lane writes the tasks of a lane: on one track for each stream.
func (p *perfetto) lane(pid int, r *run.Run, l *run.Lane, flows *flowSet) {
	spans := make([]run.Span, len(l.Tasks))
	for i, t := range l.Tasks {
		spans[i] = run.Span{From: r.Tasks[t].Start, To: r.Tasks[t].End}
	}
	streams, n := run.Streams(spans)
	tracks := make([]uint64, max(1, n))
	for i := range tracks {
		tracks[i] = p.thread(pid, streamName(l.Name, i, n))
	}
	for i, at := range l.Tasks {
		t := &r.Tasks[at]
		ends := t.ID
		if !flows.ends[at] {
			ends = 0
		}
		p.slice(tracks[streams[i]], p.name(run.Name(t)), t.Start, t.End, flows.from(at), ends)
	}
}

func (p *perfetto) copies(r *run.Run) {
	moves := movesOf(r)
	if len(moves) == 0 {
		return
	}
	pid := len(r.Machine.Places) + 2
	p.process(pid, "copies")
	for _, m := range moves {
		name := m.from + " -> " + m.to
		tracks := make([]uint64, m.streams)
		for i := range tracks {
			tracks[i] = p.thread(pid, streamName(name, i, m.streams))
		}
		for i, c := range m.copies {
			p.slice(tracks[m.stream[i]], p.name(c.Bytes.String()), c.Begin, c.Time, nil, 0)
		}
	}
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
