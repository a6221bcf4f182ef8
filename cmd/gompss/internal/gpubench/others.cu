
// Kernels by hand, beside those of others_kernels.go.

extern "C" __global__ void __launch_bounds__(256) mandelbrot(I n_, I most_, int* __restrict__ count)
{
	int n = (int)n_, most = (int)most_, j = blockIdx.x * 32 + threadIdx.x, i = blockIdx.y * 8 + threadIdx.y;
	if (i >= n || j >= n)
		return;
	float cr = (float)j * 3 / n - 2, ci = (float)i * 3 / n - 1.5f, x = 0, y = 0;
	int k = 0;
	while (k < most && x * x + y * y < 4) {
		float t = x * x - y * y + cr;
		y = 2 * x * y + ci, x = t, k++;
	}
	count[(I)i * n + j] = k;
}

// One diagonal in the middle, launched by the host for each; the mean diagonal has half its length.
extern "C" __global__ void alignment(I n, const int* __restrict__ a, const int* __restrict__ b, int* h)
{
	I m = n + 1, d = n, i = (I)blockIdx.x * blockDim.x + threadIdx.x + 1 + n / 4, j = d - i;
	if (i > 3 * n / 4 || j < 1)
		return;
	int match = a[i - 1] == b[j - 1] ? 2 : -1;
	h[i * m + j] = max(max(h[(i - 1) * m + j - 1] + match, h[(i - 1) * m + j] - 1), h[i * m + j - 1] - 1);
}

// One step of the network, launched by the host for each.
extern "C" __global__ void bitonic(I n_, int* x)
{
	int n = (int)n_, t = blockIdx.x * blockDim.x + threadIdx.x, k = n, j = 1 << 10, i = (t & ~(j - 1)) * 2 + (t & (j - 1)), o = i | j;
	if (t >= n / 2)
		return;
	int a = x[i], b = x[o];
	if ((a > b) == ((i & k) == 0))
		x[i] = b, x[o] = a;
}

// 128 texts a team; pieces of 16 words pass through team memory, as the table does.
extern "C" __global__ void __launch_bounds__(128) checksums(I n, I m_, const unsigned* __restrict__ text, const unsigned* __restrict__ table, unsigned* __restrict__ sum)
{
	__shared__ unsigned w[128][17], t[256];
	int m = (int)m_, me = threadIdx.x;
	t[me] = table[me], t[me + 128] = table[me + 128];
	I first = (I)blockIdx.x * 128;
	unsigned c = ~0u;
	for (int j0 = 0; j0 < m; j0 += 16) {
		__syncthreads();
#pragma unroll
		for (int k = 0; k < 16; k++) {
			int e = k * 128 + me;
			w[e / 16][e % 16] = text[(first + e / 16) * m + j0 + e % 16];
		}
		__syncthreads();
#pragma unroll
		for (int j = 0; j < 16; j++) {
			unsigned v = w[me][j];
			for (int b = 0; b < 4; b++, v >>= 8)
				c = t[(c ^ v) & 255] ^ c >> 8;
		}
	}
	sum[first + me] = ~c;
}

extern "C" __global__ void asianoption(I steps, float start, float drift, float vol, float* __restrict__ payoff, I n)
{
	I i = (I)blockIdx.x * blockDim.x + threadIdx.x;
	if (i >= n)
		return;
	float s = start, sum = 0;
	unsigned seed = (unsigned)i * 747796405u + 2891336453u;
	for (int t = 0; t < (int)steps; t++) {
		float z = 0;
#pragma unroll
		for (int q = 0; q < 4; q++) {
			seed ^= seed << 13, seed ^= seed >> 17, seed ^= seed << 5;
			z += (seed >> 8) * (1.f / 16777216) - 0.5f;
		}
		s *= expf(drift + vol * z * 1.7320508f);
		sum += s;
	}
	payoff[i] = fmaxf(sum / steps - start, 0);
}

