package main

import (
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
)

var update = flag.Bool("update", false, "rewrite what the scripts compare with")

func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){"gompss": main})
}

// TestScripts runs the stories in testdata. Those that build a program use the module around this
// folder.
func TestScripts(t *testing.T) {
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	testscript.Run(t, testscript.Params{
		Dir:           "testdata",
		UpdateScripts: *update,
		Setup: func(e *testscript.Env) error {
			e.Setenv("MODULE", root)
			e.Setenv("GOFLAGS", "-mod=mod")
			e.Setenv("GOPROXY", "off")
			for _, name := range []string{"GOCACHE", "GOMODCACHE", "HOME"} {
				e.Setenv(name, goEnv(name))
			}
			if libraries := os.Getenv("QEMU_LD_PREFIX"); libraries != "" { // of another processor, which qemu-user emulates
				e.Setenv("QEMU_LD_PREFIX", libraries)
			}
			return nil
		},
		Condition: func(cond string) (bool, error) {
			switch cond {
			case "long":
				return !testing.Short(), nil
			case "libraries":
				return compilesLibraries(), nil
			}
			return false, fmt.Errorf("no condition %q", cond)
		},
	})
}

// compilesLibraries reports whether there is a g++ that compiles libraries for the processor of this
// process, which may be another one than that of the system (qemu-user).
func compilesLibraries() bool {
	out, err := exec.Command("g++", "-dumpmachine").Output()
	processor := map[string]string{"amd64": "x86_64", "arm64": "aarch64"}[runtime.GOARCH]
	return err == nil && processor != "" && strings.HasPrefix(string(out), processor+"-")
}

// goEnv returns a variable of the go command, or of the process.
func goEnv(name string) string {
	if v := os.Getenv(name); v != "" {
		return v
	}
	home, _ := os.UserHomeDir()
	return map[string]string{"GOCACHE": filepath.Join(home, ".cache", "go-build"),
		"GOMODCACHE": filepath.Join(home, "go", "pkg", "mod"), "HOME": home}[strings.ToUpper(name)]
}
