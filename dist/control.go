package dist

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/gompss/gompss/task"
)

// ErrorsVariable is the environment variable that names a folder in which each rank keeps the cause
// of a failed job; off: none does.
const ErrorsVariable = "GOMPSS_ERRORS"

// A RankError is the failure of a job, and the rank where it began. All ranks return the same text.
type RankError struct {
	Rank  int
	Text  string
	cause error // on that rank
}

func (e *RankError) Error() string { return fmt.Sprintf("rank %d: %s", e.Rank, e.Text) }
func (e *RankError) Unwrap() error { return e.cause }

// The kinds of control messages: the first byte.
const (
	beatMessage    = 'b' // sequence, hash
	reportMessage  = 'r' // sequence, hash
	arriveMessage  = 'a' // wait, sequence, hash
	releaseMessage = 'g' // wait
	failMessage    = 'f' // rank, text: to rank 0, and from it to all
	logMessage     = 'l' // the sender's log: the receiver finds the difference
	byeMessage     = 'e' // the sender ends
	clockMessage   = 'c' // time of the sender, that of rank 0 in its answer
)

// beatTime is the time between two heartbeats.
const beatTime = 250 * time.Millisecond

// A control exchanges the messages of the ranks of a job other than data.
type control struct {
	w *World

	checking sync.Mutex // over checkPending: marks are pending, or compared
	// releasing is held on rank 0 until all ranks have been sent the end of a wait: what this rank
	// sends when it ends comes later.
	releasing sync.Mutex

	mu       sync.Mutex
	failed   *RankError
	reported *RankError // to rank 0, which has not answered
	wait     uint64     // the last one that was begun
	released chan struct{}
	arrived  map[uint64]int // on rank 0
	heard    []time.Time    // by rank
	gone     []bool         // have said that they end
	pending  []mark         // reports that this rank has not come to
	asked    bool           // logs are being compared
}

// A mark is the hash of a rank after a submission.
type mark struct {
	rank           int
	sequence, hash uint64
}

func (c *control) init(w *World) {
	c.w = w
	c.arrived = map[uint64]int{}
	c.heard = make([]time.Time, w.size)
	c.gone = make([]bool, w.size)
}

func words(kind byte, w ...uint64) []byte {
	m := []byte{kind}
	for _, x := range w {
		m = binary.LittleEndian.AppendUint64(m, x)
	}
	return m
}

func word(m []byte, i int) uint64 { return binary.LittleEndian.Uint64(m[1+8*i:]) }

// Control receives a control message: the transport calls it.
func (w *World) Control(from int, m []byte) {
	c := &w.control
	c.mu.Lock()
	c.heard[from] = time.Now()
	c.mu.Unlock()
	switch m[0] {
	case beatMessage, reportMessage:
		c.check(mark{from, word(m, 0), word(m, 1)})
	case arriveMessage:
		c.check(mark{from, word(m, 1), word(m, 2)})
		c.count(word(m, 0))
	case releaseMessage:
		c.release(word(m, 0))
	case failMessage:
		w.adopt(&RankError{Rank: int(word(m, 0)), Text: string(m[9:])})
	case logMessage:
		if e := w.compare(from, m[1:]); e != nil {
			w.fail(w.rank, e)
		}
	case clockMessage:
		w.clock(from, m)
	case byeMessage:
		c.mu.Lock()
		c.gone[from] = true
		c.mu.Unlock()
		c.checkGone()
	}
}

// checkGone fails the job where this rank waits for one that has ended.
func (c *control) checkGone() {
	c.mu.Lock()
	gone := slices.Index(c.gone, true)
	waits := c.released != nil && c.failed == nil
	c.mu.Unlock()
	if waits && gone >= 0 {
		sequence, _ := c.w.log.now()
		c.w.fail(c.w.rank, fmt.Errorf("dist: the ranks do not submit the same: rank %d submitted Wait #%d, rank %d has ended", c.w.rank, sequence, gone))
	}
}

