package sched

// Queued reports whether the scheduler holds it and no place has it yet; InFlight, whether it was
// granted to Place.
func (it *Item) Queued() bool   { return it.state == queued }
func (it *Item) InFlight() bool { return it.state == inFlight }
