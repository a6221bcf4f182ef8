package task_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"unsafe"

	"github.com/gompss/gompss/deps"
	"github.com/gompss/gompss/internal/hostmem"
	"github.com/gompss/gompss/task"
)

// --- memory

func (m *memRun) make() error {
	if len(m.arrays) > 5 {
		return nil
	}
	a := &memArray{id: len(m.all), kind: memKind(m.rng.IntN(int(memKinds)))}
	n := 20 + m.rng.IntN(400)
	switch a.kind {
	case ordinary:
		a.got = make([]uint32, n)
	case allocated:
		var err error
		if a.got, err = task.Alloc[uint32](m.rt, n); err != nil {
			return err
		}
		m.class("alloc")
	case ofStruct:
		a.got = sliceOfFields(new(memFields))
	}
	n = len(a.got)
	a.want, a.undefined, a.used, a.writer, a.reader = make([]uint32, n), make([]bool, n), make([]bool, n), make([]int, n), make([]int, n)
	for i := range a.want {
		a.want[i] = m.rng.Uint32()
	}
	copy(a.got, a.want)
	m.arrays, m.all = append(m.arrays, a), append(m.all, a)
	m.note("make %d: kind %d, %d elements", a.id, a.kind, n)
	return nil
}

func (m *memRun) array() *memArray { return m.arrays[m.rng.IntN(len(m.arrays))] }

// part returns 0 <= lo < hi <= len of a: often a field, or a tile that is used again.
func (m *memRun) part(a *memArray) (int, int) {
	n := len(a.got)
	switch p := m.rng.IntN(6); {
	case p == 0:
		m.class("whole")
		return 0, n
	case p < 3 && a.kind == ofStruct:
		m.class("struct-field")
		fields := [][2]int{{0, 60}, {60, 160}, {160, 161}, {161, 201}}
		f := fields[m.rng.IntN(len(fields))]
		return f[0], f[1]
	case p < 3:
		size := max(1, n/5)
		lo := m.rng.IntN((n+size-1)/size) * size
		return lo, min(n, lo+size)
	}
	m.class("part")
	lo := m.rng.IntN(n)
	return lo, lo + 1 + m.rng.IntN(n-lo)
}

// named returns how the program gets at elements lo to hi-1 of a: a slice, and where they are in
// it.
func (m *memRun) named(a *memArray, lo, hi int) func(x []uint32) ([]uint32, int) {
	switch m.rng.IntN(4) {
	case 0:
		return func(x []uint32) ([]uint32, int) { return x, lo }
	case 1:
		m.class("capped-part")
		return func(x []uint32) ([]uint32, int) { return x[lo:hi:hi], 0 }
	case 2:
		from, to := m.rng.IntN(lo+1), hi+m.rng.IntN(len(a.got)-hi+1)
		m.class("part-of-part")
		return func(x []uint32) ([]uint32, int) { return x[from:][: to-from : to-from], lo - from }
	}
	return func(x []uint32) ([]uint32, int) { return x[lo:hi], 0 }
}

func want(a *memArray) []uint32 { return a.want }

func (a *memArray) area(lo, hi int, mode deps.Mode) area {
	return area{buf: a.id, i1: 1, j0: lo, j1: hi, mode: mode}
}

func (a *memArray) idle(lo, hi int) bool {
	for i := lo; i < hi; i++ {
		if a.writer[i] != noGroup || a.reader[i] != noGroup {
			return false
		}
	}
	return true
}

// visible compares the elements of a that the program may read.
func (m *memRun) visible(a *memArray, lo, hi int, what string) error {
	for i := lo; i < hi; i++ {
		if a.writer[i] == noGroup && !a.undefined[i] && a.got[i] != a.want[i] {
			return fmt.Errorf("%s: element %d of array %d is %#x, want %#x", what, i, a.id, a.got[i], a.want[i])
		}
	}
	return nil
}

// errReused ends a program that has used what was freed when another program of the process had
// memory there already.
var errReused = errors.New("memory that was freed is in use by others")

