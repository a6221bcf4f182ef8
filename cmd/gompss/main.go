// Command gompss shows what the compiler makes of kernels and writes typed wrappers for them.
//
//	gompss gen [flags] [files or folders]      write zFILE_gompss.go beside each file with kernels
//	gompss vet [packages]                      errors of kernels and wrappers, as go vet prints them
//	gompss explain [flags] [files or folders]  the mapping of each loop with its reason, or the code
//	gompss bench tasks [flags]                 the cost of a task
//	gompss bench cpu [flags]                   vector code beside C compiled by gcc and clang
//	gompss bench gpu [flags]                   kernels beside CUDA by hand, programs on several GPUs
//	gompss tune [files or folders]             the fastest forms of kernels that programs have found
//	gompss trace VERB FILE                     summary, critical path, export, diff, merge, report
//	gompss dash [-addr HOST:PORT] FILE         the page of a trace file
//	gompss run [-n RANKS] PROGRAM [arguments]  ranks of a program, or of a folder, without MPI
//	gompss devices [SPEC]                      the devices of this machine, or those SPEC opens
//	gompss doctor                              obstacles on this machine, and what mends each
//	gompss version
//	gompss help [COMMAND]                      all flags of a command
//	gompss completion bash|zsh|fish            a script for the shell
//
// Errors go to standard error and exit with 1, wrong usage with 2.
package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"slices"

	"github.com/gompss/gompss/internal/environment"
)

func main() {
	if isVetTool(os.Args[1:]) {
		vetTool()
	}
	os.Exit(run(os.Args[1:], os.Stdout, os.Stderr))
}

// A command is one subcommand. It writes its result to stdout and warnings to stderr.
type command struct {
	name  string
	usage string
	about string // what -h says besides
	run   func(args []string, stdout, stderr io.Writer) error
}

// commands returns all of them. It is a function as help, which is one, looks at the others.
func commands() []command {
	return []command{
		{"gen", "gen [-check] [-werror] [-watch] [-tags LIST] [files, folders or folder/...]", genAbout, gen},
		{"vet", "vet [flags of go vet] [packages]", vetAbout, vetCommand},
		{"explain", "explain [-kernel K] [-emit ir|device|cuda|opencl|asm] [-tags LIST] [files, folders or folder/...]", explainAbout, explain},
		{"bench", "bench tasks [-pattern P] [-width W] [-steps S] [-grain G] [-workers N] [-submitters N] [-replay] [-metg] [-suite] [-json] | bench cpu [-quick] [-json] [-only ROWS] | bench gpu [-quick] [-json] [-only ROWS] [-devices SPEC] [-opencl NAME] [-trials] [-suite [PART]]", benchAbout, bench},
		{"tune", "tune [-cache DIR] [files, folders or folder/...]", tuneAbout, tuneCommand},
		{"trace", "trace summary|critical FILE, export [-format F] [-o OUT] FILE, diff FILE FILE, merge [-o OUT] FILE..., report [-o OUT] FILE; all with [-last N]", traceAbout, traceCommand},
		{"dash", "dash [-addr HOST:PORT] [-last N] FILE", dashAbout, dash},
		{"run", "run [-n RANKS] PROGRAM [arguments]", runAbout, runRanks},
		{"devices", "devices [SPEC]", devicesAbout, listDevices},
		{"version", "version", versionAbout, version},
		{"doctor", "doctor", doctorAbout, doctor},
		{"help", "help [COMMAND]", helpAbout, help},
		{"completion", "completion bash|zsh|fish", completionAbout, completion},
	}
}

