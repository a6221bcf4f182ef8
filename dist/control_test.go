package dist

import (
	"bytes"
	"context"
	"errors"
	"io"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/gompss/gompss/task"
)

// A lateRelease sends the end of a wait later than it is asked to, and keeps what it has sent.
type lateRelease struct {
	Transport
	mu   sync.Mutex
	sent map[int][]byte // kinds, by receiver
}

func (l *lateRelease) Control(to int, message []byte, sent func()) {
	if message[0] == releaseMessage {
		time.Sleep(20 * time.Millisecond)
	}
	l.mu.Lock()
	l.sent[to] = append(l.sent[to], message[0])
	l.mu.Unlock()
	l.Transport.Control(to, message, sent)
}

// Rank 0 says that it ends after it has said to all that the last wait has ended.
func TestControl_TheEndComesAfterTheLastWait(t *testing.T) {
	errs, late := make([]error, 3), make([]*lateRelease, 3)
	var all sync.WaitGroup
	for rank, tr := range InProcess(len(errs), 0) {
		late[rank] = &lateRelease{Transport: tr, sent: map[int][]byte{}}
		all.Go(func() {
			w, err := NewWorld(late[rank], Options{Errors: io.Discard, Silence: -1})
			if err != nil {
				errs[rank] = err
				return
			}
			rt, err := task.New(task.Options{World: w, Devices: "smp:1"})
			if err != nil {
				errs[rank] = err
				return
			}
			errs[rank] = errors.Join(rt.Wait(context.Background()), rt.Close())
		})
	}
	all.Wait()
	require.NoError(t, errors.Join(errs...))
	for rank := 1; rank < len(late); rank++ {
		sent := late[0].sent[rank]
		release, bye := bytes.LastIndexByte(sent, releaseMessage), bytes.IndexByte(sent, byeMessage)
		require.Positive(t, bye)
		require.Less(t, release, bye, "rank 0 sends %v to rank %d", sent, rank)
	}
}
