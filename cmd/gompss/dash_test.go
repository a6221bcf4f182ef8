package main

import (
	"bufio"
	"io"
	"net/http"
	"os"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
)

// The command says where the page is, serves it until it is interrupted, and then ends well.
func TestDashUntilInterrupted(t *testing.T) {
	name, _ := traceFile(t)
	out, in := io.Pipe()
	status := make(chan int, 1)
	go func() { status <- run([]string{"dash", name}, in, io.Discard) }()
	line, err := bufio.NewReader(out).ReadString('\n')
	require.NoError(t, err)
	address := strings.TrimSpace(line)
	require.Regexp(t, `^http://127\.0\.0\.1:\d+/$`, address)
	r, err := http.Get(address + "api/state")
	require.NoError(t, err)
	text, err := io.ReadAll(r.Body)
	r.Body.Close()
	require.NoError(t, err)
	require.Contains(t, string(text), `"Forces"`)
	require.Contains(t, string(text), `"Title":"run.gtrace"`)
	http.DefaultClient.CloseIdleConnections()
	self, err := os.FindProcess(os.Getpid())
	require.NoError(t, err)
	require.NoError(t, self.Signal(syscall.SIGTERM)) // the command has asked for it before it said the address
	require.Zero(t, <-status)
}
