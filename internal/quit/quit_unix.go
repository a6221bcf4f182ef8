//go:build unix

package quit

import (
	"io"
	"os"
	"os/signal"
	"sync"
	"syscall"
)

// On has dump print on standard error when the process gets SIGQUIT, which then does what it would
// do without this: Go prints the goroutines and ends the process, unless the program takes the
// signal itself. A program that ignores the signal continues to ignore it.
func On(dump func(io.Writer)) (stop func()) {
	if signal.Ignored(syscall.SIGQUIT) {
		return func() {}
	}
	quit, done := make(chan os.Signal, 1), make(chan struct{})
	signal.Notify(quit, syscall.SIGQUIT)
	var gone sync.WaitGroup
	gone.Go(func() {
		select {
		case <-done:
		case <-quit:
			dump(os.Stderr)
			signal.Stop(quit)
			_ = syscall.Kill(os.Getpid(), syscall.SIGQUIT) // to itself: it cannot fail
		}
	})
	return func() {
		signal.Stop(quit)
		close(done)
		gone.Wait()
	}
}
