package tune

import (
	"slices"
	"time"
)

// Rules of a race.
const (
	// firstSamples of the first candidate show whether the kernel is worth a race.
	firstSamples = 3
	// decisive samples of each candidate that is still in the race end it; in full mode, of more.
	decisive     = 5
	decisiveFull = 9
	// mostTrials of all candidates together end it with what is known.
	mostTrials     = 48
	mostTrialsFull = 128
	// Of a candidate this much slower than the fastest there is one sample.
	hopeless = 1.3
	// The winner is faster than the first candidate by this part of it, and by so many median
	// deviations.
	margin     = 0.05
	deviations = 3
	// What the race costs: this part of the time that all launches have taken.
	budget = 0.05
	// least is the time of a launch below which events, and what is between two launches, hide the
	// differences.
	least = 20 * time.Microsecond
	// mostLost samples in a row mean that the kernel never has the device to itself.
	mostLost = 64
	// A stored time that is off by this factor says nothing about this machine.
	stale = 1.5
)

// A State is how far a race has come.
type State uint8

// The states, in the order in which a race goes through them; one whose outcome was stored begins
// with Checking.
const (
	Waiting  State = iota // for candidates: the first one is timed meanwhile
	Running               // candidates take turns
	Checking              // the stored winner runs, and is compared with the stored time
	Decided
)

// A Result is what was measured of a candidate.
type Result struct {
	Name    string
	Median  time.Duration // 0: it was not timed
	Samples int
	Out     bool // it cannot run, or one sample was enough
}

// A runner is a candidate in a race.
type runner struct {
	name    string
	samples []time.Duration
	out     bool
}

// A Race finds the fastest of the candidates of a kernel for arguments of one size class, from the
// times of its launches. Candidate 0 is the model's choice, and wins where no other is clearly
// faster. At most one launch is timed at once.
//
// A Race is not for concurrent use.
type Race struct {
	mode     Mode
	state    State
	why      string
	runners  []runner
	launches int64
	timing   int // the candidate that is timed now; -1 for none
	lost     int // samples in a row
	trials   int
	spent    time.Duration // by samples of other candidates, beyond what the first takes
	winner   int
	more     bool          // candidates are to come
	expected time.Duration // stored with the winner
}

// NewRace begins a race with the candidate that the model chose.
func NewRace(m Mode, first string) *Race {
	r := &Race{mode: m, timing: -1, runners: []runner{{name: first}}}
	if m == Off {
		r.decide(0, "tune=off")
	}
	return r
}

// Next returns the candidate to launch, and whether the launch is to be timed: then Took or Lost
// follows.
func (r *Race) Next() (candidate int, timed bool) {
	r.launches++
	if r.state == Decided || r.timing >= 0 {
		return r.winner, false
	}
	switch r.state {
	case Checking:
		r.timing = r.winner
	case Waiting:
		if len(r.runners[0].samples) >= firstSamples {
			return 0, false
		}
		r.timing = 0
	case Running:
		next := r.turn()
		if next != 0 && !r.affords() || len(r.runners[next].samples) >= r.enough() {
			return 0, false
		}
		r.timing = next
	}
	return r.timing, true
}

// turn is the candidate with the fewest samples, the first of equals.
func (r *Race) turn() int {
	best := 0
	for i := range r.runners {
		if one := &r.runners[i]; !one.out && len(one.samples) < len(r.runners[best].samples) {
			best = i
		}
	}
	return best
}

// affords reports whether a trial of another candidate is within the budget, if it takes up to
// twice as long as the first.
func (r *Race) affords() bool {
	first := median(r.runners[0].samples)
	return r.mode == Full || r.spent+first <= time.Duration(budget*float64(r.launches)*float64(first))
}

// Wants reports whether it is worth making the other candidates now.
func (r *Race) Wants() bool {
	return r.state == Waiting && len(r.runners[0].samples) >= firstSamples && r.affords()
}

// Start gives r other candidates, by their names. With more set, Join adds others, and r is not
// decided before.
func (r *Race) Start(others []string, more bool) {
	if r.state != Waiting {
		return
	}
	r.enter(others)
	r.state, r.more = Running, more
	r.run()
}

// Join gives r the last of its candidates.
func (r *Race) Join(others []string) {
	if r.state == Running && r.more {
		r.enter(others)
		r.more = false
		r.run()
	}
}

// Take gives r its other candidates, and makes the stored winner the one to launch. It reports
// false, and does nothing, where that is none of the candidates.
func (r *Race) Take(stored Record, others []string) bool {
	if r.state != Waiting {
		return false
	}
	won := 0
	if stored.Winner != r.runners[0].name {
		if won = 1 + slices.Index(others, stored.Winner); won == 0 {
			return false
		}
	}
	r.enter(others)
	r.winner, r.expected, r.state = won, stored.Median, Checking
	r.runners[0].samples, r.timing = nil, -1
	return true
}

func (r *Race) enter(others []string) {
	for _, name := range others {
		r.runners = append(r.runners, runner{name: name})
	}
}

