// Package syntax reads directives and clauses as text: which comments are directives, what each of
// them governs, the words and the clauses of each with their places, and what is wrong with them
// alone. It knows no types and no values; what an argument means is for the front end to say.
package syntax

import (
	"go/token"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// A Piece is a part of the text of a directive and the place in the comment where it starts.
type Piece struct {
	Text string
	At   token.Pos
}

func (p Piece) Sub(lo, hi int) Piece { return Piece{p.Text[lo:hi], p.At + token.Pos(lo)} }

func (p Piece) From(lo int) Piece { return p.Sub(lo, len(p.Text)) }

func (p Piece) Trim() Piece {
	left := strings.TrimLeft(p.Text, Blanks)
	return Piece{strings.TrimRight(left, Blanks), p.At + token.Pos(len(p.Text)-len(left))}
}

// Blanks is what may stand between the parts of a directive.
const Blanks = " \t\r"

// Split cuts p at every sep that stands outside brackets and quotes, and trims the parts. Nothing
// but blanks is no part.
func (p Piece) Split(sep byte) []Piece {
	if p.Trim().Text == "" {
		return nil
	}
	var out []Piece
	start := 0
	p.outside(func(i int) bool {
		if p.Text[i] == sep {
			out = append(out, p.Sub(start, i).Trim())
			start = i + 1
		}
		return true
	})
	return append(out, p.From(start).Trim())
}

// Cut returns what stands before and after the first sep outside brackets and quotes.
func (p Piece) Cut(sep byte) (before, after Piece, found bool) {
	at := -1
	p.outside(func(i int) bool {
		if p.Text[i] == sep {
			at = i
		}
		return at < 0
	})
	if at < 0 {
		return p.Trim(), Piece{At: p.At + token.Pos(len(p.Text))}, false
	}
	return p.Sub(0, at).Trim(), p.From(at + 1).Trim(), true
}

// outside calls f for every byte outside brackets and quotes, opening brackets and quotes included,
// until f returns false. It returns how many brackets are left open.
func (p Piece) outside(f func(i int) bool) (depth int) {
	for i := 0; i < len(p.Text); i++ {
		c := p.Text[i]
		if depth == 0 && !f(i) {
			return depth
		}
		switch {
		case strings.IndexByte("([{", c) >= 0:
			depth++
		case strings.IndexByte(")]}", c) >= 0 && depth > 0:
			depth--
		case strings.IndexByte("\"'`", c) >= 0:
			i = closingQuote(p.Text, i)
		}
	}
	return depth
}

// closingQuote returns the index of the quote that ends the literal that starts at i, or the last
// index.
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

// Closing returns the index of the bracket that closes the one that p starts with, or -1.
func (p Piece) Closing() int {
	depth := 0
	for i := 0; i < len(p.Text); i++ {
		switch c := p.Text[i]; {
		case strings.IndexByte("([{", c) >= 0:
			depth++
		case strings.IndexByte(")]}", c) >= 0:
			if depth--; depth == 0 {
				return i
			}
		case strings.IndexByte("\"'`", c) >= 0:
			i = closingQuote(p.Text, i)
		}
	}
	return -1
}

// A Clause is a name with its argument text, as written.
type Clause struct {
	Name    Piece
	Args    Piece // what stands between the parentheses
	hasArgs bool
}

// A Line is one //omp: comment: the words of its constructs, then clauses; shape and let have
// free text instead.
type Line struct {
	at      token.Pos // of the comment
	words   []Piece
	Clauses []Clause
	Rest    Piece // of shape and let
}

func (l *Line) name() string { return l.words[0].Text }

// A Directive is what the //omp: lines right above one function or statement say, as written.
type Directive struct {
	At    token.Pos
	Lines []*Line
	Text  string // all lines without "//omp:", joined by a space

	parted bool // an empty line follows, and then what it may govern
	Before int  // of a scan: how many statements of the loop's body stand in front of it
}

// Words returns the construct words of all lines in order.
func (d *Directive) Words() []string {
	var out []string
	for _, l := range d.Lines {
		for _, w := range l.words {
			if !slices.Contains(out, w.Text) {
				out = append(out, w.Text)
			}
		}
	}
	return out
}

// Clauses returns the clauses of all lines in order.
func (d *Directive) Clauses() []Clause {
	var out []Clause
	for _, l := range d.Lines {
		out = append(out, l.Clauses...)
	}
	return out
}

// Named returns the lines of a function directive that start with name.
func (d *Directive) Named(name string) []*Line {
	var out []*Line
	if d == nil {
		return nil
	}
	for _, l := range d.Lines {
		if l.name() == name {
			out = append(out, l)
		}
	}
	return out
}

// Has reports whether word is one of the constructs of d.
func (d *Directive) Has(word string) bool { return d != nil && slices.Contains(d.Words(), word) }

// OnLoop reports whether d distributes a loop: it has one of the loop constructs, and its For
// carries it.
func (d *Directive) OnLoop() bool {
	return d.Has("distribute") || d.Has("for") || d.Has("simd") || d.Has("loop")
}

// onFunc reports whether d stands on a function.
func (d *Directive) onFunc() bool { return slices.Contains(functionWords, d.Lines[0].name()) }

// A lineError is what is wrong with the text of a line, found before anything is known about the
// program.
type lineError struct {
	at                 token.Pos
	what, why, instead string
}

// parseLine reads the text of a directive behind "//omp:".
func parseLine(text Piece, at token.Pos) (*Line, []lineError) {
	l := &Line{at: at}
	word, rest, err := directiveName(text, at)
	if err != nil {
		return nil, []lineError{*err}
	}
	l.words = []Piece{word}
	if word.Text == "shape" || word.Text == "let" {
		l.Rest = rest.Trim()
		return l, nil
	}
	return l, l.parseClauses(rest)
}

// directiveName cuts the name of a directive off the front of text.
func directiveName(text Piece, at token.Pos) (word, rest Piece, err *lineError) {
	word, rest = NextWord(text)
	switch {
	case word.Text == "" && strings.HasPrefix(text.Text, " "):
		err = &lineError{at, "directive", "a blank stands between //omp: and the name", "write //omp:NAME clauses"}
	case word.Text == "":
		err = &lineError{at, "directive", "no name follows //omp:", "write //omp:NAME clauses"}
	case !slices.Contains(directiveWords, word.Text):
		unknown := unknownDirective(word)
		err = &unknown
	}
	return word, rest, err
}

func unknownDirective(word Piece) lineError {
	instead := "write one of " + strings.Join(directiveWords, ", ")
	apart := strings.ReplaceAll(word.Text, "_", " ")
	if near := Nearest(word.Text, directiveWords); near != "" {
		instead = "write //omp:" + near
	}
	if known, ok := foreignDirectives[word.Text]; ok {
		instead = known
	} else if slices.Contains(combined, apart) {
		instead = "write //omp:" + apart
	}
	return lineError{word.At, "directive " + word.Text, "there is no such directive", instead}
}

// foreignDirectives says what to write for the directives of OpenMP and OmpSs that this dialect
// has not.
var foreignDirectives = map[string]string{
	"barrier": "call kernel.Barrier()", "taskwait": "wait in the program: Runtime.Wait or WaitOn", "master": "write //omp:masked",
	"critical": "write //omp:atomic above each update", "ordered": "take the parallel directive off the loop",
	"sections": "write a task for each section", "section": "write a task for each section",
	"flush": "use //omp:atomic, or kernel.Barrier() between the accesses", "workshare": "write //omp:for above a loop",
	"data": "leave it out: the runtime copies what the accesses of tasks need", "update": "leave it out: the runtime copies what the accesses of tasks need",
	"declare": "leave it out: what a kernel calls is compiled with it", "threadprivate": "declare the variable inside parallel",
	"taskloop": "submit a task for each part of the loop", "taskgroup": "wait in the program: Runtime.Wait",
}

// parseClauses reads what follows the first word: more construct words, then clauses with or
// without arguments, with commas between them where the author likes.
func (l *Line) parseClauses(rest Piece) []lineError {
	var errs []lineError
	for {
		rest = skipComma(rest)
		if rest.Text == "" {
			return errs
		}
		word, after := NextWord(rest)
		if word.Text == "" {
			return append(errs, lineError{rest.At, "directive " + l.name(), "unexpected " + quoteFirst(rest.Text),
				"write clauses as name or name(arguments)"})
		}
		if !strings.HasPrefix(after.Text, "(") {
			rest = after
			if err := l.addWord(word); err != nil {
				errs = append(errs, *err)
			}
			continue
		}
		end := after.Closing()
		if end < 0 {
			return append(errs, lineError{after.At, "clause " + word.Text, "its parenthesis is not closed", "write " + word.Text + "(...) on one line"})
		}
		if after.Text[end] != ')' {
			return append(errs, lineError{after.At + token.Pos(end), "clause " + word.Text, "brackets do not match", "write " + word.Text + "(...)"})
		}
		l.Clauses = append(l.Clauses, Clause{Name: word, Args: after.Sub(1, end), hasArgs: true})
		rest = after.From(end + 1)
	}
}

// addWord takes a word without arguments: another construct, or a clause.
func (l *Line) addWord(word Piece) *lineError {
	if meant := l.misspelled(word); meant != "" {
		err := &lineError{word.At, "directive word " + word.Text, "there is no such word", "write " + meant}
		l.words = append(l.words, Piece{Text: meant, At: word.At})
		return err
	}
	if !slices.Contains(statementWords, word.Text) {
		l.Clauses = append(l.Clauses, Clause{Name: word})
		return nil
	}
	if len(l.Clauses) > 0 {
		return &lineError{word.At, "directive " + l.name(), "the word " + word.Text + " stands behind a clause",
			"write the words of a combined directive first, then the clauses"}
	}
	if slices.ContainsFunc(l.words, func(w Piece) bool { return w.Text == word.Text }) {
		return &lineError{word.At, "directive " + l.name(), "the word " + word.Text + " stands there twice", "write it once"}
	}
	l.words = append(l.words, word)
	return nil
}

// misspelled returns the construct that word, behind others, is most likely a misspelling of; ""
// where it is a construct or a clause, or as near to a clause.
func (l *Line) misspelled(word Piece) string {
	if len(l.Clauses) > 0 || !slices.Contains(statementWords, l.words[0].Text) || slices.Contains(statementWords, word.Text) {
		return ""
	}
	var clauses []string
	for _, list := range clausesOf {
		clauses = append(clauses, list...)
	}
	if _, foreign := foreignClauses[word.Text]; foreign || slices.Contains(clauses, word.Text) {
		return ""
	}
	meant := Nearest(word.Text, statementWords)
	if meant == "" || slices.ContainsFunc(l.words, func(w Piece) bool { return w.Text == meant }) {
		return ""
	}
	if near := Nearest(word.Text, clauses); near != "" && editDistance(word.Text, near) <= editDistance(word.Text, meant) {
		return ""
	}
	return meant
}

func skipComma(p Piece) Piece {
	if p = p.Trim(); strings.HasPrefix(p.Text, ",") {
		return p.From(1).Trim()
	}
	return p
}

// NextWord cuts an identifier of Go off the front of p; blanks behind it go too.
func NextWord(p Piece) (word, rest Piece) {
	n := 0
	for i, r := range p.Text {
		if NotInWord(r) || i == 0 && unicode.IsDigit(r) {
			break
		}
		n = i + utf8.RuneLen(r)
	}
	return p.Sub(0, n), p.From(n).Trim()
}

// NotInWord reports whether r can stand nowhere in an identifier of Go.
func NotInWord(r rune) bool { return r != '_' && !unicode.IsLetter(r) && !unicode.IsDigit(r) }

func quoteFirst(s string) string {
	for _, r := range s {
		return "'" + string(r) + "'"
	}
	return "end of line"
}

// Nearest returns the word of list that s is most likely a misspelling of, "" where none is close.
func Nearest(s string, list []string) string {
	best, bound := "", min(3, len(s)/2+1)
	for _, w := range list {
		if n := editDistance(s, w); n < bound {
			best, bound = w, n
		}
	}
	return best
}

// editDistance counts the insertions, deletions, replacements and swaps of neighbours that make b
// of a.
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
