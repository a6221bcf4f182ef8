package tune

// mostUncounted is the largest number of launches of which one is looked at, so that looking takes
// a small part of the time.
const mostUncounted = 64

// A Feedback says which launches of a kernel are looked at, so that the form of the next ones can
// follow from what they met: each one at first, and fewer and fewer while that leads to the same
// form. Looking at a launch takes about as long as another short launch.
//
// The zero Feedback looks at the first launch. It is not for concurrent use.
type Feedback struct {
	form    int  // of the launches, 0 being the first one's
	looking bool // at a launch that has not ended
	wait    int  // launches until the next look
	every   int  // launches of which one is looked at
}

// Next reports whether to look at the next launch: Met or Lost follows. At most one is looked at at
// once.
func (f *Feedback) Next() bool {
	if f.looking {
		return false
	}
	if f.wait > 0 {
		f.wait--
		return false
	}
	f.looking = true
	return true
}

// Met takes the form that follows from the launch that was looked at.
func (f *Feedback) Met(form int) {
	f.every = min(max(2*f.every, 1), mostUncounted)
	if form != f.form {
		f.every = 1
	}
	f.looking, f.form, f.wait = false, form, f.every-1
}

// Lost says that the launch that was looked at has failed, or that it left no counts.
func (f *Feedback) Lost() {
	f.every = mostUncounted
	f.looking, f.wait = false, f.every-1
}

// Form returns the form for the next launch.
func (f *Feedback) Form() int { return f.form }
