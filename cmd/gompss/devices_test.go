package main

import (
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gompss/gompss/devices"
	"github.com/gompss/gompss/internal/machine"
)

// rowsOfOptions are the rows of the table of docs/reference/devices.md: kind, option, example.
var rowsOfOptions = regexp.MustCompile("(?m)^\\| `(\\w+)` \\| `(\\w+)` \\| `([^`]+)` \\| (\\S[^|]*) \\| \\S")

// The table of options has those that are parsed, no others, and its examples are taken.
func TestOptionsOfDevicesAreDocumented(t *testing.T) {
	text, err := os.ReadFile("../../docs/reference/devices.md")
	require.NoError(t, err)
	documented, examples := map[string][]string{}, map[string]string{}
	var others []string // further values of an option, one in each specification
	for _, row := range rowsOfOptions.FindAllStringSubmatch(string(text), -1) {
		documented[row[1]] = append(documented[row[1]], row[2])
		examples[row[1]] += row[2] + "=" + row[3] + ","
		if word := strings.Trim(row[4], "`"); word != row[4] && !strings.Contains(word, "`") { // a value, not a description
			others = append(others, row[1]+"("+row[2]+"="+word+",nothing=1)")
		}
	}
	kinds := devices.Kinds()
	for _, spec := range others {
		if kind, _, _ := strings.Cut(spec, "("); slices.Contains(kinds, devices.Kind(kind)) {
			_, err := machine.Open(spec, machine.Options{})
			require.ErrorContains(t, err, `unknown parameter "nothing"`, spec)
		}
	}
	require.Subset(t, kinds, []devices.Kind{"smp", "sim"})
	for _, kind := range kinds {
		_, err := machine.Open(string(kind)+"("+examples[string(kind)]+"nothing=1)", machine.Options{})
		require.ErrorContains(t, err, `unknown parameter "nothing": known are `, kind)
		_, known, _ := strings.Cut(err.Error(), "known are ")
		slices.Sort(documented[string(kind)])
		require.Equal(t, known, strings.Join(documented[string(kind)], ", "), kind)
	}
}
