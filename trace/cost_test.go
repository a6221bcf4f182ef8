package trace

import (
	"sync"
	"testing"
	"time"

	"github.com/gompss/gompss/deps"
	"github.com/gompss/gompss/trace/probe"
	"github.com/gompss/gompss/trace/record"
	"github.com/gompss/gompss/trace/run"
	"github.com/stretchr/testify/require"
)

// Ten clients that ask without pause have no more snapshots made than one.
func TestClientsShareSnapshots(t *testing.T) {
	c := &content{run: run.New(liveTasks), live: true}
	require.NoError(t, c.Open(&probe.Machine{Places: []probe.Place{{Name: "smp", Kind: "smp", Workers: 2, Host: true}}}))
	var b record.Batch
	for i := range liveTasks {
		at := time.Duration(i) * time.Microsecond
		b.Tasks = append(b.Tasks, probe.Task{ID: deps.TaskID(i + 1), Submit: at, Ready: at, Choice: at, Start: at + 1, End: at + 900, Release: at + 950, Worker: int16(i % 2)})
	}
	require.NoError(t, c.Take(&b))
	first, err := c.snapshot()
	require.NoError(t, err)
	began := time.Now()
	var clients sync.WaitGroup
	for range 10 {
		clients.Go(func() {
			for time.Since(began) < 1500*time.Millisecond {
				if err := c.Take(&record.Batch{}); err != nil { // something new, always
					t.Error(err)
				}
				if _, err := c.snapshot(); err != nil {
					t.Error(err)
				}
				time.Sleep(time.Millisecond)
			}
		})
	}
	clients.Wait()
	last, err := c.snapshot()
	require.NoError(t, err)
	took := time.Since(began)
	t.Logf("%d snapshots in %v, which took %v", last.version, took, c.spent)
	require.LessOrEqual(t, last.version-first.version, int64(1+took/refresh))
}
