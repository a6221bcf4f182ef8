package dist

import (
	"encoding/binary"
	"io"
	"math/rand/v2"
	"net"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// A sendQueue is a stable sort by priority, of what is in it at a time.
func TestSendQueue_HigherPriorityFirst(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for range 200 {
		var q sendQueue[[2]int]
		var want [][2]int
		for n := range r.IntN(60) {
			if q.length() > 0 && r.IntN(3) == 0 {
				require.Equal(t, want[0], q.pop())
				want = want[1:]
			}
			m := [2]int{r.IntN(4), n}
			q.push(m[0], m)
			want = append(want, m)
			slices.SortStableFunc(want, func(a, b [2]int) int { return b[0] - a[0] })
		}
		for _, m := range want {
			require.Equal(t, m, q.pop())
		}
		require.Zero(t, q.length())
	}
}

// What waits to be sent to a rank leaves by priority: what controls the job first, the end last.
func TestSocket_HigherPriorityFirst(t *testing.T) {
	here, there := net.Pipe()
	p := newPeer(1, here)
	sender := &socketTransport{size: 2, peers: []*socketPeer{nil, p}}
	p.put(endPriority, frame{kind: endFrame})
	for submission, priority := range []int{0, 7, 0, 7, -3, 9} {
		sender.Send(1, Key{Submission: uint64(submission)}, priority, nil, func(error) {})
	}
	sender.Control(1, nil, nil)
	sender.writers.Go(func() { sender.write(p) })
	var order []int
	for range 8 {
		var header [headerSize]byte
		_, err := there.Read(header[:])
		require.NoError(t, err)
		_, err = there.Read(make([]byte, 1)) // of no data
		require.NoError(t, err)
		switch header[0] {
		case controlFrame:
			order = append(order, 100)
		case endFrame:
			order = append(order, -100)
		default:
			order = append(order, int(header[1]))
		}
	}
	require.Equal(t, []int{100, 5, 1, 3, 0, 2, 4, -100}, order)
	p.mu.Lock()
	p.ending = true
	p.mu.Unlock()
	p.filled.Signal()
	sender.writers.Wait()
	require.NoError(t, here.Close())
	require.NoError(t, there.Close())
}

// Rank 0 fails only when the others can know why: its program may end the process at once.
func TestControl_TheCauseIsSentBeforeRank0Fails(t *testing.T) {
	here, there := net.Pipe()
	listener, err := net.Listen("unix", filepath.Join(t.TempDir(), "s"))
	require.NoError(t, err)
	sender := &socketTransport{size: 2, peers: []*socketPeer{nil, newPeer(1, here)}, listener: listener}
	w, err := NewWorld(sender, Options{Errors: io.Discard, Silence: -1})
	require.NoError(t, err)
	w.adopt(&RankError{Rank: 1, Text: "broken"})
	require.NoError(t, w.failure(), "rank 1 has not read the cause")
	require.NoError(t, there.SetDeadline(time.Now().Add(graceTime)))
	var message []byte
	for len(message) == 0 || message[0] != failMessage { // behind a heartbeat, perhaps
		var header [headerSize]byte
		_, err = io.ReadFull(there, header[:])
		require.NoError(t, err)
		message = make([]byte, binary.LittleEndian.Uint64(header[13:]))
		_, err = io.ReadFull(there, message)
		require.NoError(t, err)
	}
	require.Equal(t, "broken", string(message[9:]))
	<-w.broken
	require.EqualError(t, w.failure(), "rank 1: broken")
	w.beating.Wait()
	require.NoError(t, there.Close())
	require.NoError(t, sender.Close(errClosed))
}
