package task

import "slices"

// This file is how an iteration is replayed with new bodies, and how a change of its structure is noticed.

// Again calls build as Record does and replays the iteration with the bodies that it gives. What each task accesses is compared
// with what was recorded, access by access, by address, length, mode and box: there is no hash that two structures could share.
// From the first difference on the iteration is recorded anew, before anything runs, and changed is true; so it is when memory
// that it uses was freed. A step costs a comparison then, and no allocation but those of build itself.
//
// Errors: those of Record and Replay. After an error of build the iteration must be recorded again: Replay refuses.
func (it *Iteration) Again(build func(*Recorder) error) (t Task, changed bool, err error) {
	it.mu.Lock()
	defer it.mu.Unlock()
	it.settle()
	changed, err = it.compare(build)
	if err != nil {
		return Task{}, changed, err
	}
	t, err = it.replay(nil)
	return t, changed, err
}

// compare takes over what build gives, and reports whether the structure has changed.
func (it *Iteration) compare(build func(*Recorder) error) (changed bool, err error) {
	it.moved = false
	r := &it.again
	*r = Recorder{rt: it.rt, it: it, old: it, args: r.args[:0], groups: r.groups[:0]}
	if it.broken != nil || slices.ContainsFunc(it.buffers, func(b *buffer) bool { return b.gone.Load() }) {
		r.old = nil
	}
	if err := r.collect(build); err != nil {
		it.broken = &ChangedError{What: "the steps are partly those of a call of Again that failed with " + err.Error()}
		return true, err
	}
	if r.old != nil && (r.expected() != nil || len(r.groups) < len(it.groups)) {
		if r.startOver(); r.err != nil {
			return true, r.err
		}
	}
	if r.old == nil {
		it.broken = nil
		r.finish(it)
		return true, nil
	}
	if len(r.args) > 0 {
		it.args = append(it.args[:0], r.args...)
	}
	it.groups = append(it.groups[:0], r.groups...)
	r.over, r.scope, r.old = true, nil, nil
	return false, nil
}

// sameAsBefore reports whether s, a step of the old iteration, has the accesses that options say.
func (r *Recorder) sameAsBefore(s *step, nested bool, options []Option) bool {
	if s.does != nil || s.waits != 0 || (s.nested != nil) != nested {
		return false
	}
	now := false
	at := int(s.uses)
	label := ""
	for i := range options {
		o := &options[i]
		switch o.what() {
		case noOption:
		case labelOption:
			label = o.text()
		case finalOption:
		case nowOption:
			now = now || o.n == 0
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
	return at == int(s.usesEnd) && now == s.now
}

// same reports whether o says what u said.
func (u *use) same(o *Option) bool {
	m, b := o.memory(), o.box()
	return u.memory.base == m.base && u.memory.len == m.len && u.mode == o.mode() && u.memory.elem == m.elem &&
		(u.box == b || u.box != nil && b != nil && u.box.same(b))
}

func (b *box) same(o *box) bool {
	return b.err == nil && o.err == nil && slices.Equal(b.shape, o.shape) && slices.Equal(b.lo, o.lo) && slices.Equal(b.hi, o.hi)
}

// startOver records what was equal so far, to go on recording.
func (r *Recorder) startOver() {
	old := r.old
	r.old = nil
	for i := range old.steps[:r.at] {
		s := &old.steps[i]
		switch {
		case s.combines != nil: // follows from the others
			continue
		case s.waits != 0:
			r.addWait(r.groups[s.waits-1])
			continue
		case s.does != nil:
			_ = r.addDescribed(s.asked) // the recorder keeps the error
			continue
		}
		var options []Option
		for k := range old.uses[s.uses:s.usesEnd] {
			u := &old.uses[int(s.uses)+k]
			o := accessTo(u.mode, u.memory)
			if u.box != nil {
				o = specialAccess(u.mode, &special{memory: u.memory, box: u.box})
			}
			options = append(options, o)
		}
		r.record(s.body, s.nested, append(options, Label(s.label), If(!s.now)))
	}
}
