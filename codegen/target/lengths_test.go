package target_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gompss/gompss/codegen/target"
)

const samples = target.LengthSamples

// The number of lanes follows from the lengths: one where few iterations come to the loop, or their
// rows have a few elements; more where they are long or differ; the compiler's own where no other
// is clearly better, or too little is known.
func TestNestedWidth_ByLengths(t *testing.T) {
	all, shared := target.Widths, []target.Width{4, 8, 32}
	for _, c := range []struct {
		name    string
		lengths target.Lengths
		samples int64
		offered []target.Width
		want    target.Width
	}{
		{"rows of four", target.Lengths{1: samples}, samples, all, 1},
		{"rows of four, summed in one order", target.Lengths{1: samples}, samples, shared, 0},
		{"no iteration comes to it", target.Lengths{}, samples, all, 0},
		{"one of a thousand comes to it", target.Lengths{2: 4}, samples, all, 0},
		{"one of ten comes to it", target.Lengths{3: samples / 20, 4: samples / 20}, samples, all, 0},
		{"rows of about 16", target.Lengths{2: 50, 3: samples/2 - 50, 4: samples / 2}, samples, all, 0},
		{"rows of hundreds", target.Lengths{6: samples}, samples, all, 0},
		{"few rows of hundreds", target.Lengths{1: samples - 300, 6: 300}, samples, all, 0},
		// shares of all rows of the graphs of gompss bench gpu, where no number of lanes is faster by 5 %
		{"R-MAT", target.Lengths{555, 577, 239, 272, 124, 223, 44, 12}, samples, shared, 0},
		{"a graph of the web", target.Lengths{24, 471, 1404, 1384, 527, 247, 33, 2}, samples, shared, 0},
		{"random edges", target.Lengths{0, 2, 88, 2229, 1777}, samples, all, 0},
		{"few samples", target.Lengths{1: 99}, 99, all, 0},
		{"no other form", target.Lengths{1: samples}, samples, nil, 0},
	} {
		got, why := target.Default().NestedWidth(&c.lengths, c.samples, c.offered)
		require.Equal(t, c.want, got, "%s: %s", c.name, why)
		require.NotEmpty(t, why)
	}
}

// With more long rows among the short ones no lane has a row of its own any more.
func TestNestedWidth_LeavesOneLaneWithLongRows(t *testing.T) {
	var widths []target.Width
	for long := uint32(0); long <= samples/4; long += 16 {
		w, _ := target.Default().NestedWidth(&target.Lengths{1: samples - long, 6: long}, samples, target.Widths)
		widths = append(widths, w)
	}
	require.EqualValues(t, 1, widths[0])
	last := 0
	for i, w := range widths {
		if w == 1 {
			require.Equal(t, last, max(i-1, 0), "%v", widths)
			last = i
		}
	}
	require.Less(t, last, len(widths)/2, "%v", widths)
}
