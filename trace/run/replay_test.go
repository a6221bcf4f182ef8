package run_test

import (
	"strings"
	"testing"
	"time"

	"github.com/gompss/gompss/deps"
	"github.com/gompss/gompss/trace/probe"
	"github.com/gompss/gompss/trace/record"
	"github.com/gompss/gompss/trace/run"
	"github.com/stretchr/testify/require"
)

const ms = time.Millisecond

// A replayed has the records of a program of replays on two workers.
type replayed struct {
	rec  *record.Recorder
	run  *run.Run
	next deps.TaskID
}

func newReplayed() *replayed {
	r := &replayed{run: run.New(0), next: 1}
	r.rec = record.New(record.Options{Sinks: []record.Sink{r.run}})
	r.rec.Open(&probe.Machine{Places: []probe.Place{{Name: "smp", Kind: "smp", Workers: 2, Host: true}}})
	return r
}

// replay adds a replay and its steps, which are at least one. last is the replay before if it waited for that.
func (r *replayed) replay(number int32, submit time.Duration, last deps.TaskID, graph []probe.ReplayStep, steps ...probe.StepRun) (id deps.TaskID) {
	id = r.next
	of := &probe.Replay{Task: id, First: id + 1, Submit: submit, Number: number, Steps: graph}
	r.next += deps.TaskID(1 + len(graph))
	if last != 0 {
		r.rec.Submitted(id, nil, []deps.TaskID{last})
	}
	end := time.Duration(0)
	for i := range steps {
		r.rec.StepRan(of, &steps[i])
		end = max(end, steps[i].End)
	}
	r.rec.Ended(&probe.Task{ID: id, Last: last, Nesting: probe.Nesting{Replay: number, Steps: int32(len(graph))}, Submit: submit, Ready: submit, Choice: submit, Place: -1, Label: "iteration", Release: end + 1})
	return id
}

func (r *replayed) summary(t *testing.T) *run.Summary {
	require.NoError(t, r.rec.Close())
	return r.run.Summary()
}

func step(i, last int32, worker int16, start time.Duration) probe.StepRun {
	return probe.StepRun{Step: i, Last: last, Worker: worker, Ready: start, Start: start, End: start + 10*ms}
}

var (
	apart = []probe.ReplayStep{{Label: "a"}, {Label: "b"}, {Label: "a"}, {Label: "b"}}
	chain = []probe.ReplayStep{{Label: "a"}, {Label: "b", Before: []int32{0}}, {Label: "c", Before: []int32{1}}, {Label: "d", Before: []int32{2}}}
)

// A program that waits for each of its replays is bound by the bodies of the steps, not by submission.
func TestReplays_VerdictIsThatOfTheirSteps(t *testing.T) {
	r := newReplayed()
	for k := range 20 {
		at := ms + time.Duration(k)*(20*ms+10*time.Microsecond)
		r.replay(int32(k+1), at, 0, apart, step(0, -1, 0, at), step(1, -1, 1, at), step(2, -1, 0, at+10*ms), step(3, -1, 1, at+10*ms))
	}
	s := r.summary(t)
	require.Equal(t, "devices", s.Verdict.Bound, s.Verdict)
	require.EqualValues(t, 20*5, s.Tasks)
	require.Equal(t, 10*ms, s.Critical)
	require.Equal(t, 800*ms, s.Places[0].Busy)
	require.EqualValues(t, 80, s.Places[0].Tasks)
	for i, name := range []string{"a", "b"} {
		require.Equal(t, name, s.Kernels[i].Sort)
		require.EqualValues(t, 40, s.Kernels[i].Count)
		require.Equal(t, 400*ms, s.Kernels[i].Total)
	}

	r = newReplayed()
	for k := range 20 {
		at := ms + time.Duration(k)*(40*ms+10*time.Microsecond)
		r.replay(int32(k+1), at, 0, chain, step(0, -1, 0, at), step(1, 0, 0, at+10*ms), step(2, 1, 0, at+20*ms), step(3, 2, 0, at+30*ms))
	}
	s = r.summary(t)
	require.Equal(t, "chain", s.Verdict.Bound, s.Verdict)
	require.Equal(t, 40*ms, s.Critical)
	require.Len(t, s.Chain.Tasks, 80, "the chain passes through all steps")

	r = newReplayed()
	for k := range 20 { // the program computes for long between its replays
		at := ms + time.Duration(k)*100*ms
		r.replay(int32(k+1), at, 0, apart, step(0, -1, 0, at), step(1, -1, 1, at), step(2, -1, 0, at+10*ms), step(3, -1, 1, at+10*ms))
	}
	require.Equal(t, "submission", r.summary(t).Verdict.Bound)
}

