package engine

import (
	"fmt"

	"github.com/gompss/gompss/deps"
	"github.com/gompss/gompss/devices"
	"github.com/gompss/gompss/devices/smp"
	"github.com/gompss/gompss/internal/machine"
	"github.com/gompss/gompss/internal/spin"
	"github.com/gompss/gompss/sched"
	"github.com/gompss/gompss/task/internal/memory"
)

// A Topology is the devices of a runtime by their place. It does not change after findPlaces.
type Topology struct {
	Machine      *machine.Machine
	Cpus         *smp.Device
	Places       []sched.Place
	spaces       []devices.SpaceID // by place
	Memory       []deps.Bytes      // by place; 0 for the host
	Granule      deps.Bytes        // the largest of all accelerators
	depth        []int             // by place
	Host         sched.PlaceID     // the place of the CPU workers, or -1
	Accelerators bool
	Accelerated  int // how many there are
	All          sched.PlaceSet
	alike        []sched.PlaceSet // by place: those of its kind
}

// nearest returns the allowed place where the fewest bytes are missing.
func (top *Topology) nearest(s *Record, allowed sched.PlaceSet) sched.PlaceID {
	best, least := allowed.First(), deps.Bytes(-1)
	for p := range top.Places {
		if !allowed.Has(sched.PlaceID(p)) {
			continue
		}
		if n := top.Machine.MissingBytes(s.Data(), top.spaces[p]); least < 0 || n < least {
			best, least = sched.PlaceID(p), n
		}
	}
	return best
}

// placesIn returns the places that work in a space.
func (top *Topology) placesIn(space devices.SpaceID) (out sched.PlaceSet) {
	for p, at := range top.spaces {
		if at == space {
			out = out.With(sched.PlaceID(p))
		}
	}
	return out
}

// HostOnly is the place of the CPU workers, as a set.
func (top *Topology) HostOnly() sched.PlaceSet { return sched.PlaceSet(0).With(top.Host) }

// estimate reports to the scheduler the data that would have to move for s to each place. For the
// host that is also the way back: what has its home on accelerators and is written on the host must
// go there again, together with what it lacks there now. Between accelerators what is written
// counts twice where it is not: from then on it is where it is moved to, and what comes next has it
// to fetch.
func (top *Topology) estimate(s *Record) {
	if !top.Accelerators || len(s.Data()) == 0 || s.Kind.Waits() || s.Item.Allowed.Len() < 2 {
		return
	}
	missing, least := s.Item.Missing[:0], deps.Bytes(-1)
	for p := range top.Places {
		var n deps.Bytes
		if s.Item.Allowed.Has(sched.PlaceID(p)) {
			n = top.Machine.GuessMissing(s.Data(), top.spaces[p])
			if sched.PlaceID(p) != top.Host && (least < 0 || n < least) {
				least = n
			}
		}
		missing = append(missing, n)
	}
	s.Item.Changes, s.Item.Home = false, 0
	top.addMoves(s, missing)
	if top.Host >= 0 && s.Item.Allowed.Has(top.Host) && least >= 0 {
		if back := top.Machine.ReturnBytes(s.Data()); back > 0 {
			missing[top.Host] += back + least
		}
	}
	s.Item.Missing, s.Item.Work = missing, s.Work
}

// addMoves adds to what is missing at accelerators what s reads and writes and another one has, and
// says which have all of that.
func (top *Topology) addMoves(s *Record, missing []deps.Bytes) {
	var room [4]deps.Access
	changed := room[:0]
	for i := range s.Data() {
		if a := &s.Data()[i]; a.Mode.Reads() && a.Mode.Writes() {
			changed = append(changed, *a)
		}
	}
	if len(changed) == 0 {
		return
	}
	s.Item.Changes = true
	var more [sched.MaxPlaces]deps.Bytes
	least := deps.Bytes(-1)
	for rest := s.Item.Allowed; rest != 0; {
		p := rest.First()
		rest = rest.Without(p)
		if p == top.Host {
			continue
		}
		if missing[p] > 0 {
			more[p] = top.Machine.GuessMissing(changed, top.spaces[p])
		}
		if more[p] == 0 {
			s.Item.Home = s.Item.Home.With(p)
		}
		if least < 0 || more[p] < least {
			least = more[p]
		}
	}
	for p := range missing {
		if sched.PlaceID(p) != top.Host && more[p] > least {
			missing[p] += more[p] - least
		}
	}
}

