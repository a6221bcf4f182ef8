package devices

import (
	"fmt"
	"slices"

	"github.com/gompss/gompss/deps"
)

// A Directory knows, for every buffer, which elements are valid in which address space, and which copies are under
// way. It is pure: it plans flights, its owner makes the copies and says when they have landed.
//
// What a flight brings counts as valid at its end from the moment it is planned; who uses it there waits for the
// flight. Invariant: every element is valid somewhere, or lost.
type Directory struct {
	spaces  int
	reaches func(from, to SpaceID) bool
	buffers []*entry
	gone    []*DeviceError // by space: why what it held is lost
}

// An entry is what the directory knows of one buffer.
type entry struct {
	id    deps.BufferID
	elem  deps.Bytes
	whole deps.Region
	at    []replicas // by space
	lost  deps.Set
	from  int // space that lost it last
	// fresh is what tasks on the host are writing that was not valid there: nothing may be copied over it.
	fresh deps.Set
}

// replicas is one buffer in one address space.
type replicas struct {
	valid deps.Set
	in    []*Flight // copies to here that have not landed
	out   []*Flight // copies from here that have not landed
}

// NewDirectory returns a directory of the host's space alone. reaches says whether one copy can go from a space to
// another; what cannot goes through the host, which reaches and is reached by all.
func NewDirectory(reaches func(from, to SpaceID) bool) *Directory {
	return &Directory{spaces: 1, reaches: reaches, gone: make([]*DeviceError, 1)}
}

// AddSpace adds an address space; it gets the next SpaceID.Device. No buffer may have been added yet.
func (d *Directory) AddSpace() {
	d.spaces++
	d.gone = append(d.gone, nil)
}

// Add makes a buffer known, all of it valid on the host and nowhere else.
func (d *Directory) Add(b deps.BufferID, elems int64, elem deps.Bytes) {
	for int(b) >= len(d.buffers) {
		d.buffers = append(d.buffers, nil)
	}
	e := &entry{id: b, elem: elem, whole: deps.Interval(b, 0, elems), at: make([]replicas, d.spaces)}
	if elems > 0 {
		e.at[0].valid.Add(e.whole)
	}
	d.buffers[b] = e
}

// Drop forgets a buffer. Requires: nothing of it is in flight.
func (d *Directory) Drop(b deps.BufferID) {
	if d.InFlight(b) {
		panic(fmt.Sprintf("gompss: bug: devices: buffer %d is dropped while copies of it are under way", b))
	}
	d.buffers[b] = nil
}

// InFlight reports whether copies of a buffer are under way.
func (d *Directory) InFlight(b deps.BufferID) bool {
	for i := range d.buffers[b].at {
		if len(d.buffers[b].at[i].in) > 0 {
			return true
		}
	}
	return false
}

// Missing returns the bytes that would have to be copied to make access valid in a space. Cost: O(replicas that
// overlap).
func (d *Directory) Missing(a deps.Access, to SpaceID) deps.Bytes {
	if !a.Mode.Reads() {
		return 0
	}
	e := d.buffers[a.Region.Buffer]
	return deps.Bytes(a.Region.Len()-e.at[to.Device].valid.Count(a.Region)) * e.elem
}

// Valid reports whether all of a region is valid in a space, copies under way included.
func (d *Directory) Valid(r deps.Region, at SpaceID) bool {
	return d.buffers[r.Buffer].at[at.Device].valid.Contains(r)
}

// OnlyOnHost reports whether a buffer is valid on the host alone, all of it, with nothing under way.
func (d *Directory) OnlyOnHost(b deps.BufferID) bool {
	e := d.buffers[b]
	for i := range e.at {
		at := &e.at[i]
		if len(at.in) > 0 || len(at.out) > 0 || i > 0 && !at.valid.Empty() {
			return false
		}
	}
	return e.lost.Empty()
}

