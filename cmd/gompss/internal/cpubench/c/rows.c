// The rows of `gompss bench cpu` in C. One process measures one type (T) with one compiler and set of options; it is told on standard
// input what to do:
//   setup ROW N M   makes the arguments; answers "ok"
//   run REPS        answers nanoseconds
//   sum             answers a weighted sum of the results
#define _GNU_SOURCE
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

#define K static __attribute__((noinline)) void
#define F(name) (sizeof(T) == 4 ? (T)name##f((float)x) : (T)name((double)x))
static inline T rsqrt_(T x) { return 1 / (sizeof(T) == 4 ? (T)sqrtf((float)x) : (T)sqrt((double)x)); }
static inline T sqrt_(T x) { return F(sqrt); }
static inline T exp_(T x) { return F(exp); }
static inline T log_(T x) { return F(log); }
static inline T abs_(T x) { return F(fabs); }

K copy(long n, T *restrict a, const T *restrict b) { for (long i = 0; i < n; i++) a[i] = b[i]; }
K scale(long n, T *restrict a, const T *restrict b, T s) { for (long i = 0; i < n; i++) a[i] = s * b[i]; }
K add(long n, T *restrict a, const T *restrict b, const T *restrict c) { for (long i = 0; i < n; i++) a[i] = b[i] + c[i]; }
K triad(long n, T *restrict a, const T *restrict b, const T *restrict c, T s) { for (long i = 0; i < n; i++) a[i] = b[i] + s * c[i]; }
K saxpy(long n, T *restrict y, const T *restrict x, T s) { for (long i = 0; i < n; i++) y[i] += s * x[i]; }
K dot(long n, T *restrict out, const T *restrict x, const T *restrict y) {
	T sum = 0;
#pragma omp simd reduction(+ : sum)
	for (long i = 0; i < n; i++) sum += x[i] * y[i];
	out[0] = sum;
}
K nbody(long n, const T *restrict px, const T *restrict py, const T *restrict pz, T *restrict ax, T *restrict ay, T *restrict az) {
	for (long i = 0; i < n; i++) {
		T fx = 0, fy = 0, fz = 0;
#pragma omp simd reduction(+ : fx, fy, fz)
		for (long j = 0; j < n; j++) {
			T dx = px[j] - px[i], dy = py[j] - py[i], dz = pz[j] - pz[i];
			T inv = rsqrt_(dx * dx + dy * dy + dz * dz + (T)1e-4);
			T inv3 = inv * inv * inv;
			fx += dx * inv3;
			fy += dy * inv3;
			fz += dz * inv3;
		}
		ax[i] = fx, ay[i] = fy, az[i] = fz;
	}
}
K jacobi(long n, long m, T *restrict b, const T *restrict a) {
	for (long i = 1; i < n - 1; i++)
		for (long j = 1; j < m - 1; j++)
			b[i * m + j] = (T)0.25 * (a[(i - 1) * m + j] + a[(i + 1) * m + j] + a[i * m + j - 1] + a[i * m + j + 1]);
}
K spmv(long n, T *restrict y, const T *restrict x, const T *restrict val, const int32_t *restrict col, const int32_t *restrict start) {
	for (long r = 0; r < n; r++) {
		T s = 0;
#pragma omp simd reduction(+ : s)
		for (int32_t k = start[r]; k < start[r + 1]; k++) s += val[k] * x[col[k]];
		y[r] = s;
	}
}
K expk(long n, T *restrict a, const T *restrict b) { for (long i = 0; i < n; i++) a[i] = exp_(b[i]); }
static inline T normal(T d) {
	T k = 1 / (1 + (T)0.2316419 * abs_(d));
	T p = k * ((T)0.31938153 + k * ((T)-0.356563782 + k * ((T)1.781477937 + k * ((T)-1.821255978 + k * (T)1.330274429))));
	p *= (T)0.39894228040143267794 * exp_((T)-0.5 * d * d);
	return d > 0 ? 1 - p : p;
}
K blackscholes(long n, T *restrict call, T *restrict put, const T *restrict price, const T *restrict strike, const T *restrict years, T rate, T vol) {
#pragma omp simd
	for (long i = 0; i < n; i++) {
		T root = sqrt_(years[i]);
		T d1 = (log_(price[i] / strike[i]) + (rate + (T)0.5 * vol * vol) * years[i]) / (vol * root);
		T n1 = normal(d1), n2 = normal(d1 - vol * root);
		T now = strike[i] * exp_(-rate * years[i]);
		call[i] = price[i] * n1 - now * n2;
		put[i] = now * (1 - n2) - price[i] * (1 - n1);
	}
}
K matmul(long n, T *restrict c, const T *restrict a, const T *restrict b) {
	for (long i = 0; i < n; i++)
		for (long j = 0; j < n; j++) {
			T s = 0;
			for (long k = 0; k < n; k++) s += a[i * n + k] * b[k * n + j];
			c[i * n + j] = s;
		}
}
K mandelbrot(long w, long h, int32_t limit, T dx, T dy, int32_t *restrict out) {
	for (long y = 0; y < h; y++)
		for (long x = 0; x < w; x++) {
			T cr = (T)x * dx - 2, ci = (T)y * dy - 1, zr = 0, zi = 0;
			int32_t n = 0;
			while (n < limit) {
				T rr = zr * zr, ii = zi * zi;
				if (rr + ii > 4) break;
				zi = 2 * zr * zi + ci;
				zr = rr - ii + cr;
				n++;
			}
			out[y * w + x] = n;
		}
}
K histogram(long n, int32_t *restrict bins, const T *restrict x) { for (long i = 0; i < n; i++) bins[(int32_t)(x[i] * 256)]++; }

