package task_test

import (
	"flag"
	"fmt"
	"maps"
	"math/rand/v2"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/gompss/gompss/task"
	"github.com/gompss/gompss/trace/probe"
)

var virtualSeeds = flag.Int("virtualseeds", 240, "random programs to run in a virtual time")

// A diary is what an observer is told, without the times.
type diary struct {
	mu    sync.Mutex
	lines []string
}

func (d *diary) Observe(p probe.Point) {
	switch p.Kind {
	case probe.Phase, probe.Compile, probe.Explain, probe.Learn: // of the host
		return
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.lines = append(d.lines, fmt.Sprint(p.Kind, " ", p.Task, " ", p.Other, " ", p.Label, " ", p.Kernel, " ", p.Device, " ", p.From, " ", p.To, " ", int64(p.Bytes), " ", p.Region, " ", p.Err))
}

// virtualSpec returns a machine with a virtual time, whose memory may be little.
func virtualSpec(rng *rand.Rand, little string) string {
	pick := func(words ...string) string { return words[rng.IntN(len(words))] }
	sim := fmt.Sprintf("sim:%d(exec=cpu,clock=virtual,bandwidth=%dMB/s,latency=%dus,speed=%dMB/s%s)", 1+rng.IntN(3),
		100<<rng.IntN(6), rng.IntN(5), 100<<rng.IntN(6),
		pick("", ",hostspeed=500MB/s")+pick("", ",submit=1us", ",submit=300ns")+pick("", ",peer=off")+pick("", ",granule=1KiB,memory="+little))
	smp := fmt.Sprintf("smp:%d", 1+rng.IntN(3))
	return pick(sim+","+smp, smp+","+sim)
}

// A virtualRunSeen is what was seen of a program.
type virtualRunSeen struct {
	diary []string
	stats string
}

// TestVirtualClock_RandomProgramsAreRepeatable runs random programs, submitted while devices work, with all modes, nesting, waits, loops,
// groups, failures, devices that go out of service, cancellation and replays, under all policies, several times, with other numbers of
// processors. Everything that happens, its order, the placement and the makespan are the same.
func TestVirtualClock_RandomProgramsAreRepeatable(t *testing.T) {
	n := *virtualSeeds
	if testing.Short() || raceEnabled {
		n = 30
	}
	evictions, failures, moved := int64(0), int64(0), int64(0)
	ks, graphs := loadModelKernels(t), loadGraphKernels(t)
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(0))
	for i := range n {
		seed := *firstSeed + uint64(i)
		little := "2KiB" // all that a kernel uses, and no private copies
		if seed%4 == 0 {
			little = "12KiB"
		}
		spec := virtualSpec(rand.New(rand.NewPCG(seed, 1)), little)
		run := func(processors int, watched bool) (seen virtualRunSeen) {
			runtime.GOMAXPROCS(processors)
			d := &diary{}
			setup := &modelSetup{devices: spec, virtual: true, stats: func(s task.Stats) {
				if s.OutOfTurn > 0 {
					t.Errorf("seed %d: %d things out of turn", seed, s.OutOfTurn)
				}
				evictions, failures, moved = evictions+s.Evictions, failures+s.Failed, moved+s.Transfers
				var ran []string
				for _, k := range slices.Sorted(maps.Keys(s.ByDevice)) {
					ran = append(ran, fmt.Sprint(k, " ", s.ByDevice[k]))
				}
				seen.stats = fmt.Sprint(s.Makespan, " ", strings.Join(ran, ", "), " ", s.Transfers, " ", s.Evictions)
			}}
			if watched {
				setup.observer = d
			}
			switch seed % 4 {
			case 0:
				runGraphAs(t, graphs, seed, setup)
			case 1:
				if err := replayModelAs(ks, seed, setup); err != nil {
					t.Error(err)
				}
			default:
				if err := modelOfAs(seed, setup).run(ks); err != nil {
					t.Error(err)
				}
			}
			seen.diary = d.lines
			return seen
		}
		first := run(1, true)
		for _, processors := range []int{2, 4} {
			requireSameRun(t, seed, spec, first, run(processors, true))
		}
		if again := run(4, false); again.stats != first.stats {
			t.Errorf("seed %d, %s: without an observer %s, with one %s", seed, spec, again.stats, first.stats)
		}
		if t.Failed() {
			return
		}
	}
	if n >= 240 && (evictions == 0 || failures == 0 || moved == 0) {
		t.Errorf("%d evictions, %d failures, %d copies: want some", evictions, failures, moved)
	}
}

func requireSameRun(t *testing.T, seed uint64, spec string, a, b virtualRunSeen) {
	t.Helper()
	if a.stats != b.stats {
		t.Errorf("seed %d, %s: %s and then %s", seed, spec, a.stats, b.stats)
	}
	for i := range min(len(a.diary), len(b.diary)) {
		if a.diary[i] != b.diary[i] {
			t.Errorf("seed %d, %s: point %d:\n%s\nand then\n%s", seed, spec, i, strings.Join(a.diary[max(0, i-4):i+1], "\n"), strings.Join(b.diary[max(0, i-4):i+1], "\n"))
			return
		}
	}
	if len(a.diary) != len(b.diary) {
		t.Errorf("seed %d, %s: %d points and then %d", seed, spec, len(a.diary), len(b.diary))
	}
}
