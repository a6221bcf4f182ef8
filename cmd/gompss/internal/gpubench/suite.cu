// Kernels by hand, beside those of suite_kernels.go: what a competent programmer writes for the chip. Parameters as the Go kernel has
// them; slices are pointers. Sizes are multiples of the tiles unless a test says otherwise.
typedef long long I;

// A thread has 8 rows of 4 neighbouring columns; a team 32 rows of 128 columns, whose rim lies in team memory too. Rows of
// team memory are read 16 bytes at a time, and serve 7 rows of results. 32 x 4 threads.
extern "C" __global__ void __launch_bounds__(128) conv7(I n_, const float* __restrict__ x, const float* __restrict__ f, float* __restrict__ y)
{
	__shared__ float4 t[38][34];
	__shared__ float w[49];
	int n = (int)n_, j0 = blockIdx.x * 128, i0 = blockIdx.y * 32 + 3, tx = threadIdx.x, ty = threadIdx.y, me = ty * 32 + tx;
	if (me < 49)
		w[me] = f[me];
	for (int k = me; k < 38 * 34; k += 128) {
		int i = i0 - 3 + k / 34, j = j0 - 4 + k % 34 * 4;
		float4 v = make_float4(0, 0, 0, 0);
		if (i < n && j >= 0 && j + 3 < n && n % 4 == 0)
			v = *(const float4*)&x[(I)i * n + j];
		else if (i < n)
			for (int c = 0; c < 4; c++)
				if (j + c >= 0 && j + c < n)
					(&v.x)[c] = x[(I)i * n + j + c];
		t[k / 34][k % 34] = v;
	}
	__syncthreads();
	float s[8][4] = {};
#pragma unroll
	for (int r = 0; r < 14; r++) {
		float v[12];
#pragma unroll
		for (int q = 0; q < 3; q++)
			*(float4*)&v[q * 4] = t[ty * 8 + r][tx + q];
#pragma unroll
		for (int a = 0; a < 7; a++)
			if (r - a >= 0 && r - a < 8)
#pragma unroll
				for (int b = 0; b < 7; b++)
#pragma unroll
					for (int c = 0; c < 4; c++)
						s[r - a][c] += w[a * 7 + b] * v[c + b + 1];
	}
	int j = j0 + tx * 4;
#pragma unroll
	for (int r = 0; r < 8; r++) {
		int i = i0 + ty * 8 + r;
		if (i >= n - 3)
			break;
		if (j >= 4 && j + 3 < n - 3 && n % 4 == 0)
			*(float4*)&y[(I)i * n + j] = *(float4*)s[r];
		else
#pragma unroll
			for (int c = 0; c < 4; c++)
				if (j + c >= 3 && j + c < n - 3)
					y[(I)i * n + j + c] = s[r][c];
	}
}

extern "C" __global__ void __launch_bounds__(256) conv5rim(I n_, const float* __restrict__ x, const float* __restrict__ f, float* __restrict__ y)
{
	__shared__ float t[68][36];
	__shared__ float w[25];
	int n = (int)n_, j0 = blockIdx.x * 32, i0 = blockIdx.y * 64, tx = threadIdx.x, ty = threadIdx.y, me = ty * 32 + tx;
	if (me < 25)
		w[me] = f[me];
	for (int r = ty; r < 68; r += 8)
		for (int c = tx; c < 36; c += 32) {
			int i = i0 + r - 2, j = j0 + c - 2;
			t[r][c] = i >= 0 && i < n && j >= 0 && j < n ? x[i * n + j] : 0;
		}
	__syncthreads();
	float s[8] = {};
	int r0 = ty * 8;
#pragma unroll
	for (int b = 0; b < 5; b++) {
		float v[12];
#pragma unroll
		for (int r = 0; r < 12; r++)
			v[r] = t[r0 + r][tx + b];
#pragma unroll
		for (int a = 0; a < 5; a++)
#pragma unroll
			for (int r = 0; r < 8; r++)
				s[r] += w[a * 5 + b] * v[r + a];
	}
	for (int r = 0; r < 8; r++)
		if (i0 + r0 + r < n && j0 + tx < n)
			y[(i0 + r0 + r) * n + j0 + tx] = s[r];
}

