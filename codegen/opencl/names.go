package opencl

import (
	"github.com/gompss/gompss/codegen/internal/cprint"
	"github.com/gompss/gompss/codegen/ir"
)

// Declare names v in the innermost scope; a slice takes the names of its length and capacity, too.
func (b *body) Declare(v *ir.Var) string {
	if v.Type.Kind != ir.Slice {
		return b.Names.Declare(v)
	}
	b.Of[v] = b.Fresh(v.Name, "_len", "_cap", "_at")
	return b.Of[v]
}

// reserved are the names that no variable, field or function of the text may have: keywords, types,
// and the functions that printed code calls.
var reserved = cprint.Words(`auto break case const continue default do double else enum extern float for goto if inline int long
	register restrict return short signed sizeof static struct switch typedef union unsigned void volatile while bool true false
	half uchar ushort uint ulong size_t ptrdiff_t intptr_t uintptr_t event_t sampler_t image1d_t image2d_t image3d_t quad complex
	imaginary kernel global local constant private generic pipe read_only write_only read_write uniform vec_step NULL asm
	sub_group_shuffle intel_sub_group_shuffle sub_group_barrier atomic_float atomic_double atomic_fetch_add_explicit
	barrier mem_fence atomic_work_item_fence get_local_id get_local_size get_group_id get_num_groups get_global_id
	as_int as_uint as_long as_ulong as_float as_double as_uchar2 as_uchar4 as_uchar8 as_ushort popcount clz rotate mul_hi min max
	fabs sqrt rsqrt cbrt fma exp exp2 expm1 log log2 log10 log1p pow sin cos tan asin acos atan atan2 sinh cosh tanh asinh acosh
	atanh erf erfc tgamma hypot floor ceil trunc round rint fmod remainder copysign fmin fmax isnan signbit
	atomic_add atomic_sub atomic_xchg atomic_cmpxchg atomic_min atomic_max atomic_and atomic_or atomic_xor atomic_inc atomic_dec
	atom_add atom_sub atom_xchg atom_cmpxchg atom_min atom_max atom_and atom_or atom_xor M_PI INFINITY NAN MAXFLOAT HUGE_VALF`)

// libraryNames are builtin functions that the text does not call. A variable may hide one, but a
// function of that name would be an overload of it.
var libraryNames = cprint.Words(`abs abs_diff acospi add_sat all any asinpi atan2pi atanpi bitselect clamp cospi cross ctz degrees distance
	dot exp10 fast_distance fast_length fast_normalize fdim fract frexp get_global_offset get_global_size get_work_dim hadd ilogb
	isequal isfinite isgreater isinf isless isnormal isordered isunordered ldexp length lgamma lgamma_r logb mad mad24 mad_hi
	mad_sat maxmag minmag mix modf mul24 nan nextafter normalize pown powr prefetch printf radians remquo rhadd rootn select
	shuffle shuffle2 sign sincos sinpi smoothstep step sub_sat tanpi upsample vload vstore work_group_barrier lerp
	half_sin half_cos half_exp half_log half_sqrt half_rsqrt native_sin native_cos native_exp native_log native_sqrt`)
