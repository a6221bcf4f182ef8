package deps

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
)

// legalLinks is the table of links as text.
var legalLinks = map[string]string{
	"0 0": "2 0", "0 1": "1 0", "0 2": "3 0",
	"1 0": "2 1",
	"2 1": "2 1", "2 2": "4 2",
	"3 0": "4 2",
}

func TestLink_EveryStateAndEvent(t *testing.T) {
	legal := 0
	for s := range uint32(linkStates) {
		for e := range LinkEvent(linkEvents) {
			var l Link
			l.state.Store(s)
			want, ok := legalLinks[fmt.Sprint(s, " ", e)]
			if !ok {
				require.Panics(t, func() { l.After(e) }, "%d %d", s, e)
				continue
			}
			legal++
			do := l.After(e)
			require.Equal(t, want, fmt.Sprint(l.state.Load(), " ", do), "%d %d", s, e)
		}
	}
	require.Len(t, legalLinks, legal)
}

// A linked is a task of a nested program: its body submits children, some accesses are weak, and it
// may release all of them early.
type linked struct {
	name     string
	parent   *linked
	accesses []linkedAccess
	early    bool
	children []*linked // of the body, in order; those before at are submitted

	node              Node
	inner             Domain
	links             []*linkOf
	at                int
	submitted, begun  bool
	ready             bool
	ended, finished   bool // the body; the task
	nodeOver, touched bool // its node is complete; something was submitted inside
	holders           int  // children, the body and links that keep it from finishing
}

type linkedAccess struct {
	Access
	weak bool
}

// linked reports whether access i has a link.
func (t *linked) linkOf(i int) bool { return t.accesses[i].weak || t.early }

type linkOf struct {
	Link
	of     *linked
	access int
}

// linkModel runs a nested program in a random order beside the definition.
type linkModel struct {
	t    *testing.T
	rand *rand.Rand
	root *linked
	all  []*linked // in the order of a sequential run
	work []func()
	late int // tasks that were ready before an earlier sibling of their parent had finished
}

func (m *linkModel) make(parent *linked, inside []Access, depth, n int) {
	for range n {
		t := &linked{name: fmt.Sprintf("%s.%d", parent.name, len(parent.children)), parent: parent, holders: 1}
		parent.children = append(parent.children, t)
		m.all = append(m.all, t)
		nested := depth > 0 && m.rand.IntN(2) == 0
		t.early = nested && m.rand.IntN(3) == 0
		for range 1 + m.rand.IntN(3) {
			p := inside[m.rand.IntN(len(inside))]
			lo, hi := p.Region.Bounds()
			a := lo + m.rand.Int64N(hi-lo)
			b := a + 1 + m.rand.Int64N(hi-a)
			if m.rand.IntN(3) == 0 {
				a, b = lo, hi
			}
			mode := [...]Mode{In, In, Out, InOut, InOut, Concurrent, Commutative}[m.rand.IntN(7)]
			weak := nested && m.rand.IntN(2) == 0
			if mode > InOut && (weak || t.early) || mode == Commutative && nested { // an Exclusion is not here
				mode = InOut
			}
			if p.Mode == In || p.Mode == Concurrent {
				mode = p.Mode
			}
			if mode > InOut && (weak || t.early) {
				continue
			}
			x := linkedAccess{Access{Region: Interval(p.Region.Buffer, a, b), Mode: mode}, weak}
			if !t.meets(x) {
				t.accesses = append(t.accesses, x)
			}
		}
		if nested && len(t.accesses) > 0 {
			var mine []Access
			for _, a := range t.accesses {
				mine = append(mine, a.Access)
			}
			m.make(t, mine, depth-1, m.rand.IntN(6))
		}
	}
}

func (t *linked) meets(x linkedAccess) bool {
	for _, a := range t.accesses {
		if a.Region.Overlaps(x.Region) {
			return true
		}
	}
	return false
}

// clash reports whether two accesses of different tasks are ordered.
func clash(a, b Access) bool { return !compatible(a, b) && a.Region.Overlaps(b.Region) }

