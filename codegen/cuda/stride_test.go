package cuda_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gompss/gompss/codegen/cuda"
	"github.com/gompss/gompss/codegen/ir"
)

// NVRTC 13.0 writes out four turns of a loop whose counter it sees come round, and counts one turn
// too many (random program 1602011). The text of such a loop says that no turn is written out.
func TestStrides_AreNotWrittenOut(t *testing.T) {
	text := func(step int64) string {
		b := newProgram("Strides")
		n := b.param("n", ir.Uint64Type)
		i := b.local("i", ir.Uint64Type)
		at := b.at()
		by := &ir.Const{T: ir.Uint64Type, Bits: ir.Bits(step), At: at}
		ref := func(v *ir.Var) ir.Expr { return &ir.Ref{Var: v, At: at} }
		next := &ir.Assign{Place: ref(i), Value: &ir.Binary{Op: ir.Add, X: ref(i), Y: by, T: i.Type, At: at}, At: at}
		cond := &ir.Binary{Op: ir.Le, X: ref(i), Y: ref(n), T: ir.BoolType, At: at}
		zero := &ir.Const{T: ir.Uint64Type, At: at}
		b.launch(&ir.Launch{}, b.decl(i, zero), &ir.While{Cond: cond, Post: []ir.Stmt{next}, At: b.at()})
		src, err := cuda.Print(b.prog, cuda.Options{})
		require.NoError(t, err)
		return src.Text
	}
	require.Equal(t, 1, strings.Count(text(1<<63-1), "#pragma unroll 1\n"))
	require.Equal(t, 1, strings.Count(text(-1<<40), "#pragma unroll 1\n"))
	require.NotContains(t, text(4096), "#pragma unroll")
}
