package opencl_test

import (
	"flag"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gompss/gompss/codegen"
	"github.com/gompss/gompss/codegen/ir"
	"github.com/gompss/gompss/codegen/opencl"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// A form is one way in which a kernel is lowered and printed for a kind of device.
type form struct {
	suffix string
	lower  codegen.LowerOptions
	print  opencl.Options
}

// The forms of the golden files: that of explain -emit opencl, that of a device with subgroups and
// atomic sums of floats, and that of NVIDIA's driver.
var (
	plain     = form{".cl", codegen.LowerOptions{Target: "opencl", NoShuffles: true, TeamUnit: 32}, opencl.Options{Fence: opencl.HostFence, RoundedDivide: true}}
	subgroups = form{"_subgroups.cl", codegen.LowerOptions{Target: "opencl", TeamUnit: 32}, opencl.Options{Fence: opencl.C11Fence, Language: "CL3.0",
		Subgroups: opencl.KhronosSubgroups, Atomics: opencl.GlobalFloat32 | opencl.GlobalFloat64 | opencl.TeamFloat32 | opencl.TeamFloat64}}
	nvidia = form{"_nvidia.cl", subgroups.lower, opencl.Options{Fence: opencl.PTXFence, RoundedDivide: true, Subgroups: opencl.PTXSubgroups, Atomics: subgroups.print.Atomics}}
)

// goldens are the kernels with golden files: of each part of the dialect one that is short.
var goldens = map[string][]form{
	"Add": {plain}, "AllAny": {plain}, "ArgMin": {plain}, "ArrayReduce": {plain}, "BitReduce": {plain}, "Bounded": {plain}, "Capture": {plain},
	"Compact": {plain}, "DivMods": {plain}, "DistributeReduce": {plain}, "Dot": {plain}, "DynamicChunks": {plain}, "Forces": {plain, nvidia},
	"FuseMatMul": {plain}, "HeatStep": {plain}, "Histogram": {plain}, "KMeans": {plain}, "LastInTeam": {plain}, "Mandelbrot": {plain},
	"MatMulTiled": {plain}, "MonteCarloPi": {plain}, "Orphan": {plain, nvidia}, "OwnBins": {plain}, "PrefixSums": {plain}, "ScanBlocks": {plain},
	"SingleMasked": {plain}, "SpMV": {plain, nvidia}, "TeamsReduce": {plain}, "ToneMap": {plain}, "Transpose": {plain},
	"FuseAtomic": {plain, subgroups, nvidia}, "FuseDot": {subgroups}, "RowSums": {subgroups},
}

// source prints a kernel. Where threads of a subgroup exchange values, that is the form without
// checks.
func (f form) source(t *testing.T, k *ir.Kernel) *opencl.Source {
	t.Helper()
	p, err := f.program(k)
	require.NoError(t, err)
	src, err := opencl.Print(p, f.print)
	require.NoError(t, err)
	return src
}

func (f form) program(k *ir.Kernel) (*ir.Program, error) {
	if f.print.Exits() {
		low, err := codegen.Lower(k, f.lower)
		if err != nil {
			return nil, err
		}
		return low.Program, nil
	}
	if f.lower.Subgroups() {
		if free := codegen.NewContract(k).Unchecked(k); free != nil {
			k = free
		}
	}
	low, err := codegen.Lower(k, f.lower)
	if err != nil {
		return nil, err
	}
	if proved, guards := opencl.Proved(low.Program, f.print); f.lower.Subgroups() && len(guards) > 0 {
		return proved, nil
	}
	return low.Program, nil
}

func TestGoldens(t *testing.T) {
	known := map[string]bool{}
	kernels := loopKernels(t)
	for _, name := range slices.Sorted(maps.Keys(goldens)) {
		for _, f := range goldens[name] {
			path := filepath.Join("testdata", name+f.suffix)
			known[path] = true
			t.Run(name+f.suffix, func(t *testing.T) {
				require.Contains(t, kernels, name)
				src := f.source(t, kernels[name])
				require.Equal(t, src, f.source(t, kernels[name]), "printed twice, the same")
				compareGolden(t, path, src.Text)
			})
		}
	}
	files, err := filepath.Glob("testdata/*.cl")
	require.NoError(t, err)
	for _, path := range files {
		switch {
		case known[path]:
		case *update:
			require.NoError(t, os.Remove(path))
		default:
			t.Errorf("%s is the golden file of no program: go test ./codegen/opencl -update removes it", path)
		}
	}
}

func compareGolden(t *testing.T, path, got string) {
	t.Helper()
	if *update {
		require.NoError(t, os.MkdirAll("testdata", 0o755))
		require.NoError(t, os.WriteFile(path, []byte(got), 0o644))
		return
	}
	want, err := os.ReadFile(path)
	require.NoError(t, err, "no golden file: go test ./codegen/opencl -update writes it")
	require.Equal(t, string(want), got)
}
