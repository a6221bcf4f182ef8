// Package record collects the events of a runtime's tasks with little overhead, and writes and
// reads trace files.
//
// A Recorder is the probe.Recorder of a runtime. Plain tasks lie in probe.Briefs, from where its
// collecting goroutine takes them. Of others every CPU worker and every accelerator has a ring of
// its own: to record a task is to copy it into a slot, with no allocation, no lock and no system
// call. The goroutine hands what it finds, in batches, to sinks: the writer of a file, an analysis,
// a page. A ring that is full drops what comes and counts it; the count travels with every batch.
//
// The file (format.go) is a sequence of blocks with checksums, each readable by itself: of a
// cut-off or damaged file Read returns the readable part and reports what is missing.
//
// Invariants: a ring has one writer at a time, for which no other waits (a writer that finds it
// taken goes to the next one), and one reader, the collecting goroutine; what was recorded before
// Close is in the sinks when Close returns, or counted as dropped.
package record
