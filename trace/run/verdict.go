package run

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/gompss/gompss/deps"
)

// A Verdict states in one sentence what limited the speed of the run, and the numbers that show it.
type Verdict struct {
	// Bound is compile, tasks, messages, memory, transfers, tokens, path, load, devices, runtime,
	// submission, chain, balance or nothing.
	Bound    string
	Sentence string
	Evidence string
}

func (v Verdict) String() string { return v.Sentence + " (" + v.Evidence + ")" }

// The thresholds of the verdicts. All but smallTask are fractions.
const (
	smallTask     = 10 * time.Microsecond // a shorter task costs the runtime more time than it runs
	manyTransfers = 0.35                  // of the time of an accelerator: waiting for copies
	longPath      = 0.7                   // of the elapsed time: the critical path
	fullPlace     = 0.7                   // of the time of a place: running tasks
	muchQueue     = 0.25                  // of the elapsed time: waiting for tokens
	unevenLoad    = 0.6                   // of the busy time of a kind's busiest lane: the mean of its lanes
	muchCompiled  = 0.3                   // of the elapsed time and the compilation before it: no task ran
	muchAgain     = 0.5                   // of the bytes copied to an accelerator: copied again after an eviction
	lateTasks     = 0.4                   // of the elapsed time: from the end of a task to the next submission
	mostlyOne     = 0.7                   // of the elapsed time: these intervals and the tasks before them
	muchOverhead  = 0.4                   // of the time of an accelerator: a task was ready and did not run
	manyMessages  = 0.3                   // of the elapsed time: messages on the chain of tasks to the end
	// Of the elapsed time: the tasks of the chain to the end, and the tasks queued before them on
	// their accelerators.
	longChain  = 0.6
	idleKind   = 0.3 // of the time of the lanes of a kind: below it, they are idle
	slowerKind = 2   // the ratio of the mean times of a kernel on two kinds that the verdict names
)

// judge returns the verdict of the first test that holds. The most specific tests come first.
func (s *Summary) judge() Verdict {
	if s.Tasks == 0 || s.Elapsed <= 0 {
		return Verdict{"nothing", "nothing ran", "no task is in the records"}
	}
	tests := []func() (Verdict, bool){s.boundByCompiling, s.boundByMessages, s.smallTasks, s.boundByTransfers, s.boundByTokens, s.boundByPath, s.boundByLoad, s.boundByDevices, s.boundByRuntime, s.boundBySubmission, s.boundByChain}
	for _, test := range tests {
		if v, ok := test(); ok {
			return v
		}
	}
	return s.unbalanced()
}

func percent(part, all time.Duration) float64 {
	if all <= 0 {
		return 0
	}
	return 100 * float64(part) / float64(all)
}

func (s *Summary) smallTasks() (Verdict, bool) {
	var busy, all time.Duration
	var n int64
	for i := range s.Places {
		p := &s.Places[i]
		busy, n, all = busy+p.Busy, n+p.Tasks, all+p.Busy+p.Transfer+p.Overhead+p.Idle
	}
	if n < 100 || busy/time.Duration(n) >= smallTask || percent(busy, all) > 50 {
		return Verdict{}, false
	}
	return Verdict{"tasks", fmt.Sprintf("tasks too small: %v on average", Round(busy/time.Duration(n))),
		fmt.Sprintf("%d tasks ran for %v together, %.0f %% of the lanes' time; the runtime had %.0f %%", n, Round(busy), percent(busy, all), percent(s.Overhead, all))}, true
}

// boundByCompiling tests whether no task ran for a large part of the run while variants of kernels
// were compiled. The variants for the first task are compiled before it is submitted, which is not
// part of the elapsed time.
func (s *Summary) boundByCompiling() (Verdict, bool) {
	whole := s.Elapsed + s.CompileFirst
	if float64(s.CompileFirst+s.CompileAlone) < muchCompiled*float64(whole) {
		return Verdict{}, false
	}
	return Verdict{"compile", "bound by making variants of kernels",
		fmt.Sprintf("for %v of %v no task ran while they were made, %v of that before the first submission; %d of %d came from a cache",
			Round(s.CompileFirst+s.CompileAlone), Round(whole), Round(s.CompileFirst), s.Cached, s.Compiled)}, true
}

