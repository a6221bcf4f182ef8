
// Kernels by hand, beside those of fields_kernels.go, as suite.cu has them for suite_kernels.go.

extern "C" __global__ void __launch_bounds__(256) lattice(I n_, float omega, const float* __restrict__ f, float* __restrict__ g)
{
	int n = (int)n_, j = blockIdx.x * 32 + threadIdx.x, i = blockIdx.y * 8 + threadIdx.y;
	if (i < 1 || j < 1 || i >= n - 1 || j >= n - 1)
		return;
	int m = n * n, at = i * n + j;
	float f0 = f[at], f1 = f[m + at - 1], f2 = f[2 * m + at - n], f3 = f[3 * m + at + 1], f4 = f[4 * m + at + n];
	float f5 = f[5 * m + at - n - 1], f6 = f[6 * m + at - n + 1], f7 = f[7 * m + at + n + 1], f8 = f[8 * m + at + n - 1];
	float rho = f0 + f1 + f2 + f3 + f4 + f5 + f6 + f7 + f8, inv = 1 / rho;
	float u = (f1 + f5 + f8 - f3 - f6 - f7) * inv, v = (f2 + f5 + f6 - f4 - f7 - f8) * inv;
	float base = 1 - 1.5f * (u * u + v * v), a = omega * rho * (1 / 9.f), b = omega * rho * (1 / 36.f), keep = 1 - omega, p = u + v, q = u - v;
	g[at] = keep * f0 + 4 * a * base;
	g[m + at] = keep * f1 + a * (base + 3 * u + 4.5f * u * u);
	g[2 * m + at] = keep * f2 + a * (base + 3 * v + 4.5f * v * v);
	g[3 * m + at] = keep * f3 + a * (base - 3 * u + 4.5f * u * u);
	g[4 * m + at] = keep * f4 + a * (base - 3 * v + 4.5f * v * v);
	g[5 * m + at] = keep * f5 + b * (base + 3 * p + 4.5f * p * p);
	g[6 * m + at] = keep * f6 + b * (base - 3 * q + 4.5f * q * q);
	g[7 * m + at] = keep * f7 + b * (base - 3 * p + 4.5f * p * p);
	g[8 * m + at] = keep * f8 + b * (base + 3 * q + 4.5f * q * q);
}

// A row of 1024 a team of 256, 4 neighbours a thread in registers.
extern "C" __global__ void __launch_bounds__(256) normrows(I n, I m, const float4* __restrict__ x, const float4* __restrict__ scale, const float4* __restrict__ shift, float4* __restrict__ y)
{
	__shared__ float2 t[8];
	I row = (I)blockIdx.x * 256;
	int me = threadIdx.x;
	float4 v = x[row + me];
	float s = v.x + v.y + v.z + v.w, q = v.x * v.x + v.y * v.y + v.z * v.z + v.w * v.w;
	for (int d = 16; d > 0; d /= 2)
		s += __shfl_xor_sync(0xffffffff, s, d), q += __shfl_xor_sync(0xffffffff, q, d);
	if (me % 32 == 0)
		t[me / 32] = make_float2(s, q);
	__syncthreads();
	s = q = 0;
	for (int w = 0; w < 8; w++)
		s += t[w].x, q += t[w].y;
	float mean = s / m, inv = rsqrtf(q / m - mean * mean + 1e-5f);
	float4 a = scale[me], b = shift[me];
	y[row + me] = make_float4((v.x - mean) * inv * a.x + b.x, (v.y - mean) * inv * a.y + b.y, (v.z - mean) * inv * a.z + b.z, (v.w - mean) * inv * a.w + b.w);
}