// A product a team of 64 threads, 4 x 4 elements a thread.
extern "C" __global__ void __launch_bounds__(64) products32(I m, const float4* __restrict__ a, const float4* __restrict__ b, float4* __restrict__ c)
{
	__shared__ float4 ta[32][9], tb[32][8];
	I q = (I)blockIdx.x * 256;
	int me = threadIdx.x;
#pragma unroll
	for (int k = 0; k < 4; k++) {
		int e = me + 64 * k;
		ta[e / 8][e % 8] = a[q + e];
		tb[e / 8][e % 8] = b[q + e];
	}
	__syncthreads();
	int tx = me % 8, ty = me / 8;
	float4 s[4] = {};
#pragma unroll
	for (int k = 0; k < 32; k += 4) {
		float4 u[4];
#pragma unroll
		for (int r = 0; r < 4; r++)
			u[r] = ta[ty * 4 + r][k / 4];
#pragma unroll
		for (int d = 0; d < 4; d++) {
			float4 v = tb[k + d][tx];
#pragma unroll
			for (int r = 0; r < 4; r++) {
				float p = d == 0 ? u[r].x : d == 1 ? u[r].y : d == 2 ? u[r].z : u[r].w;
				s[r].x += p * v.x, s[r].y += p * v.y, s[r].z += p * v.z, s[r].w += p * v.w;
			}
		}
	}
	for (int r = 0; r < 4; r++)
		c[q + (ty * 4 + r) * 8 + tx] = s[r];
}

// 32 x 8 threads, tiles of 32 x 32.
extern "C" __global__ void transposed(I n, const float* __restrict__ x, float* __restrict__ y)
{
	__shared__ float t[32][33];
	I j = (I)blockIdx.x * 32 + threadIdx.x, i = (I)blockIdx.y * 32 + threadIdx.y;
#pragma unroll
	for (int r = 0; r < 32; r += 8)
		t[threadIdx.y + r][threadIdx.x] = x[(i + r) * n + j];
	__syncthreads();
	j = (I)blockIdx.y * 32 + threadIdx.x, i = (I)blockIdx.x * 32 + threadIdx.y;
#pragma unroll
	for (int r = 0; r < 32; r += 8)
		y[(i + r) * n + j] = t[threadIdx.x][threadIdx.y + r];
}

extern "C" __global__ void addtransposed(I n, const double* __restrict__ x, const double* __restrict__ z, double* __restrict__ y)
{
	__shared__ double t[32][33];
	I j = (I)blockIdx.y * 32 + threadIdx.x, i = (I)blockIdx.x * 32 + threadIdx.y;
#pragma unroll
	for (int r = 0; r < 32; r += 8)
		t[threadIdx.y + r][threadIdx.x] = z[(i + r) * n + j];
	__syncthreads();
	j = (I)blockIdx.x * 32 + threadIdx.x, i = (I)blockIdx.y * 32 + threadIdx.y;
#pragma unroll
	for (int r = 0; r < 32; r += 8)
		y[(i + r) * n + j] = 0.5 * x[(i + r) * n + j] + t[threadIdx.x][threadIdx.y + r];
}

// 32 columns a team of 32 x 16 threads.
extern "C" __global__ void columndot(I n, const float* __restrict__ a, const float* __restrict__ x, float* __restrict__ y)
{
	__shared__ float t[16][32];
	I j = (I)blockIdx.x * 32 + threadIdx.x;
	float s = 0;
#pragma unroll 8
	for (I i = threadIdx.y; i < n; i += 16)
		s += a[i * n + j] * x[i];
	t[threadIdx.y][threadIdx.x] = s;
	__syncthreads();
	if (threadIdx.y == 0) {
		for (int r = 1; r < 16; r++)
			s += t[r][threadIdx.x];
		y[j] = s;
	}
}

