package main

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/gompss/gompss/codegen"
	"github.com/gompss/gompss/codegen/cost"
	"github.com/gompss/gompss/codegen/ir"
	chips "github.com/gompss/gompss/codegen/target"
)

// expectedSize is the value that explain assumes for every number among the arguments. Slices have
// expectedSize*expectedSize elements.
const expectedSize = 4096

// otherSizes are the sizes for which explain tests whether another form is expected to be faster.
var otherSizes = []int64{64, 512, 16384}

// expected returns the times that the cost model predicts for the chosen form of k and for the next
// two forms, and the sizes for which another form may be faster.
func expected(k *ir.Kernel) ([]string, error) {
	const most = 4
	runs := k
	if free := codegen.NewContract(k).Unchecked(k); free != nil {
		runs = free // the variant that runs if all accesses are in range
	}
	list, err := codegen.Candidates(runs, codegen.LowerOptions{}, most)
	if err != nil {
		return nil, err
	}
	chip := chips.Default()
	at := func(c codegen.Candidate, n int64) chips.Estimate {
		return cost.Program(c.Program, cost.Nominal(c.Program.Params, n, n*n), chip)
	}
	line := fmt.Sprintf("GPU: expected on %s, where every number is %d and every slice has %d*%d elements -> %v", chip.Chip, expectedSize, expectedSize, expectedSize, at(list[0], expectedSize))
	if len(list) == 1 {
		if why := list[0].OrderShows(); why != "" {
			return []string{line + "; no other form is tried: " + why}, nil
		}
		return []string{line}, nil
	}
	others := slices.Clone(list[1:])
	slices.SortStableFunc(others, func(a, b codegen.Candidate) int {
		return cmp.Compare(at(a, expectedSize).Time, at(b, expectedSize).Time)
	})
	for _, c := range others[:min(len(others), 2)] {
		line += fmt.Sprintf("; with %v %v", c.Choice, at(c, expectedSize))
	}
	var changes []string
	for _, n := range otherSizes {
		best := slices.MinFunc(list, func(a, b codegen.Candidate) int { return cmp.Compare(at(a, n).Time, at(b, n).Time) })
		if len(best.Choice) > 0 {
			changes = append(changes, fmt.Sprintf("%d (%v)", n, best.Choice))
		}
	}
	if len(changes) > 0 {
		line += "; another form may be faster where it is " + strings.Join(changes, ", ")
	}
	return []string{line}, nil
}
