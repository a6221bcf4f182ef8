package task

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

// A topology is the devices of a runtime by their place. It does not change after findPlaces.
type topology struct {
	machine      *machine.Machine
	cpus         *smp.Device
	places       []sched.Place
	spaces       []devices.SpaceID // by place
	memory       []deps.Bytes      // by place; 0 for the host
	granule      deps.Bytes        // the largest of all accelerators
	depth        []int             // by place
	host         sched.PlaceID     // the place of the CPU workers, or -1
	accelerators bool
	accelerated  int // how many there are
	all          sched.PlaceSet
	alike        []sched.PlaceSet // by place: those of its kind
}

// nearest returns the allowed place where the fewest bytes are missing.
func (top *topology) nearest(s *record, allowed sched.PlaceSet) sched.PlaceID {
	best, least := allowed.First(), deps.Bytes(-1)
	for p := range top.places {
		if !allowed.Has(sched.PlaceID(p)) {
			continue
		}
		if n := top.machine.MissingBytes(s.data(), top.spaces[p]); least < 0 || n < least {
			best, least = sched.PlaceID(p), n
		}
	}
	return best
}

// placesIn returns the places that work in a space.
func (top *topology) placesIn(space devices.SpaceID) (out sched.PlaceSet) {
	for p, at := range top.spaces {
		if at == space {
			out = out.With(sched.PlaceID(p))
		}
	}
	return out
}

// hostOnly is the place of the CPU workers, as a set.
func (top *topology) hostOnly() sched.PlaceSet { return sched.PlaceSet(0).With(top.host) }

// estimate tells the scheduler what would have to move for s to each place. For the host that is
// also the way back: what has its home on accelerators and is written on the host must go there
// again, together with what it lacks there now. Between accelerators what is written counts twice
// where it is not: from then on it is where it is moved to, and what comes next has it to fetch.
func (top *topology) estimate(s *record) {
	if !top.accelerators || len(s.data()) == 0 || s.kind.waits() || s.item.Allowed.Len() < 2 {
		return
	}
	missing, least := s.item.Missing[:0], deps.Bytes(-1)
	for p := range top.places {
		var n deps.Bytes
		if s.item.Allowed.Has(sched.PlaceID(p)) {
			n = top.machine.GuessMissing(s.data(), top.spaces[p])
			if sched.PlaceID(p) != top.host && (least < 0 || n < least) {
				least = n
			}
		}
		missing = append(missing, n)
	}
	s.item.Changes, s.item.Home = false, 0
	top.addMoves(s, missing)
	if top.host >= 0 && s.item.Allowed.Has(top.host) && least >= 0 {
		if back := top.machine.ReturnBytes(s.data()); back > 0 {
			missing[top.host] += back + least
		}
	}
	s.item.Missing, s.item.Work = missing, s.work
}

// addMoves adds to what is missing at accelerators what s reads and writes and another one has, and
// says which have all of that.
func (top *topology) addMoves(s *record, missing []deps.Bytes) {
	var room [4]deps.Access
	changed := room[:0]
	for i := range s.data() {
		if a := &s.data()[i]; a.Mode.Reads() && a.Mode.Writes() {
			changed = append(changed, *a)
		}
	}
	if len(changed) == 0 {
		return
	}
	s.item.Changes = true
	var more [sched.MaxPlaces]deps.Bytes
	least := deps.Bytes(-1)
	for rest := s.item.Allowed; rest != 0; {
		p := rest.First()
		rest = rest.Without(p)
		if p == top.host {
			continue
		}
		if missing[p] > 0 {
			more[p] = top.machine.GuessMissing(changed, top.spaces[p])
		}
		if more[p] == 0 {
			s.item.Home = s.item.Home.With(p)
		}
		if least < 0 || more[p] < least {
			least = more[p]
		}
	}
	for p := range missing {
		if sched.PlaceID(p) != top.host && more[p] > least {
			missing[p] += more[p] - least
		}
	}
}

// estimateTransfers estimates the bytes to transfer for r to p. Data that r reads and writes count
// twice, as for the scheduler (addMoves).
func (top *topology) estimateTransfers(r *record, p sched.PlaceID) deps.Bytes {
	n := top.machine.GuessMissing(r.data(), top.spaces[p])
	if n > 0 {
		for i := range r.data() {
			if a := r.data()[i : i+1]; a[0].Mode.Reads() && a[0].Mode.Writes() {
				n += top.machine.GuessMissing(a, top.spaces[p])
			}
		}
	}
	return n
}

// leakOfMemory returns a *LeakError when accelerators hold memory. Requires: all buffers were
// dropped.
func (top *topology) leakOfMemory() error {
	for _, s := range top.spaces {
		if s != devices.Host && top.machine.Retired(s) != nil {
			return nil // what it holds is gone with it
		}
	}
	if n := top.machine.Held(); n != 0 {
		return &LeakError{[]string{fmt.Sprintf("memory of accelerators: %v", n)}}
	}
	return nil
}

// combinesUnscheduled reports whether combinations run beside the scheduler, as the machine has no
// CPU workers.
func (top *topology) combinesUnscheduled() bool { return top.host < 0 }

// findPlaces makes a place of every device and returns the number of CPU workers.
func (top *topology) findPlaces() int {
	workers := 0
	for _, d := range top.machine.Devices() {
		p := d.Properties()
		id := sched.PlaceID(len(top.places))
		top.places = append(top.places, sched.Place{Name: p.Name, Kind: p.Kind, Width: p.Workers, Host: p.Kind == devices.SMP, Link: devices.LinkOf(d)})
		top.spaces = append(top.spaces, top.machine.SpaceOf(d))
		top.memory = append(top.memory, p.Memory)
		top.granule = max(top.granule, p.Granule)
		top.depth = append(top.depth, max(1, p.Depth))
		top.all = top.all.With(id)
		if p.Kind == devices.SMP {
			top.host, workers = id, p.Workers
			top.cpus = d.(*smp.Device)
		} else {
			top.accelerators = true
			top.accelerated++
		}
	}
	for p := range top.places {
		set := sched.PlaceSet(0)
		for q := range top.places {
			if top.places[p].Kind == top.places[q].Kind {
				set = set.With(sched.PlaceID(q))
			}
		}
		top.alike = append(top.alike, set)
	}
	return workers
}

func (top *topology) addBuffer(b *memory.Buffer) error {
	return top.machine.AddMemory(b.ID, b.Host, b.Size(), b.Elem)
}

// lock locks mu, which all goroutines share. Many workers sleep rather than spin: 8 submitting
// goroutines with 16 workers took a quarter longer with spinning.
func (top *topology) lock(mu *spin.Mutex) {
	if top.accelerators {
		spin.LockLong(mu)
	} else {
		spin.Lock(mu)
	}
}

// placesNamed returns the places that a kind, "acc" or the name of a device stands for.
func (top *topology) placesNamed(name string) (sched.PlaceSet, error) {
	var out sched.PlaceSet
	for p, place := range top.places {
		if place.Name == name || string(place.Kind) == name || name == string(devices.Acc) && place.Kind != devices.SMP {
			out = out.With(sched.PlaceID(p))
		}
	}
	if out == 0 {
		return 0, fmt.Errorf("no device %q: the devices are %s", name, top.placeNames(top.all))
	}
	return out, nil
}

func (top *topology) placeNames(set sched.PlaceSet) string {
	text := ""
	for p, place := range top.places {
		if set.Has(sched.PlaceID(p)) {
			if text != "" {
				text += ", "
			}
			text += place.Name
		}
	}
	return text
}
