package crews

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// A Choice says, by the names of strategies, which of them a lowering leaves out (Off), and with
// which of its parameters it applies another (from 1 on). A strategy that is not named is applied
// where it fits, with the parameter of the cost model. The zero Choice is the model's.
//
// Whatever is chosen, a kernel of the same arguments leaves the same bits, but for sums of floats
// that a reduction clause lets be done in any order.
type Choice map[string]int

// Off leaves a strategy out.
const Off = -1

// LeavesOut reports whether c leaves a strategy out.
func (c Choice) LeavesOut(strategy string) bool { return c[strategy] == Off }

// Parameter returns which parameter of a strategy c asks for, counted from 1; 0 for the model's.
func (c Choice) Parameter(strategy string) int { return max(c[strategy], 0) }

// With returns c with a parameter of one more strategy.
func (c Choice) With(strategy string, parameter int) Choice {
	out := maps.Clone(c)
	if out == nil {
		out = Choice{}
	}
	out[strategy] = parameter
	return out
}

// String names c, the same for equal choices: "blocks off, tiles off"; "as the model chose" for the
// zero Choice.
func (c Choice) String() string {
	var out []string
	for _, s := range slices.Sorted(maps.Keys(c)) {
		if c[s] == Off {
			out = append(out, s+" off")
			continue
		}
		out = append(out, fmt.Sprintf("%s %d", s, c[s]))
	}
	if len(out) == 0 {
		return "as the model chose"
	}
	return strings.Join(out, ", ")
}
