package dense_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gompss/gompss/codegen/kernel/dense"
)

func TestMatrix_TilesShareElements(t *testing.T) {
	m := dense.New[int](7, 9)
	for i := range m.Rows {
		for j := range m.Cols {
			m.Set(i, j, 10*i+j)
		}
	}
	for i0 := range 8 {
		for j0 := range 10 {
			tile := m.Tile(i0, 7, j0, 9)
			for i := range tile.Rows {
				for j := range tile.Cols {
					require.Equal(t, 10*(i0+i)+j0+j, tile.At(i, j))
				}
				if tile.Cols > 0 {
					require.Equal(t, m.Row(i0 + i)[j0:], tile.Row(i))
				}
			}
			inner := tile.Tile(0, tile.Rows/2, 0, tile.Cols/2)
			require.Equal(t, tile.Stride, inner.Stride)
			require.Equal(t, inner.Rows*inner.Cols == 0, inner.Data == nil)
		}
	}
	tile := m.Tile(2, 5, 3, 6)
	tile.Set(2, 2, -1)
	require.Equal(t, -1, m.At(4, 5))
	require.Panics(t, func() { m.Tile(0, 8, 0, 1) })
	require.Panics(t, func() { dense.Of(make([]int, 5), 2, 3) })
}

func ExampleMatrix_Tile() {
	m := dense.Of([]int{1, 2, 3, 4, 5, 6}, 2, 3)
	tile := m.Tile(0, 2, 1, 3)
	fmt.Println(tile.Row(0), tile.Row(1), tile.Stride)
	// Output: [2 3] [5 6] 3
}
