package coherence_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/gompss/gompss/deps"
	"github.com/gompss/gompss/devices"
	"github.com/gompss/gompss/internal/coherence"
)

// The model: every space is an array of versions, the oracle one more. A task that reads must find
// the oracle's version of every element it reads. Copies are made in any order that their After
// allows, and the directory hears of them in any order at all.
type model struct {
	t       *rapid.T
	dir     *coherence.Directory
	spaces  int
	n       int64
	memory  [][]int // by space; -1: garbage
	newest  []int
	lost    []bool
	given   []bool // its value was given up, because a task on the host was writing over it
	gone    []bool // spaces out of service
	flying  []*coherence.Operation
	failed  map[*coherence.Operation]bool
	copied  map[*coherence.Operation]bool
	after   map[*coherence.Operation][]*coherence.Operation // what After was: Land clears it
	version int
	running []*modelTask
	leaving []*eviction
}

// A modelTask is a task between its acquisition and its end.
type modelTask struct {
	space    devices.SpaceID
	accesses []deps.Access
	waits    []*coherence.Operation
	err      error
	began    bool
	version  int
}

// An eviction is a granule that goes when its copies have been made.
type eviction struct {
	at     devices.SpaceID
	region deps.Region
	copies []*coherence.Operation
}

const (
	modelRows    = 6
	modelColumns = 8
)

func newModel(t *rapid.T) *model {
	m := &model{t: t, spaces: rapid.IntRange(1, 4).Draw(t, "spaces"), n: modelRows * modelColumns,
		failed: map[*coherence.Operation]bool{}, copied: map[*coherence.Operation]bool{}, after: map[*coherence.Operation][]*coherence.Operation{}}
	islands := rapid.Bool().Draw(t, "islands") // accelerators of different parity do not reach each other
	m.dir = coherence.NewDirectory(func(from, to devices.SpaceID) bool {
		return from == devices.Host || to == devices.Host || !islands || from.Device%2 == to.Device%2
	})
	for s := range m.spaces {
		if s > 0 {
			m.dir.AddSpace()
		}
		m.memory = append(m.memory, slices.Repeat([]int{-1}, int(m.n)))
	}
	m.dir.Add(0, m.n, 8)
	m.newest, m.lost, m.given, m.gone = make([]int, m.n), make([]bool, m.n), make([]bool, m.n), make([]bool, m.spaces)
	m.memory[0] = make([]int, m.n)
	return m
}

func (m *model) region() deps.Region {
	if rapid.Bool().Draw(m.t, "flat") {
		lo := rapid.Int64Range(0, m.n-1).Draw(m.t, "lo")
		return deps.Interval(0, lo, rapid.Int64Range(lo+1, m.n).Draw(m.t, "hi"))
	}
	r0 := rapid.Int64Range(0, modelRows-1).Draw(m.t, "r0")
	c0 := rapid.Int64Range(0, modelColumns-1).Draw(m.t, "c0")
	return box(0, modelColumns, r0, rapid.Int64Range(r0+1, modelRows).Draw(m.t, "r1"), c0, rapid.Int64Range(c0+1, modelColumns).Draw(m.t, "c1"))
}

func (m *model) space() devices.SpaceID {
	return devices.SpaceID{Device: uint16(rapid.IntRange(0, m.spaces-1).Draw(m.t, "space"))}
}

// each calls f for every element of r.
func each(r deps.Region, f func(i int64)) {
	for lo, hi := range r.Runs() {
		for i := lo; i < hi; i++ {
			f(i)
		}
	}
}

// acquire begins a task that conflicts with none that runs.
func (m *model) acquire() {
	task := &modelTask{space: m.space()}
	for range rapid.IntRange(1, 3).Draw(m.t, "accesses") {
		mode := rapid.SampledFrom([]deps.Mode{deps.In, deps.Out, deps.InOut}).Draw(m.t, "mode")
		a := deps.Access{Region: m.region(), Mode: mode}
		if !m.conflicts(task.accesses, a) {
			task.accesses = append(task.accesses, a)
		}
	}
	for _, other := range m.running {
		for _, a := range task.accesses {
			if m.conflicts(other.accesses, a) {
				return
			}
		}
	}
	if m.gone[task.space.Device] || slices.ContainsFunc(task.accesses, func(a deps.Access) bool { return m.goes(a.Region, task.space) }) {
		return
	}
	var plan coherence.Plan
	for _, a := range task.accesses {
		if err := m.dir.Plan(a, task.space, &plan); err != nil && task.err == nil {
			task.err = err
		}
	}
	m.take(&plan)
	m.checkLost(task)
	task.waits = plan.Wait
	m.running = append(m.running, task)
}

