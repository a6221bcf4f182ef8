//go:build linux

package main

import (
	"debug/elf"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
)

// The plug-ins that open libraries, and what imports one: programs with them need the dynamic
// linker of glibc. SUPPORT.md names them.
var dynamic = []string{"devices/cuda", "devices/opencl", "devices/all", "dist"}

// buildStatic builds a program in Go without cgo and returns the path of the file.
func buildStatic(t *testing.T, source string) string {
	t.Helper()
	if testing.Short() {
		t.Skip("builds a program")
	}
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "main.go"), []byte(source), 0o644))
	program := filepath.Join(dir, "program")
	build := exec.Command("go", "build", "-o", program, filepath.Join(dir, "main.go"))
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	out, err := build.CombinedOutput()
	require.NoError(t, err, string(out))
	return program
}

// segments returns the kinds of the segments of a program.
func segments(t *testing.T, program string) (out []elf.ProgType) {
	f, err := elf.Open(program)
	require.NoError(t, err)
	defer f.Close()
	for _, p := range f.Progs {
		out = append(out, p.Type)
	}
	return out
}

// Programs need the dynamic linker where they import a plug-in that opens libraries, and nowhere
// else.
func TestStatic_OnlyPluginsWithLibrariesNeedALinker(t *testing.T) {
	program := func(paths ...string) []elf.ProgType {
		source := "package main\n\n"
		for _, path := range paths {
			source += fmt.Sprintf("import _ \"github.com/gompss/gompss/%s\"\n", path)
		}
		return segments(t, buildStatic(t, source+"\nfunc main() {}\n"))
	}
	kinds := program("task", "lib", "codegen", "codegen/kernel", "devices/smp", "devices/sim", "sched", "trace", "trace/session", "trace/otel")
	require.NotContains(t, kinds, elf.PT_INTERP)
	require.NotContains(t, kinds, elf.PT_DYNAMIC)
	text, err := os.ReadFile("../../SUPPORT.md")
	require.NoError(t, err)
	for _, path := range dynamic {
		require.Contains(t, program(path), elf.PT_INTERP, path)
		require.Contains(t, string(text), path)
	}
}

// A program runs in a root that holds its file and nothing else, as in an empty image: without
// /proc, /sys, /dev and a folder for caches.
func TestStatic_RunsInAnEmptyImage(t *testing.T) {
	program := buildStatic(t, `package main

import (
	"context"
	"fmt"

	_ "github.com/gompss/gompss/devices/sim"
	"github.com/gompss/gompss/lib"
	"github.com/gompss/gompss/task"
)

func main() {
	for _, devices := range []string{"auto", "smp:2,sim:1", "smp:1"} {
		rt, err := task.New(task.Options{Devices: devices})
		if err != nil {
			panic(err)
		}
		x, sum := make([]float64, 1000), 0.0
		c := task.Collect(rt)
		c.Go(func() error {
			for i := range x {
				x[i] = float64(i)
			}
			return nil
		}, task.Out(x))
		lib.SubmitSum(c, x, &sum)
		if err := c.Wait(context.Background()); err != nil {
			panic(err)
		}
		fmt.Println(sum)
		if err := rt.Close(); err != nil {
			panic(err)
		}
	}
}
`)
	if os.Geteuid() != 0 {
		t.Skip("only root may change the root")
	}
	run := exec.Command("/program")
	run.Dir, run.Env, run.SysProcAttr = "/", []string{"GOMPSS_TRACE=summary"}, &syscall.SysProcAttr{Chroot: filepath.Dir(program)}
	require.NoError(t, os.Remove(filepath.Join(filepath.Dir(program), "main.go")))
	out, err := run.CombinedOutput()
	require.NoError(t, err, string(out))
	require.Equal(t, 3, strings.Count(string(out), "499500\n"), "%s", out)
	require.Equal(t, 3, strings.Count(string(out), "verdict"), "%s", out)
	left, err := os.ReadDir(filepath.Dir(program))
	require.NoError(t, err)
	require.Len(t, left, 1, "it leaves no files")
}
