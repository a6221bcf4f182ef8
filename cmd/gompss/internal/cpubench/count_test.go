package cpubench

import (
	"bufio"
	"bytes"
	"flag"
	"fmt"
	"io"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"

	"github.com/gompss/gompss/codegen"
	"github.com/gompss/gompss/codegen/cpu"
)

// Times need a processor, instructions do not: qemu-user logs each block of instructions once, and
// each run of it. What is counted is the difference between four runs and two, of the generated
// code here and of the function and what it calls in C.

var (
	countRows = flag.String("instructions", "", "count the instructions of the rows whose name has this in it, or of all")
	countRun  = flag.String("runs", "", "row, type and runs of the process that is counted")
	countList = flag.Bool("listing", false, "print the code of the rows that are counted")
)

// countSpecs are the rows at sizes that qemu runs in a second.
func countSpecs() []spec {
	return []spec{
		{name: "copy", n: 4096, work: 4096, fn: "Copy"}, {name: "scale", n: 4096, work: 4096, fn: "Scale"}, {name: "add", n: 4096, work: 4096, fn: "Add"},
		{name: "triad", n: 4096, work: 4096, fn: "Triad"}, {name: "saxpy", n: 4096, work: 4096, fn: "Saxpy"}, {name: "dot", n: 4096, work: 4096, fn: "Dot"},
		{name: "nbody", n: 256, work: 256 * 256, fn: "NBody"}, {name: "jacobi", n: 66, m: 514, work: 64 * 512, fn: "Jacobi"},
		{name: "spmv", n: 512, m: 32, work: 512 * 31.5, fn: "SpMV"}, {name: "exp", n: 4096, work: 4096, fn: "Exp"},
		{name: "blackscholes", n: 2048, work: 2048, fn: "BlackScholes"}, {name: "matmul", n: 96, work: 96 * 96 * 96, fn: "MatMul"},
		{name: "mandelbrot", n: 48, m: 48, work: 48 * 48, fn: "Mandelbrot"}, {name: "histogram", n: 16384, work: 16384, fn: "Histogram"},
	}
}

// TestCounted_RunsARow is the process that is counted, on arm64.
func TestCounted_RunsARow(t *testing.T) {
	if *countRun == "" {
		t.Skip("runs in the process that -instructions starts")
	}
	var name, typ string
	var runs int
	_, err := fmt.Sscanf(*countRun, "%s %s %d", &name, &typ, &runs)
	require.NoError(t, err)
	for _, s := range countSpecs() {
		switch {
		case s.name != name:
		case typ == "float32":
			runCounted[float32](t, s, typ, runs)
		default:
			runCounted[float64](t, s, typ, runs)
		}
	}
}

// runCounted runs our code, in whole loops.
func runCounted[T float32 | float64](t *testing.T, s spec, typ string, runs int) {
	pkg, err := codegen.Load(codegen.File{Name: "kernels.go", Text: kernelText})
	require.NoError(t, err)
	arena, err := cpu.NewArena()
	require.NoError(t, err)
	options, err := cpu.Detect()
	require.NoError(t, err)
	options.Grain = 1 << 40
	us := &ours[T]{pkg: pkg, arena: arena, options: options, pool: &pool{mem: make([]byte, poolSize([]spec{s}, int(unsafe.Sizeof(T(0)))))}, typ: typ}
	v, err := us.variant(s.fn)
	require.NoError(t, err)
	require.NoError(t, v.refused)
	require.NoError(t, us.verify(v, s))
	c := v.bind(arguments[T](us.pool, s))
	whole := func(l *cpu.Loop) error { return l.Run(0, l.Trips) }
	if s.name == "histogram" { // alone, where the others are shared
		whole = nil
	}
	if *countList {
		fmt.Print(v.runner.Program().Code.Listing())
	}
	for range runs {
		require.NoError(t, v.runner.Call(c.values, whole))
	}
	runtime.KeepAlive(us.pool)
}

// TestInstructionsOnARM64_BesideClang prints the table of docs/results/arm64.md.
func TestInstructionsOnARM64_BesideClang(t *testing.T) {
	given := false
	flag.Visit(func(f *flag.Flag) { given = given || f.Name == "instructions" })
	if !given {
		t.Skip("counts with -instructions '' or -instructions row")
	}
	for _, tool := range []string{"qemu-aarch64-static", "clang-19", "aarch64-linux-gnu-nm"} {
		if _, err := exec.LookPath(tool); err != nil {
			t.Skip(err)
		}
	}
	c := counting{t, t.TempDir()}
	c.build()
	fmt.Println("| kernel | type | instructions an element | clang | ratio |\n|---|---|---|---|---|")
	logs, rows := 0.0, 0
	for _, s := range countSpecs() {
		if !strings.Contains(s.name, *countRows) {
			continue
		}
		for _, typ := range []string{"float32", "float64"} {
			us, clang := c.ours(s, typ)/s.work, c.clang(s, typ)/s.work
			fmt.Printf("| %s | %s | %.2f | %.2f | %.2f |\n", s.name, typ, us, clang, us/clang)
			logs, rows = logs+math.Log(us/clang), rows+1
		}
	}
	fmt.Printf("\nGeometric mean of the ratios: %.2f.\n", math.Exp(logs/float64(rows)))
}

