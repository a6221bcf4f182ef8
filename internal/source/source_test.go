package source

import (
	"errors"
	"go/build"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gompss/gompss/codegen"
)

// write makes a folder of files, by path and text.
func write(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		path := filepath.Join(dir, filepath.FromSlash(name))
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
		require.NoError(t, os.WriteFile(path, []byte(text), 0o644))
	}
	return dir
}

func names(files []codegen.File) (out []string) {
	for _, f := range files {
		out = append(out, f.Name)
	}
	return out
}

func TestGoTags_TheLastFlagCounts(t *testing.T) {
	for flags, want := range map[string]string{"": "", "-mod=vendor": "", "-tags=a,b": "a,b", "--tags=a -tags=c": "c"} {
		t.Setenv("GOFLAGS", flags)
		require.Equal(t, want, GoTags(), flags)
	}
	require.Equal(t, []string{"a", "b"}, WithTags("a, b").BuildTags)
}

func TestReadFolder_SortsFilesByTheirBuild(t *testing.T) {
	dir := write(t, map[string]string{
		"a.go":          "package p\r\n\r\nvar A = 1\r\n",
		"tagged.go":     "//go:build special\n\npackage p\n",
		"a_test.go":     "package p\n",
		"zk_gompss.go":  "package p\n",
		"notes.txt":     "package p\n",
		"broken.go":     "//go:build (\n\npackage p\n",
		"sub/inside.go": "package sub\n",
	})
	found, err := ReadFolder(WithTags(""), dir)
	require.NoError(t, err)
	require.Equal(t, []string{"a.go", "broken.go"}, names(found.Built))
	require.Equal(t, []string{"tagged.go"}, names(found.Excluded))
	require.NotContains(t, found.Built[0].Text, "\r")
	require.NoError(t, found.ErrorsOf([]string{"a.go"}))
	require.ErrorContains(t, found.ErrorsOf(nil), "broken.go: parsing")

	found, err = ReadFolder(WithTags("special"), dir)
	require.NoError(t, err)
	require.Contains(t, names(found.Built), "tagged.go")

	_, err = ReadFolder(&build.Default, filepath.Join(dir, "missing"))
	require.ErrorIs(t, err, os.ErrNotExist)
}

func TestHasKernels_NeedsADirectiveOnAFunction(t *testing.T) {
	for text, want := range map[string]bool{
		"package p\n": false,
		"package p\n\n// of //omp: a comment\nvar x int\n":     false,
		"package p\n\n//omp:target device(acc)\nfunc K() {}\n": true,
		"package p\n\n//omp:target device(acc)\nfunc K( {\n":   true, // loading it reports the error
	} {
		require.Equal(t, want, HasKernels(codegen.File{Name: "k.go", Text: text}), text)
	}
}

func TestEmbedder_ReadsEveryPattern(t *testing.T) {
	files := []codegen.File{{Name: "a.go", Text: "package p\n"}, {Name: "b.go", Text: "package p\n\n//go:embed x.go k.go\nvar s string\n"}}
	require.Equal(t, "b.go", Embedder("k.go", files))
	require.Empty(t, Embedder("other.go", files))
}

func TestModule_FolderStaysInTheModule(t *testing.T) {
	dir := write(t, map[string]string{
		"go.mod":           "// go.mod\nmodule \"example.com/m\" // a comment\n\ngo 1.25\n",
		"p/a.go":           "package p\n",
		"nested/go.mod":    "module example.com/m/nested\n",
		"nested/q/code.go": "package q\n",
	})
	m := ModuleOf(&build.Default, filepath.Join(dir, "p"))
	require.Equal(t, dir, m.Folder("example.com/m"))
	require.Equal(t, filepath.Join(dir, "p"), m.Folder("example.com/m/p"))
	require.Equal(t, []string{"a.go"}, names(m.Files("example.com/m/p")))
	for _, path := range []string{"example.com/mother", "example.com/m/nested/q", "fmt"} {
		require.Empty(t, m.Folder(path), path)
		require.Empty(t, m.Files(path), path)
	}
}

func TestInPlace_PutsTheFolderBeforePositions(t *testing.T) {
	for text, want := range map[string]string{
		"k.go:3:1: bad":           "d/k.go:3:1: bad",
		"see (a.go:1) and b.go:2": "see (d/a.go:1) and d/b.go:2",
		"e/k.go:3: has a folder":  "e/k.go:3: has a folder",
		"k.go has no line":        "k.go has no line",
	} {
		require.Equal(t, want, filepath.ToSlash(string(InPlace("d", []byte(text)))))
		require.Equal(t, text, string(InPlace(".", []byte(text))))
	}
	var b strings.Builder
	n, err := (&Placed{Dir: "d", To: &b}).Write([]byte("k.go:1\n"))
	require.NoError(t, err)
	require.Equal(t, len("k.go:1\n"), n, "the number of bytes that were given")
	require.Equal(t, "d/k.go:1\n", filepath.ToSlash(b.String()))
}

func TestInFolder_KeepsTheError(t *testing.T) {
	inner := errors.New("k.go:3: bad")
	err := InFolder("d", inner)
	require.ErrorIs(t, err, inner)
	require.Equal(t, filepath.Join("d", "k.go")+":3: bad", err.Error())
	require.NoError(t, InFolder("d", nil))
}
