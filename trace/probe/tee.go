package probe

import "github.com/gompss/gompss/deps"

// Tee returns an observer that tells all of list in order; nil for none, and the one that there is
// for one.
func Tee(list ...Observer) Observer {
	switch len(list) {
	case 0:
		return nil
	case 1:
		return list[0]
	}
	return Func(func(p Point) {
		for _, o := range list {
			o.Observe(p)
		}
	})
}

// TeeRecorders is Tee for recorders. Several of them are no Collector: what one has collected is
// gone for the others.
func TeeRecorders(list ...Recorder) Recorder {
	switch len(list) {
	case 0:
		return nil
	case 1:
		return list[0]
	}
	return tee(list)
}

type tee []Recorder

func (l tee) Observe(p Point) {
	for _, r := range l {
		r.Observe(p)
	}
}

func (l tee) Open(m *Machine) {
	for _, r := range l {
		r.Open(m)
	}
}

func (l tee) Submitted(id deps.TaskID, accesses []deps.Access, predecessors []deps.TaskID) {
	for _, r := range l {
		r.Submitted(id, accesses, predecessors)
	}
}

func (l tee) Considered(id deps.TaskID, place int, candidates []Candidate) {
	for _, r := range l {
		r.Considered(id, place, candidates)
	}
}

func (l tee) StepRan(of *Replay, s *StepRun) {
	for _, r := range l {
		StepRan(r, of, s)
	}
}

func (l tee) Ended(t *Task) {
	for _, r := range l {
		r.Ended(t)
	}
}
