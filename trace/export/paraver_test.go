package export_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/gompss/gompss/deps"
	"github.com/gompss/gompss/trace/export"
	"github.com/gompss/gompss/trace/probe"
	"github.com/gompss/gompss/trace/run"
	"github.com/stretchr/testify/require"
)

// A legend is what a .pcf file names: states, and the values of each type of events; none where any
// number may come.
type legend struct {
	states map[int64]bool
	events map[int64]map[int64]bool
}

var (
	pcfState = regexp.MustCompile(`^(\d+) +\S`)
	pcfColor = regexp.MustCompile(`^(\d+) +\{\d+,\d+,\d+\}$`)
	pcfEvent = regexp.MustCompile(`^\d+ +(\d+) +\S`)
)

// readLegend reads a .pcf file section by section: DEFAULT_OPTIONS, DEFAULT_SEMANTIC, STATES,
// STATES_COLOR, and for each type EVENT_TYPE and VALUES, a line with what it names each.
func readLegend(t *testing.T, name string) legend {
	text, err := os.ReadFile(name)
	require.NoError(t, err)
	l := legend{states: map[int64]bool{}, events: map[int64]map[int64]bool{}}
	section, event, colours := "", int64(0), 0
	number := func(pattern *regexp.Regexp, line string) int64 {
		m := pattern.FindStringSubmatch(line)
		require.NotNil(t, m, "%s: %q", section, line)
		n, err := strconv.ParseInt(m[1], 10, 64)
		require.NoError(t, err)
		return n
	}
	for line := range strings.Lines(string(text)) {
		line = strings.TrimRight(line, "\n")
		switch {
		case line == "":
		case regexp.MustCompile(`^[A-Z_]+$`).MatchString(line):
			section = line
		case section == "DEFAULT_OPTIONS" || section == "DEFAULT_SEMANTIC":
			require.Regexp(t, `^[A-Z_]+ +\S`, line)
		case section == "STATES":
			l.states[number(pcfState, line)] = true
		case section == "STATES_COLOR":
			require.True(t, l.states[number(pcfColor, line)], "the colour of no state: %q", line)
			colours++
		case section == "EVENT_TYPE":
			event = number(pcfEvent, line)
			require.NotContains(t, l.events, event, "a type is there twice")
			l.events[event] = nil
		case section == "VALUES":
			if l.events[event] == nil {
				l.events[event] = map[int64]bool{}
			}
			l.events[event][number(pcfState, line)] = true
		default:
			t.Fatalf("%s: section %q: %q", name, section, line)
		}
	}
	require.Equal(t, len(l.states), colours)
	return l
}

// checkRecord checks a record by the legend and the size of the machine: its lane, its times, and
// what its numbers stand for. over is where the state of each lane ended.
func (l *legend) checkRecord(t *testing.T, text string, n []int64, lanes int, duration int64, over map[int64]int64) {
	place := func(cpu, thread, at int64) {
		require.True(t, cpu >= 1 && cpu <= int64(lanes) && thread == cpu, "%s: lane", text)
		require.True(t, at >= 0 && at <= duration, "%s: time", text)
	}
	place(n[1], n[4], n[5])
	switch n[0] {
	case 1:
		require.Equal(t, over[n[4]], n[5], "%s: a state begins where the one before it ends", text)
		require.True(t, n[6] > n[5] && n[6] <= duration, text)
		require.True(t, l.states[n[7]], "%s: a state without a name", text)
		over[n[4]] = n[6]
	case 2:
		require.Zero(t, (len(n)-6)%2, text)
		for i := 6; i < len(n); i += 2 {
			values, named := l.events[n[i]]
			require.True(t, named, "%s: a type without a name", text)
			require.True(t, values == nil || values[n[i+1]] || n[i+1] == 0, "%s: a value without a name", text)
		}
	case 3:
		require.Len(t, n, 15, text)
		place(n[7], n[10], n[11])
		require.True(t, n[5] <= n[6] && n[6] <= n[12] && n[11] <= n[12] && n[12] <= duration, "%s: sent before it is received", text)
		require.GreaterOrEqual(t, n[13], int64(0), text)
	default:
		t.Fatalf("a record of no kind: %s", text)
	}
}

