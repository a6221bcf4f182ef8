package main

import (
	_ "embed"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestPoliciesDecideTheOrder(t *testing.T) {
	for policy, want := range map[string][]int{
		"smallest": {10, 20, 30, 40, 50},
		"priority": {50, 40, 30, 20, 10},
		"fifo":     {30, 10, 50, 20, 40},
	} {
		got, err := run(policy)
		require.NoError(t, err)
		require.Equal(t, want, got, policy)
	}
}

//go:embed smallest.go
var smallestSource string

// A policy of one's own takes no more than 30 lines of code.
func TestAPolicyIsShort(t *testing.T) {
	_, code, _ := strings.Cut(smallestSource, "\n)\n") // behind the imports
	lines := 0
	for line := range strings.Lines(code) {
		if line = strings.TrimSpace(line); line != "" && !strings.HasPrefix(line, "//") {
			lines++
		}
	}
	require.Positive(t, lines)
	require.LessOrEqual(t, lines, 30)
}