// Lost reports that a rank has disappeared without announcing its end: the transport calls it.
func (w *World) Lost(rank int, cause error) {
	w.control.mu.Lock()
	gone := w.control.gone[rank]
	w.control.mu.Unlock()
	if !gone {
		w.fail(rank, fmt.Errorf("the process is gone: %w", cause))
	}
}

// check compares a mark of another rank with the own log, now or when that is as long.
func (c *control) check(m mark) {
	hash, known, later := c.w.log.at(m.sequence)
	switch {
	case later:
		c.mu.Lock()
		c.pending = append(c.pending, m)
		c.mu.Unlock()
	case known && hash != m.hash:
		c.compareLogs(m.rank)
	}
}

// checkPending compares the marks that the own log has reached.
func (c *control) checkPending() {
	c.checking.Lock()
	defer c.checking.Unlock()
	c.mu.Lock()
	pending := c.pending
	c.pending = nil
	c.mu.Unlock()
	for _, m := range pending {
		c.check(m)
	}
}

// compareLogs sends the own log to a rank that has another hash. It finds the first difference.
func (c *control) compareLogs(rank int) {
	c.mu.Lock()
	asked := c.asked
	c.asked = true
	c.mu.Unlock()
	if !asked {
		c.w.transport.Control(rank, c.w.log.pack([]byte{logMessage}), nil)
	}
}

// report sends the hash after a submission to rank 0, which compares the hashes.
func (c *control) report(sequence, hash uint64) {
	if c.w.rank != 0 {
		c.w.transport.Control(0, words(reportMessage, sequence, hash), nil)
		return
	}
	c.checkPending()
}

// arrive announces the n-th wait of this rank. The channel is closed when all ranks wait.
func (c *control) arrive(n, sequence, hash uint64) <-chan struct{} {
	released := make(chan struct{})
	c.mu.Lock()
	c.wait, c.released = n, released
	c.mu.Unlock()
	if c.w.rank != 0 {
		c.w.transport.Control(0, words(arriveMessage, n, sequence, hash), nil)
		c.checkGone()
		return released
	}
	c.count(n)
	c.checkGone()
	return released
}

// count counts a rank that waits, on rank 0, and releases all when it is the last.
func (c *control) count(n uint64) {
	c.checkPending()
	c.mu.Lock()
	c.arrived[n]++
	all := c.arrived[n] == c.w.size
	if all {
		delete(c.arrived, n)
	}
	differs := c.asked || len(c.pending) > 0
	c.mu.Unlock()
	if !all {
		return
	}
	if differs {
		c.settleDifference()
		return
	}
	c.releasing.Lock()
	defer c.releasing.Unlock()
	c.release(n) // before the others submit more: see checkWaiting
	for rank := 1; rank < c.w.size; rank++ {
		c.w.transport.Control(rank, words(releaseMessage, n), nil)
	}
}

// checkWaiting compares logs where this rank waits for all and another one has submitted more: that
// one cannot have been released, as where it waits for data that no rank sends.
func (c *control) checkWaiting() {
	c.mu.Lock()
	waits := c.released != nil && c.failed == nil
	c.mu.Unlock()
	if waits {
		c.settleDifference()
	}
}

// settleDifference is called when all ranks wait and some have submitted more than rank 0: it
// compares their logs.
func (c *control) settleDifference() {
	c.mu.Lock()
	pending := c.pending
	c.mu.Unlock()
	for _, m := range pending {
		c.compareLogs(m.rank)
	}
}

// bye announces the end of this rank to the ranks that expect its heartbeats.
func (c *control) bye() {
	if c.w.rank != 0 {
		c.w.transport.Control(0, []byte{byeMessage}, nil)
		return
	}
	c.releasing.Lock()
	defer c.releasing.Unlock()
	for rank := 1; rank < c.w.size; rank++ {
		c.w.transport.Control(rank, []byte{byeMessage}, nil)
	}
}

