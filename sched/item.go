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
	// Host says that the memory of this place is the Go program's own: where data are before
	// anything is moved.
	Host bool
	// Link is what joins an accelerator's memory to the host's; the zero Link where that is not
	// known.
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

// An Item is a ready task as the scheduler sees it. It is embedded in the owner's record, so that
// queueing it allocates nothing; the fields below the line are the scheduler's, from Prepare on.
type Item struct {
	Owner    any // the record of the task, for the caller of Pop
	Name     string
	Priority int // higher runs first, under policies that look at it
	Allowed  PlaceSet
	// Missing is, by place, the bytes that would have to move there; empty when nothing has to move
	// anywhere.
	Missing []deps.Bytes
	// Work is the number of bytes that the task accesses: the measure of its run time until times
	// are known.
	Work deps.Bytes
	// Changes means that the task reads and writes some data. Home is the set of accelerators that
	// own all of those.
	Changes bool
	Home    PlaceSet
	// Version names the kernel whose times are learned; empty for none. Took is the run time, set
	// before Done, or 0.
	Version string
	Took    time.Duration
	// Beside means that the run overlapped with others at its place. Took is then the time between
	// the end of the previous run and its own.
	Beside bool
	// Limit is set by Pop: the most that a trial on the host may take; 0 for no trial, or where no
	// other time is known. The owner that stops the trial sets Took to the expected whole time and
	// pushes the item again.
	Limit time.Duration

	need  [MaxKinds]int32
	state itemState
	marks marks
	inQueue
	load
	seen []probe.Candidate // what the policy knew when it was pushed
}

// An inQueue is where an item stands.
type inQueue struct {
	at         PlaceID // queued: the place of its queue; in flight: the place where it runs
	order      uint64
	passed     int32
	lane       *lane
	prev, next *Item
}

// A load is what an item is expected to cost.
type load struct {
	runs     [MaxKinds]expected // by kind, as of Push
	expect   time.Duration      // the load that it adds to its place
	run      time.Duration      // that load without transfers
	fallback PlaceID            // place of the next attempt if its trial is stopped, plus one; 0 for none
	reserved time.Duration      // the time reserved for it there
	weight   weight             // of its run time
}

// A mark is what the scheduler notes of an item.
type mark uint8

const (
	needsTokens mark = 1 << iota // some need is not zero
	lacksTokens                  // has lacked tokens since it was pushed
	counted                      // its load is counted as in flight
	onTrial                      // its run time is not known
	moves                        // its run needs transfers
	owned                        // its work is in ownedBytes of its place
	retrial                      // queued at a place that is known to be slow, to measure it again
)

// A marks is a set of them.
type marks uint8

func (m marks) has(x mark) bool { return m&marks(x) != 0 }

// set adds x, or takes it out, and returns on.
func (m *marks) set(x mark, on bool) bool {
	if *m &^= marks(x); on {
		*m |= marks(x)
	}
	return on
}

// An expected is the known run time of an item on a kind of device.
type expected struct {
	run     time.Duration
	median  time.Duration
	samples int64 // 0 where it never ran
	known   bool
	alone   bool // enough samples, none of which includes transfers
}

// An itemState is the state of an Item.
type itemState uint8

const (
	idle itemState = iota
	queued
	inFlight
)

// Place returns where an item that has been popped runs.
func (it *Item) Place() PlaceID { return it.at }

// Short reports whether it was refused for want of tokens since it was pushed.
func (it *Item) Short() bool { return it.marks.has(lacksTokens) }

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
