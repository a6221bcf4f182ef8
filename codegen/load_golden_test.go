package codegen

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/tools/txtar"

	"github.com/gompss/gompss/codegen/ir/verify"
)

// TestErrors loads every NAME.go of the archives in testdata/errors, none of which is in the dialect, and compares what
// is said about it with NAME.want.
func TestErrors(t *testing.T) {
	golden(t, "testdata/errors/*.txtar", func(t *testing.T, name, text string) string {
		_, err := Load(File{Name: name, Text: text})
		require.Error(t, err)
		return err.Error() + "\n"
	})
}

// TestLoopIR loads every NAME.go of the archives in testdata/ir and compares the loop IR of its kernels with NAME.want.
func TestLoopIR(t *testing.T) {
	golden(t, "testdata/ir/*.txtar", func(t *testing.T, name, text string) string {
		p, err := Load(File{Name: name, Text: text})
		require.NoError(t, err)
		var b strings.Builder
		for _, w := range p.Warnings() {
			fmt.Fprintln(&b, w.Error())
		}
		for _, k := range p.Kernels() {
			for _, n := range p.Notes(k.Name) {
				fmt.Fprintln(&b, n.Error())
			}
			require.NoError(t, verify.Kernel(k))
			b.WriteString(k.String())
		}
		return b.String()
	})
}

// golden compares say(NAME.go) with NAME.want for all files of the archives.
func golden(t *testing.T, pattern string, say func(t *testing.T, name, text string) string) {
	paths, err := filepath.Glob(pattern)
	require.NoError(t, err)
	require.NotEmpty(t, paths)
	for _, path := range paths {
		archive, err := txtar.ParseFile(path)
		require.NoError(t, err)
		want := map[string]string{}
		for _, f := range archive.Files {
			want[f.Name] = string(f.Data)
		}
		var out []txtar.File
		ran := 0 // -run may leave some out
		for _, f := range archive.Files {
			name, isGo := strings.CutSuffix(f.Name, ".go")
			if !isGo {
				continue
			}
			ran--
			t.Run(filepath.Base(path)+"/"+name, func(t *testing.T) {
				ran++
				got := say(t, f.Name, string(f.Data))
				out = append(out, f, txtar.File{Name: name + ".want", Data: []byte(got)})
				if !*update {
					require.Equal(t, want[name+".want"], got)
				}
			})
		}
		if *update && ran == 0 {
			archive.Files = out
			require.NoError(t, os.WriteFile(path, txtar.Format(archive), 0o644))
		}
	}
}
