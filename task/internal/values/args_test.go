package values

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// TestNamesOfGenericTypesFit: reflection writes the arguments of a type with the path of their package and without spaces.
func TestNamesOfGenericTypesFit(t *testing.T) {
	for _, c := range []struct {
		of, name string
		fits     bool
	}{
		{"Point", "Point", true},
		{"Point", "Pair", false},
		{"pair[int16,float32]", "pair[int16, float32]", true},
		{"pair[int16,float32]", "pair[int16, float64]", false},
		{"pair[int16,float32]", "pair", false},
		{"pair[example.com/a-b/c.Point,float32]", "pair[Point, float32]", true},
		{"pair[example.com/a-b/c.pair[int8,main.Key],[3]main.Key]", "pair[pair[int8, Key], [3]Key]", true},
	} {
		require.Equal(t, c.fits, nameFits(c.of, c.name), "%s and %s", c.of, c.name)
	}
}
