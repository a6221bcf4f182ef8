package dist

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"sync"
	"time"
)

// killTime is the time that ranks may continue when one has failed.
const killTime = 1500 * time.Millisecond

// Launch starts a command as n ranks on this machine, which Init joins by sockets, and waits for
// them: gompss run does so. When a rank fails the others have 1.5 s to end, and are killed then; so
// are all when ctx ends. Where no rank has called Init, and all succeed, Launch writes a warning to
// stderr: each process has then run the whole program.
//
// Errors: of the first rank that failed, an *exec.ExitError where it ran.
func Launch(ctx context.Context, n int, command []string, stdout, stderr io.Writer) error {
	if n < 1 || len(command) == 0 {
		return fmt.Errorf("dist: launch: %d ranks of %q", n, command)
	}
	folder, err := os.MkdirTemp("", "gompss")
	if err != nil {
		return fmt.Errorf("dist: launch: %w", err)
	}
	defer os.RemoveAll(folder)
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	l := launch{cancel: cancel}
	stdout, stderr = shared(stdout), shared(stderr)
	for rank := range n {
		c := exec.CommandContext(ctx, command[0], command[1:]...)
		c.Env = append(os.Environ(), RankVariable+"="+strconv.Itoa(rank), RanksVariable+"="+strconv.Itoa(n), JoinVariable+"="+folder)
		c.Stdout, c.Stderr, c.WaitDelay = stdout, stderr, time.Second
		if rank == 0 {
			c.Stdin = os.Stdin
		}
		if err := c.Start(); err != nil {
			l.fail(rank, err)
			cancel()
			break
		}
		l.running.Go(func() {
			if err := c.Wait(); err != nil {
				l.fail(rank, err)
			}
		})
	}
	l.running.Wait()
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.timer != nil {
		l.timer.Stop()
	}
	if l.first == nil && n > 1 && stderr != nil {
		warnUnjoined(folder, n, stderr)
	}
	return l.first
}

// warnUnjoined writes a warning where no process has joined the others in folder.
func warnUnjoined(folder string, n int, stderr io.Writer) {
	if _, err := os.Stat(filepath.Join(folder, joinedFile)); errors.Is(err, fs.ErrNotExist) {
		fmt.Fprintf(stderr, "dist: launch: no rank called dist.Init: the program ran %d times, each time as a whole\n", n)
	}
}

// A sharedWriter takes the output of several processes.
type sharedWriter struct {
	mu *sync.Mutex
	w  io.Writer
}

var writing sync.Mutex

// shared returns a writer for several processes: a file is one, which they write to themselves.
func shared(w io.Writer) io.Writer {
	if _, file := w.(*os.File); file || w == nil {
		return w
	}
	return sharedWriter{&writing, w}
}

func (s sharedWriter) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.w.Write(p)
}

// A launch is ranks that run.
type launch struct {
	running sync.WaitGroup
	cancel  func()

	mu    sync.Mutex
	first error
	timer *time.Timer
}

// fail notes that a rank has failed, and gives the others some time.
func (l *launch) fail(rank int, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.first == nil {
		l.first = fmt.Errorf("dist: rank %d: %w", rank, err)
		l.timer = time.AfterFunc(killTime, l.cancel)
	}
}

// ExitCode returns the code with which a launcher leaves: that of the rank that failed first, 1
// where it was killed or did not start.
func ExitCode(err error) int {
	var exit *exec.ExitError
	if errors.As(err, &exit) && exit.ExitCode() > 0 {
		return exit.ExitCode()
	}
	return 1
}