func (c *control) release(n uint64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.wait == n && c.released != nil && c.failed == nil {
		close(c.released)
		c.released = nil
	}
}

// failure returns the cause of the job's failure, nil while there is none.
func (w *World) failure() error {
	select {
	case <-w.broken:
		w.control.mu.Lock()
		defer w.control.mu.Unlock()
		return w.control.failed
	default:
		return nil
	}
}

// Failed reports the failure of a task of this rank.
func (w *World) Failed(err error) { go w.fail(w.rank, err) }

// arbiterTime is the time that a rank waits for rank 0 to choose the first failure.
const arbiterTime = time.Second

// fail reports a failure to rank 0, which chooses the first of all ranks.
func (w *World) fail(rank int, err error) {
	if rank == w.rank && (errors.Is(err, context.Canceled) || errors.Is(err, errClosed)) && w.failure() != nil {
		return
	}
	if lost := (*lostError)(nil); rank == w.rank && errors.As(err, &lost) {
		rank, err = lost.rank, fmt.Errorf("the process is gone: %w", lost.cause)
	}
	e := &RankError{Rank: rank, Text: err.Error(), cause: err}
	if w.rank == 0 {
		w.adopt(e)
		return
	}
	c := &w.control
	c.mu.Lock()
	first := c.reported == nil && c.failed == nil
	if first {
		c.reported = e
	}
	lost := rank == 0
	c.mu.Unlock()
	if !first {
		return
	}
	if lost {
		w.adopt(e)
		return
	}
	w.transport.Control(0, append(words(failMessage, uint64(rank)), e.Text...), nil)
	time.AfterFunc(arbiterTime, func() { w.adopt(e) })
}

// adopt makes e the failure of the job, the first time: all that is in flight here fails.
func (w *World) adopt(e *RankError) {
	c := &w.control
	c.mu.Lock()
	if c.failed != nil {
		c.mu.Unlock()
		return
	}
	if r := c.reported; r != nil && r.Rank == e.Rank && r.Text == e.Text {
		e = r // with its cause
	}
	c.failed = e
	local := w.local
	c.mu.Unlock()
	folder := w.keep(e)
	if w.rank == 0 || e.Rank == 0 && c.heardNothing(0) {
		fmt.Fprintf(w.options.Errors, "gompss: %v\n", e)
		if folder != "" {
			fmt.Fprintf(w.options.Errors, "gompss: each rank keeps the cause in %s\n", folder)
		}
	}
	if w.rank == 0 && w.size > 1 {
		c.announce(e, func() { c.end(e, local) })
		return
	}
	c.end(e, local)
}

// announce sends the failure from rank 0 to all others, and calls sent once, when they have left:
// the program of rank 0 may end the process as soon as it knows of the failure. It waits for
// graceTime at most.
func (c *control) announce(e *RankError, sent func()) {
	var left atomic.Int32
	left.Store(int32(c.w.size - 1))
	var once sync.Once
	late := time.AfterFunc(graceTime, func() { once.Do(sent) })
	for rank := 1; rank < c.w.size; rank++ {
		c.w.transport.Control(rank, append(words(failMessage, uint64(e.Rank)), e.Text...), func() {
			if left.Add(-1) == 0 && late.Stop() {
				once.Do(sent)
			}
		})
	}
}

// end fails all that is in flight on this rank.
func (c *control) end(e *RankError, local *task.LocalTasks) {
	close(c.w.broken)
	if local != nil {
		local.Cancel(e)
	}
	go c.w.abandon(e)
}

// heardNothing reports whether a rank is silent; such a rank does not print the failure itself.
func (c *control) heardNothing(rank int) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return time.Since(c.heard[rank]) > 4*beatTime
}

