package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"time"

	"golang.org/x/tools/go/analysis/unitchecker"

	"github.com/gompss/gompss/codegen/vet"
	"github.com/gompss/gompss/internal/source"
)

const vetAbout = `Reports what is wrong with the kernels of packages, as gompss gen would, and wrappers that are missing or stale. It is
go vet -vettool=gompss: without packages it looks at the one of the current folder. Flags of go vet, such as -tags LIST, go before
the packages.
`

// isVetTool reports whether go vet runs this command as its tool: to name itself, to list its
// flags, or on one package.
func isVetTool(args []string) bool {
	if len(args) == 0 {
		return false
	}
	return args[0] == "-V=full" || args[0] == "-flags" || strings.HasSuffix(args[len(args)-1], ".cfg") && strings.HasPrefix(filepath.Base(args[len(args)-1]), "vet")
}

// vetTool does what go vet wants. It does not return.
func vetTool() { unitchecker.Main(vet.Analyzer) }

// vetCommand runs go vet with this command as its tool.
func vetCommand(args []string, stdout, stderr io.Writer) error {
	self, err := os.Executable()
	if err != nil {
		return fmt.Errorf("gompss vet: %w", err)
	}
	cmd := exec.Command("go", append([]string{"vet", "-vettool=" + self}, args...)...)
	cmd.Stdout, cmd.Stderr = stdout, stderr
	err = cmd.Run()
	if exit := (*exec.ExitError)(nil); errors.As(err, &exit) {
		return errSaid // go vet has said why
	}
	return err
}

// errSaid marks a failure of which all was said.
var errSaid = errors.New("")

const watchEvery = 300 * time.Millisecond

// watch generates again whenever a source of the targets changes, until ctx ends.
func (g *genRun) watch(ctx context.Context, args []string) error {
	fmt.Fprintln(g.stdout, "gompss gen: watching; interrupt to end")
	tick := time.NewTicker(watchEvery)
	defer tick.Stop()
	for last := ""; ; {
		targets, err := findTargets(args)
		if err != nil {
			return err
		}
		if now := fingerprint(targets); now != last {
			last = now
			if err := g.all(targets); err != nil {
				fmt.Fprintln(g.stderr, err)
			}
		}
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
	}
}

// fingerprint is a text that changes with the sources of the targets.
func fingerprint(targets []target) string {
	var b strings.Builder
	for _, t := range targets {
		entries, err := os.ReadDir(t.dir)
		if err != nil {
			fmt.Fprintln(&b, t.dir, err)
		}
		for _, e := range entries {
			if info, err := e.Info(); err == nil && source.IsSource(e.Name()) {
				fmt.Fprintln(&b, t.dir, e.Name(), info.Size(), info.ModTime().UnixNano())
			}
		}
	}
	return b.String()
}

// untilInterrupted returns a context that ends with the first interrupt.
func untilInterrupted() (context.Context, context.CancelFunc) {
	return signal.NotifyContext(context.Background(), os.Interrupt)
}
