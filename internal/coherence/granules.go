package coherence

import "github.com/gompss/gompss/deps"

// EachGranules calls f with ascending ranges [lo, hi) of the granules of size bytes that the
// elements of r touch. Neighbouring ranges may touch or share a granule.
//
// Rows that are less than a granule apart leave no granule out, so they are one range. Cost:
// O(ranges).
func EachGranules(r deps.Region, elem, size deps.Bytes, f func(lo, hi int)) {
	if r.Empty() {
		return
	}
	// Dimensions from k on have gaps below a granule: they are one range for each index of those
	// before k.
	k, extent := int(r.N), int64(1)
	for k > 0 {
		d := r.Dims[k-1]
		if gap := deps.Bytes(d.Stride-extent) * elem; gap >= size {
			break
		}
		extent += (d.Count - 1) * d.Stride
		k--
	}
	var at [deps.MaxDims]int64
	for first := r.Offset; ; {
		lo, hi := deps.Bytes(first)*elem, deps.Bytes(first+extent)*elem
		f(int(lo/size), int((hi+size-1)/size))
		n := k - 1
		for ; n >= 0; n-- {
			at[n]++
			first += r.Dims[n].Stride
			if at[n] < r.Dims[n].Count {
				break
			}
			first -= at[n] * r.Dims[n].Stride
			at[n] = 0
		}
		if n < 0 {
			return
		}
	}
}

// Elements returns the elements that lie in a granule at least in part.
func (r *Residency) Elements(g *Granule) deps.Region {
	lo, hi := g.span(r.size)
	elem := g.mirror.buffer.Elem
	return deps.Interval(g.mirror.buffer.ID, int64(lo/elem), int64((hi+elem-1)/elem))
}