// keep writes the cause to the file of this rank, and returns its folder; "" for no file.
func (w *World) keep(e *RankError) string {
	folder, err := errorsFolder(w.exit != nil && w.size > 1)
	if folder == "" && err == nil {
		return ""
	}
	if err == nil {
		err = os.WriteFile(filepath.Join(folder, fmt.Sprintf("rank-%d.txt", w.rank)), []byte(e.Error()+"\n"), 0o644)
	}
	if err != nil {
		fmt.Fprintf(w.options.Errors, "gompss: rank %d: cannot keep the cause: %v\n", w.rank, err)
		return ""
	}
	return folder
}

// errorsFolder returns the folder that ErrorsVariable names. Without that it is, by default, one of
// the program in the user's cache folder, which a cluster's nodes often share, and is made here; a
// later failure of the program replaces the files. Ranks that are goroutines of one process have
// none, nor has one rank alone.
func errorsFolder(byDefault bool) (string, error) {
	switch folder := os.Getenv(ErrorsVariable); {
	case folder == "off" || folder == "" && !byDefault:
		return "", nil
	case folder != "":
		return folder, nil
	}
	base, err := os.UserCacheDir()
	if err != nil {
		base = os.TempDir() // no home folder, as in a container
	}
	folder := filepath.Join(base, "gompss", "errors", filepath.Base(os.Args[0]))
	return folder, os.MkdirAll(folder, 0o755)
}

// graceTime is the time that a rank has after the failure of the job, to return the error to its
// program.
const graceTime = time.Second

// abandon ends what is in flight on this rank, and the process where it does not leave by itself.
func (w *World) abandon(e *RankError) {
	if f, ok := w.transport.(interface{ Fail(error) }); ok {
		f.Fail(e)
	}
	if w.exit == nil {
		return
	}
	select {
	case <-w.ended:
	case <-time.After(graceTime):
		w.transport.Close(e)
		os.Exit(1)
	}
}

// beat sends heartbeats between rank 0 and the others, and notices those that send none.
func (w *World) beat() {
	defer w.beating.Done()
	tick := time.NewTicker(beatTime)
	defer tick.Stop()
	c := &w.control
	c.mu.Lock()
	for r := range c.heard {
		c.heard[r] = time.Now()
	}
	c.mu.Unlock()
	last := time.Now()
	for {
		select {
		case <-w.ended:
			return
		case <-w.broken:
			return
		case <-tick.C:
		}
		c.checkPending()
		c.checkWaiting()
		w.readClocks()
		sequence, hash := w.log.now()
		if w.rank != 0 {
			w.transport.Control(0, words(beatMessage, sequence, hash), nil)
		} else {
			for rank := 1; rank < w.size; rank++ {
				w.transport.Control(rank, words(beatMessage, sequence, hash), nil)
			}
		}
		if pause := time.Since(last); pause < w.options.Silence/2 {
			c.listen()
		} else { // this rank was stopped itself: it gives the others time to be heard
			c.mu.Lock()
			for r := range c.heard {
				c.heard[r] = time.Now()
			}
			c.mu.Unlock()
		}
		last = time.Now()
	}
}

// listen fails the job if a rank is silent for too long.
func (c *control) listen() {
	w := c.w
	if w.options.Silence < 0 {
		return
	}
	c.mu.Lock()
	silent := -1
	for r, heard := range c.heard {
		if r != w.rank && (w.rank == 0 || r == 0) && !c.gone[r] && time.Since(heard) > w.options.Silence {
			silent = r
		}
	}
	c.mu.Unlock()
	if silent >= 0 {
		sequence, _ := w.log.now()
		w.fail(silent, fmt.Errorf("silent for %v, when rank %d had submitted %d tasks", w.options.Silence, w.rank, sequence))
	}
}

// Simulate runs what was submitted to a world of Simulated, from the start.
func (w *World) Simulate() (Simulation, error) {
	if w.simulation == nil {
		return Simulation{}, errors.New("dist: simulate: the world is not one of Simulated")
	}
	w.lock()
	defer w.mu.Unlock()
	return w.simulation.run(), nil
}
