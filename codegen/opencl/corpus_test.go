package opencl_test

import (
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gompss/gompss/codegen"
	"github.com/gompss/gompss/codegen/ir"
	"github.com/gompss/gompss/codegen/opencl"
	"github.com/gompss/gompss/codegen/target"
)

// A program is one kernel of the repository as device IR.
type program struct {
	name string
	prog *ir.Program
}

// loopKernels compiles every kernel of the repository: the corpus of the compiler's own tests, and the demos.
func loopKernels(t *testing.T) map[string]*ir.Kernel {
	t.Helper()
	out := map[string]*ir.Kernel{}
	for _, patterns := range [][]string{{"../corpus_*_test.go", "../corpus_test.go", "../fuse_kernels_test.go"}, {"../../examples/nbody/kernels.go"}, {"../../examples/stream/kernels.go"}} {
		pkg, err := codegen.Load(kernelFiles(t, patterns)...)
		require.NoError(t, err)
		for _, k := range pkg.Kernels() {
			out[k.Name] = k
		}
	}
	return out
}

// corpus lowers every kernel of the repository.
func corpus(t *testing.T, opt codegen.LowerOptions) []program {
	t.Helper()
	var out []program
	kernels := loopKernels(t)
	for _, name := range slices.Sorted(maps.Keys(kernels)) {
		low, err := codegen.Lower(kernels[name], opt)
		if err != nil {
			t.Logf("%s is not lowered: %v", name, err)
			continue
		}
		out = append(out, program{name, low.Program})
	}
	return out
}

// kernelFiles are the files of kernels among those with such names; the others are tests.
func kernelFiles(t *testing.T, patterns []string) []codegen.File {
	var out []codegen.File
	for _, pattern := range patterns {
		paths, err := filepath.Glob(pattern)
		require.NoError(t, err)
		for _, path := range paths {
			if skipped[filepath.Base(path)] {
				continue
			}
			text, err := os.ReadFile(path)
			require.NoError(t, err)
			out = append(out, codegen.File{Name: filepath.Base(path), Text: string(text)})
		}
	}
	return out
}

// skipped are tests of the corpus, not kernels.
var skipped = map[string]bool{"corpus_cases_test.go": true, "corpus_cpu_test.go": true, "corpus_device_test.go": true, "corpus_list_test.go": true, "corpus_modes_test.go": true}

// refused are the kernels that OpenCL C cannot express, with the reason.
var refused = map[string]string{"MomentTable": "an address there belongs to no memory object"}

// texts prints the corpus.
func texts(t *testing.T) map[string]*opencl.Source {
	t.Helper()
	out := map[string]*opencl.Source{}
	for _, c := range corpus(t, codegen.LowerOptions{Target: "opencl", NoShuffles: true}) {
		src, err := opencl.Print(c.prog, opencl.Options{Fence: opencl.HostFence, RoundedDivide: true})
		if why := refused[c.name]; why != "" {
			require.ErrorContains(t, err, why)
			continue
		}
		require.NoError(t, err, c.name)
		again, err := opencl.Print(c.prog, opencl.Options{Fence: opencl.HostFence, RoundedDivide: true})
		require.NoError(t, err, c.name)
		require.Equal(t, src, again, "printed twice, the same")
		out[c.name] = src
	}
	return out
}

// newTexts prints what of the corpus has a form with operations of subgroups or atomic sums of
// floats.
func newTexts(t *testing.T) map[string]*opencl.Source {
	t.Helper()
	out := map[string]*opencl.Source{}
	for name, k := range loopKernels(t) {
		p, err := subgroups.program(k)
		if err != nil {
			continue // as the other form of it
		}
		src, err := opencl.Print(p, subgroups.print)
		if err == nil && (strings.Contains(src.Text, "sub_group_") || strings.Contains(src.Text, "atomic_fetch_add_explicit")) {
			out[name] = src
		}
	}
	require.Greater(t, len(out), 20)
	return out
}

// textsOf prints the corpus in one form.
func textsOf(t *testing.T, f form) map[string]*opencl.Source {
	t.Helper()
	out := map[string]*opencl.Source{}
	for _, c := range corpus(t, f.lower) {
		src, err := opencl.Print(c.prog, f.print)
		if why := refused[c.name]; why != "" {
			require.ErrorContains(t, err, why)
			continue
		}
		require.NoError(t, err, c.name)
		out[c.name] = src
	}
	return out
}

