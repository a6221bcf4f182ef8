package trace

import (
	"encoding/json"
	"slices"
	"sync"
	"time"

	"github.com/gompss/gompss/trace/probe"
	"github.com/gompss/gompss/trace/record"
	"github.com/gompss/gompss/trace/run"
)

// liveTasks is how many of the newest tasks a live page shows at least.
const liveTasks = 20000

// The longest a page may be behind, and the share of a processor that snapshots may take: a snapshot that took d is followed by
// costFactor times d of rest.
const (
	refresh    = 500 * time.Millisecond
	costFactor = 100
)

// A content is what a page shows: a run that goes on, as a record.Sink, or one that is over.
type content struct {
	title string

	mu   sync.Mutex // guards run, live and fresh
	run  *run.Run
	live bool
	// fresh says that something came since the last snapshot.
	fresh bool

	making sync.Mutex // held while a snapshot is made
	made   snapshot
	next   time.Time     // no snapshot before that
	spent  time.Duration // on all snapshots
}

// A snapshot is the bytes that all clients get.
type snapshot struct {
	version int64
	state   []byte // JSON
	columns []byte
	run     *run.Run
	end     bool // the run is over: there will be no other
}

// Open implements record.Sink.
func (c *content) Open(m *probe.Machine) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.run.Open(m)
}

// Take implements record.Sink.
func (c *content) Take(b *record.Batch) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.fresh = true
	return c.run.Take(b)
}

// end says that nothing will come any more.
func (c *content) end() {
	c.mu.Lock()
	c.live, c.fresh = false, true
	c.mu.Unlock()
}

// snapshot returns the newest snapshot, made anew when there is something new and the last one is old enough.
func (c *content) snapshot() (snapshot, error) {
	c.making.Lock()
	defer c.making.Unlock()
	c.mu.Lock()
	due := c.fresh && (!c.live || !time.Now().Before(c.next)) || c.made.version == 0
	if !due {
		c.mu.Unlock()
		return c.made, nil
	}
	began := time.Now()
	r, live := copyOf(c.run), c.live
	c.fresh = false
	c.mu.Unlock()
	r.Finish()
	s := stateOf(r, c.title)
	s.Live, s.Version = live, c.made.version+1
	cols := columns(r, s)
	text, err := json.Marshal(s)
	if err != nil {
		return c.made, err
	}
	c.made = snapshot{s.Version, text, cols, r, !live}
	c.spent += time.Since(began)
	c.next = time.Now().Add(max(refresh, costFactor*time.Since(began)))
	return c.made, nil
}

// copyOf copies what a sink goes on changing.
func copyOf(r *run.Run) *run.Run {
	c := *r
	c.Tasks, c.Details, c.Points = slices.Clone(r.Tasks), slices.Clone(r.Details), slices.Clone(r.Points)
	return &c
}
