package sched

import (
	"time"

	"github.com/gompss/gompss/deps"
)

// This file has all constants of the policies locality and versioning. None of them is measured on
// the machine: what is, the rates of links and the run times of kernels, is in Place.Link and in
// Times. A factor has no unit.

// A link about which nothing is known. `gompss devices SPEC` prints what the devices of a machine
// report.
const (
	unknownRate    deps.Bytes = 8 << 30 // bytes a second
	unknownLatency            = 10 * time.Microsecond
	// unknownGain is how many times that rate a good link carries: what is known to run slowly on
	// the host runs there only if that pays even on a good link.
	unknownGain = 6
)

// A run about which nothing is known, in its own size class or a neighbouring one.
const unknownTime = 100 * time.Microsecond

// What counts as a long run: places are chosen by the finish alone, not by the bytes to transfer.
const (
	longTime = 5 * time.Millisecond // the least run time
	// longFactor is the least ratio of run time to transfer time. Below it, a stolen item makes the
	// next one wait for its data.
	longFactor = 8
)

// What keeps an item, and so its data, where the data are.
const (
	// moveFactor is the cost of a byte moved relative to a byte of work, for data that an
	// accelerator owns: about the ratio of the bandwidths of device memory and link. Data on the
	// host alone must move once to any accelerator, so there the factor is 1.
	moveFactor = 32
	// returnFactor multiplies the time of a transfer between accelerators: later items may have to
	// move the data back.
	returnFactor = 4
	// homePart is the divisor of the bytes of work that count as missing at a place that does not
	// own the data.
	homePart = 4
	// queuePart is the number of queued items that weigh as much as one owned item for data without
	// an owner yet: a queue is short-lived, ownership is not.
	queuePart = 16
	// unplacedLead is the lead in queued items that a place must have before another place steals
	// an item whose data no accelerator owns.
	unplacedLead = 8
)

// Trials of kinds of device whose time is not known. The numbers are choices, not measurements.
const (
	// A trial on the host may take trialFactor times what an accelerator takes, and trialLeast at
	// the least.
	trialFactor = 2
	trialLeast  = 100 * time.Microsecond
	// longTrial is the time of which one run on an accelerator is enough: more cost more time than
	// they save.
	longTrial = 100 * time.Millisecond
	// A trial on the host waits for one that costs less until so many like it have run on
	// accelerators: for one that can be stopped, and for one behind which others wait.
	tryUnstopped = 256
	tryCritical  = 32
	// exploreEach is the number of pushes between two retrials of the least sampled kind, under the
	// policy versioning.
	exploreEach = 64
)

// Learned run times: numbers of durations.
const (
	keptTimes = 15 // the latest that count
	fewTimes  = 3  // before a history is believed
	// aloneTimes is the number of samples before a time is compared with transfers: while memory is
	// being pinned the host observes completions late.
	aloneTimes = 8
	// maxSampleItems bounds the number of durations in one sample.
	maxSampleItems = 8

	// An outlier is a duration that is outlierFactor times the median or more, or that part of it;
	// what comes outlierRun times in a row is no outlier but a change.
	outlierFactor = 4
	outlierRun    = 4

	// After settled durations only one of learnEach counts, learnBlock one after the other: what is
	// known does not change, and there are many. Of outliers it is seen whether they come in a row.
	settled    = 4 * keptTimes
	learnEach  = 8
	learnBlock = 32
	// briefRun is the longest run time of items of which only some are learned from, because there
	// are so many.
	briefRun = 100 * time.Microsecond
)