// 128 x 128 a team of 256, 8 x 8 a thread.
extern "C" __global__ void __launch_bounds__(256) covariance(I n_, I m_, const float* __restrict__ x, const float* __restrict__ mean, float* __restrict__ c)
{
	__shared__ float ta[8][128], tb[8][128];
	int n = (int)n_, m = (int)m_, me = threadIdx.x, tx = me % 16, ty = me / 16, i0 = blockIdx.y * 128, j0 = blockIdx.x * 128, k4 = me / 32, c4 = me % 32 * 4;
	float4 ma = *(const float4*)&mean[i0 + c4], mb = *(const float4*)&mean[j0 + c4];
	float s[8][8] = {};
	for (int k0 = 0; k0 < n; k0 += 8) {
		float4 u = *(const float4*)&x[(I)(k0 + k4) * m + i0 + c4], v = *(const float4*)&x[(I)(k0 + k4) * m + j0 + c4];
		*(float4*)&ta[k4][c4] = make_float4(u.x - ma.x, u.y - ma.y, u.z - ma.z, u.w - ma.w);
		*(float4*)&tb[k4][c4] = make_float4(v.x - mb.x, v.y - mb.y, v.z - mb.z, v.w - mb.w);
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
					s[i][j] += p[i] * q[j];
		}
		__syncthreads();
	}
	for (int i = 0; i < 8; i++)
		for (int j = 0; j < 8; j++)
			c[(I)(i0 + i % 4 + i / 4 * 64 + ty * 4) * m + j0 + j % 4 + j / 4 * 64 + tx * 4] = s[i][j] / (n - 1);
}

// 4 rows of results a thread: a row that two results read is loaded once.
extern "C" __global__ void __launch_bounds__(256) maxpool(I n_, const float* __restrict__ x, float* __restrict__ y)
{
	int n = (int)n_, m = (n - 1) / 2, j = blockIdx.x * 32 + threadIdx.x, i0 = (blockIdx.y * 8 + threadIdx.y) * 4;
	if (j >= m || i0 >= m)
		return;
	const float* p = &x[(I)2 * i0 * n + 2 * j];
	float above = fmaxf(fmaxf(p[0], p[1]), p[2]);
#pragma unroll
	for (int r = 0; r < 4; r++) {
		if (i0 + r >= m)
			break;
		p += n;
		float middle = fmaxf(fmaxf(p[0], p[1]), p[2]);
		p += n;
		float below = fmaxf(fmaxf(p[0], p[1]), p[2]);
		y[(I)(i0 + r) * m + j] = fmaxf(fmaxf(above, middle), below);
		above = below;
	}
}

__device__ __forceinline__ void order2(float& a, float& b) { float t = fminf(a, b); b = fmaxf(a, b), a = t; }
__device__ __forceinline__ void order3(float& a, float& b, float& c) { order2(a, b), order2(b, c), order2(a, b); }

// 8 rows a thread, each row of three values in order once.
extern "C" __global__ void __launch_bounds__(256) median(I n_, const float* __restrict__ x, float* __restrict__ y)
{
	int n = (int)n_, j = blockIdx.x * 32 + threadIdx.x + 1, i0 = (blockIdx.y * 8 + threadIdx.y) * 8 + 1;
	if (j >= n - 1 || i0 >= n - 1)
		return;
	float v[3][3];
#pragma unroll
	for (int r = 0; r < 2; r++) {
		const float* p = &x[(I)(i0 + r - 1) * n + j];
		v[r][0] = p[-1], v[r][1] = p[0], v[r][2] = p[1];
		order3(v[r][0], v[r][1], v[r][2]);
	}
#pragma unroll
	for (int r = 0; r < 8; r++) {
		if (i0 + r >= n - 1)
			break;
		const float* p = &x[(I)(i0 + r + 1) * n + j];
		float* w = v[(r + 2) % 3];
		w[0] = p[-1], w[1] = p[0], w[2] = p[1];
		order3(w[0], w[1], w[2]);
		float low = fmaxf(fmaxf(v[0][0], v[1][0]), v[2][0]), high = fminf(fminf(v[0][2], v[1][2]), v[2][2]);
		float a = v[0][1], b = v[1][1], c = v[2][1];
		order3(a, b, c);
		order3(low, b, high);
		y[(I)(i0 + r) * n + j] = b;
	}
}

