package session

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/gompss/gompss/deps"
	"github.com/gompss/gompss/trace/probe"
	"github.com/gompss/gompss/trace/record"
	"github.com/gompss/gompss/trace/run"
	"github.com/stretchr/testify/require"
)

func machine() *probe.Machine {
	return &probe.Machine{Places: []probe.Place{{Name: "smp", Kind: "smp", Workers: 1, Host: true}}}
}

func TestNothingIsAskedFor(t *testing.T) {
	for _, spec := range []string{"", "off", ",off,"} {
		s, err := Open(spec, "", nil)
		require.NoError(t, err)
		require.Nil(t, s)
		require.NoError(t, s.Close(), "nobody needs to ask whether there is a session")
	}
}

func TestSummaryAndFileTogether(t *testing.T) {
	name := filepath.Join(t.TempDir(), "run.gtrace")
	var out bytes.Buffer
	s, err := Open("summary,file:"+name, "", &out)
	require.NoError(t, err)
	s.Recorder.Open(machine())
	s.Recorder.Ended(&probe.Task{ID: 1, Start: 10, End: 20, Release: 21, Kernel: "Forces"})
	require.NoError(t, s.Close())
	require.NoError(t, s.Close(), "a second time is free")
	require.Contains(t, out.String(), "Forces")
	require.Contains(t, out.String(), "dropped 0")
	r, err := run.ReadFile(name)
	require.NoError(t, err)
	require.Equal(t, 1, r.Len())
	require.True(t, r.Damage.Whole())
}

func TestWhatCannotBeOpened(t *testing.T) {
	_, err := Open("summary,file:"+filepath.Join(t.TempDir(), "no", "such"), "", nil)
	require.ErrorIs(t, err, os.ErrNotExist)
	_, err = Open("nonsense", "", nil)
	require.ErrorContains(t, err, `"nonsense"`)
	_, err = Open("", "127.0.0.1:0", nil)
	require.ErrorIs(t, err, ErrNoPage)
	s, err := Open("profile", "", nil)
	require.NoError(t, err)
	require.True(t, s.Profile)
	require.Nil(t, s.Recorder)
	require.NoError(t, s.Close())
}

type page struct {
	record.Sink
	at string
}

func (p page) URL() string { return "http://" + p.at }

func TestAPageIsTold(t *testing.T) {
	defer RegisterPage(nil)
	RegisterPage(func(addr string) (Page, error) {
		if addr == "bad" {
			return nil, errors.New("bad address")
		}
		return page{Sink: run.New(0), at: "page"}, nil
	})
	_, err := Open("summary", "bad", nil)
	require.ErrorContains(t, err, "bad address")
	var out bytes.Buffer
	s, err := Open("", "addr", &out)
	require.NoError(t, err)
	require.Contains(t, out.String(), "page at http://page")
	require.NoError(t, s.Close())
}

// A variable of the environment is meant for every run of a program: none writes over what another
// one has written.
func TestTwoRunsOfOneProgram(t *testing.T) {
	name := filepath.Join(t.TempDir(), "run.gtrace")
	var out bytes.Buffer
	var sessions []*Session
	for range 3 {
		s, err := Open("file:"+name, "", &out)
		require.NoError(t, err)
		sessions = append(sessions, s)
	}
	for i, s := range sessions {
		s.Recorder.Open(machine())
		for k := range i + 1 {
			s.Recorder.Ended(&probe.Task{ID: deps.TaskID(k + 1), Start: 10, End: 20, Release: 21, Kernel: "Forces"})
		}
		require.NoError(t, s.Close())
	}
	for i, name := range []string{name, strings.Replace(name, ".", "-2.", 1), strings.Replace(name, ".", "-3.", 1)} {
		r, err := run.ReadFile(name)
		require.NoError(t, err)
		require.Equal(t, i+1, r.Len())
	}
	require.Contains(t, out.String(), "run 2 of this program is recorded in "+strings.Replace(name, ".", "-2.", 1))

	defer RegisterPage(nil)
	free := true
	RegisterPage(func(addr string) (Page, error) {
		if addr == "127.0.0.1:8080" && !free {
			return nil, errors.New("address already in use")
		}
		return page{Sink: run.New(0), at: addr}, nil
	})
	first, err := Open("", "127.0.0.1:8080", &out)
	require.NoError(t, err)
	free = false
	second, err := Open("", "127.0.0.1:8080", &out)
	require.NoError(t, err, "a second page goes to a free port")
	require.Contains(t, out.String(), "page at http://127.0.0.1:0")
	require.NoError(t, first.Close())
	require.NoError(t, second.Close())
	RegisterPage(func(string) (Page, error) { return nil, errors.New("address already in use") })
	_, err = Open("", "127.0.0.1:8081", &out)
	require.ErrorContains(t, err, "already in use", "another program is there")
}

// A trace file is not written through a symbolic link, and what the link names stays as it is
// (issue 16, point h).
func TestTraceFile_SymbolicLinkIsRefused(t *testing.T) {
	dir := t.TempDir()
	victim := filepath.Join(dir, "victim")
	require.NoError(t, os.WriteFile(victim, []byte("kept"), 0o600))
	for _, target := range []string{victim, filepath.Join(dir, "absent")} {
		link := target + ".gtrace"
		require.NoError(t, os.Symlink(target, link))
		_, err := Open("file:"+link, "", &bytes.Buffer{})
		require.ErrorIs(t, err, errSymlink)
		require.ErrorContains(t, err, link)
	}
	text, err := os.ReadFile(victim)
	require.NoError(t, err)
	require.Equal(t, "kept", string(text))
	require.NoFileExists(t, filepath.Join(dir, "absent"))
}

func TestTraceWait_NeedsAReader(t *testing.T) {
	_, err := Open("wait", "", nil)
	require.ErrorContains(t, err, "nothing is recorded")
	s, err := Open("wait,file:"+filepath.Join(t.TempDir(), "run.gtrace"), "", &bytes.Buffer{})
	require.NoError(t, err)
	const n = 300_000 // several times the rings
	s.Recorder.Open(machine())
	for i := range n {
		s.Recorder.Ended(&probe.Task{ID: deps.TaskID(i + 1), Start: 1, End: 2})
	}
	require.NoError(t, s.Close())
	require.Zero(t, s.Recorder.Dropped())
}

func TestTraceWords_TwiceIsRefused(t *testing.T) {
	for _, spec := range []string{"summary,summary", "profile,off,profile", "file:a,file:a"} {
		_, err := Open(spec, "", nil)
		require.ErrorContains(t, err, "is given twice", spec)
	}
}
