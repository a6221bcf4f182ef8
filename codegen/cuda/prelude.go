package cuda

import "github.com/gompss/gompss/codegen/internal/cprint"

// A piece is a part of the prelude: C++ text that printed code may use, and the pieces that it
// needs itself.
type piece struct {
	name  string
	needs []string
	text  string
}

// pieces are in the order in which they are printed. Names that start with "go_" have the meaning
// that Go gives to an operation, names that start with "check_" end the thread with a fault.
var pieces = []piece{
	{"int8", nil, "typedef signed char int8;\n"},
	{"uint8", nil, "typedef unsigned char uint8;\n"},
	{"int16", nil, "typedef short int16;\n"},
	{"uint16", nil, "typedef unsigned short uint16;\n"},
	{"int64", nil, "typedef long long int64;\n"},
	{"uint64", nil, "typedef unsigned long long uint64;\n"},
	{"go_offset", nil, `
// go_offset is offsetof, which NVRTC has under this name only.
#define go_offset(T, field) __INTADDR__(&((T*)0)->field)
`},
	{"aligned", nil, `
// aligned returns x, a multiple of N bytes.
template <int N, class T> __device__ __forceinline__ T* aligned(T* x)
{
	return (T*)__builtin_assume_aligned(x, N);
}
`},
	{"apart", []string{"int64", "uint64"}, `
// apart says that n elements at x and m at y have no byte in common.
template <class T, class U> __device__ __forceinline__ bool apart(const T* x, int64 n, const U* y, int64 m)
{
	return (uint64)(x + n) <= (uint64)y || (uint64)(y + m) <= (uint64)x;
}
`},
	{"Slice", []string{"int64"}, `
// Slice is a Go slice.
template <class T> struct Slice {
	T* p;
	int64 len, cap;
};
`},
	{"Array", nil, `
// Array is a Go array that is copied as a value.
template <class T, int N> struct Array {
	T v[N];
};
`},
	{"gompss_hidden", nil, `
// gompss_hidden returns x, of which the compiler then knows nothing.
__device__ __forceinline__ int gompss_hidden(int x)
{
	asm("" : "+r"(x));
	return x;
}
`},
	{"gompss_copy", nil, `
// gompss_copy copies from global to team memory without waiting: gompss_copied waits.
template <class T> __device__ __forceinline__ void gompss_copy(T* to, const T* from)
{
#if __CUDA_ARCH__ >= 800
	asm volatile("cp.async.ca.shared.global [%0], [%1], %2;" :: "r"((unsigned)__cvta_generic_to_shared(to)), "l"(from), "n"(sizeof(T)) : "memory");
#else
	*to = *from;
#endif
}
`},
	{"gompss_copied", nil, `
// gompss_copied waits until the copies of the thread are made.
__device__ __forceinline__ void gompss_copied()
{
#if __CUDA_ARCH__ >= 800
	asm volatile("cp.async.wait_all;" ::: "memory");
#endif
}
`},
	{"gompss_early", nil, `
// gompss_early waits for the kernels that this one is behind, and lets those behind it be set up meanwhile.
__device__ __forceinline__ void gompss_early()
{
#if __CUDA_ARCH__ >= 900
	asm volatile("griddepcontrol.launch_dependents;");
	asm volatile("griddepcontrol.wait;" ::: "memory");
#endif
}
`},
	{"gompss_fault", []string{"int64"}, `
// gompss_fault is what the first failing check of a run leaves behind; site 0 means none.
struct gompss_fault {
	unsigned site;
	int64 index, length;
};

__device__ __noinline__ void gompss_fail(gompss_fault* fault, unsigned site, int64 index, int64 length)
{
	if (atomicCAS(&fault->site, 0u, site) == 0u) {
		fault->index = index;
		fault->length = length;
		__threadfence();
	}
	asm volatile("exit;" ::: "memory");
}
`},
	{"gompss_resident_teams", nil, `
// gompss_resident_teams is n, or how many teams of so many threads fit on a multiprocessor.
#if __CUDA_ARCH__ < 800
#define gompss_resident_teams(n, threads) ((n) < 1024 / (threads) ? (n) : 1024 / (threads))
#elif __CUDA_ARCH__ == 860 || __CUDA_ARCH__ == 870 || __CUDA_ARCH__ == 890 || __CUDA_ARCH__ >= 1200
#define gompss_resident_teams(n, threads) ((n) < 1536 / (threads) ? (n) : 1536 / (threads))
#else
#define gompss_resident_teams(n, threads) (n)
#endif
`},
	{"check_index", []string{"gompss_fault", "uint64"}, `
// check_index returns i, an index below n.
template <class I> __device__ __forceinline__ I check_index(I i, int64 n, unsigned site, gompss_fault* fault)
{
	if ((uint64)(int64)i >= (uint64)n)
		gompss_fail(fault, site, i, n);
	return i;
}
`},
	{"check_divisor", []string{"gompss_fault"}, `
// check_divisor returns y, which is not zero.
template <class T> __device__ __forceinline__ T check_divisor(T y, unsigned site, gompss_fault* fault)
{
	if (y == 0)
		gompss_fail(fault, site, 0, 0);
	return y;
}
`},
	{"check_count", []string{"gompss_fault", "uint64"}, `
// check_count returns the shift count n, which is not negative.
__device__ __forceinline__ uint64 check_count(int64 n, unsigned site, gompss_fault* fault)
{
	if (n < 0)
		gompss_fail(fault, site, n, 0);
	return n;
}
`},
	{"check_pointer", []string{"gompss_fault"}, `
// check_pointer returns p, which is not nil.
template <class T> __device__ __forceinline__ T* check_pointer(T* p, unsigned site, gompss_fault* fault)
{
	if (p == nullptr)
		gompss_fail(fault, site, 0, 0);
	return p;
}
`},
	{"check_step", []string{"gompss_fault"}, `
// check_step returns the step of a loop that goes up (sign 1), down (-1) or either way (0); it is not zero.
template <class T> __device__ __forceinline__ T check_step(T step, int sign, unsigned site, gompss_fault* fault)
{
	if (step == 0 || sign != 0 && (step > 0) != (sign > 0))
		gompss_fail(fault, site, step, 0);
	return step;
}
`},
	{"slice", []string{"Slice"}, `
// slice is s[lo:hi], or s[lo:hi:max].
template <class T> __device__ __forceinline__ Slice<T> slice(Slice<T> s, int64 lo, int64 hi)
{
	return Slice<T>{s.p + lo, hi - lo, s.cap - lo};
}

template <class T> __device__ __forceinline__ Slice<T> slice(Slice<T> s, int64 lo, int64 hi, int64 max)
{
	return Slice<T>{s.p + lo, hi - lo, max - lo};
}
`},
	{"check_slice", []string{"slice", "gompss_fault", "uint64"}, `
// check_slice is s[lo:hi], or s[lo:hi:max], with 0 <= lo <= hi <= max <= cap(s).
template <class T>
__device__ __forceinline__ Slice<T> check_slice(Slice<T> s, int64 lo, int64 hi, int64 max, unsigned site, gompss_fault* fault)
{
	if ((uint64)max > (uint64)s.cap)
		gompss_fail(fault, site, max, s.cap);
	if ((uint64)hi > (uint64)max)
		gompss_fail(fault, site, hi, max);
	if ((uint64)lo > (uint64)hi)
		gompss_fail(fault, site, lo, hi);
	return slice(s, lo, hi, max);
}

template <class T>
__device__ __forceinline__ Slice<T> check_slice(Slice<T> s, int64 lo, int64 hi, unsigned site, gompss_fault* fault)
{
	return check_slice(s, lo, hi, s.cap, site, fault);
}
`},
	{"go_div", nil, `
// go_div is x / y, also for the least x and y = -1.
__device__ __forceinline__ int go_div(int x, int y) { return y == -1 ? (int)(0u - (unsigned)x) : x / y; }
__device__ __forceinline__ long long go_div(long long x, long long y)
{
	return y == -1 ? (long long)(0ull - (unsigned long long)x) : x / y;
}
`},
	{"go_rem", nil, `
// go_rem is x % y, also for the least x and y = -1.
__device__ __forceinline__ int go_rem(int x, int y) { return y == -1 ? 0 : x % y; }
__device__ __forceinline__ long long go_rem(long long x, long long y) { return y == -1 ? 0 : x % y; }
`},
	{"gompss_divisor", nil, `
// A gompss_divisor divides by a number d that the host knows: x / d is x * multiplier >> (31 + shift).
struct gompss_divisor {
	unsigned multiplier, shift;
};
`},
	{"div_by", []string{"gompss_divisor"}, `
// div_by is x / y, neither negative, x below 2^31.
__device__ __forceinline__ unsigned div_by(unsigned x, gompss_divisor y) { return __umulhi(2u * x, y.multiplier) >> y.shift; }
__device__ __forceinline__ int div_by(int x, gompss_divisor y) { return (int)div_by((unsigned)x, y); }
`},
	{"rem_by", []string{"div_by"}, `
// rem_by is x % y, neither negative, x below 2^31.
template <class T> __device__ __forceinline__ T rem_by(T x, T y, gompss_divisor by) { return x - div_by(x, by) * y; }
`},
	{"div_signed", []string{"div_by"}, `
// div_signed is x / y, where x is not the least integer; by has the magnitude of y.
__device__ __forceinline__ int div_signed(int x, int y, gompss_divisor by)
{
	int q = div_by(x < 0 ? -x : x, by);
	return (x ^ y) < 0 ? -q : q;
}
`},
	{"rem_signed", []string{"div_by"}, `
// rem_signed is x % y, where x is not the least integer; by has the magnitude of y.
__device__ __forceinline__ int rem_signed(int x, int y, gompss_divisor by)
{
	int size = x < 0 ? -x : x;
	int r = size - div_by(size, by) * (y < 0 ? 0u - y : y);
	return x < 0 ? -r : r;
}
`},
	{"go_neg16", []string{"int16"}, `
// go_neg16 is -x. ptxas takes the result of its own neg.s16 for sign-extended, which -(-32768) is not.
__device__ __forceinline__ int16 go_neg16(int16 x)
{
	int y = x;
	asm("neg.s32 %0, %0;" : "+r"(y));
	return (int16)y;
}
`},
	{"go_shl", []string{"uint64"}, `
// go_shl is x << n for any n.
template <class T> __device__ __forceinline__ T go_shl(T x, uint64 n)
{
	return n < sizeof(T) * 8 ? (T)((uint64)x << n) : (T)0;
}
`},
	{"go_shr", []string{"uint64"}, `
// go_shr is x >> n for any n.
template <class T> __device__ __forceinline__ T go_shr(T x, uint64 n)
{
	const uint64 bits = sizeof(T) * 8;
	return n < bits ? (T)(x >> n) : (T)(x >> (bits - 1) >> 1);
}
`},
	{"go_int32", nil, `
// go_int32 is int32(x): towards zero, the least integer where that does not fit.
__device__ __forceinline__ int go_int32(double x)
{
	return x > -2147483649.0 && x < 2147483648.0 ? (int)x : (int)0x80000000u;
}
__device__ __forceinline__ int go_int32(float x)
{
	return x >= -2147483648.0f && x < 2147483648.0f ? (int)x : (int)0x80000000u;
}
`},
	{"go_int64", []string{"int64"}, `
// go_int64 is int64(x): towards zero, the least integer where that does not fit.
template <class F> __device__ __forceinline__ int64 go_int64(F x)
{
	return x >= (F)-9223372036854775808.0 && x < (F)9223372036854775808.0 ? (int64)x : (int64)0x8000000000000000ull;
}
`},
	{"go_uint64", []string{"go_int64", "uint64"}, `
// go_uint64 is uint64(x) as Go has it on amd64.
template <class F> __device__ __forceinline__ uint64 go_uint64(F x)
{
	const F half = (F)9223372036854775808.0;
	return x < half ? (uint64)go_int64(x) : (uint64)go_int64(x - half) | 0x8000000000000000ull;
}
`},
	{"go_min", nil, `
// go_min is the lesser of x and y, NaN if either is, -0 below +0.
__device__ __forceinline__ float go_min(float x, float y)
{
#if __CUDA_ARCH__ >= 800
	float z;
	asm("min.NaN.f32 %0, %1, %2;" : "=f"(z) : "f"(x), "f"(y));
	return z;
#else
	return x != x || y != y ? x + y : fminf(x, y);
#endif
}
__device__ __forceinline__ double go_min(double x, double y) { return x != x || y != y ? x + y : fmin(x, y); }
`},
	{"go_max", nil, `
// go_max is the greater of x and y, NaN if either is, +0 above -0.
__device__ __forceinline__ float go_max(float x, float y)
{
#if __CUDA_ARCH__ >= 800
	float z;
	asm("max.NaN.f32 %0, %1, %2;" : "=f"(z) : "f"(x), "f"(y));
	return z;
#else
	return x != x || y != y ? x + y : fmaxf(x, y);
#endif
}
__device__ __forceinline__ double go_max(double x, double y) { return x != x || y != y ? x + y : fmax(x, y); }
`},
	{"go_dim", nil, `
// go_dim is x - y where that is positive, else 0, and NaN for a NaN or two equal infinities.
template <class F> __device__ __forceinline__ F go_dim(F x, F y)
{
	const F d = x - y;
	return d <= 0 ? (F)0 : d;
}
`},
	{"go_isinf", nil, `
// go_isinf reports whether x is the infinity of that sign, either for 0.
template <class F> __device__ __forceinline__ bool go_isinf(F x, long long sign)
{
	const F inf = (F)__int_as_float(0x7f800000);
	return sign >= 0 && x == inf || sign <= 0 && x == -inf;
}
`},
	{"go_isnan", nil, `
// go_isnan reports whether x is NaN.
template <class F> __device__ __forceinline__ bool go_isnan(F x) { return x != x; }
`},
	{"go_rotl", []string{"uint64"}, `
// go_rotl rotates x left by n, right where n is negative.
template <class T> __device__ __forceinline__ T go_rotl(T x, long long n)
{
	const int bits = sizeof(T) * 8, k = n & (bits - 1);
	return (T)((uint64)x << k | (uint64)x >> ((bits - k) & (bits - 1)));
}
`},
	{"go_swap64", []string{"uint64"}, `
// go_swap64 reverses the bytes of x.
__device__ __forceinline__ uint64 go_swap64(uint64 x)
{
	return (uint64)__byte_perm((unsigned)x, 0, 0x0123) << 32 | __byte_perm((unsigned)(x >> 32), 0, 0x0123);
}
`},
	{"go_erfc", nil, erfcText},
	{"go_shuffle", nil, `
// go_shuffle returns x of another lane of the warp, the thread's own where from is no lane.
template <class T> __device__ __forceinline__ T go_shuffle(T x, long long from)
{
	const int lane = threadIdx.x % 32;
	return __shfl_sync(0xffffffff, x, from >= 0 && from < 32 ? (int)from : lane);
}
`},
	{"rsqrt_normal", nil, `
// rsqrt_normal is 1 / sqrt(x) within 2^-22 for an x that is no subnormal number.
__device__ __forceinline__ float rsqrt_normal(float x)
{
	float y;
	asm("rsqrt.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
	return y;
}
`},
	{"barrier", nil, `
// barrier waits for n threads of the team at barrier number id. A warp that has ended never comes.
__device__ __forceinline__ void barrier(int id, int n)
{
	asm volatile("barrier.sync %0, %1;" :: "r"(id), "r"(n) : "memory");
}
`},
	{"gompss_meet_grid", nil, `
// gompss_meet_grid waits for all teams of the grid, which all run at once. Thread 0 of each adds to
// a word: together they change its highest bit, so that it is ready for the next time. The fences
// order what all threads wrote before and read after.
__device__ __noinline__ void gompss_meet_grid(unsigned* word)
{
	__syncthreads();
	if (threadIdx.x == 0u) {
		__threadfence();
		const unsigned was = atomicAdd(word, blockIdx.x == 0u ? 0x80000000u - (gridDim.x - 1u) : 1u);
		while (((was ^ *(volatile unsigned*)word) & 0x80000000u) == 0u)
			;
		__threadfence();
	}
	__syncthreads();
}
`},
	{"gompss_leave_grid", []string{"gompss_fault"}, `
// gompss_leave_grid waits for all teams of the grid as gompss_meet_grid does; it reports to all
// threads of a team whether one somewhere has ended by a failed check, so that all have to. A team
// that misses a thread says so in the second word; one that has no thread left cannot, and then the
// fault, which lies far away, does.
__device__ __noinline__ bool gompss_leave_grid(unsigned* word, gompss_fault* fault)
{
	if (__syncthreads_count(1) != (int)blockDim.x) {
		*(volatile unsigned*)(word + 1) = 1u;
		__threadfence();
		return true;
	}
	bool failed = false;
	if (threadIdx.x == 0u) {
		__threadfence();
		const unsigned was = atomicAdd(word, blockIdx.x == 0u ? 0x80000000u - (gridDim.x - 1u) : 1u);
		for (unsigned wait = 1u; ((was ^ *(volatile unsigned*)word) & 0x80000000u) == 0u && !failed; wait++)
			failed = *(volatile unsigned*)(word + 1) != 0u || wait % 1024u == 0u && *(volatile unsigned*)&fault->site != 0u;
		failed = failed || *(volatile unsigned*)(word + 1) != 0u;
		__threadfence();
	}
	return __syncthreads_or(failed) != 0;
}
`},
	{"gompss_gate", []string{"gompss_fault"}, `
// gompss_gate is a barrier that a failed check opens for good: a thread that has ended never comes.
struct gompss_gate {
	unsigned come, turn;
};
`},
	{"gompss_meet", []string{"gompss_gate"}, `
// gompss_meet waits for n threads, in whole warps, at a gate; it reports whether a check has failed somewhere meanwhile, so
// that they may never come. The first lane of a warp that has not ended stands for it.
__device__ __noinline__ bool gompss_meet(gompss_gate& gate, unsigned n, gompss_fault* fault)
{
	const unsigned lanes = __ballot_sync(0xffffffffu, true);
	bool failed = false;
	if ((threadIdx.x & 31u) == __ffs(lanes) - 1u) {
		volatile unsigned* turn = &gate.turn;
		const unsigned now = *turn;
		__threadfence_block();
		if (atomicAdd(&gate.come, 1u) == n / 32u - 1u) {
			gate.come = 0u;
			__threadfence_block();
			*turn = now + 1u;
		} else {
			for (unsigned wait = 1u; *turn == now && !failed; wait++)
				if (wait % 64u == 0u)
					failed = *(volatile unsigned*)&fault->site != 0u;
		}
		__threadfence_block();
	}
	return __any_sync(lanes, failed);
}
`},
	{"atomic_cas", nil, `
// atomic_cas replaces *p by y if it has the bits of x; it returns whether it did, and in x what it found.
__device__ __forceinline__ bool atomic_cas_bits(unsigned* p, unsigned& x, unsigned y)
{
	const unsigned seen = atomicCAS(p, x, y);
	const bool done = seen == x;
	x = seen;
	return done;
}

__device__ __forceinline__ bool atomic_cas_bits(unsigned long long* p, unsigned long long& x, unsigned long long y)
{
	const unsigned long long seen = atomicCAS(p, x, y);
	const bool done = seen == x;
	x = seen;
	return done;
}

template <int Size> struct Word { typedef unsigned type; };
template <> struct Word<8> { typedef unsigned long long type; };

// Part<T> finds the value of type T at byte offset shift / 8 of a word.
template <class T, class W> __device__ __forceinline__ T unpack(W w, unsigned shift)
{
	const W bits = w >> shift;
	T x;
	memcpy(&x, &bits, sizeof(T));
	return x;
}

template <class T, class W> __device__ __forceinline__ W pack(W w, unsigned shift, T x)
{
	W bits = 0;
	memcpy(&bits, &x, sizeof(T));
	const W mask = (W)~(W)0 >> (sizeof(W) - sizeof(T)) * 8;
	return w & ~(mask << shift) | bits << shift;
}
`},
	{"atomic_update", []string{"atomic_cas"}, `
// atomic_update replaces *p by f(*p) in one step and returns what *p was; types below 32 bits are a part of a word.
template <class T, class F> __device__ __forceinline__ T atomic_update(T* p, F f)
{
	typedef typename Word<sizeof(T)>::type W;
	W* word = (W*)((unsigned long long)p & ~(unsigned long long)(sizeof(W) - 1));
	const unsigned shift = ((unsigned long long)p & (sizeof(W) - 1)) * 8;
	W w = *(volatile W*)word;
	for (;;) {
		const T old = unpack<T>(w, shift);
		if (atomic_cas_bits(word, w, pack(w, shift, f(old))))
			return old;
	}
}
`},
	{"atomic_updated", []string{"atomic_update"}, `
// atomic_updated is atomic_update and returns what *p is then.
template <class T, class F> __device__ __forceinline__ T atomic_updated(T* p, F f) { return f(atomic_update(p, f)); }
`},
}

// reserved are the names that printed code uses and user variables may not have: keywords, types
// and functions of CUDA. Functions of the prelude are reserved where they are used.
var reserved = cprint.Words(`alignas alignof and and_eq asm auto bitand bitor bool break case catch char char8_t char16_t char32_t
	class compl concept const consteval constexpr constinit const_cast continue co_await co_return co_yield decltype default
	delete do double dynamic_cast else enum explicit export extern false float for friend goto if inline int long mutable
	namespace new noexcept not not_eq nullptr operator or or_eq private protected public register reinterpret_cast requires
	return short signed sizeof static static_assert static_cast struct switch template this thread_local throw true try
	typedef typeid typename union unsigned using virtual void volatile wchar_t while xor xor_eq
	threadIdx blockIdx blockDim gridDim warpSize NULL gompss_fail Word pack unpack atomic_cas_bits`)
