package cuda_test

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gompss/gompss/codegen"
	"github.com/gompss/gompss/codegen/cuda"
	"github.com/gompss/gompss/codegen/ir/specialise"
)

// generations are those that goldens are compiled for: the oldest that CUDA 13 knows, A100, H100 and B200.
var generations = []string{"sm_75", "sm_80", "sm_90", "sm_100"}

type nvrtcSource struct {
	Name    string   `json:"name"`
	Text    string   `json:"text"`
	Options []string `json:"options"`
	Archs   []string `json:"archs,omitempty"`
}

type nvrtcAnswer struct {
	Version string
	Skip    string
	Results []struct {
		Name, Arch, Log, Code, PTX string
		OK                         bool
		Cubin                      int
		Registers                  map[string]int
	}
}

// compile gives sources to NVRTC, by way of Python: codegen/cuda loads no library. It skips the test where there is
// none.
func compile(t *testing.T, archs []string, sources []nvrtcSource) nvrtcAnswer {
	t.Helper()
	return ask(t, map[string]any{"archs": archs, "sources": sources})
}

// ask gives a request to NVRTC.
func ask(t *testing.T, what map[string]any) nvrtcAnswer {
	t.Helper()
	python, err := exec.LookPath("python3")
	if err != nil {
		t.Skip("no python3 to load NVRTC with")
	}
	request, err := json.Marshal(what)
	require.NoError(t, err)
	cmd := exec.Command(python, "testdata/nvrtc.py")
	cmd.Stdin = bytes.NewReader(request)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	require.NoError(t, err, stderr.String())
	var answer nvrtcAnswer
	require.NoError(t, json.Unmarshal(out, &answer), string(out))
	if answer.Skip != "" {
		t.Skip(answer.Skip)
	}
	return answer
}

func source(name string, s *cuda.Source) nvrtcSource {
	return nvrtcSource{Name: name, Text: s.Text, Options: s.Options}
}

// TestNVRTCTakesEveryGolden compiles every golden, and every kernel of the modes, without any header and without a
// warning: the programs that show each part of the printer for every generation, the kernels of the repository for one
// generation each, in turn, and half of their forms for teams of one size and without checks in one version. With
// GOMPSS_NVRTC=all in the environment every program is compiled for every generation, and every form.
func TestNVRTCTakesEveryGolden(t *testing.T) {
	if testing.Short() {
		t.Skip("compiles for a minute")
	}
	var hand []goldenCase
	for _, h := range handBuilt {
		hand = append(hand, goldenCase{h.name, h.make()})
	}
	kernels := append(append(corpus(t), modeCorpus(t)...), languageCorpus(t)...)
	others := append(provedOf(kernels), exactOf(kernels)...)
	if os.Getenv("GOMPSS_NVRTC") == "all" {
		requireCompiles(t, nil, others, versions...)
		requireCompiles(t, generations, append(hand, kernels...), versions...)
		return
	}
	for i, v := range versions { // half of them, in one version each
		requireCompiles(t, nil, every(2*len(versions), i, others), v)
	}
	requireCompiles(t, generations, hand, versions...)
	requireCompiles(t, nil, kernels, versions...)
}

// every returns each nth case, from one on.
func every(n, first int, cases []goldenCase) (out []goldenCase) {
	for i := first; i < len(cases); i += n {
		out = append(out, cases[i])
	}
	return out
}

// exactOf returns the forms of cases for teams of one size.
func exactOf(cases []goldenCase) []goldenCase {
	var out []goldenCase
	for _, c := range cases {
		if q, ok := specialise.Teams(c.prog, 32); ok {
			out = append(out, goldenCase{c.name + "Exact", q})
		}
	}
	return out
}

// provedOf returns cases as they are launched where the host has made their checks.
func provedOf(cases []goldenCase) []goldenCase {
	var out []goldenCase
	for _, c := range cases {
		if q, guards := cuda.Proved(c.prog); len(guards) > 0 {
			out = append(out, goldenCase{c.name + "Proved", q})
		}
	}
	return out
}

// languageCorpus lowers the kernels that show the parts of the language; one that is generic has no program of its own.
func languageCorpus(t *testing.T) []goldenCase {
	t.Helper()
	files := kernelFiles(t, []string{"../language_kernels_test.go", "../language_helpers_test.go", "../language_forms_test.go", "../language_complex_test.go", "../language_arrays_test.go", "../testdata/geometry/geometry.go"})
	files[len(files)-1].Package = "github.com/gompss/gompss/codegen/testdata/geometry"
	pkg, err := codegen.Load(files...)
	require.NoError(t, err)
	var out []goldenCase
	for _, k := range pkg.Kernels() {
		low, err := codegen.Lower(k, codegen.LowerOptions{Target: "cuda"})
		require.NoError(t, err)
		out = append(out, goldenCase{k.Name, low.Program})
	}
	instance, err := pkg.Instance("LangGeneric", "float32", "int32")
	require.NoError(t, err)
	low, err := codegen.Lower(instance, codegen.LowerOptions{Target: "cuda"})
	require.NoError(t, err)
	return append(out, goldenCase{"LangGeneric", low.Program})
}

// requireCompiles compiles versions of each case for archs; nil takes one generation for each, in turn.
func requireCompiles(t *testing.T, archs []string, cases []goldenCase, versions ...version) {
	t.Helper()
	var sources []nvrtcSource
	for _, c := range cases {
		for _, v := range versions {
			s := source(c.name+v.suffix, c.print(t, v.options))
			if archs == nil {
				s.Archs = generations[len(sources)*5/4%4:][:1] // two versions of a kernel differ in it, and kernels do
			}
			sources = append(sources, s)
		}
	}
	answer := compile(t, archs, sources)
	require.Len(t, answer.Results, max(len(archs), 1)*len(sources))
	for _, r := range answer.Results {
		require.True(t, r.OK, "%s for %s:\n%s", r.Name, r.Arch, r.Log)
		require.Empty(t, r.Log, "%s for %s", r.Name, r.Arch)
	}
	t.Logf("NVRTC %s compiled %d programs for %v", answer.Version, len(sources), archs)
}
