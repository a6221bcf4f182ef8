//go:build linux && (amd64 || arm64)

package cuda_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/gompss/gompss/devices/cuda"
	"github.com/gompss/gompss/task"
)

// tuned runs launches of a kernel one after the other with a cache folder, until done, and returns
// how many they were and what they left.
func tuned(t *testing.T, dir, mode string, done func(launches int) bool) (launches int, left []int64) {
	rt, err := task.New(task.Options{Devices: fmt.Sprintf("cuda:1(cache=%s,tune=%s)", dir, mode)})
	require.NoError(t, err)
	defer func() { require.NoError(t, rt.Close()) }()
	k := emptyKernel()
	x, err := task.Alloc[int64](rt, 1<<14)
	require.NoError(t, err)
	for until := time.Now().Add(time.Minute); !done(launches) && time.Now().Before(until); launches++ {
		_, err := k.Submit(rt, x)
		require.NoError(t, err)
		require.NoError(t, rt.Wait(context.Background()))
	}
	return launches, append([]int64(nil), x...)
}

// stored is done when there is an outcome in a folder.
func stored(dir string) func(int) bool {
	return func(int) bool { return len(cuda.Outcomes(dir)) > 0 }
}

func some(n int) func(int) bool { return func(launches int) bool { return launches >= n } }

// outcome returns the one that is stored.
func outcome(t *testing.T, dir string) cuda.Outcome {
	list := cuda.Outcomes(dir)
	require.Len(t, list, 1)
	require.Equal(t, "Empty", list[0].Name)
	return list[0]
}

// A candidate that is twice as quick wins, is stored, and is taken by the next process without a
// race; what it leaves is the same.
func TestTune_QuickCandidateWinsAndIsStored(t *testing.T) {
	cuda.TeamTimes(t, map[int]int{64: 4000, 128: 2000, 256: 1000})
	dir := t.TempDir()
	launches, left := tuned(t, dir, "full", stored(dir))
	for _, sum := range left {
		require.EqualValues(t, launches, sum)
	}
	o := outcome(t, dir)
	require.Equal(t, "teams of twice the size", o.Winner)
	require.Equal(t, time.Millisecond, o.Median)
	require.InDelta(t, 2, o.Gain(), 0.01)

	before := cuda.Launches(t, 256)
	usual := cuda.Launches(t, 64)
	tuned(t, dir, "auto", func(int) bool { return cuda.Launches(t, 256) >= before+10 })
	require.GreaterOrEqual(t, cuda.Launches(t, 256), before+10, "the next start takes it at once")
	require.Equal(t, usual, cuda.Launches(t, 64), "without a race")
	before = cuda.Launches(t, 256)
	tuned(t, dir, "off", some(50))
	require.Equal(t, before, cuda.Launches(t, 256))
}

// In auto mode what is tried is a twentieth of what runs.
func TestTune_AutoTriesLittle(t *testing.T) {
	cuda.TeamTimes(t, map[int]int{64: 4000, 128: 2000, 256: 2000})
	dir := t.TempDir()
	slow := cuda.Launches(t, 64)
	tuned(t, dir, "auto", func(n int) bool { return n >= 100 && cuda.Launches(t, 64) > slow && n%100 == 0 })
	require.Equal(t, 1, cuda.Launches(t, 64)-slow, "one sample of a candidate at half the speed")
	for _, o := range cuda.Outcomes(dir) {
		require.NotEqual(t, "teams of half the size", o.Winner)
	}
}

// A file that is damaged, or of something else, is no outcome: the race is run again.
func TestTune_DamagedOutcomeIsIgnored(t *testing.T) {
	cuda.TeamTimes(t, map[int]int{64: 4000, 128: 2000, 256: 1000})
	dir := t.TempDir()
	tuned(t, dir, "full", stored(dir))
	files, err := filepath.Glob(filepath.Join(dir, "*.tune"))
	require.NoError(t, err)
	require.Len(t, files, 1)
	good, err := os.ReadFile(files[0])
	require.NoError(t, err)
	for _, bad := range [][]byte{nil, []byte("junk"), good[:len(good)-3], append([]byte{good[0] ^ 1}, good[1:]...)} {
		require.NoError(t, os.WriteFile(files[0], bad, 0o600))
		require.Empty(t, cuda.Outcomes(dir))
		tuned(t, dir, "full", stored(dir))
		require.Equal(t, "teams of twice the size", outcome(t, dir).Winner)
	}
}

// Several programs that race at once leave one whole outcome.
func TestTune_ConcurrentPrograms(t *testing.T) {
	cuda.TeamTimes(t, map[int]int{64: 4000, 128: 2000, 256: 1000})
	dir := t.TempDir()
	var all sync.WaitGroup
	for range 3 {
		all.Go(func() { tuned(t, dir, "full", stored(dir)) })
	}
	all.Wait()
	require.Equal(t, "teams of twice the size", outcome(t, dir).Winner)
}

// An event that cannot be had is a sample less, and no error.
func TestTune_EventsThatFail(t *testing.T) {
	cuda.TeamTimes(t, map[int]int{64: 4000, 128: 2000, 256: 1000})
	cuda.FailNext(t, "cuEventElapsedTime", 3, 1)
	dir := t.TempDir()
	tuned(t, dir, "full", stored(dir))
	require.Equal(t, "teams of twice the size", outcome(t, dir).Winner)
}

func TestTune_WordsOfTheOption(t *testing.T) {
	_, err := task.New(task.Options{Devices: "cuda:1(tune=on)"})
	require.ErrorContains(t, err, "want auto, off or full")
	t.Setenv("GOMPSS_TUNE", "sometimes")
	_, err = task.New(task.Options{Devices: "cuda:1"})
	require.ErrorContains(t, err, "GOMPSS_TUNE=sometimes: want auto, off or full")
}