// checkLost says that a task fails if and only if it reads what is lost.
func (m *model) checkLost(task *modelTask) {
	reads := false
	for _, a := range task.accesses {
		each(a.Region, func(i int64) { reads = reads || a.Mode.Reads() && m.lost[i] })
	}
	if reads {
		require.ErrorIs(m.t, task.err, devices.ErrLost)
	} else {
		require.NoError(m.t, task.err)
	}
}

func (m *model) conflicts(accesses []deps.Access, a deps.Access) bool {
	for _, b := range accesses {
		if (a.Mode.Writes() || b.Mode.Writes()) && a.Region.Overlaps(b.Region) {
			return true
		}
	}
	return false
}

func (m *model) take(p *coherence.Plan) {
	for _, f := range p.Copies {
		require.NotEqual(m.t, f.From, f.To)
		m.after[f] = slices.Clone(f.After)
		m.flying = append(m.flying, f)
	}
}

// copy makes one copy, or fails to, and before it those that it must not overtake.
func (m *model) copy(f *coherence.Operation, fails bool) {
	if m.copied[f] {
		return
	}
	for _, g := range m.after[f] {
		m.copy(g, false)
		fails = fails || m.failed[g]
	}
	fails = fails || m.gone[f.From.Device] || m.gone[f.To.Device]
	m.copied[f], m.failed[f] = true, fails
	if !fails {
		each(f.Region, func(i int64) { m.memory[f.To.Device][i] = m.memory[f.From.Device][i] })
		return
	}
	each(f.Region, func(i int64) { // it may have been made in part
		if i%2 == 0 && !m.gone[f.To.Device] {
			m.memory[f.To.Device][i] = -1
		}
	})
}

// land tells the directory of one copy: not always in the order in which they were made.
func (m *model) land(f *coherence.Operation, fails bool) {
	if !slices.Contains(m.flying, f) {
		return
	}
	m.copy(f, fails)
	m.flying = slices.DeleteFunc(m.flying, func(g *coherence.Operation) bool { return g == f })
	m.dir.Complete(f, !m.failed[f])
	m.settle()
	m.noteLost()
}

// noteLost takes over what the directory gives up, after checking that no space says it has it.
func (m *model) noteLost() {
	for i := range m.n {
		anywhere := false
		for s := range m.spaces {
			valid := m.dir.Valid(deps.Interval(0, i, i+1), devices.SpaceID{Device: uint16(s)})
			require.False(m.t, valid && m.gone[s])
			anywhere = anywhere || valid
		}
		if !anywhere && !m.lost[i] {
			require.True(m.t, slices.Contains(m.gone, true), "element %d is valid nowhere, and no device is lost", i)
		}
		m.lost[i] = !anywhere
	}
}

// begin waits for what a task reads, and writes what it writes. It reports whether the task can
// run.
func (m *model) begin(task *modelTask) bool {
	failed := task.err != nil
	for _, f := range task.waits {
		if m.copy(f, false); task.space == devices.Host {
			m.land(f, false)
		}
		failed = failed || m.failed[f]
	}
	if failed || task.began {
		return !failed
	}
	m.version++
	task.began, task.version = true, m.version
	if !m.gone[task.space.Device] {
		m.checkReads(task)
	}
	for _, a := range task.accesses {
		if a.Mode.Writes() {
			each(a.Region, func(i int64) { m.memory[task.space.Device][i] = task.version })
		}
	}
	return true
}

