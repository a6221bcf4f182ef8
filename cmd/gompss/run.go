package main

import (
	"context"
	"flag"
	"io"
	"os"
	"os/signal"
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
		return usageError("it takes -n RANKS, at least 1, and a program")
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := dist.Launch(ctx, *n, flags.Args(), stdout, stderr); err != nil {
		return &exitError{err, dist.ExitCode(err)}
	}
	return nil
}
