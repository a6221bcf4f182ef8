package gompss_test

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

var (
	trustRow   = regexp.MustCompile(`(?m)^\| (\w+) \| .* \| (.+) \|$`)
	trustGroup = regexp.MustCompile("^([a-z0-9/]+): ((?:`|\\w).*)$")
	trustName  = regexp.MustCompile("`(Test[A-Za-z0-9_]+)(\\*?)`")
	trustFile  = regexp.MustCompile(`\b\w+\.txtar\b`)
)

// Every row of docs/trust.md names tests of packages where they are, and no item of the trial lacks its row.
func TestTrust_EveryTestExists(t *testing.T) {
	page, err := os.ReadFile("docs/trust.md")
	require.NoError(t, err)
	rows := map[string]string{}
	for _, m := range trustRow.FindAllStringSubmatch(string(page), -1) {
		require.NotContains(t, rows, m[1], "two rows of item %s", m[1])
		rows[m[1]] = m[2]
	}
	items := strings.Split("abcdefgh", "")
	for i := 1; i <= 27; i++ {
		items = append(items, fmt.Sprint(i))
	}
	for _, item := range items {
		require.Contains(t, rows, item, "item %s has no row", item)
		require.Empty(t, trustProblems(t, rows[item]), "item %s", item)
	}
}

// A name that no package has, a package that does not have it, and a row without tests are problems.
func TestTrust_ProblemsAreSeen(t *testing.T) {
	for _, row := range []string{
		"codegen: `TestNothingOfThisName`", "deps: `TestShortCircuit_MakesNoAccess`", "deps: `TestNone_*`",
		"cmd/gompss: `TestScripts` (none.txtar)", "no test", "nowhere: `TestScripts`",
	} {
		require.NotEmpty(t, trustProblems(t, row), row)
	}
	require.Empty(t, trustProblems(t, "codegen: `TestShortCircuit_MakesNoAccess`, `TestSize_*`"))
}

// trustProblems returns what a cell of tests has that is not in the packages it names.
func trustProblems(t *testing.T, cell string) (out []string) {
	t.Helper()
	seen := 0
	for _, group := range strings.Split(cell, "; ") {
		m := trustGroup.FindStringSubmatch(group)
		if m == nil {
			continue
		}
		files, err := filepath.Glob(filepath.Join(m[1], "*_test.go"))
		require.NoError(t, err)
		var source strings.Builder
		for _, file := range files {
			text, err := os.ReadFile(file)
			require.NoError(t, err)
			source.Write(text)
		}
		for _, name := range trustName.FindAllStringSubmatch(m[2], -1) {
			seen++
			declared := "func " + name[1]
			if name[2] == "" {
				declared += "("
			}
			if !strings.Contains(source.String(), declared) {
				out = append(out, fmt.Sprintf("%s has no %s%s", m[1], name[1], name[2]))
			}
		}
		for _, file := range trustFile.FindAllString(m[2], -1) {
			if _, err := os.Stat(filepath.Join(m[1], "testdata", file)); err != nil {
				out = append(out, err.Error())
			}
		}
	}
	if seen == 0 {
		out = append(out, "no test is named")
	}
	return out
}