// checkViews checks that each .cfg has as many windows as it says, and asks for types of events
// that the legend has.
func (l *legend) checkViews(t *testing.T, list []string) {
	for _, name := range list {
		b, err := os.ReadFile(name)
		require.NoError(t, err)
		text := string(b)
		require.True(t, strings.HasPrefix(text, "#ParaverCFG\nConfigFile.Version: 3.4\n"), name)
		m := regexp.MustCompile(`(?m)^ConfigFile.NumWindows: (\d+)$`).FindStringSubmatch(text)
		require.NotNil(t, m, name)
		require.Equal(t, m[1], strconv.Itoa(strings.Count(text, "< NEW DISPLAYING WINDOW ")), name)
		for _, line := range regexp.MustCompile(`(?m)^window_filter_module evt_type (\d+) (.*)$`).FindAllStringSubmatch(text, -1) {
			types := strings.Fields(line[2])
			require.Equal(t, line[1], strconv.Itoa(len(types)), name)
			for _, word := range types {
				n, err := strconv.ParseInt(word, 10, 64)
				require.NoError(t, err)
				require.Contains(t, l.events, n, "%s: a type that no trace has", filepath.Base(name))
			}
		}
	}
}

// Paraver's own engine loads the file and draws every view that is written with it, and its view of
// tasks has as many of them, and as much time in them, as the run. GOMPSS_PARAMEDIR names the
// command of Paraver's kernel that does so without a window.
func TestParaverByItsOwnEngine(t *testing.T) {
	paramedir := os.Getenv("GOMPSS_PARAMEDIR")
	if paramedir == "" {
		t.Skip("GOMPSS_PARAMEDIR names no paramedir: Paraver itself is not asked")
	}
	r := recorded(t)
	dir := t.TempDir()
	name := filepath.Join(dir, "run.prv")
	require.NoError(t, export.Paraver(strings.TrimSuffix(name, ".prv"), r))
	views, err := filepath.Glob(filepath.Join(dir, "run.cfgs", "*.cfg"))
	require.NoError(t, err)
	require.GreaterOrEqual(t, len(views), 6)
	for _, view := range views {
		out, err := exec.Command(paramedir, name, view, view+".out").CombinedOutput()
		require.NoError(t, err, "%s: %s", view, out)
		require.Regexp(t, `file written|None of the events specified in the filter appear`, string(out), view)
	}
	text, err := os.ReadFile(filepath.Join(dir, "run.cfgs", "tasks.cfg.out.csv"))
	require.NoError(t, err)
	busy := 0.0 // in microseconds
	for line := range strings.Lines(string(text)) {
		f := strings.Fields(line)
		require.Len(t, f, 4, line)
		took, err := strconv.ParseFloat(f[2], 64)
		require.NoError(t, err)
		if f[3] != "0.00" {
			busy += took
		}
	}
	want := time.Duration(0)
	for _, of := range viewOfRun(r).busy {
		want += of
	}
	require.InEpsilon(t, want.Seconds()*1e6, busy, 0.02)
}

// A task that took no time begins before it ends, after the task before it and before the next one.
func TestATaskThatTookNoTime(t *testing.T) {
	r := run.New(0)
	r.Machine = probe.Machine{Places: []probe.Place{{Name: "smp", Kind: "smp", Workers: 1, Host: true}, {Name: "sim:0", Kind: "sim", Workers: 1, Tokens: 100}}}
	for i, at := range [][3]time.Duration{{5, 10, 20}, {6, 20, 20}, {7, 20, 20}, {8, 20, 30}} {
		r.Append(probe.Task{ID: deps.TaskID(i + 1), Submit: 1, Ready: 2, Choice: at[0], Launch: at[0], Start: at[1], End: at[2], Release: at[2], Kernel: "K", Place: 1, Tokens: 30})
	}
	r.Finish()
	require.Equal(t, viewOfRun(r), viewOfParaver(t, r, r.Summary()))
}