// Rows of 8 values are two loads; the centres are in team memory.
extern "C" __global__ void nearestofrows(I n, I d, I c, const float4* __restrict__ x, const float* __restrict__ centre, int* __restrict__ label)
{
	__shared__ float4 t[32][2];
	for (int k = threadIdx.x; k < 32 * 8; k += blockDim.x)
		((float*)t)[k] = centre[k];
	__syncthreads();
	I i = (I)blockIdx.x * blockDim.x + threadIdx.x;
	if (i >= n)
		return;
	float4 a = x[2 * i], b = x[2 * i + 1];
	float best = 3e38f;
	int at = 0;
#pragma unroll 4
	for (int k = 0; k < 32; k++) {
		float4 u = t[k][0], v = t[k][1];
		float s = (a.x - u.x) * (a.x - u.x) + (a.y - u.y) * (a.y - u.y) + (a.z - u.z) * (a.z - u.z) + (a.w - u.w) * (a.w - u.w);
		s += (b.x - v.x) * (b.x - v.x) + (b.y - v.y) * (b.y - v.y) + (b.z - v.z) * (b.z - v.z) + (b.w - v.w) * (b.w - v.w);
		if (s < best)
			best = s, at = k;
	}
	label[i] = at;
}

extern "C" __global__ void ellproduct(I n_, I width, const float* __restrict__ value, const int* __restrict__ column, const float* __restrict__ x, float* __restrict__ y)
{
	int n = (int)n_, i = blockIdx.x * blockDim.x + threadIdx.x;
	if (i >= n)
		return;
	float s = 0;
#pragma unroll 8
	for (int k = 0; k < (int)width; k++)
		s += value[k * n + i] * x[column[k * n + i]];
	y[i] = s;
}

extern "C" __global__ void __launch_bounds__(256) diffusion(I n_, const float* __restrict__ x, const float* __restrict__ c, float* __restrict__ y)
{
	int n = (int)n_, k = blockIdx.x * 32 + threadIdx.x, j = blockIdx.y * 8 + threadIdx.y, i = blockIdx.z;
	if (i < 1 || j < 1 || k < 1 || i >= n - 1 || j >= n - 1 || k >= n - 1)
		return;
	int p = (i * n + j) * n + k;
	y[p] = x[p] + c[p] * (x[p - 1] + x[p + 1] + x[p - n] + x[p + n] + x[p - n * n] + x[p + n * n] - 6 * x[p]);
}

// Tiles of 256 bodies in team memory.
extern "C" __global__ void __launch_bounds__(256) cutoff(I n_, float reach, const float* __restrict__ x, const float* __restrict__ y, const float* __restrict__ z, float* __restrict__ energy)
{
	__shared__ float4 t[256];
	int n = (int)n_, i = blockIdx.x * 256 + threadIdx.x;
	float a = x[i], b = y[i], c = z[i], e = 0;
	for (int j0 = 0; j0 < n; j0 += 256) {
		t[threadIdx.x] = make_float4(x[j0 + threadIdx.x], y[j0 + threadIdx.x], z[j0 + threadIdx.x], 0);
		__syncthreads();
#pragma unroll 8
		for (int j = 0; j < 256; j++) {
			float4 o = t[j];
			float dx = o.x - a, dy = o.y - b, dz = o.z - c, r = dx * dx + dy * dy + dz * dz;
			if (j0 + j != i && r < reach) {
				float q = 1 / (r + 0.01f);
				q = q * q * q;
				e += q * (q - 1);
			}
		}
		__syncthreads();
	}
	energy[i] = e;
}

