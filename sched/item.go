package sched

import (
	"math/bits"
	"time"

	"github.com/gompss/gompss/deps"
	"github.com/gompss/gompss/devices"
	"github.com/gompss/gompss/trace/probe"
)

// MaxPlaces and MaxKinds bound a machine.
const (
	MaxPlaces = 64
	MaxKinds  = 8
)

// A PlaceID is the index of a place in Options.Places.
type PlaceID int

// A Place is where items run: all CPU workers together, or one accelerator.
type Place struct {
	Name  string
	Kind  devices.Kind
	Width int // items that run at once
	// Host says that the memory of this place is the Go program's own: where data are before anything is moved.
	Host bool
	// Link is what joins an accelerator's memory to the host's; the zero Link where that is not known.
	Link devices.Link
}

// A PlaceSet is a set of places.
type PlaceSet uint64

// With returns s and p.
func (s PlaceSet) With(p PlaceID) PlaceSet { return s | 1<<uint(p) }

// Without returns s but for p.
func (s PlaceSet) Without(p PlaceID) PlaceSet { return s &^ (1 << uint(p)) }

// Has reports whether p is in s.
func (s PlaceSet) Has(p PlaceID) bool { return s&(1<<uint(p)) != 0 }

// First returns the lowest place of s, which must not be empty.
func (s PlaceSet) First() PlaceID { return PlaceID(bits.TrailingZeros64(uint64(s))) }

// Len returns the number of places in s.
func (s PlaceSet) Len() int { return bits.OnesCount64(uint64(s)) }

// Tokens is one entry of a resources clause: what a running item holds of a kind.
type Tokens struct {
	Kind  devices.Kind // a kind, or devices.Acc for every accelerator kind
	Count int
}

// An Item is a ready task as the scheduler sees it. It is embedded in the owner's record, so that queueing it
// allocates nothing; the fields below the line are the scheduler's, from Prepare on.
type Item struct {
	Owner    any // what the one who pops needs to find the record
	Name     string
	Priority int // higher runs first, under policies that look at it
	Allowed  PlaceSet
	// Missing is, by place, the bytes that would have to move there; empty when nothing has to move anywhere.
	Missing []deps.Bytes
	// Work is what the task touches: the measure of how long it runs, as long as nothing better is known.
	Work deps.Bytes
	// Changes says that it reads and writes some data, and Home are the accelerators that have all of those, if there are any.
	Changes bool
	Home    PlaceSet
	// Version names what runs, where it is known how long that takes: the kernel. Took is how long it ran, set before Done, or 0.
	Version string
	Took    time.Duration
	// Beside says that others had begun there before it and ended within its time, of which Took is what was left then.
	Beside bool
	// Limit is set when it is popped: how long a trial on the host is worth, 0 for no trial or where nothing is known of other places.
	// Who stops it then puts into Took what it would have taken, and pushes it again.
	Limit time.Duration

	runs     [MaxKinds]expected // by kind, as of Push
	need     [MaxKinds]int32
	needs    bool // some need is not zero
	state    itemState
	at       PlaceID // Queued: the place it was meant for; InFlight: where it runs
	order    uint64
	passed   int32
	short    bool          // was refused for want of tokens since it was pushed
	expect   time.Duration // what it takes of its place, in a ledger
	run      time.Duration // and of that the time that it runs
	counted  bool          // and counted as in flight there
	trial    bool          // and as one whose time is not known
	moves    bool          // and as one for which something is moved there
	owned    bool          // counted among those that make at their home there
	fallback PlaceID       // of a trial on the host: where it runs if that is stopped, and one more; 0 for none
	reserved time.Duration // and what is kept free for it there
	retrial  bool          // meant for a place where it is known to be slow, to see whether it still is
	weight   weight        // its time, where it is learned
	lane     *lane
	seen     []probe.Candidate // what the policy saw when it was pushed
	prev     *Item
	next     *Item
}

// An expected is how long an item runs on a kind of device, if that is known.
type expected struct {
	run     time.Duration
	median  time.Duration
	samples int64 // 0 where it never ran
	known   bool
	alone   bool // no time of those had moving in it, and there are enough
}

// An itemState says where an Item is in its life.
type itemState uint8

const (
	idle itemState = iota
	queued
	inFlight
)

// Place returns where an item that has been popped runs.
func (it *Item) Place() PlaceID { return it.at }

// Short reports whether it was refused for want of tokens since it was pushed.
func (it *Item) Short() bool { return it.short }

// missing returns the bytes to move to p.
func (it *Item) missing(p PlaceID) deps.Bytes {
	if len(it.Missing) == 0 {
		return 0
	}
	return it.Missing[p]
}

// Reset makes a finished item ready for another task. The scheduler must not hold it.
func (it *Item) Reset() {
	missing, seen, owner := it.Missing[:0], it.seen[:0], it.Owner
	if it.state != idle {
		panic("gompss: bug: sched: reset of an item that is queued or in flight")
	}
	*it = Item{Owner: owner, Missing: missing, seen: seen}
}
