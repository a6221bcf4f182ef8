package codegen

import (
	"go/scanner"
	"go/token"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/tools/txtar"

	"github.com/gompss/gompss/codegen/ir/verify"
)

// mutations is how many damaged sources TestLoadSurvivesMutations loads.
const mutations = 20000

var emptyLines = regexp.MustCompile(`\n[ \n]*\n`)

// TestLoadSurvivesMutations replaces, drops and repeats tokens of kernels, which gives sources that are nearly right:
// they parse far more often than what FuzzLoad makes, and reach the builder with types that do not fit.
func TestLoadSurvivesMutations(t *testing.T) {
	rng := rand.New(rand.NewPCG(11, 13))
	sources, pool := mutationSources(t)
	loaded := 0
	for range mutations {
		tokens := append([]string(nil), sources[rng.IntN(len(sources))]...)
		for range 1 + rng.IntN(3) {
			i := rng.IntN(len(tokens))
			switch rng.IntN(4) {
			case 0:
				tokens[i] = ""
			case 1:
				tokens[i] += " " + tokens[i]
			case 2:
				tokens[i] = pool[rng.IntN(len(pool))]
			case 3:
				tokens[i] = tokens[rng.IntN(len(tokens))]
			}
		}
		text := emptyLines.ReplaceAllString(strings.Join(tokens, " "), "\n") // they would part comments from code
		if survives(t, text) {
			loaded++
		}
	}
	require.Greater(t, loaded, mutations/300, "hardly any mutation is a kernel: the test tests nothing")
}

// survives loads text and reports whether it is in the dialect.
func survives(t *testing.T, text string) bool {
	defer func() {
		if r := recover(); r != nil {
			t.Errorf("panic %v for\n%s", r, text)
			panic(r)
		}
	}()
	p, err := Load(File{Name: "m.go", Text: text})
	if err != nil {
		require.NotContains(t, err.Error(), " ?", text) // what stands for code that could not be built is not the author's
		return false
	}
	for _, k := range p.Kernels() {
		require.NoError(t, verify.Kernel(k), text)
	}
	return len(p.Kernels()) > 0
}

// mutationSources returns the kernels of the golden files one by one as tokens, and all tokens that occur.
func mutationSources(t *testing.T) (sources [][]string, pool []string) {
	paths, err := filepath.Glob("testdata/*/*.txtar")
	require.NoError(t, err)
	var texts []string
	for _, path := range paths {
		archive, err := txtar.ParseFile(path)
		require.NoError(t, err)
		for _, file := range archive.Files {
			if strings.HasSuffix(file.Name, ".go") && len(file.Data) < 2000 {
				texts = append(texts, string(file.Data))
			}
		}
	}
	corpus, err := os.ReadFile("corpus_test.go")
	require.NoError(t, err)
	for _, part := range strings.Split(string(corpus), "\n//omp:target")[1:] {
		texts = append(texts, "package p\n\nimport (\"math\"; \"github.com/gompss/gompss/codegen/kernel\")\n\n//omp:target"+part)
	}
	for _, text := range texts {
		list := tokensOf(text)
		sources, pool = append(sources, list), append(pool, list...)
	}
	return sources, pool
}

// tokensOf cuts text into tokens; comments, which may be directives, keep their line ends.
func tokensOf(text string) []string {
	fset := token.NewFileSet()
	var s scanner.Scanner
	s.Init(fset.AddFile("", fset.Base(), len(text)), []byte(text), nil, scanner.ScanComments)
	var out []string
	for {
		_, tok, lit := s.Scan()
		switch {
		case tok == token.EOF:
			return out
		case tok == token.SEMICOLON && lit == "\n":
			out = append(out, "\n")
		case tok == token.COMMENT:
			out = append(out, "\n"+lit+"\n")
		case lit != "":
			out = append(out, lit)
		default:
			out = append(out, tok.String())
		}
	}
}
