package taskbench

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestSuite_Rows(t *testing.T) {
	s := Suite{Workers: 6, Tasks: 1000, Repetitions: 1, METG: true}
	require.Equal(t, []int{1, 2, 4, 6}, s.workers())
	seen := map[string]int{}
	for _, row := range s.rows() {
		seen[row.Pattern]++
		require.InDelta(t, s.Tasks, row.Width*row.Steps, 200, row.Pattern)
		if row.metg {
			require.Equal(t, "stencil1d", row.Pattern)
		}
	}
	require.Len(t, seen, len(Patterns()))
	require.Equal(t, 2*4, seen["fft"], "one by one and replayed, for each number of workers")
	require.Equal(t, []int{1}, (&Suite{Workers: 1}).workers())
}

func TestPrintTable_Peers(t *testing.T) {
	var out strings.Builder
	require.NoError(t, PrintTable(&out, []Result{
		{Pattern: "fft", Width: 8, Workers: 2, Submitters: 1, PerTask: 300, Quickest: 290, Slowest: 320, CPU: 610, Submit: 200, Order: "ok", Peers: map[string]float64{"libgomp": 900}},
		{Pattern: "fft", Width: 8, Workers: 2, Submitters: 1, Replay: true, PerTask: 40, Quickest: 39, Slowest: 41, CPU: 80, METG: 0.125, Order: "ok"},
	}))
	require.Equal(t, `| workers | pattern | width | submitters | ns a task | range | processor ns | submission ns | METG us | libgomp |
| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |
| 2 | fft | 8 | 1 | 300 | 290 to 320 | 610 | 200 |  | 900 |
| 2 | fft, replayed | 8 | 1 | 40 | 39 to 41 | 80 |  | 0.12 |  |
`, out.String())
}

// Every pattern runs in order with OpenMP too: both read the same accesses.
func TestPeer_RunsEveryPattern(t *testing.T) {
	if _, err := exec.LookPath("gcc"); err != nil {
		t.Skip(err)
	}
	peers, missing, err := BuildPeers(t.TempDir())
	require.NoError(t, err)
	if len(peers) == 0 {
		t.Skip(missing)
	}
	for _, pattern := range Patterns() {
		g, err := NewGraph(pattern, 6, 20)
		require.NoError(t, err)
		o := Options{Workers: 2, Repetitions: 2, Grain: 10}
		for i := range peers {
			ns, err := peers[i].run(g, &o)
			require.NoError(t, err)
			require.Positive(t, ns)
		}
	}
	g, err := NewGraph("chain", 2, 3)
	require.NoError(t, err)
	g.nodes[0].writes.version = 7
	_, err = peers[0].run(g, &Options{Workers: 1, Repetitions: 1})
	require.ErrorContains(t, err, "out of order")
}

func TestFindPeers_WhatWasBuiltElsewhere(t *testing.T) {
	dir := t.TempDir()
	_, err := FindPeers(dir)
	require.ErrorContains(t, err, "no program peer-NAME there")
	require.NoError(t, os.WriteFile(filepath.Join(dir, "peer-libomp"), nil, 0o700))
	peers, err := FindPeers(dir)
	require.NoError(t, err)
	require.Len(t, peers, 1)
	require.Equal(t, "libomp", peers[0].Name)
}