// boundByTransfers tests whether the accelerator that waited most for copies did so for a large
// part of the run. Another place that was busy for longer than the work and the copies of this
// accelerator take is the stronger limit.
func (s *Summary) boundByTransfers() (Verdict, bool) {
	worst := -1
	var longest time.Duration
	for i := range s.Places {
		p := &s.Places[i]
		longest = max(longest, p.Most)
		if p.Memory > 0 && (worst < 0 || p.Share(p.Transfer) > s.Places[worst].Share(s.Places[worst].Transfer)) {
			worst = i
		}
	}
	if worst < 0 || s.Places[worst].Share(s.Places[worst].Transfer) < manyTransfers {
		return Verdict{}, false
	}
	p := &s.Places[worst]
	if float64(longest) >= fullPlace*float64(s.Elapsed) && longest > p.Busy+p.Transfer {
		return Verdict{}, false
	}
	l, in := s.linkOf(p.Name)
	if l == nil {
		return Verdict{}, false
	}
	waited := fmt.Sprintf("%s waited for copies %.0f %% of the time and ran kernels %.0f %%", p.Name, 100*p.Share(p.Transfer), 100*p.Share(p.Busy))
	if in > 0 && float64(p.Again) >= muchAgain*float64(in) {
		return Verdict{"memory", "bound by the memory of " + p.Name + ": what it evicts has to come again",
			fmt.Sprintf("%s; of %v that went there %v came again after %d evictions, with %v of %v in use", waited, in, p.Again, p.Evictions, p.Peak, p.Memory)}, true
	}
	return Verdict{"transfers", fmt.Sprintf("bound by transfers %s -> %s", l.From, l.To),
		fmt.Sprintf("%s; %v went over this link in %v, at %.3g GB/s", waited, l.Bytes, Round(l.Time), l.Rate()/1e9)}, true
}

// boundByMessages tests whether the chain of tasks to the end of a run of several ranks waits for
// messages.
func (s *Summary) boundByMessages() (Verdict, bool) {
	if float64(s.Chain.Messages) < manyMessages*float64(s.Elapsed) {
		return Verdict{}, false
	}
	var most *LinkUse
	var all deps.Bytes
	var n int64
	for i := range s.Links {
		if l := &s.Links[i]; betweenRanks(l.From, l.To) {
			all, n = all+l.Bytes, n+l.Copies
			if most == nil || l.Time > most.Time {
				most = l
			}
		}
	}
	if most == nil {
		return Verdict{}, false
	}
	return Verdict{"messages", "bound by messages between ranks: larger blocks, fewer owners that meet, or more work before each helps",
		fmt.Sprintf("on the chain of tasks to the end, messages are on their way for %v of %v (%.0f %%); %d messages had %v in all, and most of the time went to %s -> %s with %v in %v",
			Round(s.Chain.Messages), Round(s.Elapsed), percent(s.Chain.Messages, s.Elapsed), n, all, most.From, most.To, most.Bytes, Round(most.Time))}, true
}

// linkOf returns the link to or from memory that was in use the longest, and the bytes copied to
// memory.
func (s *Summary) linkOf(memory string) (longest *LinkUse, in deps.Bytes) {
	for i := range s.Links {
		l := &s.Links[i]
		if l.To == memory {
			in += l.Bytes
		}
		if (l.From == memory || l.To == memory) && (longest == nil || l.Time > longest.Time) {
			longest = l
		}
	}
	return longest, in
}