func (m *memRun) free() error {
	a := m.array()
	if a.kind != allocated {
		m.class("not-the-beginning")
		if err := task.Free(m.rt, a.got); err == nil {
			return fmt.Errorf("free of array %d, which is not of Alloc, is no error", a.id)
		}
		return nil
	}
	m.note("free %d", a.id)
	if !a.idle(0, len(a.got)) {
		m.class("free-with-tasks-in-flight")
	}
	m.class("free")
	if err := task.Free(m.rt, a.got); err != nil {
		return err
	}
	a.freed = true
	m.remove(a)
	if m.rng.IntN(2) == 0 {
		return nil
	}
	// Tasks in flight may map memory of their own where a was: then a use is no error.
	if err := m.waitAll(0); err != nil || hostmem.Mapped(unsafe.Pointer(&a.got[0])) {
		return err
	}
	m.class("use-after-free")
	for name, use := range map[string]func() error{
		"Free":     func() error { return task.Free(m.rt, a.got) },
		"Go":       func() error { _, err := m.rt.Go(nothing, task.InOut(a.got)); return err },
		"kernel":   func() error { return m.kernelOnFreed(a) },
		"WaitOn":   func() error { return m.rt.WaitOn(context.Background(), task.In(a.got)) },
		"Register": func() error { return task.Register(m.rt, a.got) },
	} {
		err := use()
		for range 3 { // another program may have had memory there for a moment
			if err != nil || hostmem.Mapped(unsafe.Pointer(&a.got[0])) || task.Unregister(m.rt, a.got) != nil {
				break
			}
			err = use()
		}
		if err != nil {
			continue
		}
		if hostmem.Mapped(unsafe.Pointer(&a.got[0])) {
			return errReused
		}
		return fmt.Errorf("%s of array %d, which was freed, is no error", name, a.id)
	}
	return nil
}

// kernelOnFreed submits a kernel that uses a, which was freed, and waits. The kernel itself fails if
// another program of the process had memory there for a moment: that is no error of the submission.
func (m *memRun) kernelOnFreed(a *memArray) error {
	_, err := m.ks.mix.Submit(m.rt, 0, 0, 0, 5, uint32(1), []uint32(nil), a.got)
	if err == nil {
		_ = m.rt.Wait(context.Background())
	}
	return err
}

// remove takes a out of the program.
func (m *memRun) remove(a *memArray) {
	m.arrays = slices.DeleteFunc(m.arrays, func(b *memArray) bool { return a == b })
	m.world.taints = slices.DeleteFunc(m.world.taints, func(s stain) bool { return s.buf == a.id && a.freed })
	if len(m.arrays) == 0 {
		m.make()
	}
}

func (m *memRun) register() error {
	a := m.array()
	lo, hi := 0, len(a.got)
	m.class("register")
	if m.rng.IntN(2) == 0 {
		m.class("register-part")
		lo, hi = m.part(a)
	}
	m.note("register %d[%d:%d]", a.id, lo, hi)
	return task.Register(m.rt, a.got[lo:hi:hi])
}

// unregister gives back an ordinary array, all of it or a part that a buffer begins with or not.
func (m *memRun) unregister() error {
	a := m.array()
	if a.kind == allocated {
		m.class("not-the-beginning")
		if err := task.Unregister(m.rt, a.got); err == nil {
			return fmt.Errorf("unregister of array %d, which is of Alloc, is no error", a.id)
		}
		return nil
	}
	tainted := m.world.tainted([]area{a.area(0, len(a.got), deps.InOut)})
	if lo, hi := m.part(a); !tainted && m.rng.IntN(2) == 0 {
		m.class("unregister-part")
		err := task.Unregister(m.rt, a.got[lo:hi])
		m.note("unregister %d[%d:%d]: %v", a.id, lo, hi, err)
		if err == nil {
			a.uncertain = true
			return m.settle(a, lo, lo+1)
		}
		if !strings.Contains(err.Error(), "not the beginning of a buffer") {
			return err
		}
		return nil
	}
	m.class("unregister")
	m.note("unregister %d", a.id)
	if err := task.Register(m.rt, a.got); err != nil {
		return err
	}
	if tainted {
		m.class("failed-then-unregister")
	}
	if err := task.Unregister(m.rt, a.got); err != nil {
		return err
	}
	m.world.taints = slices.DeleteFunc(m.world.taints, func(s stain) bool { return s.buf == a.id })
	clear(a.used)
	a.uncertain = false
	return m.settle(a, 0, len(a.got))
}

// settle is what is known when no task uses elements of a any more and they are here.
func (m *memRun) settle(a *memArray, lo, hi int) error {
	for i := lo; i < hi; i++ {
		a.writer[i], a.reader[i] = noGroup, noGroup
	}
	return m.visible(a, lo, hi, "after a wait")
}

