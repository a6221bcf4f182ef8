package main

import (
	"bytes"
	"os"
	"path/filepath"
	"regexp"
	"testing"

	"github.com/stretchr/testify/require"
)

const layoutSource = `package k

const Length = 100

//omp:target device(acc, smp)
//omp:task in(a[lo*Length:hi*Length]) out(d[lo:hi])
func ByRow(lo, hi int, a []uint8, d []int32) {
	//omp:teams distribute parallel for
	for p := lo; p < hi; p++ {
		s, h := int32(0), int32(1)
		for i := range Length {
			if a[p*Length+i] != 3 {
				s = max(s+h, 5)
				h ^= s
			}
		}
		d[p] = s
	}
}

//omp:target device(acc, smp)
//omp:task in(a) out(d[lo:hi])
func ByColumn(lo, hi, n int, a []uint8, d []int32) {
	//omp:teams distribute parallel for
	for p := lo; p < hi; p++ {
		s, h := int32(0), int32(1)
		for i := range Length {
			if a[i*n+p] != 3 {
				s = max(s+h, 5)
				h ^= s
			}
		}
		d[p] = s
	}
}

//omp:target device(acc)
//omp:task inout(y[lo:hi])
func Down(lo, hi int, y []float32) {
	//omp:teams distribute parallel for
	for i := hi - 1; i >= lo; i-- {
		y[i] *= 2
	}
}

//omp:target device(acc)
//omp:task inout(y[first:last])
func Steps(first, last, step int, y []float32) {
	//omp:teams distribute parallel for
	for i := first; i < last; i += step {
		y[i] *= 2
	}
}
`

func explainLayout(t *testing.T, kernel string) string {
	name := filepath.Join(t.TempDir(), "k.go")
	require.NoError(t, os.WriteFile(name, []byte(layoutSource), 0o600))
	var out, errs bytes.Buffer
	require.Zero(t, run([]string{"explain", "-kernel", kernel, name}, &out, &errs), errs.String())
	return out.String()
}

// Lanes that read rows load their elements one by one, which explain says; lanes that read
// neighbours do not.
func TestExplain_NamesElementsThatLieApart(t *testing.T) {
	if text := explainLayout(t, "ByRow"); regexp.MustCompile(`CPU: the iterations of .* lanes: `).MatchString(text) {
		require.Contains(t, text, "neighbouring iterations read elements of a that lie 100 bytes apart")
	} else {
		require.Contains(t, text, "store the rows so that neighbouring iterations read neighbours")
	}
	require.NotContains(t, explainLayout(t, "ByColumn"), "apart")
}

// The loops of the estimate have iterations: they begin at 0 and not where they end.
func TestExplain_EstimatesLoopsThatBeginAtAParameter(t *testing.T) {
	for kernel, want := range map[string]string{
		"ByColumn": "where every number is 4096, lo is 0 and every slice",
		"Down":     "where every number is 4096, lo is 0 and every slice",
		"Steps":    "where every number is 4096, first is 0, step is 1 and every slice",
	} {
		require.Contains(t, explainLayout(t, kernel), want)
	}
}