// boundByTokens tests whether the chain waited for tokens although its devices had idle time.
func (s *Summary) boundByTokens() (Verdict, bool) {
	if float64(s.Chain.Tokens) < muchQueue*float64(s.Elapsed) || s.busyKind(s.Chain.Kind) >= fullPlace {
		return Verdict{}, false
	}
	held := ""
	for _, h := range s.Held {
		if h.Kind == s.Chain.Kind {
			held = fmt.Sprintf("; tasks held %.3g of %d on average, and its lanes were busy %.0f %%", float64(h.Time)/float64(s.Elapsed), h.Limit, 100*s.busyKind(h.Kind))
		}
	}
	return Verdict{"tokens", "bound by tokens of kind " + s.Chain.Kind,
		fmt.Sprintf("tasks on the chain to the end waited %v of %v ready and short of tokens, %d tasks in all were short at some time%s", Round(s.Chain.Tokens), Round(s.Elapsed), s.Short, held)}, true
}

// busyKind returns how busy the lanes of a kind were on average, between 0 and 1.
func (s *Summary) busyKind(kind string) float64 {
	var busy, all time.Duration
	for i := range s.Places {
		if p := &s.Places[i]; p.Kind == kind {
			busy, all = busy+p.Busy, all+p.Busy+p.Transfer+p.Overhead+p.Idle
		}
	}
	return float64(busy) / float64(max(1, all))
}

func (s *Summary) boundByPath() (Verdict, bool) {
	if float64(s.Critical) < longPath*float64(s.Elapsed) {
		return Verdict{}, false
	}
	most := s.Path[0]
	for _, l := range s.Path {
		if l.Time > most.Time {
			most = l
		}
	}
	return Verdict{"path", "bound by the critical path: more devices will not help",
		fmt.Sprintf("its tasks run for %v of %v elapsed (%.0f %%); most of it is %s x %d with %v", Round(s.Critical), Round(s.Elapsed), percent(s.Critical, s.Elapsed), most.Sort, most.Count, Round(most.Time))}, true
}

// boundByLoad tests whether one lane of a kind is busy most of the time and the others are not. The
// work could then be distributed better, since the critical path is short. Tasks that are submitted
// one after the other cannot be distributed, nor can a chain of tasks that runs for as long as the
// lane, although waits of the program divide its path.
func (s *Summary) boundByLoad() (Verdict, bool) {
	type load struct {
		lanes      int
		busy, most time.Duration
		where      string
	}
	if s.oneByOne() || float64(s.Chain.Run) >= fullPlace*float64(s.Elapsed) {
		return Verdict{}, false
	}
	kinds := map[string]*load{}
	for i := range s.Places {
		p := &s.Places[i]
		k := kinds[p.Kind]
		if k == nil {
			k = &load{}
			kinds[p.Kind] = k
		}
		if k.lanes, k.busy = k.lanes+p.Lanes, k.busy+p.Busy; p.Most > k.most {
			k.most, k.where = p.Most, p.Busiest
		}
	}
	for _, p := range s.Places {
		k := kinds[p.Kind]
		mean := k.busy / time.Duration(max(1, k.lanes))
		if k.lanes > 1 && float64(k.most) >= fullPlace*float64(s.Elapsed) && float64(mean) < unevenLoad*float64(k.most) {
			return Verdict{"load", "bound by uneven load: most of the work of kind " + p.Kind + " is on " + k.where,
				fmt.Sprintf("it was busy %.0f %% of the time, the %d lanes of its kind %.0f %% on average; the critical path is %.0f %% of the elapsed time, so the work could be spread",
					percent(k.most, s.Elapsed), k.lanes, percent(mean, s.Elapsed), percent(s.Critical, s.Elapsed))}, true
		}
	}
	return Verdict{}, false
}

func (s *Summary) boundByDevices() (Verdict, bool) {
	best := -1
	for i := range s.Places {
		if best < 0 || s.Places[i].Share(s.Places[i].Busy) > s.Places[best].Share(s.Places[best].Busy) {
			best = i
		}
	}
	if best < 0 || s.Places[best].Share(s.Places[best].Busy) < fullPlace {
		return Verdict{}, false
	}
	p := &s.Places[best]
	if v, ok := s.boundByKind(p); ok {
		return v, true
	}
	return Verdict{"devices", "bound by the work on " + p.Name,
		fmt.Sprintf("it was busy %.0f %% of the time; the critical path is %.0f %% of the elapsed time, so more or faster devices help", 100*p.Share(p.Busy), percent(s.Critical, s.Elapsed))}, true
}

