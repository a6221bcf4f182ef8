package cprint

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gompss/gompss/codegen/ir"
)

func TestNames_HideNothingThatIsVisible(t *testing.T) {
	n := NewNames(Words("f g"), Words("int float"))
	n.Push()
	require.Equal(t, "x", n.Fresh("x"))
	require.Equal(t, "x_2", n.Fresh("x"))
	require.Equal(t, "f_2", n.Fresh("f"))
	require.Equal(t, "int_2", n.Fresh("int"))
	n.Push()
	require.Equal(t, "x_3", n.Fresh("x"))
	n.Pop()
	require.Equal(t, "x_3", n.Fresh("x"))
	require.False(t, n.Visible("y"))
}

func TestIdentifier_SpellsOutWhatCLacks(t *testing.T) {
	for in, want := range map[string]string{"x": "x", "größe": "gru00f6u00dfe", "a.b": "a_b", "_": "v_", "_x": "v_x", "1": "v_", "x_": "x"} {
		require.Equal(t, want, Identifier(in), in)
	}
}

func TestFieldNames_AreDifferent(t *testing.T) {
	s := &ir.Type{Kind: ir.Struct, Fields: []ir.Field{{Name: "x"}, {Name: "_"}, {Name: "int"}, {Name: "x_"}, {Name: "_"}}}
	require.Equal(t, []string{"x", "blank1", "int_", "x_2", "blank4"}, FieldNames(s, Words("int")))
}