// drop has the program forget an array, while tasks may still use it.
func (m *memRun) drop() error {
	a := m.array()
	if a.kind == allocated {
		return nil
	}
	m.class("drop")
	m.note("drop %d", a.id)
	m.remove(a)
	held := func(l []memAct) bool {
		return slices.ContainsFunc(l, func(act memAct) bool {
			return slices.ContainsFunc(act.accs, func(c area) bool { return c.buf == a.id })
		})
	}
	if !slices.ContainsFunc(m.its, func(it *memIteration) bool { return held(it.acts) }) {
		m.all[a.id] = nil // nothing else holds it
	}
	if m.rng.IntN(2) == 0 {
		m.class("collect")
		task.Sweep(m.rt)
		runtime.GC()
		runtime.GC()
	}
	return m.make()
}

// --- tasks

// memoryGo submits a Go task.
func memoryGo(at task.Submitter, body func() error, options ...task.Option) (task.Task, error) {
	switch at := at.(type) {
	case *task.Recorder:
		return task.Task{}, at.Go(body, options...)
	case *task.Group:
		return at.Go(body, options...)
	}
	return at.(*task.Runtime).Go(body, options...)
}

func memoryGoScope(at task.Submitter, body func(s *task.Scope) error, options ...task.Option) (task.Task, error) {
	switch at := at.(type) {
	case *task.Recorder:
		return task.Task{}, at.GoScope(body, options...)
	case *task.Group:
		return at.GoScope(body, options...)
	}
	return at.(*task.Runtime).GoScope(body, options...)
}

// act returns a task; recorded says that it is a step of an iteration, which does not fail.
func (m *memRun) act(recorded bool) memAct {
	d, k := m.array(), m.rng.Uint32()
	lo, hi := m.part(d)
	name := m.named(d, lo, hi)
	x, at := name(d.got)
	n := hi - lo
	out, inout := d.area(lo, hi, deps.Out), d.area(lo, hi, deps.InOut)
	one := func(kind string, a area, do func(x []uint32), submit func(s task.Submitter) (task.Task, error)) memAct {
		return memAct{name: kind, accs: []area{a}, do: func(x func(*memArray) []uint32) { do(x(d)[lo:hi]) }, submit: submit}
	}
	fill := func(y []uint32) { Fill(0, n, k, y) }
	switch p := m.rng.IntN(24); {
	case p < 3: // elements are numbered as in the slice
		return one("fill", out, func(y []uint32) {
			for i := range y {
				y[i] = uint32(at+i)*2654435761 + k
			}
		}, func(s task.Submitter) (task.Task, error) { return m.ks.fill.Submit(s, at, at+n, k, x) })
	case p < 5:
		return one("Go fill", out, fill, func(s task.Submitter) (task.Task, error) {
			return memoryGo(s, func() error { Fill(0, n, k, x[at:at+n]); return nil }, task.Out(x[at:at+n]))
		})
	case p < 11:
		return m.mix(d, lo, hi, x, at, k)
	case p < 12:
		return m.lengths(d, lo, hi, k)
	case p < 14:
		return m.pointer(d, lo, hi, k, recorded)
	case p < 15:
		m.class("view")
		return one("view", inout, func(y []uint32) { MemView(0, n, memView{Data: y, Shift: k}) }, func(s task.Submitter) (task.Task, error) {
			return m.ks.view.Submit(s, at, at+n, memView{Data: x, Shift: k})
		})
	case p < 17:
		return m.nested(d, lo, hi, k)
	case p < 18 && m.calm:
		m.class("reduction")
		return one("sum", d.area(lo, hi, deps.Reduction), func(y []uint32) { ModelSum(0, n, k, y) }, func(s task.Submitter) (task.Task, error) {
			return m.ks.sum.Submit(s, at, at+n, k, x)
		})
	case p < 19:
		m.class("concurrent")
		return one("atomic", d.area(lo, hi, deps.Concurrent), func(y []uint32) { ModelSum(0, n, k, y) }, func(s task.Submitter) (task.Task, error) {
			return m.ks.atomic.Submit(s, at, at+n, k, x)
		})
	case p < 20:
		m.class("commutative")
		return one("shuffle", d.area(lo, hi, deps.Commutative), func(y []uint32) { ModelSum(0, n, k, y) }, func(s task.Submitter) (task.Task, error) {
			return m.ks.shuffle.Submit(s, at, at+n, k, x)
		})
	case p < 22:
		return m.empty(d, lo)
	case p < 23 && !m.calm && !recorded:
		m.class("fails")
		mode, option := deps.InOut, task.InOut(x[at:at+n])
		if m.rng.IntN(2) == 0 {
			mode, option = deps.In, task.In(x[at:at+n])
		}
		return memAct{name: "Go that fails", accs: []area{d.area(lo, hi, mode)}, fails: errModel, submit: func(s task.Submitter) (task.Task, error) {
			return memoryGo(s, func() error { return errModel }, option)
		}}
	case !m.calm && !recorded:
		m.class("kernel-fails")
		return memAct{name: "kernel that fails", accs: []area{inout}, fails: task.ErrDivide, submit: func(s task.Submitter) (task.Task, error) {
			return m.ks.divide.Submit(s, uint32(0), x[at:at+n])
		}}
	}
	return one("divide", inout, func(y []uint32) { MemDivide(k|1, y) }, func(s task.Submitter) (task.Task, error) {
		return m.ks.divide.Submit(s, k|1, x[at:at+n])
	})
}