// finish runs a task to its end.
func (m *model) finish() {
	if len(m.running) == 0 {
		return
	}
	at := rapid.IntRange(0, len(m.running)-1).Draw(m.t, "task")
	task := m.running[at]
	runs := m.begin(task)
	m.running = slices.Delete(m.running, at, at+1)
	for _, a := range task.accesses {
		m.dir.EndAccess(a, task.space)
	}
	if !runs { // nothing is written, nothing is committed
		m.takeStale(task)
		return
	}
	breaks := rapid.IntRange(0, 9).Draw(m.t, "breaks") == 0 || m.gone[task.space.Device]
	for _, a := range task.accesses {
		if a.Mode.Writes() {
			m.commit(task, a, breaks)
		}
	}
	m.takeStale(task)
	m.noteLost()
	if !breaks && rapid.Bool().Draw(m.t, "through") {
		m.writeThrough(task)
	}
}

// takeStale says that what the host has counts, of what was given up for a task that then did not
// write it.
func (m *model) takeStale(task *modelTask) {
	for _, a := range task.accesses {
		each(a.Region, func(i int64) {
			if a.Mode == deps.Out && task.space == devices.Host && m.given[i] {
				m.newest[i], m.given[i] = m.memory[0][i], false
			}
		})
	}
}

// writeThrough plans copies to the host that no task waits for.
func (m *model) writeThrough(task *modelTask) {
	var plan coherence.Plan
	for _, a := range task.accesses {
		if a.Mode.Writes() {
			require.NoError(m.t, m.dir.Plan(deps.Access{Region: a.Region, Mode: deps.In}, devices.Host, &plan))
		}
	}
	m.take(&plan)
}

func (m *model) checkReads(task *modelTask) {
	for _, a := range task.accesses {
		each(a.Region, func(i int64) {
			if a.Mode.Reads() {
				require.Equal(m.t, m.newest[i], m.memory[task.space.Device][i], "element %d in %v at %v", i, a.Region, task.space)
			}
		})
	}
}

// commit tells the directory what task has written, which must be as it was left.
func (m *model) commit(task *modelTask, a deps.Access, breaks bool) {
	each(a.Region, func(i int64) {
		if !m.gone[task.space.Device] {
			require.Equal(m.t, task.version, m.memory[task.space.Device][i], "element %d was written over at %v", i, task.space)
		}
	})
	if !breaks {
		each(a.Region, func(i int64) { m.newest[i] = task.version })
		m.dir.Commit(a.Region, task.space)
		return
	}
	// Garbage is what counts where no other space has the value from before.
	m.dir.Invalidate(a.Region, task.space)
	each(a.Region, func(i int64) {
		if m.dir.Valid(deps.Interval(0, i, i+1), task.space) {
			m.newest[i] = task.version
		}
	})
}

// evict gives up an unused granule.
func (m *model) evict() {
	at := m.space()
	lo := rapid.Int64Range(0, m.n/4-1).Draw(m.t, "granule") * 4
	r := deps.Interval(0, lo, lo+4)
	for _, task := range m.running {
		for _, a := range task.accesses {
			if task.space == at && a.Region.Overlaps(r) {
				return
			}
		}
	}
	if at == devices.Host || m.gone[at.Device] || m.goes(r, at) {
		return
	}
	for _, f := range slices.Clone(m.flying) {
		if (f.From == at || f.To == at) && f.Region.Overlaps(r) {
			m.land(f, false)
		}
	}
	m.noteGiven(r, at)
	var plan coherence.Plan
	m.dir.Evict(r, at, &plan)
	m.take(&plan)
	m.leaving = append(m.leaving, &eviction{at: at, region: r, copies: slices.Clone(plan.Wait)})
	m.settle()
	m.noteLost()
}

// settle takes the memory of evictions whose copies have been heard of, unless one has failed.
func (m *model) settle() {
	m.leaving = slices.DeleteFunc(m.leaving, func(e *eviction) bool {
		failed := false
		for _, f := range e.copies {
			if slices.Contains(m.flying, f) {
				return false
			}
			failed = failed || m.failed[f]
		}
		if !failed {
			each(e.region, func(i int64) { m.memory[e.at.Device][i] = -1 })
		}
		return true
	})
}

// goes reports whether part of r is being evicted at a space.
func (m *model) goes(r deps.Region, at devices.SpaceID) bool {
	return slices.ContainsFunc(m.leaving, func(e *eviction) bool { return e.at == at && e.region.Overlaps(r) })
}