// boundByKind tests whether the kernel that took most of the time of p runs much faster on another
// kind of device, which was idle.
func (s *Summary) boundByKind(p *PlaceUse) (Verdict, bool) {
	most := s.mostOn(p.Kind)
	for i := range s.Places {
		q := &s.Places[i]
		quick := s.meanOn(most, q.Kind)
		if q.Kind == p.Kind || quick <= 0 || s.busyKind(q.Kind) >= idleKind {
			continue
		}
		if slow := s.meanOn(most, p.Kind); float64(slow) >= slowerKind*float64(quick) {
			return Verdict{"devices", fmt.Sprintf("bound by the work on %s: %s runs %.3g times as fast on %s, which is idle", p.Name, most, float64(slow)/float64(quick), q.Kind),
				fmt.Sprintf("%s was busy %.0f %% of the time and %s %.0f %%; the mean time of %s is %v on kind %s and %v on kind %s", p.Name, 100*p.Share(p.Busy), q.Kind, 100*s.busyKind(q.Kind),
					most, Round(slow), p.Kind, Round(quick), q.Kind)}, true
		}
	}
	return Verdict{}, false
}

// mostOn returns the kernel or label that ran the longest on a kind, all variants together.
func (s *Summary) mostOn(kind string) (most string) {
	totals := map[string]time.Duration{}
	for _, u := range s.Kernels {
		if u.Kind == kind {
			totals[u.Sort] += u.Total
			if most == "" || totals[u.Sort] > totals[most] {
				most = u.Sort
			}
		}
	}
	return most
}

// meanOn returns the mean time of a kernel on a kind, 0 if it did not run there.
func (s *Summary) meanOn(sort, kind string) time.Duration {
	var total time.Duration
	var count int64
	for _, u := range s.Kernels {
		if u.Sort == sort && u.Kind == kind {
			total, count = total+u.Total, count+u.Count
		}
	}
	return total / time.Duration(max(1, count))
}

// boundByRuntime tests whether an accelerator had a ready task for a large part of the run, but
// neither ran nor copied. Then the runtime was at work, or waited for the system, for example while
// it pinned host memory.
func (s *Summary) boundByRuntime() (Verdict, bool) {
	worst := -1
	for i := range s.Places {
		if p := &s.Places[i]; p.Memory > 0 && (worst < 0 || p.Share(p.Overhead) > s.Places[worst].Share(s.Places[worst].Overhead)) {
			worst = i
		}
	}
	if worst < 0 || s.Places[worst].Share(s.Places[worst].Overhead) < muchOverhead {
		return Verdict{}, false
	}
	p := &s.Places[worst]
	return Verdict{"runtime", "bound by what the runtime does before tasks start on " + p.Name,
		fmt.Sprintf("for %v of %v a task was ready for %s, which ran and copied nothing; the longest of these waits was %v, for task %d", Round(p.Overhead), Round(s.Elapsed), p.Name, Round(p.Longest), p.Before)}, true
}