// A row a team of 256.
extern "C" __global__ void rowdot(I n, const float4* __restrict__ a, const float4* __restrict__ x, float* __restrict__ y)
{
	__shared__ float t[8];
	const float4* row = a + (I)blockIdx.x * (n / 4);
	float s = 0;
#pragma unroll 4
	for (I j = threadIdx.x; j < n / 4; j += 256) {
		float4 u = row[j], v = x[j];
		s += u.x * v.x + u.y * v.y + u.z * v.z + u.w * v.w;
	}
	for (int d = 16; d > 0; d /= 2)
		s += __shfl_down_sync(0xffffffff, s, d);
	if (threadIdx.x % 32 == 0)
		t[threadIdx.x / 32] = s;
	__syncthreads();
	if (threadIdx.x == 0) {
		for (int w = 1; w < 8; w++)
			s += t[w];
		y[blockIdx.x] = s;
	}
}

// 128 x 128 a team of 256, 8 x 8 a thread.
__device__ __forceinline__ void gemm_tile(int n, int m, const float* a, const float* b, float* c, bool rows, bool distance, bool add)
{
	__shared__ float ta[8][132], tb[8][132];
	int me = threadIdx.x, tx = me % 16, ty = me / 16, i0 = blockIdx.y * 128, j0 = blockIdx.x * 128;
	float s[8][8] = {};
	for (int k0 = 0; k0 < m; k0 += 8) {
		int r = me / 2, k = me % 2 * 4;
		float4 u = *(const float4*)&a[(I)(i0 + r) * m + k0 + k];
		ta[k][r] = u.x, ta[k + 1][r] = u.y, ta[k + 2][r] = u.z, ta[k + 3][r] = u.w;
		if (rows) {
			float4 v = *(const float4*)&b[(I)(j0 + r) * m + k0 + k];
			tb[k][r] = v.x, tb[k + 1][r] = v.y, tb[k + 2][r] = v.z, tb[k + 3][r] = v.w;
		} else
			*(float4*)&tb[me / 32][me % 32 * 4] = *(const float4*)&b[(I)(k0 + me / 32) * n + j0 + me % 32 * 4];
		__syncthreads();
#pragma unroll
		for (int k = 0; k < 8; k++) {
			float p[8], q[8];
			*(float4*)p = *(float4*)&ta[k][ty * 4], *(float4*)(p + 4) = *(float4*)&ta[k][64 + ty * 4];
			*(float4*)q = *(float4*)&tb[k][tx * 4], *(float4*)(q + 4) = *(float4*)&tb[k][64 + tx * 4];
#pragma unroll
			for (int i = 0; i < 8; i++)
#pragma unroll
				for (int j = 0; j < 8; j++)
					if (distance) {
						float d = p[i] - q[j];
						s[i][j] += d * d;
					} else
						s[i][j] += p[i] * q[j];
		}
		__syncthreads();
	}
	for (int i = 0; i < 8; i++)
		for (int j = 0; j < 8; j++) {
			float* to = &c[(I)(i0 + i % 4 + i / 4 * 64 + ty * 4) * n + j0 + j % 4 + j / 4 * 64 + tx * 4];
			*to = add ? *to + s[i][j] : s[i][j];
		}
}

extern "C" __global__ void __launch_bounds__(256) gemm(I n, const float* __restrict__ a, const float* __restrict__ b, float* __restrict__ c)
{
	gemm_tile((int)n, (int)n, a, b, c, false, false, true);
}
extern "C" __global__ void __launch_bounds__(256) gram(I n, I m, const float* __restrict__ a, float* __restrict__ c)
{
	gemm_tile((int)n, (int)m, a, a, c, true, false, false);
}
extern "C" __global__ void __launch_bounds__(256) distances(I n, I m, const float* __restrict__ x, const float* __restrict__ y, float* __restrict__ z)
{
	gemm_tile((int)n, (int)m, x, y, z, true, true, false);
}

