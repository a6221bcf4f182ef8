package main

import (
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"

	"github.com/gompss/gompss/trace"
	runs "github.com/gompss/gompss/trace/run"
)

// dash serves the page of a trace file until it is interrupted.
func dash(args []string, stdout, stderr io.Writer) error {
	flags := newTraceFlags("dash", pageTasks)
	addr := flags.String("addr", "127.0.0.1:0", "host:port to serve at; port 0 takes a free one; other hosts than loopback need the token of the URL")
	files, err := flags.parse(args, 1)
	if err != nil {
		return err
	}
	return flags.withRun(files[0], stderr, func(r *runs.Run) error {
		s, err := trace.ServeRun(*addr, filepath.Base(files[0]), r)
		if err != nil {
			return err
		}
		stop := make(chan os.Signal, 1)
		signal.Notify(stop, os.Interrupt, syscall.SIGTERM)
		fmt.Fprintln(stdout, s.URL())
		<-stop
		return s.Close()
	})
}
