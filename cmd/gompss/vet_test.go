package main

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/gompss/gompss/internal/source"
)

// A safeBuffer may be read while it is written.
type safeBuffer struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (b *safeBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.Write(p)
}

func (b *safeBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.String()
}

// gen -watch writes the wrapper again when the kernel changes, and continues after an error.
func TestGen_Watch(t *testing.T) {
	dir := t.TempDir()
	const kernel = "package made\n\n//omp:target device(smp)\n//omp:task inout(y)\nfunc Add(y []float32) {\n\t//omp:teams distribute parallel for\n\tfor i := range y {\n\t\ty[i] += 1\n\t}\n}\n"
	file := filepath.Join(dir, "k.go")
	require.NoError(t, os.WriteFile(file, []byte(kernel), 0o600))
	var out, errs safeBuffer
	g := &genRun{build: source.WithTags(""), stdout: &out, stderr: &errs}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error)
	go func() { done <- g.watch(ctx, []string{dir}) }()
	until := func(what string, holds func() bool) {
		for end := time.Now().Add(30 * time.Second); !holds(); time.Sleep(10 * time.Millisecond) {
			require.True(t, time.Now().Before(end), "%s: %s %s", what, &out, &errs)
		}
	}
	wrapper := func() string {
		text, err := os.ReadFile(filepath.Join(dir, "zk_gompss.go"))
		if err != nil {
			return ""
		}
		return string(text)
	}
	until("first", func() bool { return strings.Contains(wrapper(), "func SubmitAdd(") })
	require.NoError(t, os.WriteFile(file, []byte(strings.Replace(kernel, "inout(y)", "in(y)", 1)), 0o600))
	until("error", func() bool { return strings.Contains(errs.String(), "write inout(y)") })
	require.NoError(t, os.WriteFile(file, []byte(strings.Replace(kernel, "Add", "Increment", 1)), 0o600))
	until("renamed", func() bool { return strings.Contains(wrapper(), "func SubmitIncrement(") })
	cancel()
	require.NoError(t, <-done)
}
