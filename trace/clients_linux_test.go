package trace_test

import (
	"bufio"
	"bytes"
	"io"
	"net/http"
	"os"
	"sync"
	"testing"
	"time"
)

// watchers is ten clients of a page in a process of their own, so that what they cost is not
// counted as the program's. Half of them do what a browser does that shows the timeline, until the
// run ends: they read the events and, at most every two seconds, the tasks. The others do not read
// what they get.
func watchers(address string) {
	var readers sync.WaitGroup
	for i := range 10 {
		r, err := http.Get(address + "api/events")
		if err != nil {
			continue
		}
		if i%2 == 0 {
			readers.Go(func() { watchTimeline(address, r.Body) })
		}
	}
	readers.Wait()
}

func watchTimeline(address string, events io.ReadCloser) {
	defer events.Close()
	var last time.Time
	lines := bufio.NewReaderSize(events, 1<<20)
	for {
		line, err := lines.ReadSlice('\n')
		if err != nil {
			return
		}
		if !bytes.HasPrefix(line, []byte("id:")) || time.Since(last) < 2*time.Second {
			continue
		}
		last = time.Now()
		if r, err := http.Get(address + "api/columns"); err == nil {
			_, _ = io.Copy(io.Discard, r.Body) // a run that ended meanwhile
			r.Body.Close()
		}
	}
}

// TestWatch is no test but the process of watchers.
func TestWatch(t *testing.T) {
	address := os.Getenv("GOMPSS_WATCH")
	if address == "" {
		t.Skip("not asked to watch")
	}
	watchers(address)
}
