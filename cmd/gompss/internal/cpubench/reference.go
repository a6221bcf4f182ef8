package cpubench

import (
	"bufio"
	_ "embed"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

//go:embed c/rows.c
var rowsC string

// A compiler is one way to make the C programs.
type compiler struct {
	name  string // as the table heads it
	path  string
	flags []string
}

var fastFlags = []string{"-O3", "-march=native", "-ffast-math", "-fopenmp-simd"}

// compilers are those that this machine has: the first is the one to beat.
func compilers() []compiler {
	var out []compiler
	if path, err := exec.LookPath("gcc"); err == nil {
		out = append(out, compiler{"gcc -ffast-math", path, fastFlags}, compiler{"gcc", path, []string{"-O3", "-march=native"}})
	}
	if path, err := exec.LookPath("clang"); err == nil {
		out = append(out, compiler{"clang -ffast-math", path, fastFlags})
	}
	return out
}

// version is the first line that the compiler says about itself.
func (c compiler) version() string {
	out, err := exec.Command(c.path, "--version").Output()
	if err != nil {
		return err.Error()
	}
	line, _, _ := strings.Cut(string(out), "\n")
	return line
}

// A reference is a C program that waits for orders.
type reference struct {
	compiler compiler
	cmd      *exec.Cmd
	in       io.WriteCloser
	out      *bufio.Reader
}

// start compiles the rows for one type, "float" or "double", and starts the program.
func (c compiler) start(dir, typ string, pool int) (*reference, error) {
	source := filepath.Join(dir, "rows.c")
	if err := os.WriteFile(source, []byte(rowsC), 0o600); err != nil {
		return nil, err
	}
	program := filepath.Join(dir, strings.ReplaceAll(c.name, " ", "")+"_"+typ)
	args := append(append([]string{}, c.flags...), "-DT="+typ, source, "-o", program, "-lm")
	if out, err := exec.Command(c.path, args...).CombinedOutput(); err != nil {
		return nil, fmt.Errorf("bench: %s: %w: %s", c.name, err, out)
	}
	r := &reference{compiler: c, cmd: exec.Command(program, strconv.Itoa(pool))}
	var err error
	if r.in, err = r.cmd.StdinPipe(); err != nil {
		return nil, err
	}
	out, err := r.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	r.out = bufio.NewReader(out)
	return r, r.cmd.Start()
}

// ask sends one order and returns the answer.
func (r *reference) ask(format string, args ...any) (string, error) {
	if _, err := fmt.Fprintf(r.in, format+"\n", args...); err != nil {
		return "", fmt.Errorf("bench: %s: %w", r.compiler.name, err)
	}
	line, err := r.out.ReadString('\n')
	if err != nil {
		return "", fmt.Errorf("bench: %s: no answer: %w", r.compiler.name, err)
	}
	return strings.TrimSpace(line), nil
}

func (r *reference) setup(s spec) error {
	_, err := r.ask("setup %s %d %d", s.name, s.n, s.m)
	return err
}

func (r *reference) run(reps int) (time.Duration, error) {
	line, err := r.ask("run %d", reps)
	if err != nil {
		return 0, err
	}
	ns, err := strconv.ParseInt(line, 10, 64)
	return time.Duration(ns), err
}

func (r *reference) sum() (float64, error) {
	line, err := r.ask("sum")
	if err != nil {
		return 0, err
	}
	return strconv.ParseFloat(line, 64)
}

// release gives the memory of the arguments back.
func (r *reference) release() error {
	_, err := r.ask("free")
	return err
}

func (r *reference) close() error { return errors.Join(r.in.Close(), r.cmd.Wait()) }
