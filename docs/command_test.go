package docs_test

import (
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

var (
	goTest   = regexp.MustCompile("(?m)(?:^|[ `(])go test( [^`#\\n]*)")
	word     = regexp.MustCompile(`'[^']*'|\S+`)
	function = regexp.MustCompile(`(?m)^func ((?:Test|Benchmark|Fuzz)\w+)\(`)
	script   = regexp.MustCompile(`\.ci/\w+(?:\.\w+)?`)
)

// functionsOf returns the tests, benchmarks and fuzz tests below a package pattern of the root.
func functionsOf(t *testing.T, pattern string) []string {
	dir := filepath.Join("..", strings.TrimSuffix(pattern, "/..."))
	deep := strings.HasSuffix(pattern, "/...")
	var list []string
	for _, path := range files(t, ".go") {
		in := filepath.Dir(path) == dir || deep && strings.HasPrefix(path, dir+string(filepath.Separator))
		if in && strings.HasSuffix(path, "_test.go") {
			for _, m := range function.FindAllStringSubmatch(read(t, path), -1) {
				list = append(list, m[1])
			}
		}
	}
	return list
}

// Every go test command of a document names packages that have tests, and patterns that match some of them.
func TestDocuments_TestCommandsMatch(t *testing.T) {
	known := map[string][]string{}
	commands := 0
	for _, page := range files(t, ".md") {
		for _, m := range goTest.FindAllStringSubmatch(read(t, page), -1) {
			patterns := map[string]string{} // by flag
			var functions []string
			words := word.FindAllString(m[1], -1)
			for i, w := range words {
				switch {
				case i+1 < len(words) && (w == "-run" || w == "-bench" || w == "-fuzz"):
					patterns[w] = strings.Trim(words[i+1], "'")
				case strings.HasPrefix(w, "./"):
					deep := strings.Contains(w, "/...")
					if w = strings.TrimRight(w, ",.;)/"); deep {
						w += "/..."
					}
					if known[w] == nil {
						known[w] = functionsOf(t, w)
					}
					require.NotEmpty(t, known[w], "%s: go test%s: no tests in %s", page, m[1], w)
					functions = append(functions, known[w]...)
				}
			}
			for flag, kind := range map[string]string{"-run": "Test", "-bench": "Benchmark", "-fuzz": "Fuzz"} {
				pattern, given := patterns[flag]
				if !given || pattern == "^$" || pattern == "-" || pattern == "." || functions == nil {
					continue
				}
				for _, part := range strings.Split(strings.ReplaceAll(pattern, `\|`, "|"), "|") {
					first, _, _ := strings.Cut(part, "/")
					re, err := regexp.Compile(strings.Trim(first, "()"))
					require.NoError(t, err, page)
					matches := 0
					for _, name := range functions {
						if strings.HasPrefix(name, kind) && re.MatchString(name) {
							matches++
						}
					}
					require.NotZero(t, matches, "%s: go test%s: %s matches no %s", page, m[1], part, kind)
				}
				commands++
			}
		}
		for _, name := range script.FindAllString(read(t, page), -1) {
			require.FileExists(t, filepath.Join("..", name), page)
		}
	}
	require.Greater(t, commands, 30)
}
