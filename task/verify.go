package task

import (
	"slices"

	"github.com/gompss/gompss/task/internal/memory"
)

// This file is how an iteration is replayed with new bodies, and how a change of its structure is
// noticed.

// ReplayOrRecord calls build as Record does and replays the iteration with the bodies that it
// gives. What each task accesses is compared with what was recorded, access by access, by address,
// length, mode and box: there is no hash that two structures could share. From the first difference
// on the iteration is recorded again, before anything runs, and changed is true; so it is when
// memory that it uses was freed. A step costs a comparison then, and no allocation but those of
// build itself.
//
// The replays before may be in flight, with the bodies that they were given, unless the structure
// changes, or the steps have Args or groups: then ReplayOrRecord waits for them.
//
// Errors: those of Record and Replay. After an error of build the iteration must be recorded again:
// Replay refuses.
func (it *Iteration) ReplayOrRecord(build func(*Recorder) error) (t Task, changed bool, err error) {
	if it == nil || it.rt == nil {
		return Task{}, false, misuse("Iteration.ReplayOrRecord", errNilHandle)
	}
	if err := it.inBody("Iteration.ReplayOrRecord"); err != nil {
		return Task{}, false, err
	}
	it.mu.Lock()
	defer it.mu.Unlock()
	return it.replayOrRecord(build)
}

// replayOrRecord is ReplayOrRecord. Requires: mu held.
func (it *Iteration) replayOrRecord(build func(*Recorder) error) (t Task, changed bool, err error) {
	changed, err = it.compare(build)
	if err != nil {
		return Task{}, changed, err
	}
	t, err = it.replay(nil)
	return t, changed, err
}

var errUnbuilt = &ChangedError{What: "the steps are partly those of a call of ReplayOrRecord that did not return"}

// compare takes over what build gives, and reports whether the structure has changed.
func (it *Iteration) compare(build func(*Recorder) error) (changed bool, err error) {
	it.moved = false
	r := &it.recorder
	*r = Recorder{rt: it.rt, it: it, old: it, args: r.args[:0], used: r.used[:0], groups: r.groups[:0]}
	if it.broken != nil || slices.ContainsFunc(it.buffers, func(b *memory.Buffer) bool { return b.Gone.Load() }) {
		r.old = nil
	}
	was := it.broken
	it.broken = errUnbuilt // should build panic
	err = r.collect(build)
	it.broken = was
	if err == nil && r.old != nil && (r.expected() != nil || len(r.groups) < len(it.groups)) {
		r.restart()
		err = r.err
	}
	if err != nil {
		it.broken = &ChangedError{What: "the steps are partly those of a call of ReplayOrRecord that failed with " + err.Error()}
		return true, err
	}
	it.contents.requested++
	shared := len(it.args)+len(it.groups)+len(r.args)+len(r.used)+len(r.groups) > 0 // with the replay that runs
	if r.old == nil || shared {
		if err := it.waitIdle(); err != nil {
			it.broken = errUnbuilt
			return false, err
		}
	}
	if r.old == nil {
		it.broken = nil
		r.finish(it)
		return true, nil
	}
	if shared {
		if args := r.finalArgs(); len(r.args) > 0 {
			it.args = append(it.args[:0], args...)
		} else {
			it.args = args
		}
		it.groups = append(it.groups[:0], r.groups...)
	}
	r.finished, r.scope, r.old = true, nil, nil
	return false, nil
}

// sameAsBefore reports whether s, a step of the old iteration, has the accesses that options say.
func (r *Recorder) sameAsBefore(s *step, nested bool, options []Option) bool {
	if s.template != nil || s.waits != 0 || (s.nested != nil) != nested {
		return false
	}
	undeferred := false
	at := int(s.uses)
	label := ""
	for i := range options {
		o := &options[i]
		switch o.what() {
		case untiedOption:
		case labelOption:
			label = o.text()
		case finalOption:
		case originOption:
			s.origin = uintptr(o.n)
		case ifOption:
			undeferred = undeferred || o.n == 0
		case accessOption, specialOption:
			if at == int(s.usesEnd) || !r.old.uses[at].same(o) {
				return false
			}
			at++
		default:
			return false // and recording says why
		}
	}
	if label != "" {
		s.label = label
	}
	return at == int(s.usesEnd) && undeferred == s.undeferred
}

// same reports whether o says what u said.
func (u *use) same(o *Option) bool {
	m, b := o.memory(), o.box()
	return u.memory.Base == m.Base && u.memory.Len == m.Len && u.mode == o.mode() && u.memory.Elem == m.Elem &&
		(u.box == b || u.box != nil && b != nil && u.box.same(b))
}

func (b *box) same(o *box) bool {
	return b.err == nil && o.err == nil && slices.Equal(b.shape, o.shape) && slices.Equal(b.lo, o.lo) && slices.Equal(b.hi, o.hi)
}

// restart records what was equal so far, to continue recording. The recorder keeps an error.
func (r *Recorder) restart() {
	old := r.old
	r.old = nil
	for i := range old.steps[:r.at] {
		s := &old.steps[i]
		switch {
		case s.combines != nil: // follows from the others
		case s.waits != 0:
			r.addWait(r.groups[s.waits-1])
		default:
			if err := r.copyStep(old, s); err != nil {
				_ = r.stepError(err)
			}
		}
	}
}

// copyStep records a step of the old iteration again. Its memory was there when the build function
// began, and may be gone since.
func (r *Recorder) copyStep(old *Iteration, s *step) error {
	if s.template != nil {
		if b := s.template.hold.Gone(); b != nil {
			return goneError(b, "")
		}
		return r.addDescribed(s.template)
	}
	if b := memory.GoneOf(s.buffers); b != nil {
		return goneError(b, "")
	}
	at := int32(len(r.fresh.uses))
	r.fresh.uses = append(r.fresh.uses, old.uses[s.uses:s.usesEnd]...)
	r.fresh.tasks = r.fresh.tasks || s.nested != nil || wantsTasks(r.rt)
	return r.addStep(step{stepContent: s.stepContent, uses: at, usesEnd: int32(len(r.fresh.uses)), undeferred: s.undeferred}, s.accesses)
}
