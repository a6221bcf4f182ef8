//go:build linux && (amd64 || arm64)

package opencl

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gompss/gompss/codegen/opencl"
	"github.com/gompss/gompss/devices"
)

func TestOptions_RefuseWhatIsWrong(t *testing.T) {
	for text, o := range map[string]Options{
		"granule of 3 bytes":      {Granule: 3},
		"less than one granule":   {Memory: 1},
		"a negative limit":        {TimeLimit: -1},
		`teams "many"`:            {Teams: "many"},
		`type "tpu"`:              {Type: "tpu"},
		"7 devices wanted: 0 of ": {Platform: "no such platform"},
	} {
		_, err := Open(7, devices.SpaceID{Device: 1}, o)
		if _, absent := theDriver(); absent != nil && strings.Contains(text, "wanted") {
			continue
		}
		require.ErrorContains(t, err, text)
	}
}

func TestOptions_PlatformAndType(t *testing.T) {
	pocl := Info{Platform: "Portable Computing Language", Version: "OpenCL 3.0 PoCL HSTR", Type: "cpu"}
	gpu := Info{Platform: "AMD Accelerated Parallel Processing", Version: "OpenCL 2.1", Type: "gpu"}
	require.True(t, (&Options{Platform: "pocl"}).Wants(pocl))
	require.False(t, (&Options{Platform: "pocl"}).Wants(gpu))
	require.True(t, (&Options{Platform: "amd", Type: "gpu"}).Wants(gpu))
	require.False(t, (&Options{Type: "gpu"}).Wants(pocl))
}

// The form of kernels is the best that the device has, or what the option says.
func TestOptions_Teams(t *testing.T) {
	with, without := Info{Type: "gpu"}, Info{Type: "gpu"}
	with.Subgroups = opencl.IntelSubgroups
	for _, c := range []struct {
		info  Info
		teams string
		want  devices.TeamForm
	}{
		{with, "", devices.SubgroupTeams}, {without, "", devices.WholeTeams}, {without, "subgroups", devices.WholeTeams},
		{with, "whole", devices.WholeTeams}, {with, "any", devices.AnyTeams}, {Info{Type: "cpu"}, "", devices.AnyTeams},
	} {
		require.Equal(t, c.want, (&Options{Teams: c.teams}).TeamForm(&c.info), "%v %q", c.info.Subgroups, c.teams)
	}
}

// What a compiler says of a printed kernel names the line of the Go source.
func TestCompileError_NamesTheGoLine(t *testing.T) {
	d := openAny(t, Options{})
	k := portableKernel(t, featureKernels, "Norm")
	text := textOf(t, d, k)
	broken := strings.Replace(text, "x[i] * x[i]", "x[i] * undeclared", 1)
	require.NotEqual(t, text, broken)
	v := &version{}
	err := d.compile("Norm", v, broken, d.info.options(false), nil)
	require.NoError(t, v.release(d))
	var refused *CompileError
	require.ErrorAs(t, err, &refused)
	require.Contains(t, refused.Log, "undeclared")
	require.Contains(t, refused.Log, "k.go:9")
}

// A log that counts the lines of the text, as NVIDIA's does, names those of the Go source too.
func TestAtGoLines(t *testing.T) {
	text := "kernel void k()\n{\n#line 7 \"k.go\"\n\ta;\n\tb;\n#line 12 \"k.go\"\n\tc;\n}\n"
	log := "<kernel>:1:8: note\n<kernel>:4:2: error: a\n<kernel>:5:2: error: b\n<kernel>:7:2: error: c\n"
	require.Equal(t, "<kernel>:1:8: note\nk.go:7:2: error: a\nk.go:8:2: error: b\nk.go:12:2: error: c\n", atGoLines(log, text))
}

func TestLibrary_ErrorNamesTheVariable(t *testing.T) {
	_, err := openDriver("libNoSuchOpenCL.so")
	var missing *LibraryError
	require.ErrorAs(t, err, &missing)
	require.ErrorContains(t, err, "opencl: libNoSuchOpenCL.so: ")
	require.ErrorContains(t, err, "(set GOMPSS_OPENCL_LIB to name the file)")
}

// GOMPSS_OPENCL_LIB names the loader, by any name, and nothing else is tried then. Each case is a
// process: the loader is opened once.
func TestLibrary_Named(t *testing.T) {
	const child = "GOMPSS_TEST_LIBRARY"
	if os.Getenv(child) != "" {
		d, err := theDriver()
		if err != nil {
			fmt.Printf("library: %v\n", err)
			return
		}
		all, err := d.devices()
		fmt.Printf("library: %s has %t, %v\n", d.path, len(all) > 0, err)
		return
	}
	if _, err := theDriver(); err != nil {
		t.Skipf("no OpenCL: %v", err)
	}
	loaded, err := os.ReadFile("/proc/self/maps")
	require.NoError(t, err)
	loader := regexp.MustCompile(`/\S*libOpenCL\.so\S*`).FindString(string(loaded))
	require.NotEmpty(t, loader)
	named := filepath.Join(t.TempDir(), "another-name.so")
	require.NoError(t, os.Symlink(loader, named))
	missing := filepath.Join(t.TempDir(), "missing.so")
	for library, want := range map[string]string{
		named:   "library: " + named + " has true, <nil>\n",
		missing: "library: opencl: " + missing + ": ",
	} {
		c := exec.Command(os.Args[0], "-test.run", "^TestLibrary_Named$")
		c.Env = append(os.Environ(), child+"=1", libraryEnv+"="+library)
		said, err := c.CombinedOutput()
		require.NoError(t, err, "%s", said)
		require.Contains(t, string(said), want)
	}
}