// 16 rows of a column a thread: 32 loads for 16 results.
extern "C" __global__ void __launch_bounds__(256) blurcolumns(I n_, const float* __restrict__ x, const float* __restrict__ w, float* __restrict__ y)
{
	__shared__ float f[17];
	if (threadIdx.y == 0 && threadIdx.x < 17)
		f[threadIdx.x] = w[threadIdx.x];
	__syncthreads();
	int n = (int)n_, j = blockIdx.x * 32 + threadIdx.x, i0 = (blockIdx.y * 8 + threadIdx.y) * 16 + 8;
	if (j >= n || i0 >= n - 8)
		return;
	float s[16] = {};
#pragma unroll
	for (int r = 0; r < 32; r++) {
		float v = i0 + r - 8 < n ? x[(I)(i0 + r - 8) * n + j] : 0;
#pragma unroll
		for (int a = 0; a < 17; a++)
			if (r - a >= 0 && r - a < 16)
				s[r - a] += f[a] * v;
	}
#pragma unroll
	for (int r = 0; r < 16; r++)
		if (i0 + r < n - 8)
			y[(I)(i0 + r) * n + j] = s[r];
}

// half is a power of two: a shift and a mask.
extern "C" __global__ void butterflies(I n_, I half_, const float* __restrict__ re, const float* __restrict__ im, const float* __restrict__ c, const float* __restrict__ s, float* __restrict__ outRe, float* __restrict__ outIm)
{
	int n = (int)n_, half = (int)half_, bits = __ffs(half) - 1, t = blockIdx.x * blockDim.x + threadIdx.x;
	if (t >= n / 2)
		return;
	int group = t >> bits, k = t & (half - 1), w = k * ((n / 2) >> bits), a = group * 2 * half + k, b = a + half;
	float tr = re[b] * c[w] - im[b] * s[w], ti = re[b] * s[w] + im[b] * c[w], ar = re[a], ai = im[a];
	outRe[a] = ar + tr, outIm[a] = ai + ti, outRe[b] = ar - tr, outIm[b] = ai - ti;
}

// A table a team, 16 elements of each a thread at once.
extern "C" __global__ void __launch_bounds__(512) jointtable(const int4* __restrict__ x, const int4* __restrict__ y, int* table, I n)
{
	__shared__ int t[4096];
	for (int k = threadIdx.x; k < 4096; k += 512)
		t[k] = 0;
	__syncthreads();
	for (I i = (I)blockIdx.x * 512 + threadIdx.x; i < n / 4; i += (I)gridDim.x * 512) {
		int4 a = x[i], b = y[i];
		atomicAdd(&t[a.x * 64 + b.x], 1), atomicAdd(&t[a.y * 64 + b.y], 1), atomicAdd(&t[a.z * 64 + b.z], 1), atomicAdd(&t[a.w * 64 + b.w], 1);
	}
	__syncthreads();
	for (int k = threadIdx.x; k < 4096; k += 512)
		atomicAdd(&table[k], t[k]);
}

// A matrix a thread in registers; 64 of them pass through team memory.
extern "C" __global__ void __launch_bounds__(64) smallfactors(I n, float4* a)
{
	__shared__ float t[64][65];
	I first = (I)blockIdx.x * 64 * 16;
	int me = threadIdx.x;
	for (int k = 0; k < 16; k++) {
		int e = k * 64 + me;
		float4 v = a[first + e];
		float* to = &t[e / 16][e % 16 * 4];
		to[0] = v.x, to[1] = v.y, to[2] = v.z, to[3] = v.w;
	}
	__syncthreads();
	float m[8][8];
#pragma unroll
	for (int e = 0; e < 64; e++)
		m[e / 8][e % 8] = t[me][e];
#pragma unroll
	for (int k = 0; k < 8; k++) {
		float inv = 1 / m[k][k];
#pragma unroll
		for (int i = k + 1; i < 8; i++) {
			m[i][k] *= inv;
#pragma unroll
			for (int j = k + 1; j < 8; j++)
				m[i][j] -= m[i][k] * m[k][j];
		}
	}
#pragma unroll
	for (int e = 0; e < 64; e++)
		t[me][e] = m[e / 8][e % 8];
	__syncthreads();
	for (int k = 0; k < 16; k++) {
		int e = k * 64 + me;
		float* from = &t[e / 16][e % 16 * 4];
		a[first + e] = make_float4(from[0], from[1], from[2], from[3]);
	}
}

