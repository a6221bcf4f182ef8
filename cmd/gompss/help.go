package main

import (
	"fmt"
	"io"
	"regexp"
	"runtime/debug"
	"slices"
	"strings"
)

// What -h says of the commands. A flag is a line that begins with two spaces and the flag:
// completion reads them from here.
const (
	benchAbout = `Measures the runtime and the code that the compiler makes. "bench tasks" is what a task costs:
  -pattern P      stencil1d (default) or another one; an unknown one is an error that lists them
  -width W        tasks in a step; 16
  -steps S        1000
  -grain G        steps of the arithmetic loop in a task; 0, the default, is empty tasks
  -workers N      CPU workers; GOMAXPROCS
  -submitters N   goroutines that submit at once; 1
  -repetitions N  runs, of which the median counts; 5
  -policy P       the scheduling policy
  -replay         record the graph once and replay it
  -metg           find the grain at which half of the workers' time goes into the tasks' own work
  -suite          all patterns, replays and several submitters, with 1, 2, 4 workers and so on, and OpenMP beside it
  -peers DIR      with -suite: folder of programs peer-NAME that were built elsewhere from taskbench/testdata/peer.c
  -profile DIR    directory for CPU, mutex and block profiles of the measured runs
  -json           one JSON line
"bench cpu" compares the vector code of the CPU with C compiled by gcc and clang:
  -quick          small sizes, to see that it works
  -calls          what is paid once a call, in place of the rows
  -only ROWS      rows whose name has this in it
  -json           one JSON line a row
"bench gpu" compares GPUs with hand-written CUDA, and runs programs on several:
  -quick          small sizes, to see that it works
  -only ROWS      rows whose name has one of these words in it, separated by commas
  -devices SPEC   of the programs, in place of the GPUs that are there
  -opencl NAME    the first device of that OpenCL platform beside the same kernels by CUDA, or where it is the processor
                  beside our vector code, in place of the rows
  -trials         beside some rows what is off until it is measured
  -suite [PART]   kernels of many fields beside CUDA by hand, in place of the rows: kernels, fields, others, fresh, nested, or overheads
  -json           one JSON line a row
`
	versionAbout = `Prints the version, the commit and its time where the build has them, and the version of Go.
`
	helpAbout = `Prints what a command does, with all its flags.

Exit codes of gompss: 0 is success; 1 an error, a stale wrapper with gen -check, a warning with gen -werror, or something
that doctor found wrong; 2 wrong usage.
`
	runAbout = `Starts a program as several ranks on this machine, joined by sockets; the program calls dist.Init. On a cluster
mpirun or srun starts it, in place of this. It leaves with the code of the rank that failed first. PROGRAM is a file that can be
executed, or the sources of one, which are built as go run does: a folder with a package main, or Go files.
  -n RANKS   how many; 1 when not given
`
	completionAbout = `Prints a script that completes commands and flags:
  bash   source <(gompss completion bash)
  zsh    source <(gompss completion zsh)
  fish   gompss completion fish | source
`
)

// help prints the usage of all commands, or of one.
func help(args []string, stdout, _ io.Writer) error {
	if len(args) == 0 {
		printUsage(stdout)
		fmt.Fprintln(stdout, "\ngompss help COMMAND says more.")
		return nil
	}
	c := find(args[0])
	if c == nil || len(args) > 1 {
		return usageError("help takes one command: %s", strings.Join(commandNames(), ", "))
	}
	fmt.Fprintf(stdout, "usage: gompss %s\n%s", c.usage, c.about)
	return nil
}

func find(name string) *command {
	i := slices.IndexFunc(commands(), func(c command) bool { return c.name == name })
	if i < 0 {
		return nil
	}
	return &commands()[i]
}

func commandNames() (out []string) {
	for _, c := range commands() {
		out = append(out, c.name)
	}
	return out
}

var flagLine = regexp.MustCompile(`(?m)^  (-\w+)`)

