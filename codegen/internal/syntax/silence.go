package syntax

import (
	"regexp"
	"strings"
)

// A comment //nolint:gompss silences the warnings about a line: the one that it ends, or, alone on
// its line, the one below. Other linters of Go may stand in its list, and a reason behind it.
// Errors are not silenced.

var noLint = regexp.MustCompile(`^//nolint(:[\w-]+(, ?[\w-]+)*)?(\s|$)`)

// SilencesWarnings reports whether a comment silences warnings.
func SilencesWarnings(comment string) bool {
	m := noLint.FindStringSubmatch(comment)
	if m == nil {
		return false
	}
	for name := range strings.SplitSeq(strings.TrimPrefix(m[1], ":"), ",") {
		if name = strings.TrimSpace(name); name == "" || name == "all" || name == "gompss" {
			return true
		}
	}
	return false
}

// WithoutSilence returns the text of a directive without a comment behind it that silences
// warnings.
func WithoutSilence(text string) (directive string, silent bool) {
	if i := strings.Index(text, "//nolint"); i > 0 && strings.IndexByte(Blanks, text[i-1]) >= 0 {
		return strings.TrimRight(text[:i], Blanks), SilencesWarnings(text[i:])
	}
	return text, false
}