// Plan adds to p what makes access a valid in space to, for a task that will run there.
//
// What is only written is not copied, but waited for where copies to or from the same elements are under way. Copies
// are planned once: a second Plan finds the flights of the first. Cost: O(replicas and flights that overlap); no
// allocation when the region is valid already. Errors: *LostError; what is not lost has been planned all the same.
func (d *Directory) Plan(a deps.Access, to SpaceID, p *Plan) (err error) {
	e := d.buffers[a.Region.Buffer]
	here := &e.at[to.Device]
	if a.Mode.Reads() && !here.valid.Contains(a.Region) {
		err = d.fetch(e, a.Region, to, p)
	}
	if !a.Mode.Reads() && to == Host {
		e.fresh.Add(a.Region)
	}
	p.Wait = overlapping(p.Wait, here.in, a.Region)
	if a.Mode.Writes() {
		p.Wait = overlapping(p.Wait, here.out, a.Region)
	}
	return err
}

// Leave says that a task for which Plan was called is over, before what it wrote is committed or not.
func (d *Directory) Leave(a deps.Access, at SpaceID) {
	if !a.Mode.Reads() && at == Host {
		d.buffers[a.Region.Buffer].fresh.Remove(a.Region)
	}
}

// overlapping adds those of flights that touch r and are not in list yet.
func overlapping(list, flights []*Flight, r deps.Region) []*Flight {
next:
	for _, f := range flights {
		if !f.Region.Overlaps(r) {
			continue
		}
		for _, g := range list {
			if g == f {
				continue next
			}
		}
		list = append(list, f)
	}
	return list
}

// fetch plans the copies of what is missing of r in space to.
func (d *Directory) fetch(e *entry, r deps.Region, to SpaceID, p *Plan) error {
	var missing deps.Set
	missing.Add(r)
	removeAll(&missing, e.at[to.Device].valid.Intersect(r, nil))
	err := d.takeLost(e, &missing)
	for _, landed := range []bool{true, false} {
		for _, from := range d.sources(to) {
			if missing.Empty() {
				return err
			}
			d.copyFrom(e, &missing, from, to, landed, p)
		}
	}
	d.stage(e, &missing, to, p)
	if !missing.Empty() {
		panic(fmt.Sprintf("gompss: bug: devices: %v is valid nowhere", r))
	}
	return err
}

// takeLost takes what is lost out of missing, and says so.
func (d *Directory) takeLost(e *entry, missing *deps.Set) (err error) {
	if e.lost.Empty() {
		return nil
	}
	for _, r := range missing.Regions() {
		for _, gone := range e.lost.Intersect(r, nil) {
			missing.Remove(gone)
			if err == nil {
				cause := d.gone[e.from]
				err = &LostError{Device: cause.Device, Region: gone, Cause: cause}
			}
		}
	}
	return err
}

// sources returns the spaces that reach to, the best first: other accelerators, whose links are faster and leave the
// host's alone, beginning with the one before to, so that one buffer for all does not come from one device; then the
// host.
func (d *Directory) sources(to SpaceID) []SpaceID {
	out := make([]SpaceID, 0, d.spaces)
	for i := 1; i < d.spaces && to != Host; i++ {
		n := (int(to.Device)-1-i+d.spaces-1)%(d.spaces-1) + 1
		from := SpaceID{Node: to.Node, Device: uint16(n)}
		if from != to && d.reaches(from, to) {
			out = append(out, from)
		}
	}
	if to != Host {
		return append(out, Host)
	}
	for n := 1; n < d.spaces; n++ {
		out = append(out, SpaceID{Device: uint16(n)})
	}
	return out
}

// copyFrom plans copies of what space from has of missing, and takes it out of missing. With landed, what is still on
// its way to from does not count.
func (d *Directory) copyFrom(e *entry, missing *deps.Set, from, to SpaceID, landed bool, p *Plan) {
	source := &e.at[from.Device]
	if source.valid.Empty() {
		return
	}
	var found deps.Set
	for _, r := range missing.Regions() {
		for _, piece := range source.valid.Intersect(r, nil) {
			found.Add(piece)
		}
	}
	if landed {
		for _, f := range source.in {
			found.Remove(f.Region)
		}
	}
	for _, piece := range found.Regions() {
		missing.Remove(piece)
		d.take(e, piece, from, to, p)
	}
}