func (m *memRun) mix(d *memArray, lo, hi int, x []uint32, at int, k uint32) memAct {
	s := m.array()
	a, b := m.part(s)
	y, from := m.named(s, a, b)(s.got)
	n, size := hi-lo, b-a
	act := memAct{name: "mix", accs: []area{d.area(lo, hi, deps.InOut), s.area(a, b, deps.In)}}
	act.do = func(x func(*memArray) []uint32) { Mix(0, n, 0, size, k, x(d)[lo:hi], x(s)[a:b]) }
	act.submit = func(at2 task.Submitter) (task.Task, error) {
		return m.ks.mix.Submit(at2, at, at+n, from, from+size, k, x, y)
	}
	meets := d == s && lo < b && a < hi
	if meets {
		m.class("overlapping")
	} else if d == s {
		m.class("same-slice-twice")
	}
	if meets || m.rng.IntN(3) == 0 { // a parallel loop must not read what its other iterations write
		act.name = "Go mix"
		act.submit = func(to task.Submitter) (task.Task, error) {
			return memoryGo(to, func() error { Mix(0, n, 0, size, k, x[at:at+n], y[from:from+size]); return nil }, task.InOut(x[at:at+n]), task.In(y[from:from+size]))
		}
	}
	return act
}

// lengths takes only the length of a slice: it may be one that other tasks write, or nil.
func (m *memRun) lengths(d *memArray, lo, hi int, k uint32) memAct {
	m.class("lengths-only")
	var y []uint32
	var names *memArray
	switch m.rng.IntN(4) {
	case 0:
		y = d.got[lo:]
		m.class("lengths-of-itself")
	case 1:
		m.class("nil-slice")
	case 2:
		y = make([]uint32, m.rng.IntN(9))
	default:
		s := m.array()
		a, b := m.part(s)
		y, names = s.got[a:b], s
	}
	size := len(y)
	return memAct{name: fmt.Sprintf("lengths (%d)", size), names: names, accs: []area{d.area(lo, hi, deps.Out)},
		do:     func(x func(*memArray) []uint32) { MemLens(k, x(d)[lo:hi], make([]uint32, size)) },
		submit: func(s task.Submitter) (task.Task, error) { return m.ks.lens.Submit(s, k, d.got[lo:hi], y) }}
}

// pointer reads through a pointer to an element, perhaps a nil one.
func (m *memRun) pointer(d *memArray, lo, hi int, k uint32, recorded bool) memAct {
	act := memAct{name: "pointer", accs: []area{d.area(lo, hi, deps.InOut)}}
	s := m.array()
	i := m.rng.IntN(len(s.got))
	if m.rng.IntN(3) == 0 || d == s && lo <= i && i < hi {
		m.class("nil-pointer")
		when := int32(0)
		if !m.calm && !recorded && m.rng.IntN(3) == 0 {
			when, act.fails = 1, task.ErrNil
			m.class("nil-pointer-used")
		}
		act.name = fmt.Sprintf("nil pointer, used %d", when)
		act.do = func(x func(*memArray) []uint32) { MemPointer(0, k, x(d)[lo:hi], nil) }
		act.submit = func(at task.Submitter) (task.Task, error) {
			return m.ks.pointer.Submit(at, when, k, d.got[lo:hi], (*uint32)(nil))
		}
		return act
	}
	m.class("pointer")
	act.accs = append(act.accs, s.area(i, i+1, deps.In))
	act.do = func(x func(*memArray) []uint32) { MemPointer(1, k, x(d)[lo:hi], &x(s)[i]) }
	act.submit = func(at task.Submitter) (task.Task, error) {
		return m.ks.pointer.Submit(at, int32(1), k, d.got[lo:hi], &s.got[i])
	}
	return act
}

