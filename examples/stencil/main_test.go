package main

import (
	"os"
	"os/exec"
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gompss/gompss/examples/internal/demo"
)

func TestMain(m *testing.M) {
	if os.Getenv("GOMPSS_TEST_EXAMPLE") != "" { // a rank of the test below
		main()
	}
	os.Exit(m.Run())
}

// One rank, and four, give the bits of the sequential run.
func TestRunAgreesWithTheSequentialRun(t *testing.T) {
	require.Zero(t, run(demo.Flags{N: 96, Block: 16, Rounds: 5, Devices: "smp:2", Policy: "locality", Check: true, JSON: true}))
}

func TestRanksAgreeWithTheSequentialRun(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("ranks are tried on Linux")
	}
	c := exec.CommandContext(t.Context(), os.Args[0], "-ranks", "4", "-n", "96", "-block", "16", "-devices", "smp:2", "-check", "-json")
	c.Env = append(os.Environ(), "GOMPSS_TEST_EXAMPLE=1")
	out, err := c.CombinedOutput()
	require.NoError(t, err, string(out))
	require.Contains(t, string(out), `"check":"ok"`)
}
