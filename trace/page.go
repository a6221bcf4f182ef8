package trace

import (
	"bytes"
	"encoding/json"
	"io"
	"sync"
	"time"

	"github.com/gompss/gompss/deps"
	"github.com/gompss/gompss/trace/probe"
	"github.com/gompss/gompss/trace/record"
	"github.com/gompss/gompss/trace/run"
)

// liveTasks is how many of the newest tasks a live page shows at least.
const liveTasks = 16384

// The longest a page may be behind, and the share of a processor that snapshots may take: a
// snapshot that took d is followed by costFactor times d of rest.
const (
	refresh    = 500 * time.Millisecond
	costFactor = 200
	// longestRest bounds that: where others keep the processor busy, what was spent is mostly
	// theirs, and the page should show the run.
	longestRest = 10 * time.Second
)

// A content is the source of a page: a run that continues, as a record.Sink, or one that has
// finished.
type content struct {
	title string

	mu   sync.Mutex // guards run, live, fresh and status
	run  *run.Run
	live bool
	// status looks at the tasks in flight of a run that continues; nil where there is nothing to look
	// at.
	status func() *probe.Status
	// fresh says that something came since the last snapshot.
	fresh bool

	making  sync.Mutex // guards the fields below; mu may be locked under it
	view    *run.Run   // what the newest snapshot is of: a copy of run, or run itself when it has finished
	names   names
	made    snapshot
	table   *table        // of made, once requested
	columns []byte        // of table, where the run continues and view will change
	next    time.Time     // no snapshot before that
	spent   time.Duration // on all snapshots
}

// A snapshot is the bytes that all clients get.
type snapshot struct {
	version int64
	state   []byte // JSON
	end     bool   // the run has finished: there will be no other
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

// snapshot returns the newest snapshot, made again when there is something new and the last one is
// old enough.
func (c *content) snapshot() (snapshot, error) {
	c.making.Lock()
	defer c.making.Unlock()
	return c.newest()
}

// tasks returns a writer of the newest snapshot's tasks as columns, and its version.
func (c *content) tasks() (write func(w io.Writer) error, version int64, err error) {
	c.making.Lock()
	defer c.making.Unlock()
	m, err := c.newest()
	if err != nil {
		return nil, 0, err
	}
	began := time.Now()
	if c.table == nil {
		c.table = tableOf(c.view, &c.names)
	}
	if m.end { // the run stays as it is: its columns, which may be many, lie nowhere
		return c.table.write, m.version, nil
	}
	if c.columns == nil {
		var b bytes.Buffer
		if err := c.table.write(&b); err != nil {
			return nil, 0, err
		}
		c.columns = b.Bytes()
		c.rest(time.Since(began))
	}
	columns := c.columns
	return func(w io.Writer) error {
		_, err := w.Write(columns)
		return err
	}, m.version, nil
}

// task returns the details of a task of the newest snapshot, nil when it is absent.
func (c *content) task(id deps.TaskID) (*taskState, error) {
	c.making.Lock()
	defer c.making.Unlock()
	if _, err := c.newest(); err != nil {
		return nil, err
	}
	return taskOf(c.view, id), nil
}

// newest is snapshot. Requires: making held.
func (c *content) newest() (snapshot, error) {
	c.mu.Lock()
	due := c.fresh && (!c.live || !time.Now().Before(c.next)) || c.made.version == 0
	status := c.status
	if !due && (status == nil || !c.live || time.Now().Before(c.next)) {
		c.mu.Unlock()
		return c.made, nil
	}
	c.mu.Unlock()
	var now *probe.Status // without mu: it looks into the runtime, which may be about to hand over records
	if status != nil {
		now = status()
	}
	if !due && now.Verdict == "" {
		return c.made, nil
	}
	c.mu.Lock()
	began := time.Now()
	live := c.live
	c.look()
	c.fresh = false
	c.mu.Unlock()
	c.view.Finish()
	s := stateOf(c.view, c.title, &c.names)
	s.Live, s.Version = live, c.made.version+1
	if live && now != nil {
		s.show(now)
	}
	text, err := json.Marshal(s)
	if err != nil {
		return c.made, err
	}
	c.made, c.table, c.columns = snapshot{s.Version, text, !live}, nil, nil
	c.next = time.Now().Add(refresh)
	c.rest(time.Since(began))
	return c.made, nil
}

// look sets the view to a snapshot of the current state. The memory of the last view is used again.
// Requires: both locks held.
func (c *content) look() {
	switch {
	case !c.live:
		c.view = c.run
	case c.view == nil:
		c.view = &run.Run{}
		fallthrough
	default:
		c.view.Copy(c.run)
	}
}

// rest delays the next snapshot in proportion to the cost of the last one.
func (c *content) rest(spent time.Duration) {
	c.spent += spent
	if next := time.Now().Add(min(costFactor*spent, longestRest)); next.After(c.next) {
		c.next = next
	}
}
