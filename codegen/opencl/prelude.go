package opencl

import (
	"regexp"
	"strconv"
	"strings"

	"github.com/gompss/gompss/codegen/internal/cprint"
)

// piece notes a part of the prelude, and those that it needs itself, and returns its name. Names
// that start with "go_" have the meaning that Go gives to an operation.
func (p *file) piece(name, text string) string {
	if _, ok := p.pieces[name]; !ok {
		p.pieces[name] = text
		p.pieceOrder = append(p.pieceOrder, name)
	}
	return name
}

func (p *file) prelude() string {
	var b strings.Builder
	for _, name := range p.pieceOrder {
		b.WriteString(p.pieces[name])
	}
	return b.String()
}

// wordOf finds the words of a text that stand for something.
var wordOf = regexp.MustCompile(`\b(NAME|T|U|BITS|LAST)\b`)

// typed returns the piece name_T of a text in which T stands for ct, U for the unsigned type of its
// size, BITS for its bits and LAST for the number of the last one.
func (p *file) typed(name, text string, ct cprint.Type) string {
	full := name + "_" + dialect.Name(ct)
	bits := max(ct.Bits(), 32)
	words := map[string]string{"NAME": full, "T": dialect.Name(ct), "U": dialect.Name(cprint.Unsigned(bits)), "BITS": strconv.Itoa(bits), "LAST": strconv.Itoa(bits - 1)}
	return p.piece(full, wordOf.ReplaceAllStringFunc(text, func(w string) string { return words[w] }))
}

const faultText = `
// gompss_fault is what the first failing check of a run leaves behind; site 0 means none.
typedef struct {
	uint site;
	long index, length;
} gompss_fault;

void gompss_fail(global gompss_fault *fault, uint site, long index, long length)
{
	if (atomic_cmpxchg((volatile global uint *)&fault->site, 0u, site) == 0u) {
		fault->index = index;
		fault->length = length;
	}
EXIT}
`

const atText = `
// AT is the address of the T that stands at so many bytes of p.
#define AT(T, p, at) ((global T *)((global char *)(p) + (at)))
`

const apartText = `
// go_apart says that n elements of a size at x and m at y have no byte in common.
bool go_apart(ulong x, long n, ulong xsize, ulong y, long m, ulong ysize)
{
	return x + (ulong)n * xsize <= y || y + (ulong)m * ysize <= x;
}
`

const divText = `
// NAME is x / y, also for the least x and y = -1. No divisor traps, whatever the compiler does ahead of a check.
T NAME(T x, T y)
{
	const T d = y == 0 || y == -1 ? 1 : y;
	return y == -1 ? (T)(0 - (U)x) : x / d;
}
`

const remText = `
// NAME is x % y, also for the least x and y = -1. No divisor traps, whatever the compiler does ahead of a check.
T NAME(T x, T y)
{
	const T d = y == 0 || y == -1 ? 1 : y;
	return x % d;
}
`

const udivText = `
// NAME is x / y. No divisor traps, whatever the compiler does ahead of a check.
T NAME(T x, T y) { return x / (y == 0 ? 1 : y); }
`

const uremText = `
// NAME is x % y. No divisor traps, whatever the compiler does ahead of a check.
T NAME(T x, T y) { return x % (y == 0 ? 1 : y); }
`

const shlText = `
// NAME is x << n for any n.
T NAME(T x, ulong n) { return n < BITS ? (T)((U)x << n) : (T)0; }
`

const shrText = `
// NAME is x >> n for any n.
T NAME(T x, ulong n) { return n < BITS ? x >> n : x >> LAST >> 1; }
`

const ctzText = `
// NAME counts the zeros at the low end of x.
int NAME(T x) { return (int)popcount((T)(~x & (x - 1))); }
`

const reverseText = `
// NAME reverses the bits of x.
T NAME(T x)
{
	T y = 0;
	for (int i = 0; i < BITS; i++)
		y |= (x >> i & 1) << (LAST - i);
	return y;
}
`

const minText = `
// NAME is the lesser of x and y, NaN if either is, -0 below +0.
T NAME(T x, T y) { return x != x || y != y ? x + y : x < y || x == y && signbit(x) ? x : y; }
`

const maxText = `
// NAME is the greater of x and y, NaN if either is, +0 above -0.
T NAME(T x, T y) { return x != x || y != y ? x + y : x > y || x == y && !signbit(x) ? x : y; }
`

const dimText = `
// NAME is x - y where that is positive, else 0, and NaN for a NaN or two equal infinities.
T NAME(T x, T y)
{
	const T d = x - y;
	return d <= 0 ? 0 : d;
}
`

const rsqrtText = `
// rsqrt_normal is 1 / sqrt(x) within 2^-22 for an x that is no subnormal number.
float rsqrt_normal(float x)
{
	float y;
	asm("rsqrt.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
	return y;
}
`

const isinfText = `
// NAME reports whether x is the infinity of that sign, either for 0.
bool NAME(T x, long sign) { return sign >= 0 && x == INFINITY || sign <= 0 && x == -INFINITY; }
`

const int32FloatText = `
// go_int32_float is int32(x): towards zero, the least integer where that does not fit.
int go_int32_float(float x) { return x >= -2147483648.0f && x < 2147483648.0f ? (int)x : (int)0x80000000u; }
`

const int32DoubleText = `
// go_int32_double is int32(x): towards zero, the least integer where that does not fit.
int go_int32_double(double x) { return x > -2147483649.0 && x < 2147483648.0 ? (int)x : (int)0x80000000u; }
`

const int64Text = `
// NAME is int64(x): towards zero, the least integer where that does not fit.
long NAME(T x) { return x >= (T)-9223372036854775808.0 && x < (T)9223372036854775808.0 ? (long)x : (long)0x8000000000000000ul; }
`

const uint64DoubleText = `
// go_uint64_double is uint64(x) as Go has it on amd64.
ulong go_uint64_double(double x)
{
	const double half_range = 9223372036854775808.0;
	return x < half_range ? (ulong)go_int64_double(x) : (ulong)go_int64_double(x - half_range) | 0x8000000000000000ul;
}
`

const uint64FloatText = `
// go_uint64_float is uint64(x) as Go has it on amd64.
ulong go_uint64_float(float x)
{
	const float half_range = 9223372036854775808.0f;
	return x < half_range ? (ulong)go_int64_float(x) : (ulong)go_int64_float(x - half_range) | 0x8000000000000000ul;
}
`
