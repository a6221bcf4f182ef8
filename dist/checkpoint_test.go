package dist_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gompss/gompss/dist"
	"github.com/gompss/gompss/task"
)

// A program of some ranks is checkpointed in its midst, and continues with another number of ranks
// and other owners: the result is that of one run.
func TestCheckpoint_RestartWithAnotherNumberOfRanks(t *testing.T) {
	const n, rounds = 60, 8
	steps := func(rt *task.Runtime, x []int64, from, to int) error {
		for r := from; r < to; r++ {
			for lo := 0; lo < n; lo += 5 {
				part, next := x[lo:lo+5], x[(lo+5)%n:(lo+5)%n+5]
				options := []task.Option{task.InOut(part), task.In(next)}
				if lo == 10 {
					options = append(options, task.OnRank(0)) // what an owner has written last is not all
				}
				if _, err := rt.Go(func() error {
					for i := range part {
						part[i] = part[i]*3 + next[i] + int64(r)
					}
					return nil
				}, options...); err != nil {
					return err
				}
			}
		}
		return nil
	}
	path := filepath.Join(t.TempDir(), "state")
	begin := func(rt *task.Runtime, d dist.Distribution) ([]int64, error) {
		x, err := vector(rt, n, d)
		if err == nil {
			for i := range x {
				x[i] = int64(i)
			}
		}
		return x, err
	}
	sum := func(rt *task.Runtime, x []int64) (h int64, err error) {
		err = rt.WaitOn(context.Background(), task.In(x))
		for _, v := range x {
			h = h*31 + v
		}
		return h, err
	}
	var want int64
	require.NoError(t, errors.Join(inProcess(t, 1, 1, func(rt *task.Runtime, rank int) error {
		x, err := begin(rt, dist.Block(1))
		if err == nil {
			err = steps(rt, x, 0, rounds)
		}
		if err == nil {
			want, err = sum(rt, x)
		}
		return err
	})...))
	require.NoError(t, errors.Join(inProcess(t, 4, 1, func(rt *task.Runtime, rank int) error {
		x, err := begin(rt, dist.Block(5))
		if err != nil {
			return err
		}
		if err := steps(rt, x, 0, rounds/2); err != nil {
			return err
		}
		return dist.Checkpoint(context.Background(), rt, path, dist.Save("x", x))
	})...))
	require.NoFileExists(t, path+".part")
	for _, ranks := range []int{1, 3, 5} {
		errs := inProcess(t, ranks, 2, func(rt *task.Runtime, rank int) error {
			x, err := vector(rt, n, dist.Cyclic(7))
			if err != nil {
				return err
			}
			if err := dist.Restore(rt, path, dist.Save("x", x)); err != nil {
				return err
			}
			if err := steps(rt, x, rounds/2, rounds); err != nil {
				return err
			}
			if got, err := sum(rt, x); err != nil || got != want {
				return fmt.Errorf("%d ranks, rank %d: %d, want %d: %w", ranks, rank, got, want, err)
			}
			return nil
		})
		require.NoError(t, errors.Join(errs...))
	}
}

// Without a World the file is the same.
func TestCheckpoint_OfOneProcess(t *testing.T) {
	rt, err := task.New(task.Options{Devices: "smp:2"})
	require.NoError(t, err)
	defer rt.Close()
	x, err := task.Alloc[int32](rt, 1000)
	require.NoError(t, err)
	_, err = rt.Go(func() error { x[999] = 7; return nil }, task.Out(x))
	require.NoError(t, err)
	path := filepath.Join(t.TempDir(), "state")
	require.NoError(t, dist.Checkpoint(context.Background(), rt, path, dist.Save("x", x)))
	x[999] = 0
	require.NoError(t, dist.Restore(rt, path, dist.Save("x", x)))
	require.EqualValues(t, 7, x[999])
	require.ErrorContains(t, dist.Restore(rt, path, dist.Save("y", x)), "not in the file")
	require.ErrorContains(t, dist.Restore(rt, path, dist.Save("x", x[:10])), "the file has 1000 elements")
	require.NoError(t, os.WriteFile(path, []byte("something else"), 0o600))
	require.ErrorContains(t, dist.Restore(rt, path, dist.Save("x", x)), "no file of Checkpoint")
}

// A folder that is not there, or slices that tasks have used, are errors on all ranks.
func TestCheckpoint_FailsOnAllRanks(t *testing.T) {
	for _, err := range inProcess(t, 3, 1, func(rt *task.Runtime, rank int) error {
		x, err := vector(rt, 30, dist.Block(1))
		if err != nil {
			return err
		}
		return dist.Checkpoint(context.Background(), rt, "/no/such/folder/state", dist.Save("x", x))
	}) {
		require.ErrorContains(t, err, "no such file")
	}
	path := filepath.Join(t.TempDir(), "state")
	for _, err := range inProcess(t, 2, 1, func(rt *task.Runtime, rank int) error {
		x, err := vector(rt, 30, dist.Block(1))
		if err == nil {
			err = dist.Checkpoint(context.Background(), rt, path, dist.Save("x", x))
		}
		if err == nil {
			_, err = rt.Go(increment(x), task.InOut(x))
		}
		if err != nil {
			return err
		}
		dist.Restore(rt, path, dist.Save("x", x))
		return rt.Wait(context.Background())
	}) {
		require.ErrorContains(t, err, "tasks have used it")
	}
}

