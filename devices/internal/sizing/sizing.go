// Package sizing decides for which sizes a kernel gets device code of its own, in which they are
// constants. It knows nothing of devices: the form of a kernel that is made is of any type.
package sizing

import (
	"maps"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/gompss/gompss/devices"
)

// How much is made of a kernel. A form takes a compilation, of some 100 ms, and a few hundred kB of
// memory; a launch compares its arguments with those of all forms.
const (
	atOnce    = 2       // forms that a launch waits for
	most      = 4       // forms of a kernel
	repeated  = 3       // launches with the same sizes, after which they get a form
	fewValues = 4       // values of a size; one with more of them varies, and is no constant of a form
	counted   = 8       // combinations of sizes whose launches are counted
	watching  = 1 << 10 // launches without a form, after which no more is planned
)

// A Value is that of a size: of an argument by its number.
type Value struct {
	Arg  int
	Bits uint64
}

// A form is what was made for some values.
type form[F any] struct {
	values []Value
	made   F
}

// A Kernel records the sizes that one kernel was launched with on one device, and the forms that
// were made for them. All methods may be called at the same time.
type Kernel[F any] struct {
	forms atomic.Pointer[[]form[F]]
	ended atomic.Bool // nothing more will be planned

	mu      sync.Mutex
	watched []int // the arguments that do not vary
	values  map[int][]uint64
	planned [][]Value
	counts  []count
	missed  int // launches without a form
}

// A count is how many launches had values.
type count struct {
	values []Value
	n      int
}

// New returns the record of a kernel of which these arguments are sizes, nil where there are none.
func New[F any](sizes []int) *Kernel[F] {
	if len(sizes) == 0 {
		return nil
	}
	return &Kernel[F]{watched: slices.Clone(sizes), values: map[int][]uint64{}}
}

// Find returns the form for a launch with these arguments.
func (k *Kernel[F]) Find(args []devices.Arg) (made F, ok bool) {
	if list := k.forms.Load(); list != nil {
		for i := range *list {
			if f := &(*list)[i]; fits(f.values, args) {
				return f.made, true
			}
		}
	}
	return made, false
}

func fits(values []Value, args []devices.Arg) bool {
	for _, v := range values {
		if args[v.Arg].Bits != v.Bits {
			return false
		}
	}
	return true
}

// When says when a form is made.
type When int

// The times.
const (
	Never When = iota
	Now        // before the launch, which has no other code yet
	Later      // beside the launches
)

// Plan says whether a form is to be made because of a launch with these arguments, which has none,
// for which values, and when. The same values are planned once. general reports whether code for
// all sizes is there.
func (k *Kernel[F]) Plan(args []devices.Arg, general bool) (When, []Value) {
	if k.ended.Load() {
		return Never, nil
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	k.note(args)
	values := k.valuesOf(args)
	if k.missed++; len(k.watched) == 0 || len(k.planned) == most || k.missed > watching {
		k.ended.Store(true)
		return Never, nil
	}
	if slices.ContainsFunc(k.planned, func(have []Value) bool { return slices.Equal(have, values) }) {
		return Never, nil
	}
	when := Later
	if !general && len(k.planned) < atOnce {
		when = Now
	} else if k.count(values) < repeated {
		return Never, nil
	}
	k.planned = append(k.planned, values)
	return when, values
}

// note takes in the values of a launch. A size with many of them varies: its values are no longer
// looked at, and what was counted with them means nothing.
func (k *Kernel[F]) note(args []devices.Arg) {
	varies := func(arg int) bool {
		list := k.values[arg]
		if bits := args[arg].Bits; !slices.Contains(list, bits) {
			list = append(list, bits)
			k.values[arg] = list
		}
		return len(list) > fewValues
	}
	before := len(k.watched)
	if k.watched = slices.DeleteFunc(k.watched, varies); len(k.watched) < before {
		k.counts = nil
		maps.DeleteFunc(k.values, func(arg int, _ []uint64) bool { return !slices.Contains(k.watched, arg) })
	}
}

func (k *Kernel[F]) valuesOf(args []devices.Arg) []Value {
	out := make([]Value, len(k.watched))
	for i, arg := range k.watched {
		out[i] = Value{arg, args[arg].Bits}
	}
	return out
}

// count counts a launch with these values and returns how many there were. Of more combinations
// than it has room for the rarest one is forgotten.
func (k *Kernel[F]) count(values []Value) int {
	for i := range k.counts {
		if c := &k.counts[i]; slices.Equal(c.values, values) {
			c.n++
			return c.n
		}
	}
	if len(k.counts) == counted {
		rarest := 0
		for i := range k.counts {
			if k.counts[i].n < k.counts[rarest].n {
				rarest = i
			}
		}
		k.counts = slices.Delete(k.counts, rarest, rarest+1)
	}
	k.counts = append(k.counts, count{values, 1})
	return 1
}

// Add makes a planned form known. The forms with the most values are found first.
func (k *Kernel[F]) Add(values []Value, made F) {
	k.mu.Lock()
	defer k.mu.Unlock()
	var list []form[F]
	if old := k.forms.Load(); old != nil {
		list = slices.Clone(*old)
	}
	list = append(list, form[F]{values, made})
	slices.SortStableFunc(list, func(a, b form[F]) int { return len(b.values) - len(a.values) })
	k.forms.Store(&list)
}

// All returns the forms that are made.
func (k *Kernel[F]) All() (out []F) {
	if k == nil {
		return nil
	}
	if list := k.forms.Load(); list != nil {
		for _, f := range *list {
			out = append(out, f.made)
		}
	}
	return out
}
