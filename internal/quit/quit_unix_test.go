//go:build unix

package quit

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// childMode chooses what this program does as a child of the tests below.
const childMode = "QUIT_TEST_CHILD"

func TestMain(m *testing.M) {
	dump := func(w io.Writer) { fmt.Fprintln(w, "what the program does") }
	switch os.Getenv(childMode) {
	case "":
		os.Exit(m.Run())
	case "on":
		On(dump)
	case "stopped":
		On(dump)()
	case "ignored":
		signal.Ignore(syscall.SIGQUIT)
		On(dump)
	}
	_ = syscall.Kill(os.Getpid(), syscall.SIGQUIT)
	time.Sleep(2 * time.Second) // a signal that is not ignored ends the program before
	fmt.Println("survived")
}

func runChild(t *testing.T, mode string) (text string, err error) {
	t.Helper()
	c := exec.Command(os.Args[0])
	c.Env = append(os.Environ(), childMode+"="+mode)
	out, err := c.CombinedOutput()
	return string(out), err
}

func TestOn_DumpsAndThenEndsAsGoDoes(t *testing.T) {
	text, err := runChild(t, "on")
	require.Error(t, err)
	require.Contains(t, text, "what the program does")
	require.Contains(t, text, "SIGQUIT: quit")
	require.NotContains(t, text, "survived")
}

func TestOn_StopLeavesTheSignalToGo(t *testing.T) {
	text, err := runChild(t, "stopped")
	require.Error(t, err)
	require.Contains(t, text, "SIGQUIT: quit")
	require.NotContains(t, text, "what the program does")
}

func TestOn_AnIgnoredSignalStaysIgnored(t *testing.T) {
	text, err := runChild(t, "ignored")
	require.NoError(t, err)
	require.Equal(t, "survived\n", text)
}