// noteGiven notes the elements that at alone has, and that a task on the host is writing over.
func (m *model) noteGiven(r deps.Region, at devices.SpaceID) {
	for _, task := range m.running {
		for _, a := range task.accesses {
			for _, both := range a.Region.Intersect(r) {
				each(both, func(i int64) {
					if task.space == devices.Host && a.Mode == deps.Out && m.owners(i) == 1 && m.dir.Valid(deps.Interval(0, i, i+1), at) {
						m.given[i] = true
					}
				})
			}
		}
	}
}

// owners counts the spaces in which an element is valid.
func (m *model) owners(i int64) (n int) {
	for s := range m.spaces {
		if m.dir.Valid(deps.Interval(0, i, i+1), devices.SpaceID{Device: uint16(s)}) {
			n++
		}
	}
	return n
}

// lose takes a device out of service.
func (m *model) lose() {
	at := m.space()
	if at == devices.Host || m.gone[at.Device] || rapid.IntRange(0, 4).Draw(m.t, "really") > 0 {
		return
	}
	m.gone[at.Device] = true
	m.dir.MarkLost(at, &devices.DeviceError{Device: fmt.Sprint(at), What: "lost", Err: devices.ErrRetired, Fatal: true})
	m.noteLost()
}

func (m *model) check() {
	for i := range m.n {
		one := deps.Interval(0, i, i+1)
		for s := range m.spaces {
			space := devices.SpaceID{Device: uint16(s)}
			if len(m.flying) == 0 && len(m.running) == 0 && m.dir.Valid(one, space) {
				require.Equal(m.t, m.newest[i], m.memory[s][i], "element %d at %v", i, space)
			}
			missing := m.dir.Missing(deps.Access{Region: one, Mode: deps.In}, space)
			require.Equal(m.t, m.dir.Valid(one, space), missing == 0)
		}
	}
}

// An older copy that fails says nothing of what a newer one to the same place brings.
func TestDirectory_OlderFailureLeavesNewerCopy(t *testing.T) {
	d := coherence.NewDirectory(func(from, to devices.SpaceID) bool { return true })
	d.AddSpace()
	d.AddSpace()
	d.Add(0, 8, 8)
	all := deps.Interval(0, 0, 8)
	one, two := devices.SpaceID{Device: 1}, devices.SpaceID{Device: 2}
	d.Commit(all, two)
	var older, newer coherence.Plan
	require.NoError(t, d.Plan(deps.Access{Region: all, Mode: deps.In}, devices.Host, &older))
	d.Commit(all, one)
	d.Evict(all, one, &newer)
	require.Len(t, older.Copies, 1)
	require.Len(t, newer.Copies, 1)
	d.Complete(older.Copies[0], false)
	require.True(t, d.Valid(all, devices.Host), "on its way from the space that wrote it last")
	d.Complete(newer.Copies[0], true)
	require.True(t, d.Valid(all, devices.Host))
}

func TestDirectory_AgreesWithVersionsOfEveryElement(t *testing.T) {
	for range 5 {
		rapid.Check(t, checkModel)
	}
}

func checkModel(t *rapid.T) {
	m := newModel(t)
	t.Repeat(map[string]func(*rapid.T){
		"acquire": func(*rapid.T) { m.acquire() },
		"finish":  func(*rapid.T) { m.finish() },
		"evict":   func(*rapid.T) { m.evict() },
		"lose":    func(*rapid.T) { m.lose() },
		"land": func(*rapid.T) {
			if len(m.flying) > 0 {
				f := rapid.SampledFrom(m.flying).Draw(t, "flight")
				m.land(f, rapid.IntRange(0, 9).Draw(t, "fails") == 0)
			}
		},
		"copy": func(*rapid.T) {
			if len(m.flying) > 0 {
				f := rapid.SampledFrom(m.flying).Draw(t, "flight")
				m.copy(f, rapid.IntRange(0, 9).Draw(t, "fails") == 0)
			}
		},
		"": func(*rapid.T) { m.check() },
	})
	for len(m.running) > 0 {
		m.finish()
	}
	for len(m.flying) > 0 {
		m.land(m.flying[0], false)
	}
	m.check()
}
