package analysis

// Elements that lie apart by a constant distance, as the fields of structs in a slice do. Gathers
// and scatters take a cycle an element on many processors; here whole vectors of what lies between
// the first lane's element and the last one's are loaded and permuted, or permuted and stored, and
// where the gaps are too long for that, the lanes are loaded and stored one by one at addresses
// that are known. Nothing before the first lane's element or behind the last one's is read, and
// only the elements are written.

// A Window is one vector of what the lanes lie in.
type Window struct {
	Start  int64 // in elements, from the first
	Places []placed
}

// placed says which lane an element of a window belongs to.
type placed struct{ At, Lane int }

// WindowsOf covers the elements lane*gap. Every element is in one window; the last one ends with
// the last element.
func WindowsOf(lanes int, gap int64) []Window {
	l := int64(lanes)
	n := (l-1)*gap + 1
	count := (n + l - 1) / l
	all := make([]Window, count)
	for j := range all {
		all[j].Start = min(int64(j)*l, n-l)
	}
	for lane := range l {
		w := &all[min(lane*gap/l, count-1)]
		w.Places = append(w.Places, placed{int(lane*gap - w.Start), int(lane)})
	}
	var out []Window
	for _, w := range all {
		if len(w.Places) > 0 {
			out = append(out, w)
		}
	}
	return out
}