extern "C" __global__ void __launch_bounds__(256) turned(I n_, float c, float s, const float* __restrict__ x, float* __restrict__ y)
{
	int n = (int)n_, j = blockIdx.x * 32 + threadIdx.x, i = blockIdx.y * 8 + threadIdx.y;
	if (i >= n || j >= n)
		return;
	float h = n * 0.5f, u = c * (j - h) - s * (i - h) + h, v = s * (j - h) + c * (i - h) + h, out = 0;
	if (u >= 0 && v >= 0 && u < n - 1 && v < n - 1) {
		int a = (int)u, b = (int)v;
		float p = u - a, q = v - b;
		const float* at = &x[(I)b * n + a];
		float top = at[0] * (1 - p) + at[1] * p, low = at[n] * (1 - p) + at[n + 1] * p;
		out = top * (1 - q) + low * q;
	}
	y[(I)i * n + j] = out;
}

extern "C" __global__ void __launch_bounds__(256) rankone(I n, const double* __restrict__ x, const double2* __restrict__ y, double2* a)
{
	I j = (I)blockIdx.x * 32 + threadIdx.x, i = (I)blockIdx.y * 8 + threadIdx.y;
	if (i >= n || j >= n / 2)
		return;
	double u = x[i];
	double2 v = y[j], w = a[i * (n / 2) + j];
	a[i * (n / 2) + j] = make_double2(w.x + u * v.x, w.y + u * v.y);
}

// A matrix of 64 x 64 a team of 256; 16 lanes have a row.
extern "C" __global__ void __launch_bounds__(256) manyproducts(I n, const float4* __restrict__ a, const float4* __restrict__ x, float* __restrict__ y)
{
	I q = blockIdx.x;
	int lane = threadIdx.x % 16, row = threadIdx.x / 16;
	float4 v = x[q * 16 + lane];
#pragma unroll
	for (int r = 0; r < 4; r++) {
		float4 u = a[q * 1024 + (row + 16 * r) * 16 + lane];
		float s = u.x * v.x + u.y * v.y + u.z * v.z + u.w * v.w;
		for (int d = 8; d > 0; d /= 2)
			s += __shfl_xor_sync(0xffffffff, s, d);
		if (lane == 0)
			y[q * 64 + row + 16 * r] = s;
	}
}

// A row of 4096 a team of 256, 16 values a thread in registers.
extern "C" __global__ void __launch_bounds__(256) rootmeanrows(I n, I m, const float4* __restrict__ x, const float4* __restrict__ g, float4* __restrict__ y)
{
	__shared__ float t[8];
	I row = (I)blockIdx.x * 1024;
	int me = threadIdx.x;
	float4 v[4];
	float s = 0;
#pragma unroll
	for (int k = 0; k < 4; k++) {
		v[k] = x[row + me + 256 * k];
		s += v[k].x * v[k].x + v[k].y * v[k].y + v[k].z * v[k].z + v[k].w * v[k].w;
	}
	for (int d = 16; d > 0; d /= 2)
		s += __shfl_xor_sync(0xffffffff, s, d);
	if (me % 32 == 0)
		t[me / 32] = s;
	__syncthreads();
	s = 0;
	for (int w = 0; w < 8; w++)
		s += t[w];
	float inv = rsqrtf(s / m + 1e-6f);
#pragma unroll
	for (int k = 0; k < 4; k++) {
		float4 h = g[me + 256 * k];
		y[row + me + 256 * k] = make_float4(v[k].x * inv * h.x, v[k].y * inv * h.y, v[k].z * inv * h.z, v[k].w * inv * h.w);
	}
}

