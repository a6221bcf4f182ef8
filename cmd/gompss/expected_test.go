package main

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

const expectedSource = `package k

//omp:target device(acc)
//omp:task in(a, b) inout(c)
func Product(a, b, c []float32, n int) {
	//omp:teams distribute parallel for collapse(2)
	for i := 0; i < n; i++ {
		for j := 0; j < n; j++ {
			var s float32
			for k := 0; k < n; k++ {
				s += a[i*n+k] * b[k*n+j]
			}
			c[i*n+j] = s
		}
	}
}

//omp:target device(acc)
//omp:task in(a) inout(s)
func Sum(a, s []float32) {
	var x float32
	//omp:teams distribute parallel for collapse(2) reduction(+: x)
	for i := range a {
		for range 2 {
			x += a[i]
		}
	}
	s[0] = x
}
`

// Explain says what the model expects of a kernel and of its next forms, or why there is one alone.
func TestExplain_SaysWhatIsExpected(t *testing.T) {
	name := filepath.Join(t.TempDir(), "k.go")
	require.NoError(t, os.WriteFile(name, []byte(expectedSource), 0o600))
	var out, errs bytes.Buffer
	require.Zero(t, run([]string{"explain", name}, &out, &errs), errs.String())
	require.Regexp(t, `GPU: expected on H100, where every number is 4096 and every slice has 4096\*4096 elements -> \S+, bound by \S+( \S+)?; with blocks \S+ \S+, bound by`, out.String())
	require.Regexp(t, `GPU: expected on .*; no other form is tried: \S*k.go:\d+:\d+: the order of a sum of floats would differ`, out.String())
}

// The reason why a scan has no vector code does not ask for the directive that stands above it.
func TestExplain_ScansRunInOrderOnCPUs(t *testing.T) {
	name := filepath.Join(t.TempDir(), "k.go")
	require.NoError(t, os.WriteFile(name, []byte(`package k

//omp:target device(acc, smp)
//omp:task in(x) out(y)
func Running(x, y []int) {
	s := 0
	//omp:teams distribute parallel for reduction(inscan, +: s)
	for i := range y {
		s += x[i]
		//omp:scan inclusive(s)
		y[i] = s
	}
}
`), 0o600))
	var out, errs bytes.Buffer
	require.Zero(t, run([]string{"explain", name}, &out, &errs), errs.String())
	require.Contains(t, out.String(), "a scan runs in order on CPUs")
	require.NotContains(t, out.String(), "write //omp:teams distribute parallel for")
}

// A wrapper was written without the kernel that is wrong, of which nothing was said.
func TestGen_SaysWhatItLeavesOut(t *testing.T) {
	name := filepath.Join(t.TempDir(), "k.go")
	require.NoError(t, os.WriteFile(name, []byte(`package k

//omp:target
//omp:task out(y)
func Right(y []int) {
	//omp:loop
	for i := range y {
		y[i] = i
	}
}

//omp:target
//omp:task in(y)
func Wrong(y []int) {
	y[0] = 1
}
`), 0o600))
	var out, errs bytes.Buffer
	require.Equal(t, 1, run([]string{"gen", name}, &out, &errs))
	require.Contains(t, errs.String(), "zk_gompss.go: has no Submit function for Wrong, because of the errors above, but those of the other kernels: mend the errors and run go tool gompss gen "+name+" again\n")
	require.FileExists(t, filepath.Join(filepath.Dir(name), "zk_gompss.go"))
	errs.Reset()
	require.Equal(t, 1, run([]string{"explain", "-kernel", "Wrong", name}, &out, &errs))
	require.Contains(t, errs.String(), "kernel Wrong: nothing is decided before these errors are mended")
}