// What -h says of the commands.
const (
	genAbout = `Writes zFILE_gompss.go beside every FILE.go with kernels: a kernel and a submit function for each. Without arguments
it looks at the current folder; folder/... takes the folders below, too. A file that another one of its package embeds
(//go:embed FILE.go), so as to give it to task.NewKernel, is left out unless it is named or has a generated file already.
  -check       write nothing; fail where a generated file is missing or stale
  -werror      fail where there are warnings; the files are written all the same
  -watch       write again whenever a source changes, until it is interrupted
  -tags LIST   the build tags of go build -tags; those of GOFLAGS where nothing is said
`
	explainAbout = `Says where each loop and array of kernels went and why, or prints a stage of their code. Without files or folders it looks
at the current folder; folder/... takes the folders below, too.
  -kernel K      of kernel K alone; 'K[float32]' is generic kernel K with these types, and K alone has types that fit
  -emit ir       the loop IR
  -emit device   the device IR
  -emit cuda     the CUDA C++
  -emit opencl   the OpenCL C
  -emit asm      the vector code of the CPU
  -size P=N      of the form for launches in which parameter P is N, if P shapes the code; once for each parameter
  -tags LIST     the build tags of go build -tags; those of GOFLAGS where nothing is said
`
	traceAbout = `Reads trace files, which programs write with GOMPSS_TRACE=file:PATH.
  summary FILE     where the time went, and what bound the run
  critical FILE    the critical path, and the chain that the run took
  export FILE      -format perfetto (default), chrome, csv, csv-moves, dot, dot-sorts or paraver; -o OUT
  diff FILE FILE   what changed from the first to the second
  merge FILE...    the traces of the ranks of one program as one, on one clock, with their messages; -o OUT
  report FILE      one HTML page that needs no network; -o OUT
  -last N          of the last N tasks and up to as many before them, which takes less memory than all (some 700 bytes a task);
                   0 takes all, and is what is taken where nothing is said, but for report: a page is of 1000000
`
	dashAbout = `Serves the page of a trace file until it is interrupted.
  -addr HOST:PORT   127.0.0.1:0 when not given; other hosts than loopback need the token of the URL
  -last N           of the last N tasks and up to as many before them; 1000000 when not given, 0 takes all
`
	devicesAbout = `Lists the devices of this machine, or those that SPEC opens, such as smp:2,sim:4. Without SPEC the variable
GOMPSS_DEVICES counts.
`
)

// errUsage marks an error of how the command was called.
var errUsage = errors.New("usage")

func run(args []string, stdout, stderr io.Writer) int {
	environment.Warn(stderr)
	if len(args) == 0 {
		printUsage(stderr)
		return 2
	}
	for _, c := range commands() {
		if c.name == args[0] {
			if slices.ContainsFunc(args[1:], isHelp) {
				fmt.Fprintf(stdout, "usage: gompss %s\n%s", c.usage, c.about)
				return 0
			}
			return status(c, c.run(args[1:], stdout, stderr), stderr)
		}
	}
	if isHelp(args[0]) {
		return status(command{name: "help"}, help(nil, stdout, stderr), stderr)
	}
	fmt.Fprintf(stderr, "gompss: unknown command %s\n", args[0])
	printUsage(stderr)
	return 2
}

func isHelp(arg string) bool { return arg == "-h" || arg == "-help" || arg == "--help" }

func status(c command, err error, stderr io.Writer) int {
	switch {
	case err == nil:
		return 0
	case errors.Is(err, errSaid):
		return 1
	case errors.Is(err, errUsage):
		fmt.Fprintf(stderr, "gompss %s: %v\nusage: gompss %s\n", c.name, err, c.usage)
		return 2
	}
	fmt.Fprintln(stderr, err)
	if failed := (*exitError)(nil); errors.As(err, &failed) {
		return failed.code
	}
	return 1
}

func printUsage(w io.Writer) {
	fmt.Fprintln(w, "usage:")
	for _, c := range commands() {
		fmt.Fprintln(w, "  gompss "+c.usage)
	}
}

// usageError is an errUsage with what was wrong.
func usageError(format string, args ...any) error {
	return fmt.Errorf("%w: %s", errUsage, fmt.Sprintf(format, args...))
}