// 32 x 8 threads, 4 rows of a plane a thread: a row serves the ones below and above it.
extern "C" __global__ void __launch_bounds__(256) heat3d(I n_, const float* __restrict__ x, float* __restrict__ y)
{
	int n = (int)n_, k = blockIdx.x * 32 + threadIdx.x + 1, j0 = (blockIdx.y * 8 + threadIdx.y) * 4 + 1, i = blockIdx.z + 1;
	if (k >= n - 1 || j0 >= n - 1)
		return;
	I plane = (I)n * n, at = (I)i * plane + (I)j0 * n + k;
	float row[6], below[4], above[4], left[4], right[4];
	int rows = min(4, n - 1 - j0);
#pragma unroll
	for (int r = 0; r < 6; r++)
		row[r] = r <= rows + 1 ? x[at + (r - 1) * n] : 0;
#pragma unroll
	for (int r = 0; r < 4; r++)
		if (r < rows) {
			below[r] = x[at + r * n - plane], above[r] = x[at + r * n + plane];
			left[r] = x[at + r * n - 1], right[r] = x[at + r * n + 1];
		}
#pragma unroll
	for (int r = 0; r < 4; r++)
		if (r < rows)
			y[at + r * n] = 0.4f * row[r + 1] + 0.1f * (below[r] + above[r] + row[r] + row[r + 2] + left[r] + right[r]);
}

// 32 x 8 threads, 4 rows a thread.
extern "C" __global__ void wave(I n_, double c, const double* __restrict__ u, double* __restrict__ v)
{
	int n = (int)n_, j = blockIdx.x * 32 + threadIdx.x + 1, i0 = (blockIdx.y * 8 + threadIdx.y) * 4 + 1;
	if (j >= n - 1)
		return;
	I at = (I)i0 * n + j;
	double up = u[at - n], here = u[at];
#pragma unroll
	for (int r = 0; r < 4; r++, at += n)
		if (i0 + r < n - 1) {
			double down = u[at + n];
			v[at] = 2 * here - v[at] + c * (up + down + u[at - 1] + u[at + 1] - 4 * here);
			up = here, here = down;
		}
}

// A row of 4096 a team of 256, 16 values a thread in registers.
extern "C" __global__ void __launch_bounds__(256) softmax(I n, I m, const float4* __restrict__ x, float4* __restrict__ y)
{
	__shared__ float t[8], u[8];
	I row = (I)blockIdx.x * (m / 4);
	int me = threadIdx.x;
	float4 v[4];
	float most = -1e30f, sum = 0;
#pragma unroll
	for (int k = 0; k < 4; k++) {
		v[k] = x[row + me + 256 * k];
		most = fmaxf(most, fmaxf(fmaxf(v[k].x, v[k].y), fmaxf(v[k].z, v[k].w)));
	}
	for (int d = 16; d > 0; d /= 2)
		most = fmaxf(most, __shfl_xor_sync(0xffffffff, most, d));
	if (me % 32 == 0)
		t[me / 32] = most;
	__syncthreads();
	for (int w = 0; w < 8; w++)
		most = fmaxf(most, t[w]);
#pragma unroll
	for (int k = 0; k < 4; k++) {
		v[k].x = expf(v[k].x - most), v[k].y = expf(v[k].y - most), v[k].z = expf(v[k].z - most), v[k].w = expf(v[k].w - most);
		sum += v[k].x + v[k].y + v[k].z + v[k].w;
	}
	for (int d = 16; d > 0; d /= 2)
		sum += __shfl_xor_sync(0xffffffff, sum, d);
	if (me % 32 == 0)
		u[me / 32] = sum;
	__syncthreads();
	sum = 0;
	for (int w = 0; w < 8; w++)
		sum += u[w];
	float inv = 1 / sum;
#pragma unroll
	for (int k = 0; k < 4; k++) {
		v[k].x *= inv, v[k].y *= inv, v[k].z *= inv, v[k].w *= inv;
		y[row + me + 256 * k] = v[k];
	}
}

extern "C" __global__ void optionprices(float r, float vol, const float* __restrict__ s, const float* __restrict__ k, const float* __restrict__ t, float* __restrict__ call, I n)
{
	I i = (I)blockIdx.x * blockDim.x + threadIdx.x;
	if (i >= n)
		return;
	float q = sqrtf(t[i]), d1 = (logf(s[i] / k[i]) + (r + vol * vol / 2) * t[i]) / (vol * q), d2 = d1 - vol * q;
	call[i] = s[i] * 0.5f * erfcf(-d1 * 0.70710678f) - k[i] * expf(-r * t[i]) * 0.5f * erfcf(-d2 * 0.70710678f);
}

