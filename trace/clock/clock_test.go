package clock

import (
	"os"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// counting returns a clock that reads the counter, or skips the test with the reason.
func counting(t testing.TB) *Clock {
	c := New()
	if !trusted() {
		t.Skip("the kernel does not keep time by the counter of the processor: the system's clock is read")
	}
	for end := time.Now().Add(5 * time.Second); !c.Counting() && time.Now().Before(end); time.Sleep(time.Millisecond) {
		c.Now()
	}
	require.True(t, c.Counting(), "the rate is known after some milliseconds")
	return c
}

// The clock is the system's, to within what the machine's other work allows: the least difference
// of many tries counts.
func TestTheClockIsTheSystems(t *testing.T) {
	bound := 400 * time.Microsecond // others may use the machine
	if os.Getenv("GOMPSS_SOAK") != "" {
		bound = 20 * time.Microsecond
	}
	c := New()
	for c.Now() < 1500*time.Millisecond { // over all sorts of lines
		least := time.Hour
		for range 200 {
			before := time.Since(c.opened)
			now := c.Now()
			after := time.Since(c.opened)
			least = min(least, max(before-now, now-after, 0))
		}
		require.Less(t, least, bound, "at %v", c.Now())
		time.Sleep(5 * time.Millisecond)
	}
}

// What is read after something that another goroutine did after its reading is not less.
func TestTimeDoesNotGoBack(t *testing.T) {
	c := New()
	var latest atomic.Int64
	var all sync.WaitGroup
	for range 4 {
		all.Go(func() {
			own := time.Duration(0)
			for own < 300*time.Millisecond {
				seen := time.Duration(latest.Load())
				now := c.Now()
				if now < seen || now < own {
					t.Errorf("%v after %v of another and %v of its own", now, seen, own)
					return
				}
				own = now
				for old := latest.Load(); int64(now) > old && !latest.CompareAndSwap(old, int64(now)); old = latest.Load() {
				}
			}
		})
	}
	all.Wait()
}

func TestEarlyIsNotLate(t *testing.T) {
	c := counting(t)
	for range 10000 {
		before := c.Now()
		early := c.Early()
		require.LessOrEqual(t, early, c.Now())
		require.Greater(t, early, before-time.Millisecond)
	}
}

// A counter that does not fit the system's clock is given up, without going back.
func TestACounterThatIsLost(t *testing.T) {
	for name, spoil := range map[string]func(l *line, begin *sample){
		"ahead":       func(l *line, _ *sample) { l.at += 50 * time.Millisecond },
		"behind":      func(l *line, _ *sample) { l.at -= 50 * time.Millisecond },
		"set back":    func(l *line, _ *sample) { l.from += 1 << 40 },
		"not running": func(_ *line, begin *sample) { begin.tick += 1 << 40 },
	} {
		c := counting(t)
		time.Sleep(3 * time.Millisecond)
		l := *c.line.Load()
		spoil(&l, &c.begin)
		c.line.Store(&l)
		before := c.Now()
		l.span = 1
		c.line.Store(&l)
		after := c.Now()
		require.False(t, c.Counting(), name)
		require.GreaterOrEqual(t, after, before, name)
		ahead := time.Duration(c.ahead.Load())
		from, now, to := time.Since(c.opened)+ahead, c.Now(), time.Since(c.opened)+ahead
		require.True(t, from <= now && now <= to, "%s: %v, %v, %v", name, from, now, to)
		require.LessOrEqual(t, after, c.Now(), name)
	}
}

// A difference that the system's corrections make is made up for, little by little.
func TestADifferenceIsMadeUpFor(t *testing.T) {
	c := counting(t)
	l := *c.line.Load()
	l.at += 100 * time.Microsecond
	c.line.Store(&l)
	off := func() time.Duration {
		least := time.Hour
		for range 1000 {
			before := time.Since(c.opened)
			least = min(least, c.Now()-before)
		}
		return least
	}
	last := time.Duration(0)
	for end := time.Now().Add(time.Minute); (c.Now() < 2500*time.Millisecond || off() >= 60*time.Microsecond) && time.Now().Before(end); {
		now := c.Now()
		require.GreaterOrEqual(t, now, last)
		last = now
		time.Sleep(time.Millisecond)
	}
	require.True(t, c.Counting())
	require.Less(t, off(), 60*time.Microsecond)
}

func TestReadingAllocatesNothing(t *testing.T) {
	c := counting(t)
	require.Zero(t, testing.AllocsPerRun(1000, func() { c.Now(); c.Early() }))
}

func BenchmarkSystem(b *testing.B) {
	began := time.Now()
	for b.Loop() {
		time.Since(began)
	}
}

func BenchmarkNow(b *testing.B) {
	c := counting(b)
	for b.Loop() {
		c.Now()
	}
}

func BenchmarkEarly(b *testing.B) {
	c := counting(b)
	for b.Loop() {
		c.Early()
	}
}
