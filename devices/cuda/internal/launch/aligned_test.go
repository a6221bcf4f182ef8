package launch

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gompss/gompss/codegen/cuda"
	"github.com/gompss/gompss/codegen/ir"
	"github.com/gompss/gompss/deps"
	"github.com/gompss/gompss/devices"
)

// A slice lies where its mirror and its offset say, and scratch memory is aligned; an error of the
// mirror is one of the launch.
func TestAligned_SlicesAndRows(t *testing.T) {
	x := &ir.Var{Name: "x", Type: ir.SliceOf(ir.Float32Type)}
	n := &ir.Var{Name: "n", Type: ir.IntType}
	pad := &ir.Var{Name: "pad", Type: ir.SliceOf(ir.Float32Type), Space: ir.Scratch}
	src := &cuda.Source{Entries: []cuda.Entry{{Args: []cuda.Argument{
		{Kind: cuda.Data, Var: x, Multiple: 16}, {Kind: cuda.Length, Var: x}, {Kind: cuda.Data, Var: pad, Multiple: 16},
		{Kind: cuda.Value, Var: n, Multiple: 4}, {Kind: cuda.Fault}}}}}
	for _, c := range []struct {
		base   uint64
		offset deps.Bytes
		rows   int64
		want   bool
	}{{256, 0, 8, true}, {256, 48, 0, true}, {256, 4, 8, false}, {256, 8, 8, false}, {4, 12, 4, true}, {256, 0, -4, false}, {8, 0, 4, false}, {256, 0, 6, false}, {256, 0, -1, false}} {
		b := &Binding{Params: []*ir.Var{x, n}, Args: []devices.Arg{
			{Type: x.Type, Offset: c.offset, Len: 4, Cap: 4}, {Type: n.Type, Bits: uint64(c.rows)}}}
		got, err := b.Aligned(src, func(deps.BufferID) (uint64, error) { return c.base, nil })
		require.NoError(t, err)
		require.Equal(t, c.want, got, "%+v", c)
		b.Args[0].Nil, b.Args[0].Offset = true, 0
		got, err = b.Aligned(src, nil)
		require.NoError(t, err)
		require.Equal(t, c.rows >= 0 && c.rows%4 == 0, got, "nil lies everywhere")
		b.Args[0].Nil = false
		lost := errors.New("no mirror")
		_, err = b.Aligned(src, func(deps.BufferID) (uint64, error) { return 0, lost })
		require.ErrorIs(t, err, lost)
	}
}
