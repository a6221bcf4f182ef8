package sched

// versioning gives each item to the place with the earliest finish, by the learned times of its
// version: the load of the place, the transfers, and the run. It tries kinds of devices with too
// few samples, and from time to time tries again a kind that seemed slow. It is locality that never
// stops exploring: among devices of one kind, items that run too briefly to pay for a transfer stay
// with their data.
//
// The time of a version is a mean without outliers; other runtimes average everything (a few
// durations of 70 to 100 ms among many of 0.2 ms kept GPUs idle there).
type versioning struct {
	*locality
	pushes uint64
}

func newVersioning(s *State) Policy {
	return &versioning{locality: newLocality(s).(*locality)}
}

func (v *versioning) Push(it *Item) {
	v.pushes++
	it.marks.set(retrial, false)
	p := v.explore(it)
	if p < 0 {
		v.locality.Push(it)
		return
	}
	v.enqueue(it, p)
}

// explore returns the place of a retrial, or -1.
func (v *versioning) explore(it *Item) PlaceID {
	if v.pushes%exploreEach != 0 || it.fallback > 0 || it.Version == "" || it.Allowed.Len() == 1 {
		return -1
	}
	v.readTimes(it)
	rare, n := v.leastSampled(it, v.candidates(it))
	if rare < 0 || n < fewTimes || v.movesTooMuch(it, rare) || v.refusesTrial(it, rare) {
		return -1
	}
	it.marks.set(retrial, true)
	if rest := it.Allowed.Without(rare); v.state.Places[rare].Host && rest != 0 {
		v.reserve(it, v.place(it, rest))
	}
	return rare
}