// newestClang finds the compiler, of the versions that have names of their own the newest.
func newestClang(t *testing.T) string {
	t.Helper()
	for version := 30; version >= 14; version-- {
		if path, err := exec.LookPath(fmt.Sprintf("clang-%d", version)); err == nil {
			return path
		}
	}
	path, err := exec.LookPath("clang")
	if err != nil {
		t.Skip("no clang to compile OpenCL C")
	}
	return path
}

// written is the paths of texts, in order.
func written(t *testing.T, texts map[string]*opencl.Source) (files []string) {
	t.Helper()
	dir := t.TempDir()
	for name, src := range texts {
		files = append(files, filepath.Join(dir, name+".cl"))
		require.NoError(t, os.WriteFile(files[len(files)-1], []byte(src.Text), 0o644))
	}
	slices.Sort(files)
	return files
}

// TestPrint_ClangTakesTheCorpus compiles the text of every kernel with clang, for SPIR-V and for AMD's GPUs, and takes warnings for errors. It
// does not link: the builtins stay undefined.
func TestPrint_ClangTakesTheCorpus(t *testing.T) {
	clang := newestClang(t)
	object := filepath.Join(t.TempDir(), "out")
	plain, newer, nvidia := written(t, texts(t)), written(t, newTexts(t)), written(t, textsOf(t, nvidia))
	// Drivers of AMD have OpenCL C 2.0, no shuffles and 64 KiB of team memory.
	on := target.Description{Name: "gfx90a", Units: 110, Clock: 1.7e9, Threads: 256, TeamMemory: 64 << 10, Cache: 8 << 20, Line: 128}.Of(target.Default())
	amd := written(t, textsOf(t, form{"", codegen.LowerOptions{Target: "opencl", NoShuffles: true, TeamUnit: 32, Device: on},
		opencl.Options{Fence: opencl.C11Fence, Language: "CL2.0", RoundedDivide: true}}))
	for _, c := range []struct {
		name, std, args string
		files           []string
	}{
		{"SPIR-V", "CL1.2", "-target spir64 -emit-llvm", plain},
		{"SPIR-V of OpenCL 3.0", "CL3.0", "-target spir64 -fsyntax-only", plain},
		{"SPIR-V with subgroups and atomic floats", "CL3.0", "-target spir64 -emit-llvm", newer},
		{"gfx90a", "CL2.0", "-target amdgcn-amd-amdhsa -mcpu=gfx90a -nogpulib -emit-llvm", amd},
		{"gfx942", "CL2.0", "-target amdgcn-amd-amdhsa -mcpu=gfx942 -nogpulib -emit-llvm", amd},
		{"gfx1100", "CL2.0", "-target amdgcn-amd-amdhsa -mcpu=gfx1100 -nogpulib -emit-llvm", amd},
		{"PTX", "CL1.2", "-target nvptx64-nvidia-cuda -Xclang -target-cpu -Xclang sm_90 -Xclang -cl-ext=+cl_khr_int64_base_atomics,+cl_khr_int64_extended_atomics -Dasm=__asm__ -emit-llvm", nvidia},
	} {
		t.Run(c.name, func(t *testing.T) {
			if testing.Short() && strings.Contains(c.args, "syntax-only") {
				t.Skip("its syntax is that of 1.2")
			}
			if said, err := exec.Command(clang, append(strings.Fields(c.args), "-x", "cl", "-c", "-o", object, os.DevNull)...).CombinedOutput(); err != nil {
				t.Skipf("%s has no such target: %.300s", clang, said)
			}
			common := "-x cl -cl-std=" + c.std + " -Xclang -finclude-default-header -Werror -Wno-logical-op-parentheses -Wno-pass-failed " + c.args
			next := make(chan string)
			var compilers sync.WaitGroup
			for n := range runtime.GOMAXPROCS(0) {
				compilers.Go(func() {
					args := strings.Fields(common)
					if !strings.Contains(common, "syntax-only") {
						args = append(args, "-c", "-o", fmt.Sprint(object, n))
					}
					for f := range next {
						text, err := exec.Command(clang, append(slices.Clip(args), f)...).CombinedOutput()
						assert.NoError(t, err, "%s: %.2000s", f, text)
					}
				})
			}
			for _, f := range c.files {
				next <- f
			}
			close(next)
			compilers.Wait()
		})
	}
}
