package cpubench

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gompss/gompss/codegen"
	"github.com/gompss/gompss/codegen/cpu"
)

// TestCodeForARM64_LoopsAreTidy counts the instructions of inner loops, on any machine: none for a
// mask that is there already, nor for a pause point in each round.
func TestCodeForARM64_LoopsAreTidy(t *testing.T) {
	pkg, err := codegen.Load(codegen.File{Name: "kernels.go", Text: kernelText})
	require.NoError(t, err)
	for _, c := range []struct {
		kernel, typ, has string // an instruction of the loop
		most             int
	}{
		{"Mandelbrot", "float32", "\tfmla", 25},
		{"Mandelbrot", "float64", "\tfmla", 24},
		{"NBody", "float32", "\tfrsqrte", 58},
		{"NBody", "float64", "\tfsqrt", 45},
	} {
		k, err := pkg.Instance(c.kernel, c.typ)
		require.NoError(t, err)
		code, err := cpu.Compile(codegen.ForCPU(k), cpu.Options{ISA: cpu.ARM64})
		require.NoError(t, err)
		body := firstLoop(code.Listing(), c.has)
		require.NotEmpty(t, body, code.Listing())
		require.LessOrEqual(t, len(body), c.most, "%s %s:\n%s", c.kernel, c.typ, strings.Join(body, "\n"))
	}
}

// firstLoop are the instructions of the first loop of a listing that has one of a kind, up to the
// branch that goes back.
func firstLoop(listing, has string) []string {
	lines, at := strings.Split(listing, "\n"), map[string]int{}
	for i, l := range lines {
		f := strings.Fields(l)
		if len(f) == 2 && strings.HasSuffix(f[1], ":") {
			at[strings.TrimSuffix(f[1], ":")] = i
		}
		from, back := at[lastOf(f)]
		if !back || !strings.Contains(l, "\tb") {
			continue
		}
		var body []string
		found := false
		for _, l := range lines[from : i+1] {
			if strings.Contains(l, "\t") {
				body, found = append(body, l), found || strings.Contains(l, has)
			}
		}
		if found {
			return body
		}
	}
	return nil
}

// lastOf is the last word of a line.
func lastOf(f []string) string {
	if len(f) == 0 {
		return ""
	}
	return f[len(f)-1]
}