// Took notes the time of the launch that was timed.
func (r *Race) Took(d time.Duration) {
	at := r.timing
	if at < 0 || r.state == Decided {
		return
	}
	r.timing, r.lost = -1, 0
	one := &r.runners[at]
	one.samples = append(one.samples, max(d, 1))
	r.trials++
	if at != 0 && r.state == Running {
		r.spent += max(0, d-median(r.runners[0].samples))
	}
	switch r.state {
	case Waiting:
		if r.mode != Full && len(one.samples) >= firstSamples && median(one.samples) < least {
			r.decide(0, "a launch is too short to be timed")
		}
	case Checking:
		r.check(one)
	case Running:
		r.run()
	}
}

// Lost says that the launch that was timed has failed, or shared the device with others.
func (r *Race) Lost() {
	if r.timing < 0 {
		return
	}
	r.timing = -1
	if r.lost++; r.lost >= mostLost && r.state != Decided {
		r.decide(r.winner, "it never has the device to itself")
	}
}

// Drop takes a candidate out that cannot run, or is the same as the first for these arguments.
func (r *Race) Drop(candidate int) {
	if r.timing == candidate {
		r.timing = -1
	}
	if candidate <= 0 || candidate >= len(r.runners) {
		return
	}
	r.runners[candidate].out = true
	switch r.state {
	case Checking:
		r.restart()
	case Running:
		r.run()
	}
}

// check compares the stored winner with the time that was stored.
func (r *Race) check(one *runner) {
	if len(one.samples) < firstSamples {
		return
	}
	now, then := float64(median(one.samples)), float64(r.expected)
	if now <= stale*then && then <= stale*now {
		r.decide(r.winner, "it was stored")
		return
	}
	r.restart()
}

// restart forgets what was stored.
func (r *Race) restart() {
	first := r.runners[0]
	first.samples = nil
	*r = Race{mode: r.mode, runners: []runner{first}, timing: -1, launches: r.launches, trials: r.trials}
}

// run drops what is hopeless, and decides when enough is known.
func (r *Race) run() {
	best := time.Duration(1<<63 - 1)
	for i := range r.runners {
		if s := r.runners[i].samples; len(s) > 0 && !r.runners[i].out {
			best = min(best, median(s))
		}
	}
	fewest, most := 1<<30, mostTrials
	if r.mode == Full {
		most = mostTrialsFull
	}
	for i := range r.runners {
		one := &r.runners[i]
		if i > 0 && len(one.samples) > 0 && float64(slices.Min(one.samples)) > hopeless*float64(best) {
			one.out = true
		}
		if !one.out {
			fewest = min(fewest, len(one.samples))
		}
	}
	if !r.more && (fewest >= r.enough() || r.trials >= most && fewest >= firstSamples) {
		r.finish()
	}
}

// enough is how many samples of a candidate say how fast it is.
func (r *Race) enough() int {
	if r.mode == Full {
		return decisiveFull
	}
	return decisive
}

// finish decides by medians.
func (r *Race) finish() {
	best := 0
	for i := range r.runners {
		if one := &r.runners[i]; !one.out && median(one.samples) < median(r.runners[best].samples) {
			best = i
		}
	}
	first, won := r.runners[0].samples, r.runners[best].samples
	gain := median(first) - median(won)
	if best == 0 || float64(gain) <= margin*float64(median(first)) || gain <= deviations*max(deviation(first), deviation(won)) {
		r.decide(0, "no other candidate is clearly faster")
		return
	}
	r.decide(best, "it is the fastest")
}

func (r *Race) decide(winner int, why string) {
	r.state, r.winner, r.why, r.timing = Decided, winner, why, -1
}

// State returns how far r is.
func (r *Race) State() State { return r.state }

// Winner returns the candidate that runs when nothing is tried, and why once that is decided.
func (r *Race) Winner() (candidate int, why string) { return r.winner, r.why }

// Results returns what was measured of the candidates.
func (r *Race) Results() []Result {
	out := make([]Result, len(r.runners))
	for i := range r.runners {
		one := &r.runners[i]
		out[i] = Result{Name: one.name, Samples: len(one.samples), Out: one.out}
		if len(one.samples) > 0 {
			out[i].Median = median(one.samples)
		}
	}
	return out
}

// Record returns the outcome of a decided race, to be stored; ok is false for one that was not run
// to its end.
func (r *Race) Record() (out Record, ok bool) {
	if r.state != Decided || r.mode == Off || len(r.runners) < 2 || r.expected != 0 {
		return Record{}, false
	}
	out = Record{Winner: r.runners[r.winner].name, Median: median(r.runners[r.winner].samples), Results: r.Results()}
	return out, out.Median > 0
}

// FirstOnly reports whether a stored outcome needs no other candidate.
func (r *Race) FirstOnly(stored Record) bool { return stored.Winner == r.runners[0].name }

// median is that of a list, of an even one the smaller of the two; 0 of none.
func median(list []time.Duration) time.Duration {
	if len(list) == 0 {
		return 0
	}
	s := slices.Sorted(slices.Values(list))
	return s[(len(s)-1)/2]
}

// deviation is the median distance from the median.
func deviation(list []time.Duration) time.Duration {
	m := median(list)
	var out []time.Duration
	for _, d := range list {
		out = append(out, (d - m).Abs())
	}
	return median(out)
}
