package dist

import (
	"context"
	"errors"
	"io"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/gompss/gompss/task"
)

// A lateRelease sends the end of a wait later than it is asked to.
type lateRelease struct{ Transport }

func (l lateRelease) Control(to int, message []byte) {
	if message[0] == releaseMessage {
		time.Sleep(20 * time.Millisecond)
	}
	l.Transport.Control(to, message)
}

// Rank 0 says that it ends after it has said to all that the last wait has ended.
func TestControl_TheEndComesAfterTheLastWait(t *testing.T) {
	errs := make([]error, 3)
	var all sync.WaitGroup
	for rank, tr := range InProcess(len(errs), 0) {
		all.Go(func() {
			w, err := NewWorld(lateRelease{tr}, Options{Errors: io.Discard, Silence: -1})
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
}
