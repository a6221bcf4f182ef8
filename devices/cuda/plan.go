package cuda

import "github.com/gompss/gompss/deps"

// A piece is a part of a copy that one call of the driver makes: height rows of width bytes, pitch
// bytes apart, the first at offset. A single row has no pitch.
type piece struct {
	offset, width, height, pitch deps.Bytes
}

// eachPiece calls f with the pieces of a region, which cover its elements exactly and each once,
// until one fails.
//
// The innermost two dimensions are one piece, so that a tile is one 2-D copy; elements that are not
// neighbours are rows of one element. maxPitch is the greatest pitch of the driver's 2-D copies:
// beyond it every row is a piece. Cost: O(pieces), no allocation.
func eachPiece(r deps.Region, elem, maxPitch deps.Bytes, f func(piece) error) error {
	if r.Empty() {
		return nil
	}
	n := int(r.N)
	one := piece{width: elem, height: 1}
	if in := r.Dims[n-1]; in.Stride == 1 {
		one.width = deps.Bytes(in.Count) * elem
		n--
	}
	if n > 0 && deps.Bytes(r.Dims[n-1].Stride)*elem <= maxPitch {
		one.height, one.pitch = deps.Bytes(r.Dims[n-1].Count), deps.Bytes(r.Dims[n-1].Stride)*elem
		n--
	}
	var at [deps.MaxDims]int64
	for first := r.Offset; ; {
		one.offset = deps.Bytes(first) * elem
		if err := f(one); err != nil {
			return err
		}
		k := n - 1
		for ; k >= 0; k-- {
			at[k]++
			first += r.Dims[k].Stride
			if at[k] < r.Dims[k].Count {
				break
			}
			first -= at[k] * r.Dims[k].Stride
			at[k] = 0
		}
		if k < 0 {
			return nil
		}
	}
}