// empty is a task without an element: it may name any memory and is ordered by none.
func (m *memRun) empty(d *memArray, lo int) memAct {
	x := []([]uint32){nil, {}, d.got[lo:lo], d.got[len(d.got):]}[m.rng.IntN(4)]
	m.class("empty-slice")
	if x == nil {
		m.class("nil-slice")
	}
	kind := m.rng.IntN(3)
	return memAct{name: fmt.Sprintf("empty, kind %d", kind), names: d, do: func(func(*memArray) []uint32) {}, submit: func(s task.Submitter) (task.Task, error) {
		switch kind {
		case 0:
			return m.ks.fill.Submit(s, 0, 0, uint32(1), x)
		case 1:
			return m.ks.divide.Submit(s, uint32(0), x)
		}
		return memoryGo(s, nothing, task.InOut(x))
	}}
}

// nested is a task whose children share its part, beside memory of their own.
func (m *memRun) nested(d *memArray, lo, hi int, k uint32) memAct {
	m.class("nested", "local-memory")
	mid := lo + m.rng.IntN(hi-lo+1)
	n, look := hi-lo, m.rng.IntN(2) == 0
	work := func(y []uint32) {
		tmp := make([]uint32, n)
		Fill(0, n, k, tmp)
		for i := n / 3; i < n; i++ {
			tmp[i]++
		}
		Mix(0, mid-lo, 0, n, k, y, tmp)
		Fill(0, hi-mid, k+1, y[mid-lo:])
	}
	return memAct{name: fmt.Sprintf("nested, middle %d", mid), accs: []area{d.area(lo, hi, deps.InOut)}, do: func(x func(*memArray) []uint32) { work(x(d)[lo:hi]) },
		submit: func(at task.Submitter) (task.Task, error) {
			x := d.got[lo:hi:hi]
			return memoryGoScope(at, func(s *task.Scope) error {
				tmp := make([]uint32, n)
				_, e1 := m.ks.fill.Submit(s, 0, n-n/3, uint32(0), tmp[n/3:n:n]) // a part first
				_, e2 := m.ks.fill.Submit(s, 0, n, k, tmp)
				_, e3 := s.Go(func() error {
					for i := n / 3; i < n; i++ {
						tmp[i]++
					}
					return nil
				}, task.InOut(tmp[n/3:]))
				if look {
					if err := s.WaitOn(s.Context(), task.In(tmp)); s.Context().Err() != nil {
						return context.Cause(s.Context()) // of a group that is cancelled
					} else if err != nil {
						m.complain("wait on memory of a body: %w", err)
					} else if wantLast := uint32(n-1)*2654435761 + k + 1; tmp[n-1] != wantLast {
						m.complain("memory of a body is %#x, want %#x", tmp[n-1], wantLast)
					}
				}
				_, e4 := m.ks.mix.Submit(s, 0, mid-lo, 0, n, k, x[:mid-lo], tmp)
				_, e5 := m.ks.fill.Submit(s, 0, hi-mid, k+1, x[mid-lo:])
				return errors.Join(e1, e2, e3, e4, e5)
			}, task.InOut(x))
		}}
}

func (m *memRun) complain(format string, args ...any) {
	err := fmt.Errorf(format, args...)
	m.bad.CompareAndSwap(nil, &err)
}

func (m *memRun) task() error {
	act := m.act(false)
	at, g := m.place()
	return m.submit(act, at, g)
}

// place returns where a task is submitted to.
func (m *memRun) place() (task.Submitter, *memGroup) {
	if len(m.groups) > 0 && m.rng.IntN(2) == 0 {
		g := m.groups[m.rng.IntN(len(m.groups))]
		return g.g, g
	}
	return m.rt, nil
}