// estimateTransfers estimates the bytes to transfer for r to p. Data that r reads and writes count
// twice, as for the scheduler (addMoves).
func (top *Topology) estimateTransfers(r *Record, p sched.PlaceID) deps.Bytes {
	n := top.Machine.GuessMissing(r.Data(), top.spaces[p])
	if n > 0 {
		for i := range r.Data() {
			if a := r.Data()[i : i+1]; a[0].Mode.Reads() && a[0].Mode.Writes() {
				n += top.Machine.GuessMissing(a, top.spaces[p])
			}
		}
	}
	return n
}

// LeakOfMemory returns a *LeakError when accelerators hold memory. Requires: all buffers were
// dropped.
func (top *Topology) LeakOfMemory() error {
	for _, s := range top.spaces {
		if s != devices.Host && top.Machine.Retired(s) != nil {
			return nil // what it holds is gone with it
		}
	}
	if n := top.Machine.Held(); n != 0 {
		return &LeakError{[]string{fmt.Sprintf("memory of accelerators: %v", n)}}
	}
	return nil
}

// CombinesUnscheduled reports whether combinations run beside the scheduler, as the machine has no
// CPU workers.
func (top *Topology) CombinesUnscheduled() bool { return top.Host < 0 }

// FindPlaces makes a place of every device and returns the number of CPU workers.
func (top *Topology) FindPlaces() int {
	workers := 0
	for _, d := range top.Machine.Devices() {
		p := d.Properties()
		id := sched.PlaceID(len(top.Places))
		top.Places = append(top.Places, sched.Place{Name: p.Name, Kind: p.Kind, Width: p.Workers, Host: p.Kind == devices.SMP, Link: devices.LinkOf(d)})
		top.spaces = append(top.spaces, top.Machine.SpaceOf(d))
		top.Memory = append(top.Memory, p.Memory)
		top.Granule = max(top.Granule, p.Granule)
		top.depth = append(top.depth, max(1, p.Depth))
		top.All = top.All.With(id)
		if p.Kind == devices.SMP {
			top.Host, workers = id, p.Workers
			top.Cpus = d.(*smp.Device)
		} else {
			top.Accelerators = true
			top.Accelerated++
		}
	}
	for p := range top.Places {
		set := sched.PlaceSet(0)
		for q := range top.Places {
			if top.Places[p].Kind == top.Places[q].Kind {
				set = set.With(sched.PlaceID(q))
			}
		}
		top.alike = append(top.alike, set)
	}
	return workers
}

func (top *Topology) AddBuffer(b *memory.Buffer) error {
	return top.Machine.AddMemory(b.ID, b.Host, b.Size(), b.Elem)
}

// lock locks mu, which all goroutines share. Many workers sleep rather than spin: 8 submitting
// goroutines with 16 workers took a quarter longer with spinning.
func (top *Topology) lock(mu *spin.Mutex) {
	if top.Accelerators {
		spin.LockLong(mu)
	} else {
		spin.Lock(mu)
	}
}

// PlacesNamed returns the places that a kind, "acc" or the name of a device stands for.
func (top *Topology) PlacesNamed(name string) (sched.PlaceSet, error) {
	var out sched.PlaceSet
	for p, place := range top.Places {
		if place.Name == name || string(place.Kind) == name || name == string(devices.Acc) && place.Kind != devices.SMP {
			out = out.With(sched.PlaceID(p))
		}
	}
	if out == 0 {
		return 0, fmt.Errorf("no device %q: the devices are %s", name, top.PlaceNames(top.All))
	}
	return out, nil
}

func (top *Topology) PlaceNames(set sched.PlaceSet) string {
	text := ""
	for p, place := range top.Places {
		if set.Has(sched.PlaceID(p)) {
			if text != "" {
				text += ", "
			}
			text += place.Name
		}
	}
	return text
}
