package deps

// An Access is a region with a mode. Op tells reductions apart: two Reduction accesses go together if their Op is the same.
type Access struct {
	Region Region
	Mode   Mode
	Op     uint16
}

// Merge joins the accesses of one task to the same region, in place: in and out of the same elements are inout. Accesses that
// overlap in part stay as they are; a task never waits for itself.
func Merge(accesses []Access) []Access {
	out := accesses[:0]
next:
	for _, a := range accesses {
		if a.Region.Empty() {
			continue
		}
		for i := range out {
			if out[i].Region == a.Region {
				k := merged(modeKey{out[i].Mode, out[i].Op}, modeKey{a.Mode, a.Op})
				out[i].Mode, out[i].Op = k.mode, k.op
				continue next
			}
		}
		out = append(out, a)
	}
	return out
}

// merged is the mode of a task that accesses the same elements in two modes.
func merged(a, b modeKey) modeKey {
	if a == b {
		return a
	}
	return modeKey{mode: InOut}
}

// compatible reports whether two tasks that access a common element in these modes may run together, or in any order.
func compatible(a, b modeKey) bool { return a == b && a.mode != Out && a.mode != InOut }
