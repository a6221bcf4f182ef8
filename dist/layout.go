package dist

import (
	"fmt"

	"github.com/gompss/gompss/deps"
)

// A Distribution cuts a buffer into blocks and gives each an owner. Make one with Block, Cyclic,
// BlockCyclic2D, On or By.
type Distribution struct {
	name string
	make func(elements int64, ranks int) (layout, error)
}

func (d Distribution) String() string { return d.name }

// A layout is a Distribution of one buffer: a grid of blocks of a row-major matrix. A vector is a
// matrix of one row.
type layout struct {
	elements                  int64
	cols, blockRows, blockCol int64 // of the matrix; of a block
	across                    int64 // blocks side by side
	owners                    []int32
}

// Block gives each rank one contiguous part, of about the same number of units: a unit is 1 for
// elements, the length of a row for rows.
func Block(unit int) Distribution {
	return Distribution{fmt.Sprintf("Block(%d)", unit), func(n int64, ranks int) (layout, error) {
		if unit < 1 {
			return layout{}, fmt.Errorf("units of %d elements", unit)
		}
		units := (n + int64(unit) - 1) / int64(unit)
		each := max(1, (units+int64(ranks)-1)/int64(ranks))
		return vector(n, each*int64(unit), func(k int) int { return k }, ranks)
	}}
}

// Cyclic deals blocks of the given number of elements to the ranks in turn.
func Cyclic(block int) Distribution {
	return Distribution{fmt.Sprintf("Cyclic(%d)", block), func(n int64, ranks int) (layout, error) {
		return vector(n, int64(block), func(k int) int { return k % ranks }, ranks)
	}}
}

// By gives block k, of the given number of elements, to rank owner(k, ranks).
func By(block int, owner func(k, ranks int) int) Distribution {
	return Distribution{fmt.Sprintf("By(%d)", block), func(n int64, ranks int) (layout, error) {
		return vector(n, int64(block), func(k int) int { return owner(k, ranks) }, ranks)
	}}
}

// On gives all elements to one rank.
func On(rank int) Distribution {
	return Distribution{fmt.Sprintf("On(%d)", rank), func(n int64, ranks int) (layout, error) {
		return vector(n, n, func(int) int { return rank }, ranks)
	}}
}

// BlockCyclic2D deals the blocks of a row-major matrix with the given columns to a grid of p by q
// ranks: block (i, j) to rank i%p*q + j%q. With more ranks than p*q the last ones own nothing.
func BlockCyclic2D(cols, blockRows, blockCols, p, q int) Distribution {
	name := fmt.Sprintf("BlockCyclic2D(%d, %dx%d, %dx%d)", cols, blockRows, blockCols, p, q)
	return Distribution{name, func(n int64, ranks int) (layout, error) {
		if cols < 1 || blockRows < 1 || blockCols < 1 || p < 1 || q < 1 || n%int64(cols) != 0 {
			return layout{}, fmt.Errorf("%d elements in rows of %d", n, cols)
		}
		rows := n / int64(cols)
		l := layout{elements: n, cols: int64(cols), blockRows: int64(blockRows), blockCol: int64(blockCols)}
		l.across = (l.cols + l.blockCol - 1) / l.blockCol
		down := (rows + l.blockRows - 1) / l.blockRows
		return l, l.assign(int(down*l.across), func(k int) int {
			i, j := k/int(l.across), k%int(l.across)
			return i%p*q + j%q
		}, ranks)
	}}
}

// Grid returns the most square p by q with p*q == ranks, p <= q.
func Grid(ranks int) (p, q int) {
	p = 1
	for d := 2; d*d <= ranks; d++ {
		if ranks%d == 0 {
			p = d
		}
	}
	return p, ranks / p
}

func vector(n, block int64, owner func(k int) int, ranks int) (layout, error) {
	if block < 1 {
		return layout{}, fmt.Errorf("blocks of %d elements", block)
	}
	l := layout{elements: n, cols: n, blockRows: 1, blockCol: block, across: (n + block - 1) / block}
	return l, l.assign(int(l.across), owner, ranks)
}

func (l *layout) assign(blocks int, owner func(k int) int, ranks int) error {
	l.owners = make([]int32, blocks)
	for k := range l.owners {
		r := owner(k)
		if r < 0 || r >= ranks {
			return fmt.Errorf("block %d is owned by rank %d of %d", k, r, ranks)
		}
		l.owners[k] = int32(r)
	}
	return nil
}

// blockOf returns the block of an element.
func (l *layout) blockOf(element int64) int64 {
	if l.cols == l.elements {
		return element / l.blockCol
	}
	return element/l.cols/l.blockRows*l.across + element%l.cols/l.blockCol
}

// region returns the elements of block k of a buffer.
func (l *layout) region(b deps.BufferID, k int64) deps.Region {
	i, j := k/l.across, k%l.across
	rows := l.elements / l.cols
	r, err := deps.Box(b, 0, []int64{rows, l.cols}, []int64{i * l.blockRows, j * l.blockCol},
		[]int64{min(rows, (i+1)*l.blockRows), min(l.cols, (j+1)*l.blockCol)})
	if err != nil {
		panic(fmt.Sprintf("gompss: bug: block %d of a layout: %v", k, err))
	}
	return r
}

// blocks returns the blocks that r may overlap, as rows and columns of the grid of blocks,
// half-open.
func (l *layout) blocks(r *deps.Region) (i0, i1, j0, j1 int64) {
	lo, hi := r.Bounds()
	top, bottom := lo/l.cols, (hi-1)/l.cols
	left, right := int64(0), l.cols-1
	first, last := lo%l.cols, (hi-1)%l.cols
	rowsAlike := r.N == 2 && r.Dims[0].Stride == l.cols || r.N == 1 && r.Dims[0].Stride == l.cols
	if top == bottom || rowsAlike && first <= last {
		left, right = first, last
	}
	return top / l.blockRows, bottom/l.blockRows + 1, left / l.blockCol, right/l.blockCol + 1
}
