package cpubench

import (
	"fmt"
	"slices"
	"time"
)

// least is the ratio below which a row says why.
const least = 0.95

// reason says why a row is below least, as far as measuring tells: others on the machine disturbed
// it, or the call costs what the row lacks, which is the case where one of 64 elements lacks as
// much, or the loop does.
func (o *ours[T]) reason(v *variant, s spec, times [][]float64, refs []*reference, best float64) (string, error) {
	if best >= least {
		return fmt.Sprintf("disturbed: the fastest rounds are at %.2f", best), nil
	}
	mine, theirs := slices.Min(times[0]), slices.Min(times[1])
	if !slices.ContainsFunc(streams, func(st stream) bool { return st.name == s.name }) {
		return fmt.Sprintf("the loop takes %.0f %% longer%s", 100*(mine/theirs-1), loopReasons[s.name]), nil
	}
	short := s
	short.n = 64
	_, calls, err := o.times(v, short, refs, pace{round: time.Millisecond, row: 20 * time.Millisecond, least: 5})
	if err != nil {
		return "", err
	}
	more := slices.Min(calls[0]) - slices.Min(calls[1])
	if lacks := mine - theirs; more >= lacks {
		return fmt.Sprintf("a call of 64 elements takes %.0f ns more than C's, this one %.0f ns", more, lacks), nil
	}
	return fmt.Sprintf("the loop takes %.0f %% longer, and the call is not the reason; not explained", 100*((mine-more)/theirs-1)), nil
}

// loopReasons are the known causes for loops that are slower than C's.
var loopReasons = map[string]string{
	"jacobi": ": each row begins and ends with vectors under masks",
	"spmv":   ": what is left of each row behind whole rounds of vectors runs under masks",
}
