package sched

// versioning gives each item to the place where it will be over first, by what has been learned of its version there: what that
// place has to do already, the bytes to move, and the time it runs. What has not been tried often enough on a kind of device is
// tried, and from time to time what seemed slow is tried again. It is locality that never ends to explore: among devices of one kind
// what runs too shortly for its data to be moved again for it stays where they are.
//
// The time of a version is a median without outliers, in place of the mean of other runtimes (a few durations of 70 to 100 ms
// among many of 0.2 ms kept GPUs idle there).
type versioning struct {
	*locality
	pushes uint64
}

// exploreEach is how often the kind that was tried least is tried again, in pushes.
const exploreEach = 64

func newVersioning(s *State) Policy {
	return &versioning{locality: newLocality(s).(*locality)}
}

func (v *versioning) Push(it *Item) {
	v.pushes++
	it.retrial = false
	p := v.explore(it)
	if p < 0 {
		v.locality.Push(it)
		return
	}
	v.enqueue(it, p)
}

// explore returns where it is tried again, or -1.
func (v *versioning) explore(it *Item) PlaceID {
	if v.pushes%exploreEach != 0 || it.fallback > 0 || it.Version == "" || it.Allowed.Len() == 1 {
		return -1
	}
	v.readTimes(it)
	rare, n := v.leastSampled(it, v.candidates(it))
	if rare < 0 || n < fewTimes || v.movesTooMuch(it, rare) || v.refusesTrial(it, rare) {
		return -1
	}
	it.retrial = true
	if rest := it.Allowed.Without(rare); v.state.Places[rare].Host && rest != 0 {
		v.reserve(it, v.place(it, rest))
	}
	return rare
}
