package main

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gompss/gompss/task"
)

// The order and the places of the tasks, from which the verdicts follow, do not depend on the load
// of the machine.
func TestTraced_WhatBoundsEachForm(t *testing.T) {
	dir := t.TempDir()
	for _, f := range forms {
		s, err := traced(f, dir)
		require.NoError(t, err)
		require.EqualValues(t, blocks, s.Tasks)
		path, tasks := 0, map[string]int64{}
		for _, l := range s.Path {
			path += l.Count
		}
		for _, p := range s.Places {
			tasks[p.Name] = p.Tasks
		}
		require.EqualValues(t, blocks, tasks["sim:0"]+tasks["sim:1"])
		switch f.name {
		case "chained":
			require.Equal(t, blocks, path)
		case "uneven":
			require.Equal(t, 1, path)
			require.EqualValues(t, blocks*7/8, tasks["sim:0"])
		case "free":
			require.Equal(t, 1, path)
			require.Positive(t, min(tasks["sim:0"], tasks["sim:1"]))
		}
		page, err := os.ReadFile(filepath.Join(dir, f.name+".html"))
		require.NoError(t, err)
		require.Contains(t, string(page), "<html")
	}
}

func TestSettle_EveryFormMovesTheSame(t *testing.T) {
	x, moved := make([]float64, block), []float64{0}
	Settle(rounds, x, moved)
	for _, f := range forms {
		rt, err := task.New(task.Options{Devices: simulated})
		require.NoError(t, err)
		got, err := f.settle(rt)
		require.NoError(t, err)
		require.InEpsilon(t, blocks*moved[0], got, 1e-12)
		require.NoError(t, rt.Close())
	}
}