extern "C" __global__ void rotated(I n, const float* __restrict__ r, float* p)
{
	I i = (I)blockIdx.x * blockDim.x + threadIdx.x;
	if (i >= n)
		return;
	float x = p[3 * i], y = p[3 * i + 1], z = p[3 * i + 2];
	p[3 * i] = r[0] * x + r[1] * y + r[2] * z;
	p[3 * i + 1] = r[3] * x + r[4] * y + r[5] * z;
	p[3 * i + 2] = r[6] * x + r[7] * y + r[8] * z;
}

// A team has 2048 elements and all lags, 4 neighbouring lags a thread.
extern "C" __global__ void __launch_bounds__(128) lags(I n_, I m_, const float* __restrict__ x, float* r)
{
	__shared__ float t[2048 + 512 + 4];
	int n = (int)n_, m = (int)m_, base = blockIdx.x * 2048, me = threadIdx.x;
	for (int k = me; k < 2048 + 512 + 4; k += 128)
		t[k] = base + k < n ? x[base + k] : 0;
	__syncthreads();
	float s[4] = {};
	int most = min(2048, n - m - base), k0 = me * 4;
	float v0 = t[k0], v1 = t[k0 + 1], v2 = t[k0 + 2];
#pragma unroll 8
	for (int i = 0; i < most; i++) {
		float u = t[i], v3 = t[i + k0 + 3];
		s[0] += u * v0, s[1] += u * v1, s[2] += u * v2, s[3] += u * v3;
		v0 = v1, v1 = v2, v2 = v3;
	}
	for (int k = 0; k < 4; k++)
		atomicAdd(&r[k0 + k], s[k]);
}

extern "C" __global__ void __launch_bounds__(256) grayscott(I n_, float feed, float kill, const float* __restrict__ u, const float* __restrict__ v, float* __restrict__ p, float* __restrict__ q)
{
	int n = (int)n_, j = blockIdx.x * 32 + threadIdx.x, i = blockIdx.y * 8 + threadIdx.y;
	if (i >= n || j >= n)
		return;
	int up = (i == 0 ? n - 1 : i - 1) * n, down = (i == n - 1 ? 0 : i + 1) * n, left = j == 0 ? n - 1 : j - 1, right = j == n - 1 ? 0 : j + 1, at = i * n;
	float a = u[at + j], b = v[at + j], r = a * b * b;
	float da = u[up + j] + u[down + j] + u[at + left] + u[at + right] - 4 * a, db = v[up + j] + v[down + j] + v[at + left] + v[at + right] - 4 * b;
	p[at + j] = a + 0.16f * da - r + feed * (1 - a);
	q[at + j] = b + 0.08f * db + r - (feed + kill) * b;
}

// 4 rows a thread; three rows of three values each are kept.
extern "C" __global__ void __launch_bounds__(256) edges(I n_, I m_, const float* __restrict__ x, float* __restrict__ y)
{
	int n = (int)n_, m = (int)m_, j = blockIdx.x * 32 + threadIdx.x, i0 = (blockIdx.y * 8 + threadIdx.y) * 4;
	if (j >= m || i0 >= n)
		return;
	int l = max(j - 1, 0), r = min(j + 1, m - 1);
	const float* p = &x[(I)max(i0 - 1, 0) * m];
	float al = p[l], ac = p[j], ar = p[r];
	p = &x[(I)i0 * m];
	float hl = p[l], hc = p[j], hr = p[r];
#pragma unroll
	for (int k = 0; k < 4; k++) {
		int i = i0 + k;
		if (i >= n)
			break;
		p = &x[(I)min(i + 1, n - 1) * m];
		float bl = p[l], bc = p[j], br = p[r];
		float gx = ar + 2 * hr + br - al - 2 * hl - bl, gy = bl + 2 * bc + br - al - 2 * ac - ar;
		y[(I)i * m + j] = sqrtf(gx * gx + gy * gy);
		al = hl, ac = hc, ar = hr, hl = bl, hc = bc, hr = br;
	}
}

