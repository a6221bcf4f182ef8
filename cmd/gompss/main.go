// Command gompss shows what the compiler makes of kernels and writes typed wrappers for them.
//
//	gompss gen [-check] [files, folders or folder/...]   write zFILE_gompss.go beside every file with kernels
//	gompss explain [-kernel K] [-emit ir|device|cuda|asm] FILE   where each loop went and why, or the code itself
//	gompss bench tasks [-pattern P] [-width W] [-steps S] [-json]   what a task costs
//	gompss bench cpu [-quick] [-json] [-only ROWS]        the CPU's vector code beside C compiled by gcc and clang
//	gompss devices [SPEC]                                 the devices of this machine, or those that SPEC opens
//	gompss version
//
// Errors go to standard error and exit with 1, wrong usage with 2.
package main

import (
	"errors"
	"fmt"
	"io"
	"os"
)

func main() { os.Exit(run(os.Args[1:], os.Stdout, os.Stderr)) }

// A command is one subcommand. It writes its result to stdout and warnings to stderr.
type command struct {
	name  string
	usage string
	run   func(args []string, stdout, stderr io.Writer) error
}

var commands = []command{
	{"gen", "gen [-check] [files, folders or folder/...]", gen},
	{"explain", "explain [-kernel K] [-emit ir|device|cuda|asm] FILE", explain},
	{"bench", "bench tasks [-pattern P] [-width W] [-steps S] [-grain G] [-workers N] [-submitters N] [-metg] [-json] | bench cpu [-quick] [-json] [-only ROWS]", bench},
	{"devices", "devices [SPEC]", listDevices},
	{"version", "version", version},
}

// errUsage marks an error of how the command was called.
var errUsage = errors.New("usage")

func run(args []string, stdout, stderr io.Writer) int {
	if len(args) == 0 {
		printUsage(stderr)
		return 2
	}
	for _, c := range commands {
		if c.name == args[0] {
			return status(c, c.run(args[1:], stdout, stderr), stderr)
		}
	}
	if args[0] == "help" || args[0] == "-h" || args[0] == "--help" {
		printUsage(stdout)
		return 0
	}
	fmt.Fprintf(stderr, "gompss: unknown command %s\n", args[0])
	printUsage(stderr)
	return 2
}

func status(c command, err error, stderr io.Writer) int {
	switch {
	case err == nil:
		return 0
	case errors.Is(err, errUsage):
		fmt.Fprintf(stderr, "gompss %s: %v\nusage: gompss %s\n", c.name, err, c.usage)
		return 2
	}
	fmt.Fprintln(stderr, err)
	return 1
}

func printUsage(w io.Writer) {
	fmt.Fprintln(w, "usage:")
	for _, c := range commands {
		fmt.Fprintln(w, "  gompss "+c.usage)
	}
}

// usageError is an errUsage with what was wrong.
func usageError(format string, args ...any) error {
	return fmt.Errorf("%w: %s", errUsage, fmt.Sprintf(format, args...))
}
