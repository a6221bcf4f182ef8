// Package guide_test builds and runs the programs of the guide.
package guide_test

import (
	"context"
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

var update = flag.Bool("update", false, "write what the programs print into the pages")

// A program is the consecutive blocks of a page that name a file, as "```go main.go" does. A block
// "```text" behind them is what gompss gen says, if it warns or refuses, and what the program prints.
type program struct {
	page   string
	line   int
	files  map[string]string
	prints string
	dir    string
}

var block = regexp.MustCompile("(?ms)^```(go \\w+\\.go|text)\n(.*?)^```$")

var address = regexp.MustCompile("0x[0-9a-f]{6,}")

func programsOf(page, text string) []program {
	var list []program
	open := false
	for _, at := range block.FindAllStringSubmatchIndex(text, -1) {
		info, body := text[at[2]:at[3]], text[at[4]:at[5]]
		name, isFile := strings.CutPrefix(info, "go ")
		if !isFile {
			if open {
				list[len(list)-1].prints = body
			}
			open = false
			continue
		}
		if !open || list[len(list)-1].files[name] != "" {
			line := 1 + strings.Count(text[:at[0]], "\n")
			list = append(list, program{page: page, line: line, files: map[string]string{}})
		}
		list[len(list)-1].files[name] = body
		open = true
	}
	return list
}

// module makes a module in dir that uses this one from its source.
func module(t *testing.T, dir, root string) {
	t.Helper()
	mod, err := os.ReadFile(filepath.Join(root, "go.mod"))
	require.NoError(t, err)
	text := strings.Replace(string(mod), "module github.com/gompss/gompss", "module guide", 1)
	text += "\nrequire github.com/gompss/gompss v0.0.0\n\nreplace github.com/gompss/gompss => " + root + "\n"
	sum, err := os.ReadFile(filepath.Join(root, "go.sum"))
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(filepath.Join(dir, "go.mod"), []byte(text), 0o644))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "go.sum"), sum, 0o644))
}

func command(t *testing.T, dir, name string, args ...string) (string, error) {
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	c := exec.CommandContext(ctx, name, args...)
	c.Dir = dir
	c.Env = append(os.Environ(), "GOFLAGS=-mod=mod", "GOPROXY=off", "GOMPSS_DEVICES=", "GOMPSS_TRACE=", "GOMPSS_CHECK=")
	out, err := c.CombinedOutput()
	return string(out), err
}

// The programs of the guide compile, and print what the guide says.
func TestGuide_ProgramsPrintWhatThePagesSay(t *testing.T) {
	if testing.Short() {
		t.Skip("builds some twenty programs")
	}
	root, err := filepath.Abs("../..")
	require.NoError(t, err)
	pages, err := filepath.Glob("*.md")
	require.NoError(t, err)
	dir := t.TempDir()
	module(t, dir, root)
	var programs []program
	for _, page := range pages {
		text, err := os.ReadFile(page)
		require.NoError(t, err)
		programs = append(programs, programsOf(page, string(text))...)
	}
	require.Greater(t, len(programs), 10)
	gompss := filepath.Join(dir, "gompss")
	out, err := command(t, root, "go", "build", "-o", gompss, "./cmd/gompss")
	require.NoError(t, err, out)
	refused, warned := map[int]string{}, map[int]string{}
	for i := range programs {
		p := &programs[i]
		p.dir = filepath.Join(dir, "p"+strconv.Itoa(i))
		require.NoError(t, os.Mkdir(p.dir, 0o755))
		for name, text := range p.files {
			require.NoError(t, os.WriteFile(filepath.Join(p.dir, name), []byte(text), 0o644))
		}
		if p.files["kernels.go"] == "" {
			continue
		}
		out, err := command(t, p.dir, gompss, "gen", "kernels.go")
		if err != nil {
			refused[i] = out
			require.NoError(t, os.RemoveAll(p.dir))
			continue
		}
		warned[i] = strings.Replace(out, "zkernels_gompss.go\n", "", 1)
	}
	out, err = command(t, dir, "go", "vet", "./...")
	require.NoError(t, err, out)
	bin := filepath.Join(dir, "bin") + string(filepath.Separator)
	out, err = command(t, dir, "go", "build", "-o", bin, "./...")
	require.NoError(t, err, out)
	for i, p := range programs {
		printed, isRefused := refused[i]
		if !isRefused {
			printed, _ = command(t, p.dir, bin+filepath.Base(p.dir)) // a wrong program may exit with 1
			printed = warned[i] + address.ReplaceAllString(printed, "0x...")
		}
		if *update {
			text, err := os.ReadFile(p.page)
			require.NoError(t, err)
			require.NotEmpty(t, p.prints, "%s:%d has no text block", p.page, p.line)
			changed := strings.Replace(string(text), "```text\n"+p.prints+"```", "```text\n"+printed+"```", 1)
			require.NoError(t, os.WriteFile(p.page, []byte(changed), 0o644))
			continue
		}
		require.Equal(t, p.prints, printed, "%s:%d", p.page, p.line)
	}
}
