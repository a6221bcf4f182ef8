package cpubench

import (
	"fmt"
	"slices"
	"unsafe"

	"github.com/gompss/gompss/codegen/cpu"
)

// A series of sizes of one kernel, all in the first cache, tells what a call, or a row of a nest,
// costs from what its elements do: the time is a straight line over the bytes, and the line cuts
// the axis at the cost of the call.
type callSeries struct {
	name  string
	per   string // what has the cost: a call or a row
	specs []spec
	bytes []float64 // that one of these moves
	units float64   // calls or rows in one run
}

// callSeriesOf are the series for elements of size bytes.
func callSeriesOf(mc machine, size int) []callSeries {
	var out []callSeries
	for _, st := range streams {
		s := callSeries{name: st.name, per: "call", units: 1}
		for k := 1; k <= 8; k++ {
			n := mc.l1 * 3 / 4 * k / 8 / st.arrays / size &^ 63
			s.specs = append(s.specs, spec{name: st.name, n: n, fn: st.fn})
			s.bytes = append(s.bytes, float64(n*size*st.passes))
		}
		out = append(out, s)
	}
	const rows = 10
	for _, rest := range []int{0, 1} { // of elements behind whole vectors
		s := callSeries{name: fmt.Sprintf("jacobi, %d elements behind whole vectors", rest*128/size), per: "row", units: rows - 2}
		for k := 1; k <= 6; k++ {
			m := 2 + k*64*4/size + rest*128/size // of 10 rows: in the first cache
			s.specs = append(s.specs, spec{name: "jacobi", n: rows, m: m, fn: "Jacobi"})
			s.bytes = append(s.bytes, float64((m-2)*2*size))
		}
		out = append(out, s)
	}
	return out
}

// callsOf prints the lines of all series of one type.
func callsOf[T float32 | float64](o Options, options cpu.Options, dir, typ, ctype string) error {
	for _, cs := range callSeriesOf(thisMachine(), int(unsafe.Sizeof(T(0)))) {
		if !o.wants(cs.specs[0]) {
			continue
		}
		var best [][]float64 // of every variant, by size
		err := measureType(options, dir, typ, ctype, cs.specs, func(us *ours[T], refs []*reference, s spec) error {
			v, err := us.variant(s.fn)
			if err != nil {
				return err
			}
			_, times, err := us.times(v, s, refs, o.pace())
			if err != nil {
				return err
			}
			best = slices.Grow(best, len(times))[:len(times)]
			for i := range times {
				best[i] = append(best[i], slices.Min(times[i])/cs.units)
			}
			return nil
		})
		if err != nil {
			return err
		}
		fmt.Fprintf(o.Stdout, "%s %s:", cs.name, typ)
		for i, b := range best {
			a, slope := line(cs.bytes, b)
			who := "ours"
			if i > 0 {
				who = compilers()[i-1].name
			}
			fmt.Fprintf(o.Stdout, " %s %.1f ns a %s + %.2f ns a KiB;", who, a, cs.per, 1024*slope)
		}
		fmt.Fprintln(o.Stdout)
	}
	return nil
}

// line is the straight line through the points by least squares.
func line(x, y []float64) (at0, slope float64) {
	var sx, sy, sxx, sxy float64
	for i := range x {
		sx, sy, sxx, sxy = sx+x[i], sy+y[i], sxx+x[i]*x[i], sxy+x[i]*y[i]
	}
	n := float64(len(x))
	slope = (n*sxy - sx*sy) / (n*sxx - sx*sx)
	return (sy - slope*sx) / n, slope
}
