package main

import (
	"bytes"
	"compress/gzip"
	"errors"
	"io"
	"math/rand/v2"
	"testing"
	"testing/iotest"

	"github.com/stretchr/testify/require"

	"github.com/gompss/gompss/task"
)

func TestCompress_GivesTheInputBack(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	for _, n := range []int{0, 1, 99, 100, 101, 5000, 5050} {
		plain := make([]byte, n)
		for i := range plain {
			plain[i] = byte(r.IntN(4))
		}
		for _, depth := range []int{1, 3, 100} {
			var packed bytes.Buffer
			chunks, err := compress("smp:2", iotest.HalfReader(bytes.NewReader(plain)), &packed, 100, depth)
			require.NoError(t, err)
			require.Equal(t, (n+99)/100, chunks)
			if n == 0 {
				require.Zero(t, packed.Len())
				continue
			}
			z, err := gzip.NewReader(&packed)
			require.NoError(t, err)
			got, err := io.ReadAll(z)
			require.NoError(t, err)
			require.Equal(t, plain, got, "%d bytes, depth %d", n, depth)
		}
	}
}

var errDisk = errors.New("the disk is full")

type fullDisk struct{ left int }

func (d *fullDisk) Write(p []byte) (int, error) {
	if d.left--; d.left < 0 {
		return 0, errDisk
	}
	return len(p), nil
}

// An error of a stage ends the run: chunks behind it are not written.
func TestCompress_Errors(t *testing.T) {
	plain := make([]byte, 5000)
	_, err := compress("smp:2", iotest.TimeoutReader(bytes.NewReader(plain)), io.Discard, 100, 3)
	require.ErrorIs(t, err, iotest.ErrTimeout)
	disk := &fullDisk{left: 2}
	_, err = compress("smp:2", bytes.NewReader(plain), disk, 100, 3)
	require.ErrorIs(t, err, errDisk)
	require.Equal(t, -1, disk.left) // one chunk failed; those behind it were skipped
	var failed *task.Error
	require.ErrorAs(t, err, &failed)
}
