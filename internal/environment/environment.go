// Package environment knows the environment variables of this module, so that a misspelt one is not
// silently without effect.
package environment

import (
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"sync"
)

const prefix = "GOMPSS_"

// tests is what the names of variables that tests set for the processes that they start begin with.
const tests = "GOMPSS_TEST_"

// Known are the variables of docs/reference/environment.md, but for those of tests.
var Known = []string{
	"GOMPSS_CHECK", "GOMPSS_CUDA_LIB", "GOMPSS_DASH", "GOMPSS_DEVICES", "GOMPSS_ERRORS", "GOMPSS_JOIN", "GOMPSS_LINEINFO", "GOMPSS_MPI_GPU", "GOMPSS_MPI_LIB", "GOMPSS_NVRTC_LIB", "GOMPSS_OPENCL_LIB", "GOMPSS_PRINT", "GOMPSS_RANK", "GOMPSS_RANKS", "GOMPSS_SIZES", "GOMPSS_TRACE", "GOMPSS_TUNE", "GOMPSS_VECTOR",
	// Of tests and benchmarks.
	"GOMPSS_CHROMIUM", "GOMPSS_FASTER", "GOMPSS_NESTS", "GOMPSS_NVRTC", "GOMPSS_ODD", "GOMPSS_ODD_SHARE", "GOMPSS_OPENCL_PLATFORM", "GOMPSS_PARAMEDIR", "GOMPSS_PICTURES", "GOMPSS_RANDOM_FLOWS", "GOMPSS_RANDOM_LOOPS",
	"GOMPSS_RANDOM_MEMORY", "GOMPSS_RANDOM_NESTS", "GOMPSS_RANDOM_OVERLAPS", "GOMPSS_RANDOM_SEED", "GOMPSS_RANDOM_SPANS", "GOMPSS_SHOTS", "GOMPSS_SOAK", "GOMPSS_WATCH",
}

// IsKnown reports whether this module reads a variable.
func IsKnown(name string) bool {
	return slices.Contains(Known, name) || strings.HasPrefix(name, tests)
}

// Unknown returns a sentence for each variable of environ ("NAME=value") that begins like those of
// this module and is none.
func Unknown(environ []string) (out []string) {
	for _, entry := range environ {
		name, _, _ := strings.Cut(entry, "=")
		if !strings.HasPrefix(name, prefix) || IsKnown(name) {
			continue
		}
		text := name + ": unknown variable, which has no effect"
		if near := nearest(name); near != "" {
			text += fmt.Sprintf(" (%s is one)", near)
		}
		out = append(out, text)
	}
	slices.Sort(out)
	return out
}

var once sync.Once

// Warn writes the unknown variables of this process to w, once.
func Warn(w io.Writer) {
	once.Do(func() {
		for _, text := range Unknown(os.Environ()) {
			fmt.Fprintln(w, "gompss: "+text)
		}
	})
}

// nearest returns the known name that a misspelt one may mean, "" where none is close.
func nearest(name string) (best string) {
	least := 4
	for _, k := range Known {
		if d := distance(name, k); d < least {
			best, least = k, d
		}
	}
	return best
}

// distance is the Levenshtein distance of two texts.
func distance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		above := row[0]
		row[0] = i + 1
		for j := range len(b) {
			cost := above
			if a[i] != b[j] {
				cost++
			}
			above, row[j+1] = row[j+1], min(cost, row[j]+1, row[j+1]+1)
		}
	}
	return row[len(b)]
}