// 8 rows a thread: sums of three neighbours of a row serve three results.
extern "C" __global__ void __launch_bounds__(256) life(I n_, const int* __restrict__ x, int* __restrict__ y)
{
	int n = (int)n_, j = blockIdx.x * 32 + threadIdx.x, i0 = (blockIdx.y * 8 + threadIdx.y) * 8;
	if (j >= n || i0 >= n)
		return;
	int left = j == 0 ? n - 1 : j - 1, right = j == n - 1 ? 0 : j + 1;
	const int* r = &x[(I)(i0 == 0 ? n - 1 : i0 - 1) * n];
	int above = r[left] + r[j] + r[right];
	r = &x[(I)i0 * n];
	int here = r[j], row = r[left] + here + r[right];
#pragma unroll
	for (int k = 0; k < 8; k++) {
		int i = i0 + k;
		if (i >= n)
			break;
		r = &x[(I)(i == n - 1 ? 0 : i + 1) * n];
		int next = r[j], below = r[left] + next + r[right], c = above + row + below - here;
		y[(I)i * n + j] = c == 3 || (c == 2 && here == 1);
		above = row, row = below, here = next;
	}
}

extern "C" __global__ void polynomial(I degree, const double* __restrict__ c, const double2* __restrict__ x, double2* __restrict__ y, I n)
{
	I i = (I)blockIdx.x * blockDim.x + threadIdx.x;
	if (i >= n / 2)
		return;
	double2 v = x[i];
	double s = c[degree], t = s;
	for (int k = (int)degree - 1; k >= 0; k--)
		s = s * v.x + c[k], t = t * v.y + c[k];
	y[i] = make_double2(s, t);
}

extern "C" __global__ void gathered(const float* __restrict__ x, const int4* __restrict__ p, float4* __restrict__ y, I n)
{
	I i = (I)blockIdx.x * blockDim.x + threadIdx.x;
	if (i >= n / 4)
		return;
	int4 k = p[i];
	y[i] = make_float4(x[k.x], x[k.y], x[k.z], x[k.w]);
}

extern "C" __global__ void __launch_bounds__(512) moments(const float4* __restrict__ x, float* out, I n)
{
	__shared__ float2 t[16];
	float s = 0, q = 0;
#pragma unroll 4
	for (I i = (I)blockIdx.x * 512 + threadIdx.x; i < n / 4; i += (I)gridDim.x * 512) {
		float4 v = x[i];
		s += v.x + v.y + v.z + v.w, q += v.x * v.x + v.y * v.y + v.z * v.z + v.w * v.w;
	}
	for (int d = 16; d > 0; d /= 2)
		s += __shfl_xor_sync(0xffffffff, s, d), q += __shfl_xor_sync(0xffffffff, q, d);
	if (threadIdx.x % 32 == 0)
		t[threadIdx.x / 32] = make_float2(s, q);
	__syncthreads();
	if (threadIdx.x == 0) {
		for (int w = 1; w < 16; w++)
			s += t[w].x, q += t[w].y;
		atomicAdd(out, s), atomicAdd(out + 1, q);
	}
}

// 32 columns and a sixteenth of the rows a team of 32 x 16 threads.
extern "C" __global__ void __launch_bounds__(512) columnmost(I n, I m, const float* __restrict__ a, float* most)
{
	__shared__ float t[16][32];
	I j = (I)blockIdx.x * 32 + threadIdx.x;
	float s = 0;
#pragma unroll 8
	for (I i = (I)blockIdx.y * 16 + threadIdx.y; i < n; i += (I)gridDim.y * 16)
		s = fmaxf(s, fabsf(a[i * m + j]));
	t[threadIdx.y][threadIdx.x] = s;
	__syncthreads();
	if (threadIdx.y == 0) {
		for (int r = 1; r < 16; r++)
			s = fmaxf(s, t[r][threadIdx.x]);
		atomicMax((int*)&most[j], __float_as_int(s));
	}
}

