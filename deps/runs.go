package deps

// A run is the elements [lo, hi).
type run struct{ lo, hi int64 }

// runsIn lists the runs of r that reach into [lo, hi).
func (r Region) runsIn(lo, hi int64) []run {
	out := make([]run, 0, min(r.runCount(), 64))
	for a, b := range r.Runs() {
		if b <= lo {
			continue
		}
		if a >= hi {
			break
		}
		out = append(out, run{a, b})
	}
	return out
}

// both lists the runs of r and s where their bounds overlap.
func both(r, s Region) (x, y []run) {
	rlo, rhi := r.Bounds()
	slo, shi := s.Bounds()
	return r.runsIn(slo, shi), s.runsIn(rlo, rhi)
}

func runsOverlap(r, s Region) bool {
	x, y := both(r, s)
	for i, j := 0, 0; i < len(x) && j < len(y); {
		if x[i].lo < y[j].hi && y[j].lo < x[i].hi {
			return true
		}
		if x[i].hi <= y[j].hi {
			i++
		} else {
			j++
		}
	}
	return false
}

// meetRuns is the intersection, run by run.
func meetRuns(r, s Region) []run {
	x, y := both(r, s)
	var out []run
	for i, j := 0, 0; i < len(x) && j < len(y); {
		if lo, hi := max(x[i].lo, y[j].lo), min(x[i].hi, y[j].hi); lo < hi {
			out = append(out, run{lo, hi})
		}
		if x[i].hi <= y[j].hi {
			i++
		} else {
			j++
		}
	}
	return out
}

// dropRuns is r without s, run by run.
func dropRuns(r, s Region) []run {
	lo, hi := r.Bounds()
	x, y := r.runsIn(lo, hi), s.runsIn(lo, hi)
	var out []run
	j := 0
	for _, a := range x {
		for j < len(y) && y[j].hi <= a.lo {
			j++
		}
		for k := j; k < len(y) && y[k].lo < a.hi; k++ {
			if y[k].lo > a.lo {
				out = append(out, run{a.lo, y[k].lo})
			}
			a.lo = max(a.lo, y[k].hi)
		}
		if a.lo < a.hi {
			out = append(out, a)
		}
	}
	return out
}

// compress appends ascending runs as regions: equal runs at equal distances become one.
func compress(b BufferID, runs []run, out []Region) []Region {
	for i := 0; i < len(runs); {
		length := runs[i].hi - runs[i].lo
		j := i + 1
		if j < len(runs) && runs[j].hi-runs[j].lo == length {
			gap := runs[j].lo - runs[i].lo
			for j < len(runs) && runs[j].hi-runs[j].lo == length && runs[j].lo-runs[j-1].lo == gap {
				j++
			}
			out = append(out, mustStrided(b, runs[i].lo, []Dim{{int64(j - i), gap}, {length, 1}}))
		} else {
			out = append(out, Interval(b, runs[i].lo, runs[i].hi))
		}
		i = j
	}
	return out
}

func mustStrided(b BufferID, offset int64, dims []Dim) Region {
	r, err := Strided(b, offset, dims)
	if err != nil {
		panic("gompss: bug: " + err.Error())
	}
	return r
}
