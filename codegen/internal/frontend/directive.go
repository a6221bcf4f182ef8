package frontend

import (
	"go/token"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// A piece is a part of the text of a directive and the place in the comment where it starts.
type piece struct {
	text string
	at   token.Pos
}

func (p piece) sub(lo, hi int) piece { return piece{p.text[lo:hi], p.at + token.Pos(lo)} }

func (p piece) from(lo int) piece { return p.sub(lo, len(p.text)) }

func (p piece) trim() piece {
	left := strings.TrimLeft(p.text, Blanks)
	return piece{strings.TrimRight(left, Blanks), p.at + token.Pos(len(p.text)-len(left))}
}

// Blanks is what may stand between the parts of a directive.
const Blanks = " \t\r"

// split cuts p at every sep that stands outside brackets and quotes, and trims the parts. Nothing
// but blanks is no part.
func (p piece) split(sep byte) []piece {
	if p.trim().text == "" {
		return nil
	}
	var out []piece
	start := 0
	p.outside(func(i int) bool {
		if p.text[i] == sep {
			out = append(out, p.sub(start, i).trim())
			start = i + 1
		}
		return true
	})
	return append(out, p.from(start).trim())
}

// cut returns what stands before and after the first sep outside brackets and quotes.
func (p piece) cut(sep byte) (before, after piece, found bool) {
	at := -1
	p.outside(func(i int) bool {
		if p.text[i] == sep {
			at = i
		}
		return at < 0
	})
	if at < 0 {
		return p.trim(), piece{at: p.at + token.Pos(len(p.text))}, false
	}
	return p.sub(0, at).trim(), p.from(at + 1).trim(), true
}

// outside calls f for every byte outside brackets and quotes, opening brackets and quotes included,
// until f returns false. It returns how many brackets are left open.
func (p piece) outside(f func(i int) bool) (depth int) {
	for i := 0; i < len(p.text); i++ {
		c := p.text[i]
		if depth == 0 && !f(i) {
			return depth
		}
		switch {
		case strings.IndexByte("([{", c) >= 0:
			depth++
		case strings.IndexByte(")]}", c) >= 0 && depth > 0:
			depth--
		case strings.IndexByte("\"'`", c) >= 0:
			i = closingQuote(p.text, i)
		}
	}
	return depth
}

// closingQuote returns the index of the quote that ends the literal that starts at i, or the last index.
func closingQuote(s string, i int) int {
	quote := s[i]
	for i++; i < len(s); i++ {
		switch {
		case s[i] == quote:
			return i
		case s[i] == '\\' && quote != '`':
			i++
		}
	}
	return len(s)
}

// closing returns the index of the bracket that closes the one that p starts with, or -1.
func (p piece) closing() int {
	depth := 0
	for i := 0; i < len(p.text); i++ {
		switch c := p.text[i]; {
		case strings.IndexByte("([{", c) >= 0:
			depth++
		case strings.IndexByte(")]}", c) >= 0:
			if depth--; depth == 0 {
				return i
			}
		case strings.IndexByte("\"'`", c) >= 0:
			i = closingQuote(p.text, i)
		}
	}
	return -1
}

// A clause is a name with its argument text, as written.
type clause struct {
	name    piece
	args    piece // what stands between the parentheses
	hasArgs bool
}

// A line is one //omp: comment: the words of its constructs, then clauses; shape and let have free text instead.
type line struct {
	at      token.Pos // of the comment
	words   []piece
	clauses []clause
	rest    piece // of shape and let
}

func (l *line) name() string { return l.words[0].text }

// A directive is what the //omp: lines right above one function or statement say, as written.
type directive struct {
	at    token.Pos
	lines []*line
	text  string // all lines without "//omp:", joined by a space

	parted bool // an empty line follows, and then what it may govern
	before int  // of a scan: how many statements of the loop's body stand in front of it
}

// words returns the construct words of all lines in order.
func (d *directive) words() []string {
	var out []string
	for _, l := range d.lines {
		for _, w := range l.words {
			if !slices.Contains(out, w.text) {
				out = append(out, w.text)
			}
		}
	}
	return out
}

// clauses returns the clauses of all lines in order.
func (d *directive) clauses() []clause {
	var out []clause
	for _, l := range d.lines {
		out = append(out, l.clauses...)
	}
	return out
}

// named returns the lines of a function directive that start with name.
func (d *directive) named(name string) []*line {
	var out []*line
	if d == nil {
		return nil
	}
	for _, l := range d.lines {
		if l.name() == name {
			out = append(out, l)
		}
	}
	return out
}

// has reports whether word is one of the constructs of d.
func (d *directive) has(word string) bool { return d != nil && slices.Contains(d.words(), word) }

// onLoop reports whether d distributes a loop: it has one of the loop constructs, and its For carries it.
func (d *directive) onLoop() bool {
	return d.has("distribute") || d.has("for") || d.has("simd") || d.has("loop")
}

// onFunc reports whether d stands on a function.
func (d *directive) onFunc() bool { return slices.Contains(functionWords, d.lines[0].name()) }

// A lineError is what is wrong with the text of a line, found before anything is known about the program.
type lineError struct {
	at                 token.Pos
	what, why, instead string
}

// parseLine reads the text of a directive behind "//omp:".
func parseLine(text piece, at token.Pos) (*line, []lineError) {
	l := &line{at: at}
	word, rest, err := directiveName(text, at)
	if err != nil {
		return nil, []lineError{*err}
	}
	l.words = []piece{word}
	if word.text == "shape" || word.text == "let" {
		l.rest = rest.trim()
		return l, nil
	}
	return l, l.parseClauses(rest)
}

// directiveName cuts the name of a directive off the front of text.
func directiveName(text piece, at token.Pos) (word, rest piece, err *lineError) {
	word, rest = nextWord(text)
	switch {
	case word.text == "" && strings.HasPrefix(text.text, " "):
		err = &lineError{at, "directive", "a blank stands between //omp: and the name", "write //omp:NAME clauses"}
	case word.text == "":
		err = &lineError{at, "directive", "no name follows //omp:", "write //omp:NAME clauses"}
	case !slices.Contains(directiveWords, word.text):
		unknown := unknownDirective(word)
		err = &unknown
	}
	return word, rest, err
}

func unknownDirective(word piece) lineError {
	instead := "write one of " + strings.Join(directiveWords, ", ")
	apart := strings.ReplaceAll(word.text, "_", " ")
	if near := nearest(word.text, directiveWords); near != "" {
		instead = "write //omp:" + near
	}
	if known, ok := foreignDirectives[word.text]; ok {
		instead = known
	} else if slices.Contains(combined, apart) {
		instead = "write //omp:" + apart
	}
	return lineError{word.at, "directive " + word.text, "there is no such directive", instead}
}

// foreignDirectives says what to write for the directives of OpenMP and OmpSs that this dialect has not.
var foreignDirectives = map[string]string{
	"barrier": "call kernel.Barrier()", "taskwait": "wait in the program: Runtime.Wait or WaitOn", "master": "write //omp:masked",
	"critical": "write //omp:atomic above each update", "ordered": "take the parallel directive off the loop",
	"sections": "write a task for each section", "section": "write a task for each section",
	"flush": "use //omp:atomic, or kernel.Barrier() between the accesses", "workshare": "write //omp:for above a loop",
	"data": "leave it out: the runtime copies what the accesses of tasks need", "update": "leave it out: the runtime copies what the accesses of tasks need",
	"declare": "leave it out: what a kernel calls is compiled with it", "threadprivate": "declare the variable inside parallel",
	"taskloop": "submit a task for each part of the loop", "taskgroup": "wait in the program: Runtime.Wait",
}

// parseClauses reads what follows the first word: more construct words, then clauses with or without arguments, with
// commas between them where the author likes.
func (l *line) parseClauses(rest piece) []lineError {
	var errs []lineError
	for {
		rest = skipComma(rest)
		if rest.text == "" {
			return errs
		}
		word, after := nextWord(rest)
		if word.text == "" {
			return append(errs, lineError{rest.at, "directive " + l.name(), "unexpected " + quoteFirst(rest.text),
				"write clauses as name or name(arguments)"})
		}
		if !strings.HasPrefix(after.text, "(") {
			rest = after
			if err := l.addWord(word); err != nil {
				errs = append(errs, *err)
			}
			continue
		}
		end := after.closing()
		if end < 0 {
			return append(errs, lineError{after.at, "clause " + word.text, "its parenthesis is not closed", "write " + word.text + "(...) on one line"})
		}
		if after.text[end] != ')' {
			return append(errs, lineError{after.at + token.Pos(end), "clause " + word.text, "brackets do not match", "write " + word.text + "(...)"})
		}
		l.clauses = append(l.clauses, clause{name: word, args: after.sub(1, end), hasArgs: true})
		rest = after.from(end + 1)
	}
}

// addWord takes a word without arguments: another construct, or a clause.
func (l *line) addWord(word piece) *lineError {
	if !slices.Contains(statementWords, word.text) {
		l.clauses = append(l.clauses, clause{name: word})
		return nil
	}
	if len(l.clauses) > 0 {
		return &lineError{word.at, "directive " + l.name(), "the word " + word.text + " stands behind a clause",
			"write the words of a combined directive first, then the clauses"}
	}
	if slices.ContainsFunc(l.words, func(w piece) bool { return w.text == word.text }) {
		return &lineError{word.at, "directive " + l.name(), "the word " + word.text + " stands there twice", "write it once"}
	}
	l.words = append(l.words, word)
	return nil
}

func skipComma(p piece) piece {
	if p = p.trim(); strings.HasPrefix(p.text, ",") {
		return p.from(1).trim()
	}
	return p
}

// nextWord cuts an identifier of Go off the front of p; blanks behind it go too.
func nextWord(p piece) (word, rest piece) {
	n := 0
	for i, r := range p.text {
		if NotInWord(r) || i == 0 && unicode.IsDigit(r) {
			break
		}
		n = i + utf8.RuneLen(r)
	}
	return p.sub(0, n), p.from(n).trim()
}

// NotInWord reports whether r can stand nowhere in an identifier of Go.
func NotInWord(r rune) bool { return r != '_' && !unicode.IsLetter(r) && !unicode.IsDigit(r) }

func quoteFirst(s string) string {
	for _, r := range s {
		return "'" + string(r) + "'"
	}
	return "end of line"
}

// nearest returns the word of list that s is most likely a misspelling of, "" where none is close.
func nearest(s string, list []string) string {
	best, bound := "", min(3, len(s)/2+1)
	for _, w := range list {
		if n := editDistance(s, w); n < bound {
			best, bound = w, n
		}
	}
	return best
}

// editDistance counts the insertions, deletions, replacements and swaps of neighbours that make b of a.
func editDistance(a, b string) int {
	two, one := []int(nil), []int(nil)
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := 1; i <= len(a); i++ {
		two, one, row = one, row, make([]int, len(b)+1)
		row[0] = i
		for j := 1; j <= len(b); j++ {
			same := 1
			if a[i-1] == b[j-1] {
				same = 0
			}
			row[j] = min(one[j]+1, row[j-1]+1, one[j-1]+same)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				row[j] = min(row[j], two[j-2]+1)
			}
		}
	}
	return row[len(b)]
}