// flags returns the flags that about describes, each once.
func (c *command) flags() (out []string) {
	for _, m := range flagLine.FindAllStringSubmatch(c.about, -1) {
		if !slices.Contains(out, m[1]) {
			out = append(out, m[1])
		}
	}
	return append(out, "-h")
}

// words returns what may follow the command, beside flags and files.
func (c *command) words() []string {
	switch c.name {
	case "bench":
		return []string{"tasks", "cpu", "gpu"}
	case "trace":
		return []string{"summary", "critical", "export", "diff", "merge", "report"}
	case "completion":
		return []string{"bash", "zsh", "fish"}
	case "help":
		return commandNames()
	}
	return nil
}

// completion prints a script for a shell.
func completion(args []string, stdout, _ io.Writer) error {
	scripts := map[string]func(io.Writer){"bash": bashCompletion, "zsh": zshCompletion, "fish": fishCompletion}
	if len(args) != 1 || scripts[args[0]] == nil {
		return usageError("want bash, zsh or fish")
	}
	scripts[args[0]](stdout)
	return nil
}

func bashCompletion(w io.Writer) {
	fmt.Fprintf(w, `_gompss() {
	local word="${COMP_WORDS[COMP_CWORD]}"
	if [ "$COMP_CWORD" -eq 1 ]; then
		COMPREPLY=($(compgen -W "%s" -- "$word"))
		return
	fi
	local words=""
	case "${COMP_WORDS[1]}" in
`, strings.Join(commandNames(), " "))
	for _, c := range commands() {
		fmt.Fprintf(w, "\t%s) words=\"%s\" ;;\n", c.name, strings.Join(append(c.words(), c.flags()...), " "))
	}
	fmt.Fprint(w, `	esac
	COMPREPLY=($(compgen -W "$words" -- "$word") $(compgen -f -- "$word"))
}
complete -o filenames -F _gompss gompss
`)
}

// zshCompletion is that of bash, which zsh runs by a function of its own.
func zshCompletion(w io.Writer) {
	fmt.Fprintln(w, "autoload -U +X compinit && compinit\nautoload -U +X bashcompinit && bashcompinit")
	bashCompletion(w)
}

func fishCompletion(w io.Writer) {
	for _, c := range commands() {
		about, _, _ := strings.Cut(strings.TrimSpace(c.about), ".")
		about, _, _ = strings.Cut(about, "\n")
		fmt.Fprintf(w, "complete -c gompss -n __fish_use_subcommand -a %s -d %q\n", c.name, about)
		for _, f := range c.flags() {
			fmt.Fprintf(w, "complete -c gompss -n '__fish_seen_subcommand_from %s' -o %s\n", c.name, strings.TrimPrefix(f, "-"))
		}
		for _, word := range c.words() {
			fmt.Fprintf(w, "complete -c gompss -n '__fish_seen_subcommand_from %s' -a %s\n", c.name, word)
		}
	}
}

func version(args []string, stdout, _ io.Writer) error {
	if len(args) > 0 {
		return usageError("it takes no arguments")
	}
	_, err := fmt.Fprintln(stdout, "gompss", buildVersion())
	return err
}

// buildVersion says of what the command was built: the module's version, the commit, and Go's
// version.
func buildVersion() string {
	b, ok := debug.ReadBuildInfo()
	if !ok {
		return "unknown"
	}
	return versionOf(b)
}

func versionOf(b *debug.BuildInfo) string {
	set := map[string]string{}
	for _, s := range b.Settings {
		set[s.Key] = s.Value
	}
	text := b.Main.Version
	if commit := set["vcs.revision"]; commit != "" {
		text += ", commit " + commit[:min(12, len(commit))]
		if set["vcs.modified"] == "true" {
			text += " with changes"
		}
		if at := set["vcs.time"]; at != "" {
			text += " of " + at
		}
	}
	return text + ", " + b.GoVersion
}