// Replays that were requested at once are a chain of their longest chains.
func TestReplays_CriticalPath(t *testing.T) {
	r := newReplayed()
	last := deps.TaskID(0)
	for k := range 10 {
		at := ms + time.Duration(k)*40*ms
		last = r.replay(int32(k+1), ms, last, chain, step(0, -1, 0, at), step(1, 0, 0, at+10*ms), step(2, 1, 0, at+20*ms), step(3, 2, 0, at+30*ms))
	}
	s := r.summary(t)
	require.Equal(t, 400*ms, s.Critical)
	require.Equal(t, "path", s.Verdict.Bound)
	require.Equal(t, 400*ms, s.Chain.Run)
	require.Zero(t, s.Chain.Late)
	require.Zero(t, s.Chain.Submit)
}

// A replay that starts while the one before runs continues its chains: the paths through both are no longer than the run.
func TestReplays_CriticalPathOfThoseThatOverlap(t *testing.T) {
	two := []probe.ReplayStep{{Label: "a"}, {Label: "b"}}
	r := newReplayed()
	first := r.replay(1, ms, 0, two, step(0, -1, 0, ms), step(1, -1, 1, 6*ms))
	second := r.replay(2, ms, first, two, step(0, -1, 0, 11*ms), step(1, -1, 1, 16*ms))
	r.rec.Submitted(second+1, nil, []deps.TaskID{first + 1})
	r.rec.Submitted(second+2, nil, []deps.TaskID{first + 2})
	s := r.summary(t)
	require.Equal(t, 20*ms, s.Critical, "each step comes after the same step of the replay before")
}

// A task that was submitted between a replay and the start of its steps has a smaller number than
// these, and waits for them all the same.
func TestReplays_ChainOfATaskBehind(t *testing.T) {
	r := newReplayed()
	of := &probe.Replay{Task: 1, First: 3, Submit: ms, Number: 1, Steps: chain}
	steps := []probe.StepRun{step(0, -1, 0, ms), step(1, 0, 0, 11*ms), step(2, 1, 0, 21*ms), step(3, 2, 0, 31*ms)}
	for i := range steps {
		r.rec.StepRan(of, &steps[i])
	}
	r.rec.Ended(&probe.Task{ID: 1, Nesting: probe.Nesting{Replay: 1, Steps: 4}, Submit: ms, Ready: ms, Choice: ms, Place: -1, Label: "iteration", Release: 41*ms + 1})
	r.rec.Submitted(2, nil, []deps.TaskID{1})
	r.rec.Ended(&probe.Task{ID: 2, Last: 1, Submit: 2 * ms, Ready: 41*ms + 2, Choice: 41*ms + 2, Start: 41*ms + 2, End: 51 * ms, Label: "x", Release: 51*ms + 1})
	s := r.summary(t)
	require.Equal(t, []deps.TaskID{2, 6, 5, 4, 3}, s.Chain.Tasks)
	require.Zero(t, s.Chain.Submit)
	require.Zero(t, s.Chain.Late)
}

// A device graph is one record with the number of its kernels.
func TestReplays_DeviceGraphs(t *testing.T) {
	r := run.New(0)
	rec := record.New(record.Options{Sinks: []record.Sink{r}})
	rec.Open(&probe.Machine{Places: []probe.Place{{Name: "cuda:0", Kind: "cuda", Workers: 1, Memory: 1 << 30}}})
	for i := range 5 {
		at := ms * time.Duration(i+1)
		rec.Ended(&probe.Task{ID: deps.TaskID(i + 1), Nesting: probe.Nesting{Steps: 40}, Submit: at, Ready: at, Choice: at, Launch: at, Start: at, End: at + ms/2, Release: at + ms/2, Kernel: "sweep", Variant: "cuda"})
	}
	require.NoError(t, rec.Close())
	s := r.Summary()
	require.EqualValues(t, 5, s.Kernels[0].Count)
	require.EqualValues(t, 200, s.Kernels[0].Kernels)
	var text strings.Builder
	require.NoError(t, s.Write(&text))
	require.Contains(t, text.String(), "sweep (graph of 40 kernels)")
}