// A warp a key: 4 values a lane.
extern "C" __global__ void __launch_bounds__(256) scores(I heads, I tokens, const float4* __restrict__ query, const float4* __restrict__ key, float* __restrict__ score)
{
	int h = blockIdx.y, lane = threadIdx.x % 32;
	float4 q = query[h * 32 + lane];
#pragma unroll
	for (int u = 0; u < 4; u++) {
		I t = (I)blockIdx.x * 32 + u * 8 + threadIdx.x / 32;
		if (t >= tokens)
			return;
		float4 v = key[((I)h * tokens + t) * 32 + lane];
		float s = q.x * v.x + q.y * v.y + q.z * v.z + q.w * v.w;
		for (int d = 16; d > 0; d /= 2)
			s += __shfl_xor_sync(0xffffffff, s, d);
		if (lane == 0)
			score[h * tokens + t] = s;
	}
}

// 128 x 128 a team of 256, 8 x 8 a thread.
extern "C" __global__ void __launch_bounds__(256) normalmatrix(I n_, I m_, const float* __restrict__ x, const float* __restrict__ w, const float* __restrict__ centre, float* __restrict__ a)
{
	__shared__ float ta[8][128], tb[8][128];
	int n = (int)n_, m = (int)m_, me = threadIdx.x, tx = me % 16, ty = me / 16, i0 = blockIdx.y * 128, j0 = blockIdx.x * 128, k4 = me / 32, c4 = me % 32 * 4;
	float4 ca = *(const float4*)&centre[i0 + c4], cb = *(const float4*)&centre[j0 + c4];
	float s[8][8] = {};
	for (int k0 = 0; k0 < n; k0 += 8) {
		float4 u = *(const float4*)&x[(I)(k0 + k4) * m + i0 + c4], v = *(const float4*)&x[(I)(k0 + k4) * m + j0 + c4];
		float f = w[k0 + k4];
		*(float4*)&ta[k4][c4] = make_float4(f * (u.x - ca.x), f * (u.y - ca.y), f * (u.z - ca.z), f * (u.w - ca.w));
		*(float4*)&tb[k4][c4] = make_float4(v.x - cb.x, v.y - cb.y, v.z - cb.z, v.w - cb.w);
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
					s[i][j] += p[i] * q[j];
		}
		__syncthreads();
	}
	for (int i = 0; i < 8; i++)
		for (int j = 0; j < 8; j++)
			a[(I)(i0 + i % 4 + i / 4 * 64 + ty * 4) * m + j0 + j % 4 + j / 4 * 64 + tx * 4] = s[i][j];
}

// A matrix a thread in registers, four loads of 16 bytes.
extern "C" __global__ void __launch_bounds__(128) inverses(I n, float4* a)
{
	I q = (I)blockIdx.x * 128 + threadIdx.x;
	if (q >= n)
		return;
	float m[4][4];
#pragma unroll
	for (int i = 0; i < 4; i++)
		*(float4*)m[i] = a[q * 4 + i];
#pragma unroll
	for (int k = 0; k < 4; k++) {
		float inv = 1 / m[k][k];
		m[k][k] = 1;
#pragma unroll
		for (int j = 0; j < 4; j++)
			m[k][j] *= inv;
#pragma unroll
		for (int i = 0; i < 4; i++)
			if (i != k) {
				float f = m[i][k];
				m[i][k] = 0;
#pragma unroll
				for (int j = 0; j < 4; j++)
					m[i][j] -= f * m[k][j];
			}
	}
#pragma unroll
	for (int i = 0; i < 4; i++)
		a[q * 4 + i] = *(float4*)m[i];
}