// The arguments lie in one mapping, laid out as the Go side does it.
#define HUGE ((size_t)2 << 20)
static char *pool;
static size_t size, used;
static int taken;
static void *take(size_t bytes) {
	used = (used + 4095) / 4096 * 4096 + 576 * taken++;
	void *p = pool + used;
	used += bytes;
	if (used > size) exit(3);
	return p;
}
static double unit(long i, int seed) {
	uint32_t x = (uint32_t)i * 2654435761u + (uint32_t)seed * 40503u;
	x ^= x >> 15, x *= 2246822519u, x ^= x >> 13;
	return (double)(x >> 8) / 16777216.0;
}
static T *floats(long n, int seed, double lo, double hi) {
	T *p = take(n * sizeof(T));
	for (long i = 0; i < n; i++) p[i] = (T)(lo + (hi - lo) * unit(i, seed));
	return p;
}

static char row[32];
static long n, m;
static void *v[6];
static void *result[3];
static long results;
static int integers;

static void csr(void) {
	int32_t *start = take((n + 1) * 4);
	start[0] = 0;
	for (long r = 0; r < n; r++) start[r + 1] = start[r] + (int32_t)(m / 4 + unit(r, 9) * (m * 3 / 2));
	long nnz = start[n];
	int32_t *col = take(nnz * 4);
	for (long k = 0; k < nnz; k++) col[k] = (int32_t)(unit(k, 7) * n);
	v[0] = floats(n, 0, 0, 0), v[1] = floats(n, 1, -1, 1), v[2] = floats(nnz, 2, -1, 1), v[3] = col, v[4] = start;
	result[0] = v[0], results = n;
}

static int is(const char *s) { return !strcmp(row, s); }