extern "C" __global__ void __launch_bounds__(256) upwind(I n_, float dt, const float* __restrict__ u, const float* __restrict__ v, const float* __restrict__ x, float* __restrict__ y)
{
	int n = (int)n_, j = blockIdx.x * 32 + threadIdx.x + 1, i = blockIdx.y * 8 + threadIdx.y + 1;
	if (i >= n - 1 || j >= n - 1)
		return;
	I at = (I)i * n + j;
	float here = x[at], a = u[at], b = v[at];
	float dx = a > 0 ? here - x[at - 1] : x[at + 1] - here, dy = b > 0 ? here - x[at - n] : x[at + n] - here;
	y[at] = here - dt * (a * dx + b * dy);
}

// A warp a row; ties go to the lower index.
extern "C" __global__ void __launch_bounds__(256) classes(I n, I m, const float* __restrict__ score, int* __restrict__ out)
{
	I row = ((I)blockIdx.x * 256 + threadIdx.x) / 32;
	int lane = threadIdx.x % 32, at = 0;
	if (row >= n)
		return;
	const float* r = &score[row * m];
	float best = -3e38f;
#pragma unroll 8
	for (int j = lane; j < (int)m; j += 32) {
		float v = r[j];
		if (v > best)
			best = v, at = j;
	}
	for (int d = 16; d > 0; d /= 2) {
		float v = __shfl_xor_sync(0xffffffff, best, d);
		int k = __shfl_xor_sync(0xffffffff, at, d);
		if (v > best || (v == best && k < at))
			best = v, at = k;
	}
	if (lane == 0)
		out[row] = at;
}

// 32 gauges a team of 32 x 16 threads.
extern "C" __global__ void __launch_bounds__(512) floodcrests(I hours, I gauges, const float* __restrict__ level, int* __restrict__ when)
{
	__shared__ float t[16][32];
	__shared__ int u[16][32];
	I g = (I)blockIdx.x * 32 + threadIdx.x;
	float best = -1e30f;
	int at = -1;
	if (g < gauges) {
#pragma unroll 8
		for (int h = threadIdx.y; h < (int)hours; h += 16) {
			float v = level[h * gauges + g];
			if (v > best)
				best = v, at = h;
		}
	}
	t[threadIdx.y][threadIdx.x] = best, u[threadIdx.y][threadIdx.x] = at;
	__syncthreads();
	if (threadIdx.y == 0 && g < gauges) {
		for (int r = 1; r < 16; r++) {
			float v = t[r][threadIdx.x];
			int k = u[r][threadIdx.x];
			if (v > best || (v == best && k < at))
				best = v, at = k;
		}
		when[g] = at;
	}
}

// A warp a row of the band.
extern "C" __global__ void __launch_bounds__(256) bandproduct(I n, I half, const float* __restrict__ a, const float* __restrict__ x, float* __restrict__ y)
{
	I i = ((I)blockIdx.x * 256 + threadIdx.x) / 32, width = 2 * half + 1;
	int lane = threadIdx.x % 32;
	if (i >= n)
		return;
	float s = 0;
#pragma unroll 4
	for (int k = lane; k < (int)width; k += 32) {
		I j = i + k - half;
		if (j >= 0 && j < n)
			s += a[i * width + k] * x[j];
	}
	for (int d = 16; d > 0; d /= 2)
		s += __shfl_xor_sync(0xffffffff, s, d);
	if (lane == 0)
		y[i] = s;
}

// 128 texts a team; pieces of 16 words pass through team memory, where the states are too.
extern "C" __global__ void __launch_bounds__(128) automaton(I n, I m_, const unsigned* __restrict__ text, const unsigned* __restrict__ next, unsigned* __restrict__ last)
{
	__shared__ unsigned w[128][17], t[512];
	int m = (int)m_, me = threadIdx.x;
	for (int k = me; k < 512; k += 128)
		t[k] = next[k];
	I first = (I)blockIdx.x * 128;
	unsigned state = 0, found = 0;
	for (int j0 = 0; j0 < m; j0 += 16) {
		__syncthreads();
#pragma unroll
		for (int k = 0; k < 16; k++) {
			int e = k * 128 + me;
			w[e / 16][e % 16] = text[(first + e / 16) * m + j0 + e % 16];
		}
		__syncthreads();
#pragma unroll 4
		for (int j = 0; j < 16; j++) {
			unsigned v = w[me][j];
			for (int b = 0; b < 8; b++, v >>= 4) {
				state = t[(state & 31) << 4 | (v & 15)];
				found += state >> 31;
			}
		}
	}
	last[first + me] = (state & 31) | found << 5;
}

