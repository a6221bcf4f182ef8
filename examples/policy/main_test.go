package main

import (
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
