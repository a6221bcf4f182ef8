package task_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gompss/gompss/codegen"
	"github.com/gompss/gompss/task"
)

// Arguments of clauses that OpenMP requires to be positive are refused at submission where they are
// not, on every device.
func TestSubmit_RefusesClausesThatAreNotPositive(t *testing.T) {
	const source = `package p

//omp:target device(acc, smp)
//omp:task inout(x)
func Clauses(n int, x []int32) {
	m := n * 2
	_ = m
	//omp:teams distribute parallel for CLAUSE
	for i := range x {
		x[i]++
	}
}
`
	for clause, want := range map[string]string{
		"num_teams(n)": "num_teams: n is -1, and must be positive", "num_threads(n)": "num_threads: n is -1", "thread_limit(m)": "thread_limit: m is -2", "schedule(dynamic, n)": "schedule: n is -1",
		"schedule(static, n+1)": "schedule: n + 1 is 0", "dist_schedule(static, n)": "dist_schedule: n is -1",
	} {
		k := task.MustKernel(task.KernelSpec{Name: "Clauses", Go: func(*task.Args) {}, Files: []task.SourceFile{{Name: "k.go", Text: strings.Replace(source, "CLAUSE", clause, 1)}}})
		for _, spec := range []string{"smp:1", "smp:1,sim:1(exec=simt)"} {
			rt := open(t, task.Options{Devices: spec})
			_, err := k.Submit(rt, -1, make([]int32, 5))
			require.ErrorContains(t, err, "k.go:8:2: "+want)
			var refused *codegen.ClauseError
			require.True(t, errors.As(err, &refused))
			_, err = k.Submit(rt, 3, make([]int32, 5))
			require.NoError(t, err)
			require.NoError(t, rt.Wait(t.Context()))
		}
	}
}
