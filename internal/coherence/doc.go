// Package coherence decides which data are where: pure bookkeeping without locks, clocks or
// devices.
//
// A Directory knows which elements of each buffer are valid in which address space. It plans the
// copies that make an access valid, as Operations in a Plan. A Residency knows which granules of
// one accelerator's mirrors are backed by memory, which operations pin them, and which are evicted
// next. Package machine carries the plans out and reports what has completed; it also holds the
// lock.
//
// Invariants:
//   - every element of a buffer is valid in at least one space, or is known to be lost with a
//     device;
//   - data count as valid in a space from the moment a copy to there is planned: their user
//     waits for the pending operation;
//   - a working set gets all of its granules or none.
//
// Methods that name a single space (PlanSingleSpace, BeginSingleSpace, EndSingleSpace, Missing)
// touch only what is kept of that space, so that a lock for each space is enough for them.
package coherence