// stage plans copies through the host of what no space that reaches to has.
func (d *Directory) stage(e *entry, missing *deps.Set, to SpaceID, p *Plan) {
	for n := 1; n < d.spaces && !missing.Empty(); n++ {
		from := SpaceID{Node: to.Node, Device: uint16(n)}
		var found deps.Set
		for _, r := range missing.Regions() {
			for _, piece := range e.at[n].valid.Intersect(r, nil) {
				found.Add(piece)
			}
		}
		for _, piece := range found.Regions() {
			missing.Remove(piece)
			d.take(e, piece, from, Host, p)
			d.take(e, piece, Host, to, p)
		}
	}
}

// take plans one copy. It comes after the copies that bring the piece to its source, and after those that write or
// read the same elements at its end.
func (d *Directory) take(e *entry, piece deps.Region, from, to SpaceID, p *Plan) *Flight {
	f := &Flight{Transfer: Transfer{Region: piece, Elem: e.elem, From: from, To: to}}
	source, end := &e.at[from.Device], &e.at[to.Device]
	f.After = overlapping(f.After, source.in, piece)
	f.After = overlapping(f.After, end.in, piece)
	f.After = overlapping(f.After, end.out, piece)
	for _, g := range f.After {
		g.users++
	}
	source.enterOut(f)
	end.enterIn(f)
	end.valid.Add(piece)
	p.Copies = append(p.Copies, f)
	p.Wait = append(p.Wait, f)
	return f
}

// Land ends a flight. When the copy was not made, what it would have brought is not valid at its end after all; what
// had been given up at its source in favour of the copy is valid there again, or lost with the source.
//
// Flights may land in any order that events can be heard of.
func (d *Directory) Land(f *Flight, made bool) {
	e := d.buffers[f.Region.Buffer]
	source, end := &e.at[f.From.Device], &e.at[f.To.Device]
	f.heard, f.fell = true, !made
	if f.inAt == 0 || f.outAt == 0 {
		panic("gompss: bug: devices: a copy lands twice")
	}
	source.leaveOut(f)
	end.leaveIn(f)
	var brought []deps.Region
	if !made {
		brought = end.brought(f)
	}
	for _, g := range f.After {
		g.users--
	}
	f.After = nil
	if made {
		return
	}
	removeAll(&end.valid, brought)
	if d.gone[f.From.Device] != nil {
		e.from = int(f.From.Device)
	}
	for i := range f.given {
		by := f.given[i].by.Device
		switch {
		case d.gone[by] == nil:
			stayed := f.given[i].parts.Regions()
			addAll(&e.at[by].valid, stayed)
			if by == f.From.Device {
				f.stayed = stayed
			}
		case !f.given[i].parts.Empty(): // what was given up there went with it, though the copy came from elsewhere
			e.from = int(by)
		}
	}
	addAll(&e.lost, d.nowhere(e, f.Region))
}

// brought returns the parts of what f was to bring that no task is writing here and no later copy brings: there the task or that
// copy is what counts, and not what f has become of. Nor is what was to come back from where it was not even brought: it is here still.
func (p *replicas) brought(f *Flight) []deps.Region {
	var rest deps.Set
	rest.Add(f.Region)
	for _, g := range p.in {
		if g.From == g.To || slices.Contains(g.After, f) {
			rest.Remove(g.Region)
		}
	}
	for _, g := range f.After {
		if g.fell && g.From == f.To {
			removeAll(&rest, g.stayed)
		}
	}
	return rest.Regions()
}

// nowhere returns the parts of r that are neither valid in a space nor known as lost.
func (d *Directory) nowhere(e *entry, r deps.Region) []deps.Region {
	var rest deps.Set
	rest.Add(r)
	for i := range e.at {
		removeAll(&rest, e.at[i].valid.Intersect(r, nil))
	}
	removeAll(&rest, e.lost.Intersect(r, nil))
	return rest.Regions()
}

// Commit says that a task has written all it declared of r in a space: it is valid there and nowhere else. If the
// space was lost meanwhile, r is lost with it.
func (d *Directory) Commit(r deps.Region, at SpaceID) {
	e := d.buffers[r.Buffer]
	for i := range e.at {
		if i != int(at.Device) && !e.at[i].valid.Empty() {
			e.at[i].valid.Remove(r)
		}
		for _, f := range e.at[i].out {
			for k := range f.given {
				f.given[k].parts.Remove(r)
			}
		}
	}
	if d.gone[at.Device] != nil {
		e.lost.Add(r)
		e.from = int(at.Device)
		return
	}
	if here := &e.at[at.Device].valid; !here.Contains(r) {
		here.Add(r)
	}
	if !e.lost.Empty() {
		e.lost.Remove(r)
	}
}