// arrived is the definition of when nothing outside of t keeps access i of t waiting: every earlier
// sibling has released what conflicts, and so has what a weak access of the parent waits for.
func (t *linked) arrived(i int) bool {
	a := t.accesses[i].Access
	for _, u := range t.parent.children {
		if u == t {
			break
		}
		for k := range u.accesses {
			if clash(u.accesses[k].Access, a) && !u.released(k) {
				return false
			}
		}
	}
	for k := range t.parent.accesses {
		p := t.parent.accesses[k]
		if p.weak && p.Region.Overlaps(a.Region) && !t.parent.arrived(k) {
			return false
		}
	}
	return true
}

// released is the definition of when later siblings need not wait for access i of t.
func (t *linked) released(i int) bool {
	if !t.linkOf(i) {
		return t.finished
	}
	if !t.ended || t.accesses[i].weak && !t.arrived(i) {
		return false
	}
	for _, c := range t.children {
		for k := range c.accesses {
			if c.accesses[k].Region.Overlaps(t.accesses[i].Region) && !c.released(k) {
				return false
			}
		}
	}
	return true
}

// mayBegin is the definition of readiness.
func (t *linked) mayBegin() bool {
	for i := range t.accesses {
		if !t.accesses[i].weak && !t.arrived(i) {
			return false
		}
	}
	return true
}

// visit is what the completion of a node does for a successor that is ready.
func (m *linkModel) visit(n *Node) {
	switch o := n.Owner.(type) {
	case *linked:
		o.ready = true
	case *linkOf:
		if n == &o.Outer {
			m.work = append(m.work, func() { m.do(o, o.After(Arrive)) })
		} else {
			m.work = append(m.work, func() { m.shut(o) })
		}
	}
}

func (m *linkModel) shut(l *linkOf) {
	l.of.inner.Finish(&l.Closer, m.visit)
	m.do(l, l.After(Shut))
	m.drop(l.of)
}

func (m *linkModel) do(l *linkOf, a LinkAction) {
	switch a {
	case CompleteOpener:
		l.of.inner.Finish(l.Opener(), m.visit)
		m.drop(l.of)
	case CompleteOuter:
		l.of.parent.inner.Finish(&l.Outer, m.visit)
	}
}

// drop counts a reason out why t has not finished.
func (m *linkModel) drop(t *linked) {
	if t.holders--; t.holders > 0 {
		return
	}
	t.finished = true
	if t.touched {
		require.Zero(m.t, t.inner.Busy(), t.name)
	}
	if !t.nodeOver {
		t.parent.inner.Finish(&t.node, m.visit)
	}
	if t.parent.parent != nil {
		m.work = append(m.work, func() { m.drop(t.parent) })
	}
}

func (m *linkModel) settle() {
	for len(m.work) > 0 {
		f := m.work[0]
		m.work = m.work[1:]
		f()
	}
}

// submit submits the next child of p.
func (m *linkModel) submit(p *linked) {
	t := p.children[p.at]
	p.at++
	p.holders++
	d := &p.inner
	if !p.touched {
		p.touched = true
		for _, l := range p.links {
			if p.accesses[l.access].weak && l.Open(d) {
				p.holders++
			}
		}
	}
	t.node.Owner = t
	var strong []Access
	for _, a := range t.accesses {
		if !a.weak {
			strong = append(strong, a.Access)
		}
	}
	edges := d.Enter(&t.node, strong)
	for i := range t.accesses {
		if !t.linkOf(i) {
			continue
		}
		l := &linkOf{of: t, access: i}
		l.Outer.Owner, l.Closer.Owner = l, l
		t.links = append(t.links, l)
		if l.Enter(d, TaskID(d.next), t.accesses[i].Access) {
			require.Equal(m.t, NoAction, l.After(Arrive))
		}
	}
	t.submitted = true
	if d.Settle(&t.node, edges) {
		t.ready = true
	}
}