// The centres of 64 clusters of 16 coordinates in team memory, a point in registers.
extern "C" __global__ void nearest(I n, I d, I c, const float* __restrict__ x, const float* __restrict__ centre, int* __restrict__ out)
{
	__shared__ float t[64 * 16];
	for (int k = threadIdx.x; k < 64 * 16; k += blockDim.x)
		t[k] = centre[k];
	__syncthreads();
	I i = (I)blockIdx.x * blockDim.x + threadIdx.x;
	if (i >= n)
		return;
	float p[16], best = 3e38f;
	int at = 0;
#pragma unroll
	for (int j = 0; j < 16; j++)
		p[j] = x[j * n + i];
	for (int k = 0; k < 64; k++) {
		float s = 0;
#pragma unroll
		for (int j = 0; j < 16; j++) {
			float e = p[j] - t[k * 16 + j];
			s += e * e;
		}
		if (s < best)
			best = s, at = k;
	}
	out[i] = at;
}

// 8192 elements a team of 256, 1024 at once with their rim in team memory; 4 neighbours a thread, from 36 values that it reads
// 16 bytes at a time; the filter in registers.
extern "C" __global__ void __launch_bounds__(256) filter33(I n, const float* __restrict__ x, const float* __restrict__ f, float* __restrict__ y)
{
	__shared__ float4 t[264];
	float w[33];
#pragma unroll
	for (int k = 0; k < 33; k++)
		w[k] = f[k];
	for (int c = 0; c < 8; c++) {
		I base = (I)blockIdx.x * 8192 + c * 1024;
		__syncthreads();
		for (int k = threadIdx.x; k < 264; k += 256) {
			I at = base + 4 * k;
			float4 v = make_float4(0, 0, 0, 0);
			if (at + 3 < n)
				v = *(const float4*)&x[at];
			else
				for (int d = 0; d < 4; d++)
					if (at + d < n)
						(&v.x)[d] = x[at + d];
			t[k] = v;
		}
		__syncthreads();
		float v[36], s[4] = {};
#pragma unroll
		for (int k = 0; k < 9; k++)
			*(float4*)&v[4 * k] = t[threadIdx.x + k];
#pragma unroll
		for (int k = 0; k < 33; k++)
#pragma unroll
			for (int r = 0; r < 4; r++)
				s[r] += w[k] * v[k + r];
		I i = base + 4 * threadIdx.x + 16;
		if (i + 3 < n - 16)
			*(float4*)&y[i] = *(float4*)s;
		else
			for (int r = 0; r < 4; r++)
				if (i + r < n - 16)
					y[i + r] = s[r];
	}
}

extern "C" __global__ void hash(I rounds, unsigned* x, I n)
{
	I i = (I)blockIdx.x * blockDim.x + threadIdx.x;
	if (i >= n)
		return;
	unsigned v = x[i];
	for (int r = 0; r < (int)rounds; r++) {
		v ^= v << 13, v ^= v >> 17, v ^= v << 5;
		v = v * 2654435761u + r;
	}
	x[i] = v;
}

extern "C" __global__ void upscale(I n_, const float* __restrict__ x, float* __restrict__ y)
{
	int n = (int)n_, m = 2 * n - 2, v = blockIdx.x * blockDim.x + threadIdx.x, u = blockIdx.y * blockDim.y + threadIdx.y;
	if (u >= n - 1 || v >= n - 1)
		return;
	float a = x[(I)u * n + v], b = x[(I)u * n + v + 1], c = x[(I)(u + 1) * n + v], d = x[(I)(u + 1) * n + v + 1];
	float top = a * 0.5f + b * 0.5f, low = c * 0.5f + d * 0.5f;
	*(float2*)&y[(I)2 * u * m + 2 * v] = make_float2(a, top);
	*(float2*)&y[(I)(2 * u + 1) * m + 2 * v] = make_float2(a * 0.5f + c * 0.5f, top * 0.5f + low * 0.5f);
}

