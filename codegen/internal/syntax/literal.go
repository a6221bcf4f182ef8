package syntax

import (
	"strings"
)

// LiteralLength returns the length of the quoted or numeric literal that starts at i, 1 for any
// other byte.
func LiteralLength(s string, i int) int {
	switch {
	case strings.IndexByte("\"'`", s[i]) >= 0:
		return min(closingQuote(s, i)+1, len(s)) - i
	case '0' <= s[i] && s[i] <= '9':
		if n := strings.IndexFunc(s[i:], NotInWord); n >= 0 {
			return n
		}
		return len(s) - i
	}
	return 1
}
