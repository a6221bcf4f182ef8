package cuda_test

import (
	"flag"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gompss/gompss/codegen/cuda"
	"github.com/gompss/gompss/codegen/ir"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// versions are the two that a device chooses from; the 32-bit one is the one to read first.
var versions = []version{
	{".cu", cuda.Options{Index32: true}},
	{"_64.cu", cuda.Options{}},
}

type version struct {
	suffix  string
	options cuda.Options
}

type goldenCase struct {
	name string
	prog *ir.Program
}

func (c goldenCase) print(t *testing.T, opt cuda.Options) *cuda.Source {
	t.Helper()
	src, err := cuda.Print(c.prog, opt)
	require.NoError(t, err, c.name)
	return src
}

// shownModes are the kernels of the modes that have golden files.
var shownModes = map[string]bool{"ModeBranch_control_loop": true, "ModeConverge_control_loop": true,
	"ModeBranch_warp_specialized": true, "ModeConverge_warp_specialized": true, "ModeFew_warp_specialized": true,
	"ModeRows_warp_specialized": true, "ModeCrew_broadcast": true}

func goldenCases(t *testing.T) []goldenCase {
	var out []goldenCase
	for _, h := range handBuilt {
		out = append(out, goldenCase{"hand_" + h.name, h.make()})
	}
	for _, c := range modeCorpus(t) {
		if shownModes[c.name] {
			out = append(out, c)
		}
	}
	return append(out, corpus(t)...)
}

const longestGolden = 32 << 10 // bytes of the longest text that is kept, for people to read its changes

func TestGoldens(t *testing.T) {
	known := map[string]bool{}
	for _, c := range goldenCases(t) {
		for _, v := range versions {
			src := c.print(t, v.options)
			known[filepath.Join("testdata", c.name+v.suffix)] = len(src.Text) <= longestGolden
			t.Run(c.name+v.suffix, func(t *testing.T) {
				if len(src.Text) <= longestGolden {
					compareGolden(t, filepath.Join("testdata", c.name+v.suffix), src.Text)
				}
				require.Equal(t, src, c.print(t, v.options), "printed twice, the same")
			})
		}
	}
	requireNoOthers(t, known)
}

// requireNoOthers finds golden files of programs that are gone.
func requireNoOthers(t *testing.T, known map[string]bool) {
	t.Helper()
	files, err := filepath.Glob("testdata/*.cu")
	require.NoError(t, err)
	for _, path := range files {
		if known[path] {
			continue
		}
		if *update {
			require.NoError(t, os.Remove(path))
			continue
		}
		t.Errorf("%s is the golden file of no program: go test ./codegen/cuda -update removes it", path)
	}
}

func compareGolden(t *testing.T, path, got string) {
	t.Helper()
	if *update {
		require.NoError(t, os.WriteFile(path, []byte(got), 0o644))
		return
	}
	want, err := os.ReadFile(path)
	require.NoError(t, err, "no golden file: go test ./codegen/cuda -update writes it")
	require.Equal(t, string(want), got)
}
