package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/gompss/gompss/dist"
)

// An exitError is the failure of a program that was run, which leaves with the same code.
type exitError struct {
	error
	code int
}

// runRanks starts a program as several ranks on this machine.
func runRanks(args []string, stdout, stderr io.Writer) error {
	flags := flag.NewFlagSet("run", flag.ContinueOnError)
	flags.SetOutput(io.Discard)
	n := flags.Int("n", 1, "how many ranks")
	if err := flags.Parse(args); err != nil {
		return usageError("%v", err)
	}
	if *n < 1 || flags.NArg() == 0 {
		return usageError("it takes -n RANKS, at least 1, and a program, or the folder of one")
	}
	command := flags.Args()
	if sources := sourcesIn(command); sources > 0 {
		folder, err := os.MkdirTemp("", "gompss")
		if err != nil {
			return fmt.Errorf("gompss run: %w", err)
		}
		defer os.RemoveAll(folder)
		program, err := buildProgram(folder, command[:sources], stderr)
		if err != nil {
			return err
		}
		command = append([]string{program}, command[sources:]...)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := dist.Launch(ctx, *n, command, stdout, stderr); err != nil {
		return &exitError{err, dist.ExitCode(err)}
	}
	return nil
}

// sourcesIn returns how many of the first words of a command are the sources of a program: a folder
// that is no command of PATH, or Go files. It is 0 for a program that was built.
func sourcesIn(command []string) (n int) {
	if info, err := os.Stat(command[0]); err == nil && info.IsDir() {
		if _, err := exec.LookPath(command[0]); err != nil {
			return 1
		}
	}
	for n < len(command) && strings.HasSuffix(command[n], ".go") {
		n++
	}
	return n
}

// buildProgram builds a program into a folder and returns the path of it. Where the sources have
// wrappers that are missing or stale, the error says so, as the program may not build without them.
func buildProgram(to string, sources []string, stderr io.Writer) (string, error) {
	build, name := exec.Command("go", "build", "-o", to+string(filepath.Separator)), strings.Join(sources, " ")
	if strings.HasSuffix(sources[0], ".go") {
		build.Args = append(build.Args, sources...)
	} else {
		build.Dir, build.Args = sources[0], append(build.Args, ".")
	}
	build.Stderr = stderr
	if err := build.Run(); errors.Is(err, exec.ErrNotFound) {
		return "", fmt.Errorf("gompss run: %s: %w: a program that was built needs no go command: gompss run PROGRAM", name, err)
	} else if err != nil {
		return "", errors.Join(fmt.Errorf("gompss run: %s: go build: %w", name, err), gen(append([]string{"-check"}, sources...), io.Discard, io.Discard))
	}
	built, err := os.ReadDir(to) // one file
	if err != nil {
		return "", fmt.Errorf("gompss run: %s: %w", name, err)
	}
	return filepath.Join(to, built[0].Name()), nil
}
