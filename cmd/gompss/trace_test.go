package main

import (
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/gompss/gompss/deps"
	"github.com/gompss/gompss/trace/probe"
	"github.com/gompss/gompss/trace/record"
	"github.com/stretchr/testify/require"
)

// traceFile writes a file of ten tasks, and returns its name and content.
func traceFile(t *testing.T) (string, []byte) {
	var out bytes.Buffer
	w := record.NewWriter(&out)
	require.NoError(t, w.Open(&probe.Machine{Places: []probe.Place{{Name: "smp", Kind: "smp", Workers: 1, Host: true}}}))
	var b record.Batch
	for i := range 10 {
		at := time.Duration(i) * time.Millisecond
		b.Tasks = append(b.Tasks, probe.Task{ID: deps.TaskID(i + 1), Last: deps.TaskID(i), Ready: at, Choice: at, Start: at + 1, End: at + 1e6, Release: at + 1e6, Kernel: "Forces"})
		b.Details = append(b.Details, record.Detail{Task: deps.TaskID(i + 1), What: record.Waits, Count: 1, Values: [6]int64{int64(i)}})
	}
	b.Dropped = 4
	require.NoError(t, w.Take(&b))
	require.NoError(t, w.Close())
	name := filepath.Join(t.TempDir(), "run.gtrace")
	require.NoError(t, os.WriteFile(name, out.Bytes(), 0o644))
	return name, out.Bytes()
}

func TestTraceCommands(t *testing.T) {
	name, content := traceFile(t)
	out := filepath.Join(t.TempDir(), "out")
	cut := filepath.Join(t.TempDir(), "cut.gtrace")
	require.NoError(t, os.WriteFile(cut, content[:len(content)-5], 0o644))
	newer := filepath.Join(t.TempDir(), "newer.gtrace")
	later := bytes.Clone(content)
	later[8] = 255 // behind the 8 bytes of magic
	require.NoError(t, os.WriteFile(newer, later, 0o644))
	empty := filepath.Join(t.TempDir(), "empty.gtrace")
	require.NoError(t, os.WriteFile(empty, nil, 0o644))
	for _, c := range []struct {
		args   []string
		status int
		stdout string
		stderr string
	}{
		{[]string{"trace", "summary", name}, 0, "dropped 4", ""},
		{[]string{"trace", "summary", cut}, 0, "the end is missing", "the end is missing"},
		{[]string{"trace", "critical", name}, 0, "Forces x 10", ""},
		{[]string{"trace", "diff", name, name}, 0, "+0.0 %", ""},
		{[]string{"trace", "export", "-format", "chrome", name}, 0, `"dropped":4`, ""},
		{[]string{"trace", "export", "-format", "csv", "-o", out, name}, 0, "", ""},
		{[]string{"trace", "export", "-format", "paraver", "-o", out, name}, 0, "", ""},
		{[]string{"trace", "report", "-o", out + ".html", name}, 0, "out.html", ""},
		{[]string{"trace", "export", "-format", "paraver", name}, 2, "", "say -o"},
		{[]string{"trace", "export", name, "-format", "dot"}, 0, "digraph", ""},
		{[]string{"trace", "export", "-format", "nonsense", name}, 2, "", "nonsense"},
		{[]string{"trace", "export", "-nonsense", name}, 2, "", "-nonsense"},
		{[]string{"trace", "export", "-format", "csv", name, "-o", name}, 1, "", "it is the trace file itself"},
		{[]string{"trace", "export", "-format", "csv", "-o", filepath.Join(name, "no"), name}, 1, "", "gompss trace: open"},
		{[]string{"trace", "export", name, name}, 2, "", "export: 2 files"},
		{[]string{"trace", "report", cut, "-o", out + ".html"}, 0, "out.html", "the end is missing"},
		{[]string{"trace", "diff", name, cut}, 0, "+0.0 %", "the end is missing"},
		{[]string{"trace", "diff", name}, 2, "", "diff: 1 files: want two"},
		{[]string{"trace", "critical", name, "-x"}, 2, "", "critical: flag provided but not defined: -x"},
		{[]string{"trace", "summary", name, "-last", "3"}, 0, "figures below are of the last 3 tasks", "of the last 3 of 10 tasks"},
		{[]string{"trace", "summary", name, "-last", "-3"}, 2, "", "want 0 or more"},
		{[]string{"trace"}, 2, "", "want summary"},
		{[]string{"trace", "nonsense"}, 2, "", "nonsense"},
		{[]string{"trace", "summary"}, 2, "", "summary: 0 files"},
		{[]string{"trace", "summary", t.TempDir()}, 1, "", "is a directory"},
		{[]string{"trace", "summary", empty}, 1, "", "not a trace file"},
		{[]string{"trace", "summary", newer}, 1, "", "the file has version 255 of the format"},
		{[]string{"trace", "summary", "main.go"}, 1, "", "not a trace file"},
		{[]string{"trace", "summary", name + "x"}, 1, "", "no such file"},
		{[]string{"dash", "-addr", "nonsense", name}, 1, "", "host:port"},
	} {
		var stdout, stderr bytes.Buffer
		require.Equal(t, c.status, run(c.args, &stdout, &stderr), "%v: %s", c.args, stderr.String())
		require.Contains(t, stdout.String(), c.stdout, c.args)
		require.Contains(t, stderr.String(), c.stderr, c.args)
	}
	now, err := os.ReadFile(name)
	require.NoError(t, err)
	require.Equal(t, content, now, "the trace file is as it was")
	for _, file := range []string{out, out + ".prv", out + ".pcf", out + ".row", out + ".html"} {
		info, err := os.Stat(file)
		require.NoError(t, err)
		require.NotZero(t, info.Size())
	}
}

// A file that could not be written whole is not left.
func TestNoHalfFiles(t *testing.T) {
	name := filepath.Join(t.TempDir(), "out")
	err := toFile(name, "none", func(w io.Writer) error {
		_, err := w.Write([]byte("half"))
		return errors.Join(err, errors.New("boom"))
	})
	require.ErrorContains(t, err, "boom")
	require.NoFileExists(t, name)
	require.False(t, isTerminal(&bytes.Buffer{}))
	null, err := os.OpenFile(os.DevNull, os.O_WRONLY, 0)
	require.NoError(t, err)
	defer null.Close()
	require.False(t, isTerminal(null))
	if tty, err := os.Open("/dev/ptmx"); err == nil { // a terminal, where there are some
		defer tty.Close()
		require.True(t, isTerminal(tty))
		require.Equal(t, 2, run([]string{"trace", "export", name}, tty, io.Discard))
	}
}
