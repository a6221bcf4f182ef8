package target

import (
	"fmt"
	"math"
)

// A Width is the number of lanes that share an iteration with a nested loop; 0 leaves it to the
// compiler.
type Width int

// Widths are those to choose from.
var Widths = []Width{1, 4, 8, 32}

func (w Width) String() string {
	switch w {
	case 0:
		return "as the model chose"
	case 1:
		return "a thread a row"
	}
	return fmt.Sprintf("%d lanes a row", int(w))
}

// The classes of Lengths, and the number of iterations of the loop around the nested one that are
// sampled. A sample reads a few sectors: all of them take less than the launch of a kernel.
const (
	LengthClasses = 8
	LengthSamples = 4096
)

// LengthsName is the name of the scratchpad that a program leaves its counts of lengths in.
const LengthsName = "gompss.lengths"

// LengthBounds are the least lengths of all classes but the first. The last one is that of the
// loops that are deferred to teams.
var LengthBounds = [LengthClasses - 1]int64{2, 5, 9, 17, 33, 129, 1024}

// lengthMeans are the lengths that the classes but the last stand for: their middles.
var lengthMeans = [LengthClasses - 1]float64{1, 3, 6.5, 12.5, 24.5, 80, 576}

// Lengths is how many of a launch's sampled iterations had nested loops of each class of length.
// Those that did not come to the nested loop are in none.
type Lengths [LengthClasses]uint32

// Reached returns how many of the sampled iterations came to the nested loop.
func (l *Lengths) Reached() (n float64) {
	for _, c := range l {
		n += float64(c)
	}
	return n
}

// NestedWidth returns which of the offered widths is expected to be fastest for a launch that meets
// lengths like those of l, of so many samples, and why; 0 where these are few, or no offer is
// faster than the compiler's own choice by the margin.
//
// It counts the turns of warps, which wait for memory all alike: a warp takes more turns for its
// rows than the mean of them needs, and fewer than the longest, as its other lanes leave room for
// other warps. Loops that are deferred are the same in all forms.
func (t *Target) NestedWidth(l *Lengths, samples int64, offered []Width) (best Width, why string) {
	if samples < LengthSamples {
		return 0, fmt.Sprintf("%d iterations are too few to choose by", samples)
	}
	reached := l.Reached() / float64(samples)
	if reached < t.Tuning.Nested.Least {
		return 0, fmt.Sprintf("%.1f %% of the iterations reach it: too few to matter", 100*reached)
	}
	turns := math.Inf(1)
	for _, w := range offered {
		if cost := t.nestedTurns(l, reached, w); cost < turns {
			best, turns = w, cost
		}
	}
	if best == 0 {
		return 0, "there is no other form"
	}
	if own := t.nestedTurns(l, reached, t.modelWidth(l)); turns > own*(1-t.Tuning.Nested.Margin) {
		return 0, "no other number of lanes takes clearly fewer turns of warps"
	}
	return best, fmt.Sprintf("%.0f %% of the iterations reach it, and their lengths take %.2f turns of a warp for each 32 of all", 100*reached, 32*turns)
}

// modelWidth is the number of lanes that the compiler chooses by the mean length.
func (t *Target) modelWidth(l *Lengths) Width {
	sum, n := 0.0, 0.0
	for i, mean := range lengthMeans {
		sum, n = sum+mean*float64(l[i]), n+float64(l[i])
	}
	if sum < n*float64(t.Tuning.Lanes.Halved) {
		return 4
	}
	return 8
}

// shortClasses is the number of classes of loops that one lane runs in place, and that of those
// that several share; longer ones are deferred.
func shortClasses(w Width) int {
	if w == 1 {
		return 5 // up to 32 iterations
	}
	return LengthClasses - 1
}

// nestedTurns returns the turns of warps for one iteration of the loop around the nested one, of
// which the part reached comes to it, where w lanes share it.
func (t *Target) nestedTurns(l *Lengths, reached float64, w Width) float64 {
	c := t.Tuning.Nested
	warp := float64(t.Team.Warp)
	rows := warp / float64(w) // of a warp in a turn
	short := shortClasses(w)
	total, deferred := 0.0, 0.0
	for i, n := range l {
		if i < short {
			total += float64(n)
		} else if i < LengthClasses-1 { // the longest are deferred in all forms
			deferred += float64(n)
		}
	}
	if all := l.Reached(); all > 0 {
		deferred *= reached / all
		reached *= total / all
	}
	present := reached
	if w > 1 {
		present = 1 // what does not reach the nested loop is sifted out
	}
	// The expected number of turns of the longest of the rows: over all classes, the chance that
	// none is in a longer one.
	longest, mean, share := 0.0, 0.0, 0.0
	below := math.Pow(1-present, rows) // no row at all
	for i, length := range lengthMeans[:short] {
		if total == 0 {
			break
		}
		part, own := float64(l[i])/total, math.Ceil(length/float64(w))
		share += part
		upTo := math.Pow(1-present+present*min(share, 1), rows)
		longest += (upTo - below) * own
		mean += part * own
		below = upTo
	}
	taken := c.Longest*longest + (1-c.Longest)*mean
	if w == 1 {
		return c.Scattered*taken/warp + c.Deferred*deferred
	}
	return c.Shared/warp + reached*(c.Group+taken)/rows
}
