package task_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/gompss/gompss/task"
	"github.com/stretchr/testify/require"
)

// TestLearnedTimesAreKept runs kernels under the versioning policy on the workers and a simulated accelerator, twice: both kinds
// are tried, and the second runtime knows what the first has learned.
func TestLearnedTimesAreKept(t *testing.T) {
	file := filepath.Join(t.TempDir(), "times.json")
	fill := kernelOf(t, Fill)
	run := func() (ran map[string]int64) {
		rt, err := task.New(task.Options{Devices: "smp:1,sim:1(exec=cpu)", Policy: "versioning", Learned: file})
		require.NoError(t, err)
		x, err := task.Alloc[uint32](rt, 1024)
		require.NoError(t, err)
		for n := range 200 {
			lo := n % 64 * 16
			_, err := fill.Submit(rt, lo, lo+16, uint32(n), x)
			require.NoError(t, err)
			if n%20 == 19 { // the workers are tried when it is known how long the accelerator takes
				require.NoError(t, rt.Wait(context.Background(), task.KeepOnDevice()))
			}
		}
		require.NoError(t, rt.Wait(context.Background()))
		for i, got := range x {
			tile := i / 16
			last := tile + 64*((199-tile)/64) // the task that wrote it last
			require.Equal(t, uint32(i)*2654435761+uint32(last), got)
		}
		stats, kinds := rt.Stats(), map[task.Kind]bool{}
		for _, k := range stats.Kernels {
			require.Equal(t, "Fill", k.Kernel)
			require.Positive(t, k.Runs)
			require.Positive(t, k.Least)
			require.LessOrEqual(t, k.Least, k.Most)
			require.Contains(t, stats.String(), fmt.Sprintf("Fill on %s, from %v: %v", k.Kind, k.Size, k.Mean))
			kinds[k.Kind] = true
		}
		require.Equal(t, map[task.Kind]bool{task.SMP: true, "sim": true}, kinds)
		ran = stats.ByDevice
		require.NoError(t, rt.Close())
		return ran
	}
	ran := run()
	require.Positive(t, ran["smp"])
	require.Positive(t, ran["sim:0"])
	var entries []struct {
		Version, Kind string
		NS            []int64
	}
	text, err := os.ReadFile(file)
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal(text, &entries))
	kinds := map[string]bool{}
	for _, e := range entries {
		require.Equal(t, "Fill", e.Version)
		require.NotEmpty(t, e.NS)
		kinds[e.Kind] = true
	}
	require.Equal(t, map[string]bool{"smp": true, "sim": true}, kinds)
	run()
	require.NoError(t, os.WriteFile(file, []byte("{"), 0o600))
	_, err = task.New(task.Options{Devices: "smp:1", Policy: "versioning", Learned: file})
	require.ErrorContains(t, err, "learned times")
}

// A file that Close could not write is an error of New, under the policy that would write it.
func TestLearnedTimesThatCannotBeKept(t *testing.T) {
	file := filepath.Join(t.TempDir(), "no such folder", "times.json")
	o := task.Options{Devices: "smp:1", Policy: "versioning", Learned: file}
	_, err := task.New(o)
	require.ErrorContains(t, err, "task: learned times: "+file+": cannot be written: ")
	o.Policy = "fifo"
	rt, err := task.New(o)
	require.NoError(t, err)
	require.NoError(t, rt.Close())
	o.Policy, o.Learned = "versioning", filepath.Join(t.TempDir(), "times.json")
	rt, err = task.New(o)
	require.NoError(t, err)
	left, err := os.ReadDir(filepath.Dir(o.Learned))
	require.NoError(t, err)
	require.Empty(t, left, "what the look has made")
	require.NoError(t, rt.Close())
}