// A program without a checkpoint begins anew, on any number of ranks: the error says so, and nothing
// has failed. Where a rank alone does not see the file, the ranks do not submit the same.
func TestCheckpoint_WithoutAFileBeginsAnew(t *testing.T) {
	folder := t.TempDir()
	path := filepath.Join(folder, "state")
	begin := func(rt *task.Runtime, path string) error {
		x, err := vector(rt, 30, dist.Block(1))
		if err != nil {
			return err
		}
		if err := dist.Restore(rt, path, dist.Save("x", x)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		if _, err := rt.Go(increment(x), task.InOut(x)); err != nil {
			return err
		}
		if err := dist.Checkpoint(context.Background(), rt, path, dist.Save("x", x)); err != nil {
			return err
		}
		if err := rt.WaitOn(context.Background(), task.In(x)); err != nil {
			return err
		}
		return os.WriteFile(filepath.Join(folder, fmt.Sprint(x[29])), nil, 0o600)
	}
	for run := 1; run <= 2; run++ { // the second has a file
		for rank, err := range inProcess(t, 3, 1, func(rt *task.Runtime, rank int) error { return begin(rt, path) }) {
			require.NoError(t, err, "run %d, rank %d", run, rank)
		}
		require.FileExists(t, filepath.Join(folder, fmt.Sprint(run)))
	}
	rt, err := task.New(task.Options{Devices: "smp:1"})
	require.NoError(t, err)
	defer rt.Close()
	require.ErrorIs(t, dist.Restore(rt, path+".other"), fs.ErrNotExist)

	for _, err := range inProcess(t, 3, 1, func(rt *task.Runtime, rank int) error {
		if rank == 1 {
			return begin(rt, path+".unseen")
		}
		return begin(rt, path)
	}) {
		require.ErrorContains(t, err, "do not submit the same")
		require.ErrorContains(t, err, "Restore without a file")
	}
}

// A file that is damaged or cut off is an error of all ranks: it names the file, the rank that
// reads, and the block.
func TestCheckpoint_DamageIsNamed(t *testing.T) {
	path := filepath.Join(t.TempDir(), "state")
	const n = 40
	require.NoError(t, errors.Join(inProcess(t, 4, 1, func(rt *task.Runtime, rank int) error {
		x, err := vector(rt, n, dist.Block(1))
		if err != nil {
			return err
		}
		if _, err := rt.Go(increment(x[:10]), task.InOut(x[:10])); err != nil {
			return err
		}
		return dist.Checkpoint(context.Background(), rt, path, dist.Save("x", x))
	})...))
	whole, err := os.ReadFile(path)
	require.NoError(t, err)
	data := len(whole) - 8*n // the elements are last
	restore := func(file []byte) []error {
		require.NoError(t, os.WriteFile(path, file, 0o600))
		return inProcess(t, 2, 1, func(rt *task.Runtime, rank int) error {
			x, err := vector(rt, n, dist.Block(1))
			if err != nil {
				return err
			}
			own := dist.Restore(rt, path, dist.Save("x", x))
			if err := rt.Wait(context.Background()); err != nil || own == nil {
				return errors.Join(own, err)
			}
			return fmt.Errorf("other ranks do not fail: %w", own)
		})
	}
	require.NoError(t, errors.Join(restore(whole)...))
	damaged := func(at int) []byte {
		file := bytes.Clone(whole)
		file[at] ^= 4
		return file
	}
	for name, of := range map[string]struct {
		file []byte
		want []string
	}{
		"an element":  {damaged(data + 8*25), []string{"rank 1", "block 2 (elements 20 to 30, written by rank 2): the file is damaged"}},
		"the last":    {damaged(len(whole) - 1), []string{"rank 1", "block 3 (elements 30 to 40, written by rank 3): the file is damaged"}},
		"the head":    {damaged(30), []string{"the head: the file is damaged"}},
		"cut off":     {whole[:len(whole)-8], []string{"rank 1", "block 3 (elements 30 to 40, written by rank 3): the file is cut off"}},
		"a head only": {whole[:30], []string{"the head: the file is cut off"}},
		"no elements": {whole[:data], []string{"elements", "the file is cut off"}},
	} {
		t.Run(name, func(t *testing.T) {
			for _, err := range restore(of.file) {
				require.Error(t, err)
				require.ErrorContains(t, err, path)
				for _, want := range of.want {
					require.ErrorContains(t, err, want)
				}
			}
		})
	}
	// No byte that a restore reads is without a checksum.
	for at := range data {
		if whole[at] == 0 {
			continue // between the parts
		}
		for _, err := range restore(damaged(at)) {
			require.Error(t, err, "byte %d", at)
		}
	}
}
