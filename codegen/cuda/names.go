package cuda

import (
	"fmt"
	"strings"
	"unicode"

	"github.com/gompss/gompss/codegen/ir"
)

// names gives every variable its C++ name: the user's, with a number where it would hide a name
// that is visible.
type names struct {
	of     map[*ir.Var]string
	scopes []map[string]bool // innermost last; the first one holds the names of the file
}

func newNames(file map[string]bool) names {
	return names{of: map[*ir.Var]string{}, scopes: []map[string]bool{file}}
}

func (n *names) push() { n.scopes = append(n.scopes, map[string]bool{}) }
func (n *names) pop()  { n.scopes = n.scopes[:len(n.scopes)-1] }

// innermost returns the names of the innermost scope.
func (n *names) innermost() map[string]bool { return n.scopes[len(n.scopes)-1] }

// declare names v in the innermost scope.
func (n *names) declare(v *ir.Var) string {
	n.of[v] = n.fresh(v.Name)
	return n.of[v]
}

// fresh takes a name like the wanted one in the innermost scope.
func (n *names) fresh(want string) string {
	base := identifier(want)
	name := base
	for i := 2; n.visible(name); i++ {
		name = fmt.Sprintf("%s_%d", base, i)
	}
	n.innermost()[name] = true
	return name
}

func (n *names) visible(name string) bool {
	if reserved[name] {
		return true
	}
	for _, scope := range n.scopes {
		if scope[name] {
			return true
		}
	}
	return false
}

// libraryNames are functions that CUDA declares in every file. A variable may hide those that its
// kernel does not call, but a function or kernel of that name would be an overload of it, or an
// error.
var libraryNames = libraryFunctions(`abs labs llabs min max umin umax llmin llmax ullmin ullmax clock clock64 memcpy memset
	malloc free printf assert isnan isinf isfinite signbit tex2D`, `acos acosh asin asinh atan atan2 atanh cbrt ceil copysign
	cos cosh cospi cyl_bessel_i0 cyl_bessel_i1 erf erfc erfcinv erfcx erfinv exp exp10 exp2 expm1 fabs fdim fdivide floor fma
	fmax fmin fmod frexp hypot ilogb j0 j1 jn ldexp lgamma llrint llround log log10 log1p log2 logb lrint lround modf
	nan nearbyint nextafter norm norm3d norm4d normcdf normcdfinv pow rcbrt remainder remquo rhypot rint rnorm rnorm3d
	rnorm4d round rsqrt scalbln scalbn sin sincos sincospi sinh sinpi sqrt tan tanh tgamma trunc y0 y1 yn`)

// libraryFunctions returns the names in plain, and those in floats with and without the f of the
// float32 form.
func libraryFunctions(plain, floats string) map[string]bool {
	out := words(plain)
	for name := range words(floats) {
		out[name], out[name+"f"] = true, true
	}
	return out
}

// identifier returns s as a C++ identifier: letters outside ASCII and signs are spelled out.
func identifier(s string) string {
	var b strings.Builder
	for i, r := range s {
		switch {
		case r == '_' || r < 128 && unicode.IsLetter(r) || i > 0 && r < 128 && unicode.IsDigit(r):
			b.WriteRune(r)
		case r < 128:
			b.WriteByte('_')
		default:
			fmt.Fprintf(&b, "u%04x", r)
		}
	}
	if out := strings.TrimRight(b.String(), "_"); out != "" && out[0] != '_' {
		return out
	}
	return "v" + b.String()
}