// boundByChain tests whether the tasks of the chain to the end ran, or were queued behind others on
// their accelerators, for most of the run, although no place was busy for as long. Either waits of
// the program divide a critical path, or each step waits for the place with most of its tasks.
func (s *Summary) boundByChain() (Verdict, bool) {
	c := &s.Chain
	if float64(c.Run+c.Behind) < longChain*float64(s.Elapsed) {
		return Verdict{}, false
	}
	if c.Run >= c.Behind {
		return Verdict{"chain", "bound by a chain of tasks, each after the one before: shorter tasks on it help, more devices do not",
			fmt.Sprintf("on the chain of tasks to the end they run for %v of %v (%.0f %%), and %d times the next was submitted after that, where a critical path ends; most of it is %s x %d with %v",
				Round(c.Run), Round(s.Elapsed), percent(c.Run, s.Elapsed), c.Late, c.Most.Sort, c.Most.Count, Round(c.Most.Time))}, true
	}
	return Verdict{"chain", "bound by the order of tasks: those that others wait for are behind others on their devices",
		fmt.Sprintf("on the chain of tasks to the end they run for %v of %v and wait %v behind others of the same device, while %s", Round(c.Run), Round(s.Elapsed), Round(c.Behind), s.kindsInWords())}, true
}

// kindsInWords describes how busy the lanes of each kind of accelerator were.
func (s *Summary) kindsInWords() string {
	var text []string
	for i := range s.Places {
		if p := &s.Places[i]; p.Memory > 0 && !slices.ContainsFunc(s.Places[:i], func(u PlaceUse) bool { return u.Kind == p.Kind }) {
			text = append(text, fmt.Sprintf("those of kind %s are busy %.0f %% of the time on average", p.Kind, 100*s.busyKind(p.Kind)))
		}
	}
	return strings.Join(text, ", ")
}

// oneByOne reports whether tasks were submitted one after the other.
func (s *Summary) oneByOne() bool {
	c := &s.Chain
	return c.Late > 1 && float64(c.Submit+c.Before) >= mostlyOne*float64(s.Elapsed)
}

// boundBySubmission tests whether the program submits its tasks late, or one after the other.
func (s *Summary) boundBySubmission() (Verdict, bool) {
	c, all := &s.Chain, float64(s.Elapsed)
	switch {
	case float64(c.Submit) >= lateTasks*all:
		return Verdict{"submission", "bound by submission: the program submits tasks too late",
			fmt.Sprintf("on the chain of tasks to the end, %v of %v passed between the end of a task and the submission of the next", Round(c.Submit), Round(s.Elapsed))}, true
	case s.oneByOne():
		return Verdict{"submission", "bound by submission: the program submits tasks one after the other",
			fmt.Sprintf("on the chain of tasks to the end, %d tasks had finished before the next was submitted, and ran for %v of %v", c.Late, Round(c.Before), Round(s.Elapsed))}, true
	}
	return Verdict{}, false
}

func (s *Summary) unbalanced() Verdict {
	c := s.Chain
	return Verdict{"balance", "bound by no one thing",
		fmt.Sprintf("on the chain of tasks to the end: running %.0f %%, waiting for data or the device %.0f %%, for a free worker or device %.0f %%, for the runtime to release the next task %.0f %%, submission %.0f %%; %s",
			percent(c.Run, s.Elapsed), percent(c.Fetch, s.Elapsed), percent(c.Queue, s.Elapsed), percent(c.Tell, s.Elapsed), percent(c.Submit, s.Elapsed), s.lanesInWords())}
}

// lanesInWords describes how the lanes that ran tasks spent their time, on average.
func (s *Summary) lanesInWords() string {
	var of [4]time.Duration
	var all time.Duration
	for i := range s.Places {
		p := &s.Places[i]
		if p.Tasks == 0 {
			continue
		}
		for k, part := range [4]time.Duration{p.Busy, p.Transfer, p.Overhead, p.Idle} {
			of[k], all = of[k]+part, all+part
		}
	}
	return fmt.Sprintf("lanes with tasks: busy %.0f %%, waiting for copies %.0f %%, for the runtime %.0f %%, idle %.0f %%",
		percent(of[0], all), percent(of[1], all), percent(of[2], all), percent(of[3], all))
}

// Round makes a duration readable: three digits.
func Round(d time.Duration) time.Duration {
	for unit := time.Duration(1); unit < math.MaxInt64/10000; unit *= 10 {
		if d < 1000*unit && d > -1000*unit {
			return d.Round(unit)
		}
	}
	return d // centuries: a damaged file
}