extern "C" __global__ void columnmoments(I n, I m, const float* __restrict__ x, float* __restrict__ mean, float* __restrict__ variance)
{
	__shared__ float t[16][32], u[16][32];
	I j = (I)blockIdx.x * 32 + threadIdx.x;
	float s = 0, q = 0;
#pragma unroll 8
	for (I i = threadIdx.y; i < n; i += 16) {
		float v = x[i * m + j];
		s += v, q += v * v;
	}
	t[threadIdx.y][threadIdx.x] = s, u[threadIdx.y][threadIdx.x] = q;
	__syncthreads();
	if (threadIdx.y == 0) {
		for (int r = 1; r < 16; r++)
			s += t[r][threadIdx.x], q += u[r][threadIdx.x];
		s /= n;
		mean[j] = s, variance[j] = q / n - s * s;
	}
}

// One step of the shortest paths, launched by the host for every k.
extern "C" __global__ void shortest(I n, float* d, I k)
{
	I j = (I)blockIdx.x * blockDim.x + threadIdx.x, i = (I)blockIdx.y * blockDim.y + threadIdx.y;
	if (i < n && j < n)
		d[i * n + j] = fminf(d[i * n + j], d[i * n + k] + d[k * n + j]);
}

// Step k of a factorisation: each team divides what it needs of column k itself.
extern "C" __global__ void factorstep(I n, double* a, I k)
{
	I j = (I)blockIdx.x * blockDim.x + threadIdx.x + k + 1, i = (I)blockIdx.y * blockDim.y + threadIdx.y + k + 1;
	if (i < n && j < n)
		a[i * n + j] -= a[i * n + k] / a[k * n + k] * a[k * n + j];
}

// One step of heat, launched by the host for each.
extern "C" __global__ void heatstep(I n, I steps, const double* __restrict__ a, double* __restrict__ b)
{
	I j = (I)blockIdx.x * blockDim.x + threadIdx.x, i = (I)blockIdx.y * blockDim.y + threadIdx.y;
	if (i > 0 && j > 0 && i < n - 1 && j < n - 1)
		b[i * n + j] = 0.25 * (a[(i - 1) * n + j] + a[(i + 1) * n + j] + a[i * n + j - 1] + a[i * n + j + 1]);
}

// One step of a convergence loop on the other of two arrays, without the host's look at the change.
extern "C" __global__ void convergestep(I n, I most, double eps, const double* __restrict__ a, double* __restrict__ b, double* left)
{
	I i = (I)blockIdx.x * blockDim.x + threadIdx.x;
	double d = 0;
	if (i > 0 && i < n - 1) {
		b[i] = 0.5 * (a[i - 1] + a[i + 1]);
		d = fabs(b[i] - a[i]);
	}
	for (int s = 16; s > 0; s /= 2)
		d = fmax(d, __shfl_down_sync(0xffffffffu, d, s));
	if (threadIdx.x % 32 == 0)
		atomicMax((unsigned long long*)left, (unsigned long long)__double_as_longlong(d));
}

// 4 elements of float64 a thread, 16 bytes at a time.
extern "C" __global__ void axpy(double a, const double2* __restrict__ x, double2* __restrict__ y, I n)
{
	I i = ((I)blockIdx.x * blockDim.x * 2) + threadIdx.x;
#pragma unroll
	for (int k = 0; k < 2; k++, i += blockDim.x)
		if (i < n / 2) {
			double2 u = x[i], v = y[i];
			y[i] = make_double2(v.x + a * u.x, v.y + a * u.y);
		}
}

// Columns of a triangle: 32 of them a team of 32 x 16 threads, the longest first.
extern "C" __global__ void triangle(I n, const float* __restrict__ a, float* __restrict__ y)
{
	__shared__ float t[16][32];
	I j = (I)(gridDim.x - 1 - blockIdx.x) * 32 + threadIdx.x;
	float s = 0;
#pragma unroll 8
	for (I i = threadIdx.y; i <= j; i += 16)
		s += a[i * n + j];
	t[threadIdx.y][threadIdx.x] = s;
	__syncthreads();
	if (threadIdx.y == 0) {
		for (int r = 1; r < 16; r++)
			s += t[r][threadIdx.x];
		y[j] = s;
	}
}