// Begin says that a task with access a is running in a space, which e ends: what it writes counts as valid there and nowhere
// else, and who uses it there waits for the flight, as for a copy. End must be called when it is over.
//
// What the host gave up in favour of it is noted: if the task fails, the host still has it, but for what was still coming there and has not
// arrived.
//
// What it covers of kernels before it there is nobody's to wait for any more: it comes behind them. Cost: O(kernels and copies under
// way there that overlap); one allocation.
func (d *Directory) Begin(a deps.Access, at SpaceID, e Event) *Flight {
	f := new(Flight)
	d.begin(&a, at, e, f)
	return f
}

// begin is Begin with f, which is empty.
func (d *Directory) begin(a *deps.Access, at SpaceID, e Event, f *Flight) {
	b := d.buffers[a.Region.Buffer]
	f.Transfer, f.Event = Transfer{Region: a.Region, Elem: b.elem, From: at, To: at}, e
	f.there.Store(true)
	here := &b.at[at.Device]
	if !a.Mode.Writes() {
		here.enterOut(f)
		return
	}
	if host := &b.at[Host.Device].valid; !host.Empty() {
		for _, piece := range host.Intersect(a.Region, nil) {
			f.giveUp(Host, piece)
		}
		f.coming = overlapping(f.coming, b.at[Host.Device].in, a.Region)
	}
	d.Commit(a.Region, at)
	here.overtake(f)
	here.enterIn(f)
}

// End says that a task that Begin told of is over.
func (d *Directory) End(a deps.Access, f *Flight, made bool) {
	b := d.buffers[a.Region.Buffer]
	here := &b.at[f.To.Device]
	if !a.Mode.Writes() {
		here.leaveOut(f)
		return
	}
	here.leaveIn(f)
	if made {
		return
	}
	for i := range f.given {
		if by := f.given[i].by.Device; d.gone[by] == nil {
			for _, g := range f.coming { // to the host, which alone gives up in favour of a task
				switch {
				case g.fell:
					if g.From == f.To {
						g.stayed = append(g.stayed, f.given[i].parts.Intersect(g.Region, nil)...)
					}
					f.given[i].parts.Remove(g.Region)
				case !g.heard && g.From == f.To: // what was there when that set out may still be there
					for _, piece := range f.given[i].parts.Intersect(g.Region, nil) {
						g.giveUp(g.From, piece)
					}
				}
			}
			parts := f.given[i].parts.Regions()
			addAll(&b.at[by].valid, parts)
			removeAll(&b.lost, parts)
		}
	}
	d.Spoil(a.Region, f.To)
}

// Spoil says that a task that writes r in a space has failed: where another space has the value from before, this one
// does not count any more. What only this one has stays, as it would in sequential execution.
func (d *Directory) Spoil(r deps.Region, at SpaceID) {
	e := d.buffers[r.Buffer]
	for i := range e.at {
		if i != int(at.Device) && !e.at[i].valid.Empty() {
			removeAll(&e.at[at.Device].valid, e.at[i].valid.Intersect(r, nil))
		}
	}
}

// hasElsewhere reports whether a space other than at has all of r, and not only a copy that is under way.
func (d *Directory) hasElsewhere(r deps.Region, at SpaceID) bool {
	e := d.buffers[r.Buffer]
	for i := range e.at {
		if i == int(at.Device) || d.gone[i] != nil || !e.at[i].valid.Contains(r) {
			continue
		}
		if len(overlapping(nil, e.at[i].in, r)) == 0 {
			return true
		}
	}
	return false
}

func addAll(s *deps.Set, regions []deps.Region) {
	for _, r := range regions {
		s.Add(r)
	}
}

func removeAll(s *deps.Set, regions []deps.Region) {
	for _, r := range regions {
		s.Remove(r)
	}
}
