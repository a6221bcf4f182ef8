package gompss_test

import (
	"encoding/json"
	"fmt"
	"io"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

const module = "github.com/gompss/gompss"

// layers is the import table of STYLE.md section 1 as data: which of our packages a package may import.
// A new edge is a design decision. Packages that are not listed here may not exist.
var layers = map[string][]string{
	"codegen/kernel": {},
	"deps":           {},
	"trace/probe":    {"deps"},
	"codegen/ir":     {"deps"},
	"codegen":        {"codegen/ir", "deps"},
	"codegen/cpu":    {"codegen/ir"},
	"codegen/cuda":   {"codegen/ir"},
	"codegen/opencl": {"codegen/ir"},
	"codegen/simt":   {"codegen/ir"},
	"devices":        {"codegen/ir", "deps", "trace/probe"},
	"devices/smp":    {"devices", "codegen/ir", "deps", "trace/probe", "codegen/cpu"},
	"devices/sim":    {"devices", "codegen/ir", "deps", "trace/probe", "codegen/simt"},
	"devices/cuda":   {"devices", "codegen/ir", "deps", "trace/probe", "codegen/cuda"},
	"devices/opencl": {"devices", "codegen/ir", "deps", "trace/probe", "codegen/opencl"},
	// One conformance suite for every plug-in; imported by tests alone.
	"devices/devicetest": {"devices", "codegen/ir", "deps", "trace/probe"},
	"sched":              {"devices", "deps", "trace/probe"},
	"task": {"codegen/kernel", "deps", "trace/probe", "codegen/ir", "codegen", "codegen/cpu", "codegen/cuda",
		"codegen/opencl", "codegen/simt", "devices", "devices/smp", "sched"},
	"devices/all": {"devices/smp", "devices/sim", "devices/cuda", "devices/opencl"},
	"trace":       {"trace/probe", "deps"},
}

// external names the third-party modules that only the listed packages may import.
var external = map[string][]string{
	"github.com/ebitengine/purego": {"devices/cuda", "devices/opencl"},
	"go.opentelemetry.io/otel":     {"trace"},
}

type goPackage struct {
	ImportPath string
	Imports    []string
}

func TestImportsFollowTheLayers(t *testing.T) {
	for _, p := range listPackages(t) {
		path := strings.TrimPrefix(strings.TrimPrefix(p.ImportPath, module), "/")
		for _, problem := range violations(path, p.Imports) {
			t.Error(problem)
		}
	}
}

func TestLayersCatchAForbiddenEdge(t *testing.T) {
	require.NotEmpty(t, violations("deps", []string{module + "/sched"}))
	require.NotEmpty(t, violations("codegen", []string{"github.com/ebitengine/purego"}))
	require.NotEmpty(t, violations("nosuchpackage", nil))
	require.Empty(t, violations("sched", []string{module + "/deps", "sync"}))
	require.Empty(t, violations("examples/nbody", []string{module + "/task"}))
}

func violations(path string, imports []string) []string {
	thin := path == "" || strings.HasPrefix(path, "cmd/") || strings.HasPrefix(path, "examples/")
	allowed, known := layers[path]
	if !known && !thin {
		return []string{fmt.Sprintf("package %s is not in the layer table", path)}
	}
	var out []string
	for _, imp := range imports {
		if ours, ok := strings.CutPrefix(imp, module+"/"); ok && !thin && !slices.Contains(allowed, ours) {
			out = append(out, fmt.Sprintf("%s may not import %s", path, ours))
		}
		for prefix, users := range external {
			if strings.HasPrefix(imp, prefix) && !slices.Contains(users, path) {
				out = append(out, fmt.Sprintf("%s may not import %s", path, imp))
			}
		}
	}
	return out
}

func listPackages(t *testing.T) []goPackage {
	t.Helper()
	raw, err := exec.Command("go", "list", "-json=ImportPath,Imports", "./...").Output()
	require.NoError(t, err)
	dec := json.NewDecoder(strings.NewReader(string(raw)))
	var out []goPackage
	for {
		var p goPackage
		if err := dec.Decode(&p); err == io.EOF {
			return out
		} else if err != nil {
			t.Fatal(err)
		}
		out = append(out, p)
	}
}
