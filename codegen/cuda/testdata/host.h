// What printed CUDA needs to run as plain C++: one thread of one team. For the tests alone.
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define __device__
#define __global__
#define __shared__ static
#define __forceinline__ inline
#define __noinline__ __attribute__((noinline))
#define __launch_bounds__(n)
#define __INTADDR__(x) ((unsigned long long)(x))

// The only instruction of PTX in the prelude that a host test reaches.
#define asm(...) neg_s32(y)
static inline void neg_s32(int& y) { y = -y; }

struct Coordinates { unsigned x; };
static const Coordinates threadIdx = {0}, blockIdx = {0}, blockDim = {1}, gridDim = {1};

template <class To, class From> static To bits_of(From x) { To y; memcpy(&y, &x, sizeof(y)); return y; }
static inline int __float_as_int(float x) { return bits_of<int>(x); }
static inline unsigned __float_as_uint(float x) { return bits_of<unsigned>(x); }
static inline float __int_as_float(int x) { return bits_of<float>(x); }
static inline float __uint_as_float(unsigned x) { return bits_of<float>(x); }
static inline long long __double_as_longlong(double x) { return bits_of<long long>(x); }
static inline double __longlong_as_double(long long x) { return bits_of<double>(x); }

static inline int __clz(int x) { return x ? __builtin_clz(x) : 32; }
static inline int __clzll(long long x) { return x ? __builtin_clzll(x) : 64; }
static inline int __popc(unsigned x) { return __builtin_popcount(x); }
static inline int __popcll(unsigned long long x) { return __builtin_popcountll(x); }
static inline unsigned __umulhi(unsigned x, unsigned y) { return (unsigned long long)x * y >> 32; }
static inline unsigned long long __umul64hi(unsigned long long x, unsigned long long y) { return (unsigned __int128)x * y >> 64; }

static inline unsigned __brev(unsigned x)
{
	unsigned y = 0;
	for (int i = 0; i < 32; i++)
		y |= (x >> i & 1) << (31 - i);
	return y;
}

static inline unsigned long long __brevll(unsigned long long x)
{
	return (unsigned long long)__brev(x) << 32 | __brev(x >> 32);
}

static inline unsigned __byte_perm(unsigned x, unsigned y, unsigned s)
{
	const unsigned long long xy = (unsigned long long)y << 32 | x;
	unsigned out = 0;
	for (int i = 0; i < 4; i++)
		out |= (unsigned)(xy >> (s >> 4 * i & 7) * 8 & 255) << 8 * i;
	return out;
}

// CUDA overloads min and max for these types alone; small types are promoted.
static inline int min(int x, int y) { return x < y ? x : y; }
static inline unsigned min(unsigned x, unsigned y) { return x < y ? x : y; }
static inline long long min(long long x, long long y) { return x < y ? x : y; }
static inline unsigned long long min(unsigned long long x, unsigned long long y) { return x < y ? x : y; }
static inline int max(int x, int y) { return x > y ? x : y; }
static inline unsigned max(unsigned x, unsigned y) { return x > y ? x : y; }
static inline long long max(long long x, long long y) { return x > y ? x : y; }
static inline unsigned long long max(unsigned long long x, unsigned long long y) { return x > y ? x : y; }

// C leaves the sign of the lesser of two zeros open, PTX does not.
static inline float ptx_min(float x, float y) { return x == y ? (signbit(x) ? x : y) : fminf(x, y); }
static inline double ptx_min(double x, double y) { return x == y ? (signbit(x) ? x : y) : fmin(x, y); }
static inline float ptx_max(float x, float y) { return x == y ? (signbit(x) ? y : x) : fmaxf(x, y); }
static inline double ptx_max(double x, double y) { return x == y ? (signbit(x) ? y : x) : fmax(x, y); }
#define fminf ptx_min
#define fmin ptx_min
#define fmaxf ptx_max
#define fmax ptx_max
