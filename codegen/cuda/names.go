package cuda

import (
	"github.com/gompss/gompss/codegen/internal/cprint"
)

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
	out := cprint.Words(plain)
	for name := range cprint.Words(floats) {
		out[name], out[name+"f"] = true, true
	}
	return out
}
