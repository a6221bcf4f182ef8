package codegen_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gompss/gompss/codegen"
)

// A window that moves with the iteration is one of its own, whatever the index in it; one that
// stays, or moves by less than the index folds, is written by several iterations.
func TestFoldedWrites_InWindows(t *testing.T) {
	for body, races := range map[string]bool{
		"own := x[i*4 : i*4+4]; v := uint32(3) << (uint64(i) & 7) >> 3; own[uint(int8(v))%4] |= 100": false,
		"own := x[i*4 : i*4+4]; own[i&1] = i":                                                        false,
		"own := x[i*4 : i*4+4]; own[i/2%4] = i":                                                      false,
		"all := x[8:]; own := all[i*4 : i*4+4]; own[uint(int8(i))%4] = i":                            false,
		"p := i; own := x[p*4 : p*4+4]; own[uint8(p)&3] = i":                                         false,
		"own := x[4:8]; own[uint(int8(i))%4] = i":                                                    true,
		"own := x[4:8]; own[i/2] = i":                                                                true,
		"own := x[:]; own[i&7] = i":                                                                  true,
		"own := x[i/2*4 : i/2*4+4]; own[i/2%4] = i":                                                  true,
		"own := x[4-i%4 : 8-i%4]; own[i%4] = i":                                                      true,
		"own := x[4:8]; if i > 5 { own = x[8:12] }; own[i/2%4] = i":                                  false, // not known
		"own := x[i*4 : i*4+4]; inner := own[i%2 : 4]; inner[i/2%2] = i":                             false,
		"own := x[uint8(i)*32:]; inner := own[1:4]; inner[0] = i":                                    true,
		"own := x[i*4 : i*4+4]; for j := 0; j < 4; j++ { own[(i+j)&3] = i }":                         false,
	} {
		text := "package k\n\n//omp:target device(acc, smp)\n//omp:task inout(x)\nfunc K(n int, x []int) {\n" +
			"//omp:teams distribute parallel for\nfor i := 0; i < n; i++ {\n" + strings.ReplaceAll(body, "; ", "\n") + "\n}\n}\n"
		text = strings.ReplaceAll(text, "for j := 0\nj < 4\nj++", "for j := 0; j < 4; j++")
		p, err := codegen.Load(codegen.File{Name: "k.go", Text: text})
		said := ""
		if err != nil {
			said = err.Error()
		} else {
			for _, w := range p.Warnings() {
				said += w.Error() + "\n"
			}
		}
		require.Equal(t, races, strings.Contains(said, "write the same"), "%s\n%s", body, said)
	}
}