static void setup(void) {
	memset(result, 0, sizeof result);
	used = 0, taken = 0, integers = 0;
	if (is("spmv")) { csr(); return; }
	results = n;
	if (is("matmul")) {
		v[0] = floats(n * n, 0, 0, 0), v[1] = floats(n * n, 1, -1, 1), v[2] = floats(n * n, 2, -1, 1);
		results = n * n;
	} else if (is("jacobi")) {
		v[0] = floats(n * m, 0, 0, 0), v[1] = floats(n * m, 1, -1, 1), results = n * m;
	} else if (is("mandelbrot")) {
		v[0] = take(n * m * 4), results = n * m, integers = 1;
	} else if (is("histogram")) {
		v[0] = take(256 * 4), v[1] = floats(n, 1, 0, 1), results = 256, integers = 1;
		memset(v[0], 0, 256 * 4);
	} else if (is("dot")) {
		v[0] = floats(1, 0, 0, 0), v[1] = floats(n, 1, -1, 1), v[2] = floats(n, 2, -1, 1), results = 1;
	} else if (is("nbody")) {
		for (int i = 0; i < 3; i++) v[i] = floats(n, i + 1, -1, 1);
		for (int i = 3; i < 6; i++) result[i - 3] = v[i] = floats(n, 0, 0, 0);
		return;
	} else if (is("blackscholes")) {
		v[0] = floats(n, 0, 0, 0), v[1] = floats(n, 0, 0, 0);
		v[2] = floats(n, 1, 5, 30), v[3] = floats(n, 2, 1, 100), v[4] = floats(n, 3, 0.25, 10);
		result[1] = v[1];
	} else if (is("exp")) {
		v[0] = floats(n, 0, 0, 0), v[1] = floats(n, 1, -20, 20);
	} else {
		v[0] = floats(n, 3, 0, 0), v[1] = floats(n, 1, -1, 1), v[2] = floats(n, 2, -1, 1);
	}
	result[0] = v[0];
}

static void once(void) {
	T s = (T)1e-3;
	if (is("copy")) copy(n, v[0], v[1]);
	else if (is("scale")) scale(n, v[0], v[1], s);
	else if (is("add")) add(n, v[0], v[1], v[2]);
	else if (is("triad")) triad(n, v[0], v[1], v[2], s);
	else if (is("saxpy")) saxpy(n, v[0], v[1], s);
	else if (is("dot")) dot(n, v[0], v[1], v[2]);
	else if (is("nbody")) nbody(n, v[0], v[1], v[2], v[3], v[4], v[5]);
	else if (is("jacobi")) jacobi(n, m, v[0], v[1]);
	else if (is("spmv")) spmv(n, v[0], v[1], v[2], v[3], v[4]);
	else if (is("exp")) expk(n, v[0], v[1]);
	else if (is("blackscholes")) blackscholes(n, v[0], v[1], v[2], v[3], v[4], (T)0.02, (T)0.3);
	else if (is("matmul")) matmul(n, v[0], v[1], v[2]);
	else if (is("mandelbrot")) mandelbrot(n, m, 256, (T)3 / n, (T)2 / m, v[0]);
	else if (is("histogram")) histogram(n, v[0], v[1]);
	else exit(4);
}

static double sum(void) {
	double s = 0;
	for (int k = 0; k < 3 && result[k]; k++)
		for (long i = 0; i < results; i++)
			s += (double)(1 + i % 7) * (integers ? (double)((int32_t *)result[k])[i] : (double)((T *)result[k])[i]);
	return s;
}

int main(int argc, char **argv) {
	size = argc > 1 ? strtoull(argv[1], 0, 10) : 1 << 20;
	// From a 2 MiB boundary on, so that the first rows lie in a huge page too: small pages fall into the sets of L2 by chance.
	pool = mmap(0, size + HUGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (pool == MAP_FAILED) return 2;
	pool = (char *)(((uintptr_t)pool + HUGE - 1) / HUGE * HUGE);
	madvise(pool, size, MADV_HUGEPAGE);
	char line[256];
	while (fgets(line, sizeof line, stdin)) {
		long reps;
		if (sscanf(line, "setup %31s %ld %ld", row, &n, &m) == 3) {
			setup();
			puts("ok");
		} else if (sscanf(line, "run %ld", &reps) == 1) {
			struct timespec a, b;
			clock_gettime(CLOCK_MONOTONIC, &a);
			for (long i = 0; i < reps; i++) {
				once();
				__asm__ volatile("" ::: "memory");
			}
			clock_gettime(CLOCK_MONOTONIC, &b);
			printf("%lld\n", (b.tv_sec - a.tv_sec) * 1000000000LL + b.tv_nsec - a.tv_nsec);
		} else if (!strcmp(line, "sum\n")) {
			printf("%.17g\n", sum());
		} else if (!strcmp(line, "free\n")) {
			madvise(pool, size, MADV_DONTNEED);
			puts("ok");
		} else {
			return 5;
		}
		fflush(stdout);
	}
	return 0;
}
