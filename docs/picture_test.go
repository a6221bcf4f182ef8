package docs_test

import (
	"flag"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

var updatePicture = flag.Bool("update", false, "draw the picture of speed from the pages of results")

// A bar is how many times as fast as a peer this module is, by a page of results. The groups of
// value are the ratio, or our time and the peer's.
type bar struct{ label, peer, page, value string }

// bars are the rows of the picture: means over all rows of a table where there is one.
var bars = []bar{
	{"a task of a 1-D stencil, 15 workers", "libomp", "manycore.md", `(?m)^\| 15 \| stencil1d \| 120 \| (\d+) \|[^|]*\|[^|]*\|[^|]*\| (\d+) \|`},
	{"the same", "StarPU", "manycore.md", `(?m)^\| 15 \| stencil1d \| 120 \| (\d+) \|[^|]*\|[^|]*\|[^|]*\|[^|]*\| (\d+) \|`},
	{"56 loops on one Xeon core, mean", "gcc -O3 -march=native -ffast-math", "xeon.md", `Geometric mean of the ratios to gcc -ffast-math: (\d+\.\d+)`},
	{"25 kernels on an H100, best forms, mean", "CUDA C++ by hand", "h100.md", `best form of each of 25 kernels: (\d+\.\d+)`},
	{"22 forms of many fields, mean", "CUDA C++ by hand", "h100.md", `Geometric mean of the 22 forms: (\d+\.\d+)`},
	{"22 other kernels, mean", "CUDA C++ by hand", "h100.md", `Geometric mean of all 22 other forms: (\d+\.\d+)`},
	{"nested loops over graphs, mean", "CUDA C++ by hand", "h100.md", `by hand over the plain loop: (\d+\.\d+)`},
	{"STREAM triad on an H200", "CUDA C++ by hand", "h200.md", `(?m)^\| STREAM triad \|[^|]*\|[^|]*\| (\d+\.\d+) \|`},
	{"N-body with fastmath on an H200", "CUDA C++ by hand", "h200.md", "(?m)^\\| N-body with `fastmath` \\|[^|]*\\|[^|]*\\| (\\d+\\.\\d+) \\|"},
	{"SpMV on an H200", "CUDA C++ by hand", "h200.md", `(?m)^\| SpMV CSR float64, irregular \|[^|]*\|[^|]*\| (\d+\.\d+) \|`},
}

// ratio reads the page.
func (b *bar) ratio(t *testing.T) float64 {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("results", b.page))
	require.NoError(t, err)
	found := regexp.MustCompile(b.value).FindStringSubmatch(string(text))
	require.NotNil(t, found, "%s: %s has no such row", b.label, b.page)
	out := 1.0
	for i, group := range found[1:] {
		x, err := strconv.ParseFloat(group, 64)
		require.NoError(t, err)
		require.Positive(t, x)
		if out = x; i == 1 {
			ours, err := strconv.ParseFloat(found[1], 64)
			require.NoError(t, err)
			out = x / ours
		}
	}
	return out
}

const (
	rowHeight   = 26
	barsLeft    = 470 // where the logarithmic scale begins, with leastShown; bars begin at 1
	octave      = 56  // pixels for a factor of two
	leastShown  = 0.5
	pictureWide = 760
)

// drawBars returns the picture as SVG. Its colours are those of light and dark pages.
func drawBars(t *testing.T) string {
	at := func(ratio float64) float64 { return barsLeft + octave*math.Log2(ratio/leastShown) }
	high := rowHeight*len(bars) + 56
	var b strings.Builder
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" font-family="sans-serif" font-size="13">`+"\n", pictureWide, high)
	b.WriteString("<style>text{fill:#1f2328}.peer{fill:#656d76}.bar{fill:#0969da}.line{stroke:#656d76}" +
		"@media(prefers-color-scheme:dark){text{fill:#e6edf3}.peer{fill:#8b949e}.bar{fill:#4493f8}.line{stroke:#8b949e}}</style>\n")
	fmt.Fprintf(&b, "<text x=\"8\" y=\"18\">times as fast as</text><text x=\"%.0f\" y=\"18\" text-anchor=\"middle\">1</text>\n", at(1))
	for i := range bars {
		x := &bars[i]
		ratio, y := x.ratio(t), 44+rowHeight*i
		fmt.Fprintf(&b, "<text x=\"8\" y=\"%d\">%s</text><text class=\"peer\" x=\"%d\" y=\"%d\" text-anchor=\"end\">%s</text>\n", y, x.label, barsLeft-8, y, strings.TrimSuffix(x.peer, " -O3 -march=native -ffast-math"))
		left, right := min(at(1), at(ratio)), max(at(1), at(ratio))
		fmt.Fprintf(&b, "<rect class=\"bar\" x=\"%.1f\" y=\"%d\" width=\"%.1f\" height=\"16\"/><text x=\"%.1f\" y=\"%d\">%.2f</text>\n",
			left, y-13, right-left, right+6, y, ratio)
	}
	fmt.Fprintf(&b, "<line class=\"line\" x1=\"%.1f\" y1=\"24\" x2=\"%.1f\" y2=\"%d\"/>\n</svg>\n", at(1), at(1), high-20)
	return b.String()
}

// TestPicture_IsThatOfTheResults draws the bars again from the tables: a table that changes changes the picture.
func TestPicture_IsThatOfTheResults(t *testing.T) {
	const file = "pictures/speed.svg"
	want := drawBars(t)
	if *updatePicture {
		require.NoError(t, os.WriteFile(file, []byte(want), 0o644))
	}
	got, err := os.ReadFile(file)
	require.NoError(t, err)
	require.Equal(t, want, string(got), "go test ./docs -run Picture -update")
}
