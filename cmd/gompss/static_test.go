package main

import (
	"debug/elf"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// A program without plug-ins that open libraries needs no dynamic linker, so that it starts in an
// empty image.
func TestStatic_WithoutPluginsNoDynamicLinker(t *testing.T) {
	if testing.Short() {
		t.Skip("builds a program")
	}
	dir := t.TempDir()
	source := "package main\n\nimport (\n\t_ \"github.com/gompss/gompss/devices/sim\"\n\t\"github.com/gompss/gompss/task\"\n)\n\n" +
		"func main() {\n\trt, err := task.New(task.Options{Devices: \"smp:1\"})\n\tif err != nil {\n\t\tpanic(err)\n\t}\n\trt.Close()\n}\n"
	require.NoError(t, os.WriteFile(filepath.Join(dir, "main.go"), []byte(source), 0o644))
	program := filepath.Join(dir, "program")
	build := exec.Command("go", "build", "-o", program, filepath.Join(dir, "main.go"))
	build.Env = append(os.Environ(), "CGO_ENABLED=0", "GOOS=linux", "GOARCH=amd64")
	out, err := build.CombinedOutput()
	require.NoError(t, err, string(out))
	f, err := elf.Open(program)
	require.NoError(t, err)
	defer f.Close()
	require.Nil(t, f.Section(".interp"))
}