// end ends the body of t.
func (m *linkModel) end(t *linked) {
	t.ended = true
	if t.early {
		t.nodeOver = true
		t.parent.inner.Finish(&t.node, m.visit)
	}
	for _, l := range t.links {
		if !t.touched {
			m.do(l, l.After(Shut))
			continue
		}
		t.holders++
		if l.Close(&t.inner) {
			m.work = append(m.work, func() { m.shut(l) })
		}
	}
	m.drop(t)
	m.settle()
}

// check compares what is ready with the definition.
func (m *linkModel) check() {
	for _, t := range m.all {
		if t.submitted && !t.begun {
			require.Equal(m.t, t.mayBegin(), t.ready, t.name)
		}
	}
}

// precedes reports whether the body of x must have ended before that of y begins: x is earlier in a
// sequential run, none is inside the other, and they conflict.
func precedes(x, y *linked) bool {
	for p := y.parent; p != nil; p = p.parent {
		if p == x {
			return false
		}
	}
	for _, a := range x.accesses {
		for _, b := range y.accesses {
			if !a.weak && !b.weak && clash(a.Access, b.Access) {
				return true
			}
		}
	}
	return false
}

func (m *linkModel) begin(t *linked) {
	t.begun = true
	for _, x := range m.all { // in the order of a sequential run
		if x == t {
			break
		}
		require.False(m.t, precedes(x, t) && !x.ended, "%s begins before %s has ended", t.name, x.name)
	}
	for _, u := range t.parent.children {
		if t.parent.parent == nil {
			break
		}
		for _, v := range t.parent.parent.children {
			if v == t.parent {
				break
			}
			if !v.finished && u == t {
				m.late++
			}
		}
	}
}

// run runs the program to its end.
func (m *linkModel) run() {
	m.root.begun = true
	for {
		m.check()
		var steps []func()
		if m.root.at < len(m.root.children) {
			steps = append(steps, func() { m.submit(m.root); m.settle() })
		}
		for _, t := range m.all {
			switch {
			case t.ready && !t.begun:
				steps = append(steps, func() { m.begin(t) })
			case t.begun && t.at < len(t.children):
				steps = append(steps, func() { m.submit(t); m.settle() })
			case t.begun && !t.ended:
				steps = append(steps, func() { m.end(t) })
			}
		}
		if len(steps) == 0 {
			break
		}
		steps[m.rand.IntN(len(steps))]()
	}
	for _, t := range m.all {
		require.True(m.t, t.finished, "%s has not finished", t.name)
		for i := range t.accesses {
			require.True(m.t, t.released(i), t.name)
		}
		for _, l := range t.links {
			require.EqualValues(m.t, linkEnded, l.state.Load(), t.name)
		}
	}
	require.Zero(m.t, m.root.inner.Busy())
}

// newLinkModel makes a random program of three levels.
func newLinkModel(t *testing.T, seed uint64, edges bool) *linkModel {
	m := &linkModel{t: t, rand: rand.New(rand.NewPCG(seed, 21)), root: &linked{name: "", holders: 1}}
	m.make(m.root, []Access{{Region: Interval(0, 0, 12), Mode: InOut}, {Region: Interval(1, 0, 6), Mode: InOut}}, 2, 2+m.rand.IntN(6))
	if edges {
		note := func(TaskID, []TaskID) {}
		m.root.inner.Edges = note
		for _, x := range m.all {
			x.inner.Edges = note
		}
	}
	return m
}

// TestLink_NestedProgramsAgainstTheDefinition: a task is ready when the definition says so, no
// sooner and no later; conflicting bodies run in the order of a sequential run; everything ends.
func TestLink_NestedProgramsAgainstTheDefinition(t *testing.T) {
	late, n := 0, programs(3000)
	for seed := range n {
		m := newLinkModel(t, seed, seed%4 == 0)
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			m.t = t
			m.run()
		})
		late += m.late
		if t.Failed() {
			return
		}
	}
	require.Greater(t, late, int(n/3), "children that begin before an earlier sibling of their parent has finished")
}

func FuzzLinks(f *testing.F) {
	f.Add(uint64(1))
	f.Fuzz(func(t *testing.T, seed uint64) { newLinkModel(t, seed, seed%2 == 0).run() })
}
