package trace_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// The program of examples/dashboard shows itself; GOMPSS_PICTURES=1 makes the pictures of the
// README of it.
func TestTheHeatSimulationInABrowser(t *testing.T) {
	if testing.Short() {
		t.Skip("short")
	}
	dir := os.Getenv("GOMPSS_SHOTS")
	if os.Getenv("GOMPSS_PICTURES") != "" {
		dir = "../docs/pictures"
	}
	b := openBrowser(t, false)
	program := filepath.Join(t.TempDir(), "heat")
	out, err := exec.Command("go", "build", "-o", program, "../examples/dashboard").CombinedOutput()
	require.NoError(t, err, "%s", out)
	cmd := exec.Command(program, "-for", "15m")
	text, err := os.Create(filepath.Join(t.TempDir(), "stderr"))
	require.NoError(t, err)
	cmd.Stderr = text
	require.NoError(t, cmd.Start())
	defer func() {
		_ = cmd.Process.Kill() // our own child, which would continue for its time
		_ = cmd.Wait()
	}()
	address := ""
	for end := time.Now().Add(2 * time.Minute); address == "" && time.Now().Before(end); time.Sleep(20 * time.Millisecond) {
		said, err := os.ReadFile(text.Name())
		require.NoError(t, err)
		if _, rest, ok := strings.Cut(string(said), "page at "); ok && strings.Contains(rest, "\n") {
			address = strings.TrimSpace(rest)
		}
	}
	require.NotEmpty(t, address, "the program says where its page is")
	time.Sleep(5 * time.Second) // something to show
	b.goTo(address)
	b.until(`document.querySelector('.verdict b')?.innerText && document.querySelectorAll('.u-over').length == 2`)
	b.shotTo(dir, "overview")
	b.eval(`location.hash = 'timeline'`)
	b.until(`document.querySelector('canvas')?.dataset.drawn`)
	b.eval(`document.querySelector('canvas').focus()`)
	for range 4 {
		b.key("+")
	}
	for range 3 {
		b.key("n")
	}
	b.until(`document.querySelector('.side b')?.innerText.startsWith('Draw')`)
	b.key("l") // what is drawn, on an accelerator
	b.until(`document.querySelector('.side b')?.innerText.startsWith('Diffuse')`)
	b.until(`document.querySelector('.side').innerText.includes('why there') || document.querySelector('.side').innerText.includes('no details')`)
	b.shotTo(dir, "timeline")
	b.check(address)
}
