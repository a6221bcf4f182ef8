package clock

import (
	"math/bits"
	"sync"
	"sync/atomic"
	"time"
)

// A Clock tells the time since it was opened. The zero Clock is not usable.
type Clock struct {
	opened time.Time
	// line turns the counter into time; nil where the system clock is used.
	line atomic.Pointer[line]

	mu    sync.Mutex // guards the fields below; no goroutine waits for it
	begin sample     // where the line in use was last compared with the system
	round int

	// ahead is by how much the line was ahead of the system's clock when it was given up.
	ahead atomic.Int64
}

// A line converts the counter to time: at ticks after from, the time is at plus ticks times rate.
type line struct {
	from uint64
	span uint64 // ticks for which it is good; 0 before the rate is known
	at   time.Duration
	rate uint64 // nanoseconds a tick, in 1/2^32
}

// A sample is the counter and the system's clock at the same moment.
type sample struct {
	tick uint64
	at   time.Duration // the earliest that the system's clock may have shown
	wide time.Duration // and how much later it may have been
}

// New returns a clock that counts from now on.
func New() *Clock {
	c := &Clock{opened: time.Now()}
	if trusted() {
		c.begin = c.compare()
		c.line.Store(&line{from: c.begin.tick})
	}
	return c
}

// Opened returns the moment that the clock counts from.
func (c *Clock) Opened() time.Time { return c.opened }

// Counting reports whether the counter of the processor is read.
func (c *Clock) Counting() bool {
	l := c.line.Load()
	return l != nil && l.span > 0
}

// Now returns the time since the clock was opened. It is read after all that the caller did before.
func (c *Clock) Now() time.Duration {
	if l := c.line.Load(); l != nil {
		return c.along(l, ordered())
	}
	return c.system()
}

// Early is Now at half the price: the processor may read it some ten nanoseconds early, before what
// the caller did just before has finished. It suits the end of something: what others do because of
// it they do later.
func (c *Clock) Early() time.Duration {
	if l := c.line.Load(); l != nil {
		tick := ticks()
		if n := tick - l.from; n < l.span { // along, without its call
			return l.after(n)
		}
		return c.steer(tick)
	}
	return c.system()
}

func (c *Clock) system() time.Duration { return time.Since(c.opened) + time.Duration(c.ahead.Load()) }

// along returns the time at a tick.
func (c *Clock) along(l *line, tick uint64) time.Duration {
	if n := tick - l.from; n < l.span {
		return l.after(n)
	}
	return c.steer(tick)
}

func (l *line) after(ticks uint64) time.Duration {
	hi, lo := bits.Mul64(ticks, l.rate)
	return l.at + time.Duration(hi<<32|lo>>32)
}

// compare reads the counter between two readings of the system's clock that are as close to each
// other as can be had.
func (c *Clock) compare() (best sample) {
	for i := range 6 {
		before := time.Since(c.opened)
		tick := ordered()
		if wide := time.Since(c.opened) - before; i == 0 || wide < best.wide {
			best = sample{tick, before, wide}
		}
	}
	return best
}

// How long lines are good, first to last; the first is the time that it takes to know the rate at
// all. A rate is as good as the time it was measured over is long beside the width of a sample.
var spans = [...]time.Duration{2 * time.Millisecond, 20 * time.Millisecond, 200 * time.Millisecond, time.Second}

// little is the number of ticks before the beginning of a line at which a thread that finds the
// line may have read the counter.
const little = 1 << 32

// lost is how far the counter may be from the system's clock before it is not believed any more.
const lost = time.Millisecond

// steer returns the time at a tick for which the line is not good: it is too old, or so new that
// the tick was before it. The line is replaced by one that continues where it is and meets the
// system's clock in the end of its span.
func (c *Clock) steer(tick uint64) time.Duration {
	if !c.mu.TryLock() {
		return c.beyond(tick)
	}
	defer c.mu.Unlock()
	l := c.line.Load()
	if l == nil || tick-l.from < l.span || l.from-tick < little { // another did it
		return c.beyond(tick)
	}
	s := c.compare()
	if s.tick <= c.begin.tick || s.tick < l.from {
		return c.giveUp(l.at, s)
	}
	if s.at-c.begin.at < spans[0] {
		return s.at + s.wide
	}
	perTick := float64(s.at-c.begin.at) / float64(s.tick-c.begin.tick)
	now := s.at + s.wide // not before anything that was read so far
	if l.span > 0 {
		now = l.after(s.tick - l.from)
	}
	if off := now - s.at; off > lost || off < -lost || !(perTick > 0) {
		return c.giveUp(now, s)
	}
	c.round = min(c.round+1, len(spans)-1)
	span := spans[c.round]
	// Half the difference is enough: the width of a sample is part of it.
	steered := perTick * (1 - float64(now-s.at-s.wide/2)/2/float64(span))
	next := &line{from: s.tick, at: now, span: uint64(float64(span) / perTick), rate: uint64(steered * (1 << 32))}
	c.begin = s
	c.line.Store(next)
	return next.at
}

// beyond is the time at a tick for which the line is not good, while another one steers or has just
// done so.
func (c *Clock) beyond(tick uint64) time.Duration {
	l := c.line.Load()
	switch {
	case l == nil || l.span == 0:
		return c.system()
	case l.from-tick < little:
		return l.at
	}
	return l.after(tick - l.from)
}

// giveUp goes back to the system's clock permanently, without going back in time.
func (c *Clock) giveUp(now time.Duration, s sample) time.Duration {
	c.ahead.Store(int64(max(0, now-s.at)))
	c.line.Store(nil)
	return c.system()
}