func (m *memRun) submit(act memAct, at task.Submitter, g *memGroup) error {
	id := 0
	if g != nil {
		id = g.id
	}
	m.note("%s %v, group %d", act.name, act.accs, id)
	t, err := act.submit(at)
	if err != nil {
		return fmt.Errorf("submission: %w", err)
	}
	m.interpret(act, g, t)
	return nil
}

// interpret does what a task that was submitted does.
func (m *memRun) interpret(act memAct, g *memGroup, t task.Task) {
	id := 0
	if g != nil {
		id = g.id
		g.wrote = append(g.wrote, act.accs...)
	}
	m.use(act.accs, id)
	want := act.fails
	if m.world.tainted(act.accs) {
		want = task.ErrSkipped
	}
	m.tasks = append(m.tasks, memTask{t, want, len(m.text)})
	if want == nil {
		m.finish(act)
		return
	}
	if want == task.ErrSkipped {
		m.world.skipped++
		m.total.skipped++
		m.class("skipped")
	} else {
		m.world.failed++
		m.total.failed++
	}
	switch {
	case g == nil:
	case want == task.ErrSkipped:
		g.skipped++
		g.untold.skipped++
	default:
		g.failed++
		g.untold.failed++
	}
	m.world.taint(act.accs, id)
	m.spoil(act)
}

// use notes that a task uses elements.
func (m *memRun) use(accs []area, group int) {
	for _, c := range accs {
		a := m.all[c.buf]
		fresh, seen := false, false
		for i := c.j0; i < c.j1; i++ {
			fresh, seen = fresh || !a.used[i], seen || a.used[i]
			a.used[i] = true
			noteUser(&a.reader[i], group)
			if c.mode != deps.In {
				noteUser(&a.writer[i], group)
			}
		}
		if fresh && seen {
			a.growths++
			m.class("grows")
		}
	}
}

// finish is a task that has done its work.
func (m *memRun) finish(act memAct) {
	unknown := false
	for _, c := range act.accs {
		if c.mode != deps.Out {
			unknown = unknown || slices.Contains(m.all[c.buf].undefined[c.j0:c.j1], true)
		}
	}
	act.do(want)
	for _, c := range act.accs {
		for i := c.j0; i < c.j1 && c.mode != deps.In; i++ {
			m.all[c.buf].undefined[i] = unknown
		}
	}
}

// spoil is one that has not.
func (m *memRun) spoil(act memAct) {
	for _, c := range act.accs {
		for i := c.j0; i < c.j1 && c.mode != deps.In; i++ {
			m.all[c.buf].undefined[i] = true
		}
	}
}

// cancelled cancels a group while its tasks run. Which of them that meets is chance.
func (m *memRun) cancelled() error {
	m.class("cancelled")
	cause := errors.New("cancelled")
	g := task.NewGroup(m.rt)
	m.nextGroup++
	id := m.nextGroup
	var acts []memAct
	var tasks []task.Task
	for range 1 + m.rng.IntN(4) {
		act := m.act(true)
		m.note("%s %v, in a group that is cancelled, %d", act.name, act.accs, id)
		t, err := act.submit(g)
		if err != nil {
			return err
		}
		acts, tasks = append(acts, act), append(tasks, t)
		m.use(act.accs, several)
	}
	delay(m.rng.IntN(3000))
	g.Cancel(cause)
	if m.rng.IntN(2) == 0 {
		m.class("submit-after-cancel")
		if _, err := g.Go(nothing, task.InOut(m.array().got)); !errors.Is(err, cause) {
			return fmt.Errorf("a submission to a cancelled group returned %w", err)
		}
	}
	failed, skipped := failures(g.Wait(context.Background()))
	for i, t := range tasks {
		err := t.Err()
		switch {
		case err == nil:
			if m.world.tainted(acts[i].accs) {
				return fmt.Errorf("a task of a cancelled group ran behind a failure: %v", acts[i].accs)
			}
			m.finish(acts[i])
			continue
		case errors.Is(err, task.ErrSkipped):
			skipped--
			m.total.skipped++
		case errors.Is(err, cause):
			failed--
			m.total.failed++
		default:
			return err
		}
		m.uncounted = m.uncounted || strings.HasPrefix(acts[i].name, "nested")
		m.spoil(acts[i])
	}
	if failed != 0 || skipped != 0 {
		return fmt.Errorf("the wait of a cancelled group told of %d failures and %d skipped tasks too many", failed, skipped)
	}
	return nil
}
