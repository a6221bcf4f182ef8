// Package docs_test holds the documents to the tree.
package docs_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gompss/gompss/internal/environment"
)

// files returns the files of the tree with this ending, but for folders that are not part of it.
func files(t *testing.T, endings ...string) []string {
	t.Helper()
	var list []string
	require.NoError(t, filepath.WalkDir("..", func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && path != ".." && (strings.HasPrefix(d.Name(), ".") || d.Name() == "node_modules") {
			return fs.SkipDir
		}
		if !d.IsDir() && slices.Contains(endings, filepath.Ext(path)) {
			list = append(list, path)
		}
		return nil
	}))
	require.NotEmpty(t, list)
	return list
}

func read(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(name)
	require.NoError(t, err)
	return string(text)
}

var testFile = regexp.MustCompile(`\b[a-z0-9_]+_test\.go\b`)

var testName = regexp.MustCompile("`((?:Test|Fuzz|Benchmark)[A-Z][A-Za-z0-9_]*)(\\*?)`")

// Every test, and every file of tests, that a document names exists; a star stands for the rest of a name.
func TestDocuments_NamedTestsExist(t *testing.T) {
	var source strings.Builder
	testFiles := map[string]bool{}
	for _, path := range files(t, ".go") {
		if strings.HasSuffix(path, "_test.go") {
			testFiles[filepath.Base(path)] = true
			source.WriteString(read(t, path))
		}
	}
	named := 0
	for _, path := range files(t, ".md") {
		for _, name := range testFile.FindAllString(read(t, path), -1) {
			if !testFiles[name] {
				t.Errorf("%s names %s, which is no file", path, name)
			}
		}
		for _, m := range testName.FindAllStringSubmatch(read(t, path), -1) {
			want := "func " + m[1]
			if m[2] == "" {
				want += "("
			}
			named++
			if !strings.Contains(source.String(), want) {
				t.Errorf("%s names %s, which no test file has", path, m[1])
			}
		}
	}
	require.Greater(t, named, 100)
}

var variable = regexp.MustCompile(`\bGOMPSS_[A-Z][A-Z0-9_]*[A-Z0-9]\b`)

// reference/environment.md has every variable that the tree names, and no other.
func TestDocuments_EnvironmentIsComplete(t *testing.T) {
	inTree := map[string]bool{}
	for _, path := range files(t, ".go", ".cc", ".ts", ".tsx") {
		for _, name := range variable.FindAllString(read(t, path), -1) {
			inTree[name] = true
		}
	}
	page := map[string]bool{}
	for _, name := range variable.FindAllString(read(t, "reference/environment.md"), -1) {
		page[name] = true
	}
	require.Equal(t, inTree, page)
	for name := range page {
		require.True(t, environment.IsKnown(name), "%s is not in internal/environment: programs warn of it", name)
	}
}

var link = regexp.MustCompile(`\]\(([^)#\s]+)[^)]*\)|(?:src|srcset)="([^"]+)"`)

var fenced = regexp.MustCompile("(?ms)^```.*?^```$")

// Every link of a document to a file of the tree has its file.
func TestDocuments_LinksResolve(t *testing.T) {
	for _, path := range files(t, ".md") {
		for _, m := range link.FindAllStringSubmatch(fenced.ReplaceAllString(read(t, path), ""), -1) {
			if target := m[1] + m[2]; !strings.Contains(target, "://") {
				_, err := os.Stat(filepath.Join(filepath.Dir(path), target))
				if err != nil {
					t.Errorf("%s: %v", path, err)
				}
			}
		}
	}
}

// Decisions stay short: at most 30 pages of 15 lines with four paragraphs of at most 60 words.
func TestDocuments_DecisionsAreShort(t *testing.T) {
	pages, err := filepath.Glob("decisions/[0-9]*.md")
	require.NoError(t, err)
	require.NotEmpty(t, pages)
	require.LessOrEqual(t, len(pages), 30)
	index := read(t, "decisions/README.md")
	for _, page := range pages {
		require.Contains(t, index, "("+filepath.Base(page)+")")
		text := read(t, page)
		require.LessOrEqual(t, strings.Count(text, "\n"), 15, page)
		paragraphs := strings.Split(text, "\n- **")[1:]
		for i, start := range []string{"Context.", "Decision.", "Consequences.", "What would change it"} {
			require.Len(t, paragraphs, 4, page)
			require.True(t, strings.HasPrefix(paragraphs[i], start), "%s: %s", page, start)
			require.LessOrEqual(t, len(strings.Fields(paragraphs[i])), 60, "%s: %s", page, start)
		}
	}
}

func TestDocuments_ReadmeIsShort(t *testing.T) {
	require.LessOrEqual(t, strings.Count(read(t, "../README.md"), "\n"), 120)
}

var commit = regexp.MustCompile(`(?:^|[^.\w])([0-9a-f]{7,12})\b`)

// Documents cite no commits: a reader of the text has no use for them.
func TestDocuments_CiteNoCommits(t *testing.T) {
	for _, path := range files(t, ".md") {
		for _, m := range commit.FindAllStringSubmatch(read(t, path), -1) {
			word := m[1]
			if strings.ContainsAny(word, "abcdef") && strings.ContainsAny(word, "0123456789") {
				t.Errorf("%s cites %s", path, word)
			}
		}
	}
}

var mapped = regexp.MustCompile(`(?m)^      ([a-z]{2,}(?:/[a-z]+)*)  +\S`)

// The map of DESIGN.md names no package that is gone.
func TestDocuments_MapNamesPackages(t *testing.T) {
	found := mapped.FindAllStringSubmatch(read(t, "../DESIGN.md"), -1)
	require.Greater(t, len(found), 20)
	for _, m := range found {
		require.DirExists(t, filepath.Join("..", m[1]))
	}
}
