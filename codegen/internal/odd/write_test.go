package odd

import (
	_ "embed"
	"flag"
	"fmt"
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

var (
	writeTo    = flag.String("oddto", "", "write programs to this file")
	writeCount = flag.Int("oddprograms", 100, "how many programs TestWritePrograms writes")
	writeFirst = flag.Uint64("oddfirst", 1, "seed of the first")
	// Serial programs are those of serial_test.go.
	serialCount = flag.Int("serialprograms", 0, "how many serial programs TestWritePrograms writes")
	serialFirst = flag.Uint64("serialfirst", 1, "seed of the first, from 2^40 on")

	movedCount = flag.Int("movedprograms", 0, "how many programs of moved_test.go TestWritePrograms writes")
	movedFirst = flag.Uint64("movedfirst", 1, "seed of the first, from 2^41 on")
)

// A program is a kernel as text and as the function that Go's compiler made of it.
type program struct {
	seed    uint64
	text    string
	call    any
	globals []any // pointers to its package variables, in the order of the text
}

// found are programs that went wrong once, made small.
//
//go:embed testdata/found.txt
var found string

// TestWritePrograms writes random programs, for a build of this test that has them in place of
// programs_test.go: go test -overlay.
func TestWritePrograms(t *testing.T) {
	if *writeTo == "" {
		t.Skip("-oddto names no file")
	}
	var seeds []uint64
	for i := range *writeCount {
		seeds = append(seeds, *writeFirst+uint64(i))
	}
	for i := range *movedCount {
		seeds = append(seeds, firstMoved+*movedFirst+uint64(i))
	}
	for i := range *serialCount {
		seeds = append(seeds, firstSerial+*serialFirst+uint64(i))
	}
	require.NoError(t, os.WriteFile(*writeTo, []byte(programsFile(seeds)), 0o644))
}

// TestPrograms_AreWhatTheGeneratorMakes compares the programs of this build with the generator and
// with those that were found.
func TestPrograms_AreWhatTheGeneratorMakes(t *testing.T) {
	text := map[uint64]string{}
	for _, p := range programs {
		text[p.seed] = p.text
	}
	for _, p := range foundPrograms() {
		require.Equal(t, p.text, text[p.seed], "go test ./codegen/internal/odd -run WritePrograms -oddto programs_test.go")
	}
}

// TestPrograms_HaveEveryClause looks for each clause that changes what a program means in two
// thousand programs.
func TestPrograms_HaveEveryClause(t *testing.T) {
	rest := []string{" contract\n", " overlap(ok)\n", " contract overlap(ok)\n", " dist_private([", " dist_firstprivate([", " dist_lastprivate([", " dist_firstlastprivate(["}
	for seed := uint64(1); seed <= 2000 && len(rest) > 0; seed++ {
		text := makeProgram(seed)
		rest = slices.DeleteFunc(rest, func(clause string) bool { return strings.Contains(text, clause) })
	}
	require.Empty(t, rest)
}

// TestMovedPrograms_HaveEveryClass looks for each way to move slices, and for records that are moved, in
// three hundred programs.
func TestMovedPrograms_HaveEveryClass(t *testing.T) {
	rest := map[string]string{
		"exchange":                       `\n\t([a-z.]+), ([a-z.]+) = ([a-z.]+), ([a-z.]+)\n`,
		"exchange under a condition":     `\tif .* \{\n\t+[a-z]+, [a-z]+ = [a-z]+, [a-z]+\n`,
		"exchange in a loop":             `\n\t\t[a-z.]+, [a-z.]+ = [a-z.]+, [a-z.]+\n`,
		"exchange by a method":           `\tb\.flip\(\)`,
		"exchange in a parameter":        `\trec\.flip\(\)`,
		"exchange by a function":         `= swapped_\d+\(`,
		"three slices":                   `\tx, y, z = y, z, x`,
		"exchange by a team":             `\tp, q = q, p`,
		"exchange by an iteration":       `\tp\d+, q\d+ = q\d+, p\d+`,
		"reslicing":                      `\n\t+[xyzbcurnt.]+ = [xyzbcurnt.]+\[\d:\]`,
		"reslicing from the end":         `= [xyzbcurnt.]+\[:len\([a-z.]+\)-\d\]`,
		"reslicing with a capacity":      `\[1 : len\([a-z.]+\)-\d : len`,
		"reslicing past the length":      `\[:3\]\[:len\(`,
		"reslicing by a method":          `\tb\.drop\(\d\)`,
		"parts of one memory":            `outb\[:h\], |outb\[h:\], `,
		"one memory through two slices":  `\n\t+u\d+, o\d+ := `,
		"records stored whole":           `\t[xyzo0-9]+\[\w+\] = s\d_\d+\{`,
		"records stored through a slice": `\to\d+\[.*\]\.[a-e]`,
	}
	for seed := uint64(firstMoved); seed < firstMoved+300 && len(rest) > 0; seed++ {
		text := makeMoved(seed)
		maps.DeleteFunc(rest, func(_, form string) bool { return regexp.MustCompile(form).MatchString(text) })
	}
	require.Empty(t, rest)
}

// TestPrograms_ComeNearTheEnds looks for loops near both ends of the types of their counters, under
// directives and in iterations, in five hundred programs.
func TestPrograms_ComeNearTheEnds(t *testing.T) {
	rest := map[string]string{
		"under a directive":     `// span `,
		"down":                  `// span \w+ true`,
		"up to the greatest":    `<= 1<<(7|8|15|16|31|32|63|64) - 1; `,
		"down to the least":     `>= -1 << (7|15|31|63); `,
		"down to zero":          `>= 0; j\d+ -= `,
		"from end to end":       `\(-1 << 63 \+ \d\); j\d+ [<!]=? 1<<63 - 1 - \d`,
		"a range to the end":    `:= range u?int\d*\(1<<\d+ - 1 - \d\)`,
		"a step of a half":      `\+= 1<<63 - 1 \{`,
		"a step of a quarter":   `\+= 1 << 62 \{`,
		"a step that wraps":     `// span u?int8 \w+ (33|100)`,
		"an end that overflows": `// span \w+ \w+ \d+ \S+ \S+ (hi\+3|hi-1|lo\+5|lo-5)`,
	}
	for seed := uint64(1); seed <= 500 && len(rest) > 0; seed++ {
		text := makeProgram(seed)
		maps.DeleteFunc(rest, func(_, form string) bool { return regexp.MustCompile(form).MatchString(text) })
	}
	require.Empty(t, rest)
}

func foundPrograms() (out []program) {
	for _, text := range strings.Split(found, "\n====\n") {
		var seed uint64
		at := strings.Index(text, "func K_")
		_, _ = fmt.Sscanf(text[at:], "func K_%d(", &seed)
		out = append(out, program{seed: seed, text: strings.TrimSpace(text) + "\n"})
	}
	return out
}

// programsFile is the text of a file of programs: those that were found, and random ones.
func programsFile(seeds []uint64) string {
	list := foundPrograms()
	for _, s := range seeds {
		list = append(list, program{seed: s, text: makeProgram(s)})
	}
	var b, table strings.Builder
	b.WriteString("// Code generated by go test ./codegen/internal/odd -run WritePrograms. DO NOT EDIT.\n\n" +
		"//lint:file-ignore SA4006 a random program may assign what it never reads\n\npackage odd\n\n" + imports)
	for _, p := range list {
		b.WriteString(p.text + "\n")
		var globals []string
		for _, name := range globalNames(p.text) {
			globals = append(globals, "&"+name)
		}
		fmt.Fprintf(&table, "\t{%d, `%s`, K_%d, []any{%s}},\n", p.seed, p.text, p.seed, quoted(globals))
	}
	b.WriteString("var programs = []program{\n" + table.String() + "}\n")
	return b.String()
}

// globalNames are the package variables of a program.
func globalNames(text string) (out []string) {
	for _, l := range strings.Split(text, "\n") {
		if rest, ok := strings.CutPrefix(l, "var "); ok {
			name, _, _ := strings.Cut(rest, " ")
			out = append(out, name)
		}
	}
	return out
}
