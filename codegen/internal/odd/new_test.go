//go:build linux && amd64

package odd

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestOddPrograms_New builds this test with eight programs of each kind, the same ones in every
// run, and runs it. GOMPSS_RANDOM_SEED=N makes those from seed N on.
func TestOddPrograms_New(t *testing.T) {
	if testing.Short() {
		t.Skip("-short: it builds a test")
	}
	if _, err := exec.LookPath("go"); err != nil {
		t.Skip("it builds a test: ", err)
	}
	dir := t.TempDir()
	first := uint64(20_000_000)
	if text := os.Getenv("GOMPSS_RANDOM_SEED"); text != "" {
		n, err := strconv.ParseUint(text, 10, 64)
		require.NoError(t, err)
		first = n
	}
	var seeds []uint64
	for i := range 8 {
		seeds = append(seeds, first+uint64(i), firstSerial+first+uint64(i), firstMoved+first+uint64(i))
	}
	path := filepath.Join(dir, "programs.go")
	require.NoError(t, os.WriteFile(path, []byte(programsFile(seeds)), 0o600))
	here, err := os.Getwd()
	require.NoError(t, err)
	overlay := filepath.Join(dir, "overlay.json")
	require.NoError(t, os.WriteFile(overlay, fmt.Appendf(nil, `{"Replace": {%q: %q}}`, filepath.Join(here, "programs_test.go"), path), 0o600))
	binary := filepath.Join(dir, "odd.test")
	out, err := exec.Command("go", "test", "-c", "-vet=off", "-overlay", overlay, "-o", binary, ".").CombinedOutput()
	require.NoError(t, err, "programs from %d on\n%s", first, out)
	out, err = exec.Command(binary, "-test.run", "TestOddPrograms$").CombinedOutput()
	require.NoError(t, err, "programs from %d on\n%s", first, out)
}