// A counting compiles and counts in a folder.
type counting struct {
	t   *testing.T
	dir string
}

var cTypes = map[string]string{"float32": "float", "float64": "double"}

// neonFlags are those of bench cpu for the processor, without SVE.
var neonFlags = []string{"--target=aarch64-linux-gnu", "-static", "-O3", "-ffast-math", "-fopenmp-simd", "-mcpu=neoverse-v2+nosve+nosve2"}

func (c *counting) build() {
	test := exec.Command("go", "test", "-c", "-o", filepath.Join(c.dir, "ours"), ".")
	test.Env = append(os.Environ(), "GOARCH=arm64", "GOOS=linux", "CGO_ENABLED=0")
	out, err := test.CombinedOutput()
	require.NoError(c.t, err, "%s", out)
	source := filepath.Join(c.dir, "rows.c")
	require.NoError(c.t, os.WriteFile(source, []byte(rowsC), 0o600))
	for _, typ := range cTypes {
		out, err := exec.Command("clang-19", append(neonFlags, "-DT="+typ, source, "-o", filepath.Join(c.dir, typ), "-lm")...).CombinedOutput()
		require.NoError(c.t, err, "%s", out)
	}
}

// ours counts what runs outside of the program's own text: generated code.
func (c *counting) ours(s spec, typ string) float64 {
	return c.difference(func(runs int) (string, string, []string) {
		args := []string{"-test.run", "Counted", "-runs", fmt.Sprint(s.name, " ", typ, " ", runs)}
		if *countList && runs == 2 {
			args = append(args, "-listing")
		}
		return "0x100000000..0xffffffffffff", "", append([]string{"ours"}, args...)
	})
}

// clang counts the function of a row and the functions of libm.
func (c *counting) clang(s spec, typ string) float64 {
	ranges := c.symbols(cTypes[typ], map[string]string{"exp": "expk"}[s.name], s.name)
	return c.difference(func(runs int) (string, string, []string) {
		return ranges, fmt.Sprintf("setup %s %d %d\nrun %d\n", s.name, s.n, s.m, runs), []string{cTypes[typ], strconv.Itoa(64 << 20)}
	})
}

var libm = regexp.MustCompile(`^_*((exp|log)f?|mem(cpy|move|set))(_.*)?$`)

// symbols are the ranges of a row's function and of libm's in a program.
func (c *counting) symbols(program string, names ...string) string {
	out, err := exec.Command("aarch64-linux-gnu-nm", "-S", filepath.Join(c.dir, program)).Output()
	require.NoError(c.t, err)
	var ranges []string
	for line := range strings.Lines(string(out)) {
		f := strings.Fields(line)
		if len(f) != 4 || !strings.EqualFold(f[2], "t") && !strings.EqualFold(f[2], "i") && !strings.EqualFold(f[2], "w") {
			continue
		}
		own := false
		for _, n := range names {
			own = own || n != "" && f[3] == n && f[2] == "t"
		}
		if own || libm.MatchString(f[3]) {
			ranges = append(ranges, "0x"+f[0]+"+0x"+f[1])
		}
	}
	require.NotEmpty(c.t, ranges)
	return strings.Join(ranges, ",")
}

// difference is the instructions of one run, by those of four runs and of two.
func (c *counting) difference(command func(runs int) (ranges, input string, args []string)) float64 {
	n := [2]int{}
	for i, runs := range []int{2, 4} {
		ranges, input, args := command(runs)
		n[i] = c.count(ranges, input, args)
	}
	return float64(n[1]-n[0]) / 2
}

// count runs a program of the folder under qemu and counts its instructions in some ranges.
func (c *counting) count(ranges, input string, args []string) int {
	log := filepath.Join(c.dir, "log")
	cmd := exec.Command("qemu-aarch64-static", append([]string{"-d", "in_asm,exec,nochain", "-dfilter", ranges, "-D", log, filepath.Join(c.dir, args[0])}, args[1:]...)...)
	cmd.Stdin = strings.NewReader(input)
	out, err := cmd.CombinedOutput()
	require.NoError(c.t, err, "%s", out)
	if *countList && args[0] == "ours" && bytes.Contains(out, []byte("\t")) {
		fmt.Printf("%s", out)
	}
	f, err := os.Open(log)
	require.NoError(c.t, err)
	defer f.Close()
	return countLog(c.t, f)
}

// countLog adds the lengths of the blocks that a log of qemu says were run.
func countLog(t *testing.T, r io.Reader) (n int) {
	sizes, block := map[uint64]int{}, uint64(0)
	in := bufio.NewScanner(r)
	in.Buffer(nil, 1<<20)
	for in.Scan() {
		line := in.Text()
		switch {
		case strings.HasPrefix(line, "IN:"):
			block = 0
		case strings.HasPrefix(line, "0x"):
			at, err := strconv.ParseUint(line[2:strings.IndexByte(line, ':')], 16, 64)
			require.NoError(t, err, line)
			if block == 0 {
				block, sizes[at] = at, 0
			}
			sizes[block]++
		case strings.HasPrefix(line, "Trace"):
			f := strings.Split(line, "/")
			at, err := strconv.ParseUint(f[1], 16, 64)
			require.NoError(t, err, line)
			require.Contains(t, sizes, at, line)
			n += sizes[at]
		}
	}
	require.NoError(t, in.Err())
	return n
}
