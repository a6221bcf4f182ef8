// What printed CUDA needs to run as plain C++, thread after thread. For the tests alone: see fake.cc.
#include <math.h>
#include <thread>
#include <vector>
#include <string.h>

#define __device__
#define __global__
#define __shared__ static
#define __forceinline__ inline
#define __noinline__ __attribute__((noinline))
#define __launch_bounds__(n)

struct Coordinates { unsigned x; };
static thread_local Coordinates threadIdx, blockIdx, blockDim, gridDim;
struct Exit {};

template <class T> static T atomicCAS(T* p, T x, T y) { T was = *p; if (was == x) *p = y; return was; }
template <class T, class U> static T atomicAdd(T* p, U x) { T was = *p; *p += x; return was; }
static unsigned atomicAdd(unsigned* p, unsigned x) { return __atomic_fetch_add(p, x, __ATOMIC_SEQ_CST); }
static void __threadfence() { __sync_synchronize(); }
static void __syncthreads() {} // threads that meet are alone in their team
static int __syncthreads_count(int x) { return x != 0; }
static int __syncthreads_or(int x) { return x != 0; }
static inline int min(int x, int y) { return x < y ? x : y; }
static inline long long min(long long x, long long y) { return x < y ? x : y; }
static inline int max(int x, int y) { return x < y ? y : x; }
static inline long long max(long long x, long long y) { return x < y ? y : x; }
static inline unsigned __umulhi(unsigned x, unsigned y) { return (unsigned long long)x * y >> 32; }

// read takes the next argument from a parameter block.
template <class T> static T read(const char*& p, const char* base)
{
	const size_t at = ((p - base) + alignof(T) - 1) / alignof(T) * alignof(T);
	T x;
	memcpy(&x, base + at, sizeof(T));
	p = base + at + sizeof(T);
	return x;
}

// together runs teams of one thread at once.
template <class... T> static void together(void (*kernel)(T...), const char* base, unsigned teams)
{
	std::vector<std::thread> list;
	for (unsigned b = 0; b < teams; b++)
		list.emplace_back([=] {
			gridDim.x = teams, blockDim.x = 1, blockIdx.x = b, threadIdx.x = 0;
			const char* p = base;
			struct Call {
				Call(void (*k)(T...), T... x) { try { k(x...); } catch (Exit) {} }
			};
			Call{kernel, read<T>(p, base)...}; // braces: in order
		});
	for (std::thread& t : list)
		t.join();
}

template <class... T> static void run(void (*kernel)(T...), const char* base, unsigned teams, unsigned threads)
{
	if (threads == 0) // teams that wait for each other
		return together(kernel, base, teams);
	gridDim.x = teams, blockDim.x = threads;
	for (unsigned b = 0; b < teams; b++)
		for (unsigned t = 0; t < threads; t++) {
			blockIdx.x = b, threadIdx.x = t;
			const char* p = base;
			struct Call {
				void (*kernel)(T...);
				Call(void (*k)(T...), T... x) { try { k(x...); } catch (Exit) {} }
			};
			Call{kernel, read<T>(p, base)...}; // braces: in order
		}
}