// 8 lanes a print of 64 words, 16 bytes at a time.
extern "C" __global__ void __launch_bounds__(256) fingerprints(I n, I words, const uint4* __restrict__ print, const uint4* __restrict__ query, unsigned* __restrict__ common)
{
	I t = (I)blockIdx.x * 256 + threadIdx.x, i = t / 8;
	int lane = (int)(t % 8), each = (int)words / 4;
	unsigned both = 0;
	if (i < n)
		for (int k = lane; k < each; k += 8) {
			uint4 p = print[i * each + k], q = query[k];
			both += __popc(p.x & q.x) + __popc(p.y & q.y) + __popc(p.z & q.z) + __popc(p.w & q.w);
		}
	for (int d = 4; d > 0; d /= 2)
		both += __shfl_xor_sync(0xffffffff, both, d);
	if (i < n && lane == 0)
		common[i] = both;
}

// 64 teams a signal, 16 bytes a load.
extern "C" __global__ void __launch_bounds__(256) signalpowers(I signals, I n, const float4* __restrict__ x, float* power)
{
	__shared__ float t[8];
	const float4* row = &x[(I)blockIdx.y * (n / 4)];
	float s = 0;
#pragma unroll 4
	for (I k = (I)blockIdx.x * 256 + threadIdx.x; k < n / 4; k += (I)gridDim.x * 256) {
		float4 v = row[k];
		s += v.x * v.x + v.y * v.y + v.z * v.z + v.w * v.w;
	}
	for (int d = 16; d > 0; d /= 2)
		s += __shfl_xor_sync(0xffffffff, s, d);
	if (threadIdx.x % 32 == 0)
		t[threadIdx.x / 32] = s;
	__syncthreads();
	if (threadIdx.x == 0) {
		for (int w = 1; w < 8; w++)
			s += t[w];
		atomicAdd(&power[blockIdx.y], s / n);
	}
}

// 8 features a row: a thread has the same four of every row that it reads.
extern "C" __global__ void __launch_bounds__(256) featuremoments(I n, I m, const float4* __restrict__ x, float* mean, float* square)
{
	__shared__ float4 t[256], u[256];
	float4 s = make_float4(0, 0, 0, 0), q = s;
	int me = threadIdx.x;
#pragma unroll 4
	for (I k = (I)blockIdx.x * 256 + me; k < n * 2; k += (I)gridDim.x * 256) {
		float4 v = x[k];
		s.x += v.x, s.y += v.y, s.z += v.z, s.w += v.w;
		q.x += v.x * v.x, q.y += v.y * v.y, q.z += v.z * v.z, q.w += v.w * v.w;
	}
	t[me] = s, u[me] = q;
	__syncthreads();
	for (int d = 128; d > 1; d /= 2) {
		if (me < d) {
			float4 a = t[me + d], b = u[me + d];
			t[me].x += a.x, t[me].y += a.y, t[me].z += a.z, t[me].w += a.w;
			u[me].x += b.x, u[me].y += b.y, u[me].z += b.z, u[me].w += b.w;
		}
		__syncthreads();
	}
	if (me < 8) {
		atomicAdd(&mean[me], ((float*)&t[me / 4])[me % 4] / n);
		atomicAdd(&square[me], ((float*)&u[me / 4])[me % 4] / n);
	}
}
