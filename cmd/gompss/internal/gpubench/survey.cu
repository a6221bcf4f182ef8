// Kernels by hand, beside those of survey_kernels.go.
typedef unsigned char B;

// Four pixels a thread, of three words.
extern "C" __global__ void __launch_bounds__(256) gray(I n, const unsigned* __restrict__ rgb, uchar4* __restrict__ y)
{
	I i = (I)blockIdx.x * 256 + threadIdx.x;
	if (i >= n / 4)
		return;
	unsigned u = rgb[3 * i], v = rgb[3 * i + 1], w = rgb[3 * i + 2];
	auto one = [](unsigned r, unsigned g, unsigned b) { return (B)((77 * (r & 255) + 150 * (g & 255) + 29 * (b & 255)) >> 8); };
	y[i] = make_uchar4(one(u, u >> 8, u >> 16), one(u >> 24, v, v >> 8), one(v >> 16, v >> 24, w), one(w >> 8, w >> 16, w >> 24));
}

// A tile of 64 x 32 pixels with its rim; the greatest of rows, then of columns. 64 x 4 threads.
extern "C" __global__ void __launch_bounds__(256) dilate(I n_, const B* __restrict__ x, B* __restrict__ y)
{
	__shared__ B t[36][68], r[36][64];
	int n = (int)n_, i0 = blockIdx.y * 32, j0 = blockIdx.x * 64, me = threadIdx.y * 64 + threadIdx.x;
	for (int e = me; e < 36 * 68; e += 256) {
		int i = i0 + e / 68, j = j0 + e % 68;
		t[e / 68][e % 68] = i < n && j < n ? x[(I)i * n + j] : 0;
	}
	__syncthreads();
	for (int e = me; e < 36 * 64; e += 256) {
		const B* p = &t[e / 64][e % 64];
		r[e / 64][e % 64] = max(max(max(p[0], p[1]), max(p[2], p[3])), p[4]);
	}
	__syncthreads();
	int j = j0 + threadIdx.x + 2;
	for (int k = threadIdx.y; k < 32; k += 4) {
		int i = i0 + k + 2, c = threadIdx.x;
		if (i < n - 2 && j < n - 2)
			y[(I)i * n + j] = max(max(max(r[k][c], r[k + 1][c]), max(r[k + 2][c], r[k + 3][c])), r[k + 4][c]);
	}
}

extern "C" __global__ void __launch_bounds__(256) census(I n_, const B* __restrict__ x, unsigned* __restrict__ y)
{
	__shared__ B t[36][68];
	int n = (int)n_, i0 = blockIdx.y * 32, j0 = blockIdx.x * 64, me = threadIdx.y * 64 + threadIdx.x;
	for (int e = me; e < 36 * 68; e += 256) {
		int i = i0 + e / 68, j = j0 + e % 68;
		t[e / 68][e % 68] = i < n && j < n ? x[(I)i * n + j] : 0;
	}
	__syncthreads();
	int j = j0 + threadIdx.x + 2;
	for (int k = threadIdx.y; k < 32; k += 4) {
		int i = i0 + k + 2, c = threadIdx.x;
		unsigned bits = 0, here = t[k + 2][c + 2];
#pragma unroll
		for (int a = 0; a < 5; a++)
#pragma unroll
			for (int b = 0; b < 5; b++)
				bits = bits * 2 + (t[k + a][c + b] < here);
		if (i < n - 2 && j < n - 2)
			y[(I)i * n + j] = bits;
	}
}

extern "C" __global__ void __launch_bounds__(256) warped(I n_, float a, float b, float c, float d, const float* __restrict__ x, float* __restrict__ y)
{
	int n = (int)n_, j = blockIdx.x * 32 + threadIdx.x, i = blockIdx.y * 8 + threadIdx.y;
	if (i >= n || j >= n)
		return;
	float u = fminf(fmaxf(a * j + b * i, 0), n - 2), v = fminf(fmaxf(c * j + d * i, 0), n - 2);
	int p = (int)u, q = (int)v;
	float fu = u - p, fv = v - q;
	const float* at = x + (I)q * n + p;
	float top = at[0] * (1 - fu) + at[1] * fu, bottom = at[n] * (1 - fu) + at[n + 1] * fu;
	y[(I)i * n + j] = top * (1 - fv) + bottom * fv;
}

// 128 x 128 a team of 256, 8 x 8 a thread.
template <bool TROPICAL> __device__ __forceinline__ void blocked(int n, const float* a, const float* b, const float* bias, float* c)
{
	__shared__ float ta[8][132], tb[8][132];
	int me = threadIdx.x, tx = me % 16, ty = me / 16, i0 = blockIdx.y * 128, j0 = blockIdx.x * 128;
	float s[8][8];
	for (int i = 0; i < 8; i++)
		for (int j = 0; j < 8; j++)
			s[i][j] = TROPICAL ? -1e30f : 0;
	for (int k0 = 0; k0 < n; k0 += 8) {
		int r = me / 2, k = me % 2 * 4;
		float4 u = *(const float4*)&a[(I)(i0 + r) * n + k0 + k];
		ta[k][r] = u.x, ta[k + 1][r] = u.y, ta[k + 2][r] = u.z, ta[k + 3][r] = u.w;
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
					s[i][j] = TROPICAL ? fmaxf(s[i][j], p[i] + q[j]) : s[i][j] + p[i] * q[j];
		}
		__syncthreads();
	}
#pragma unroll
	for (int i = 0; i < 8; i++)
#pragma unroll
		for (int h = 0; h < 2; h++) {
			int at = j0 + h * 64 + tx * 4;
			float4 v = make_float4(s[i][h * 4], s[i][h * 4 + 1], s[i][h * 4 + 2], s[i][h * 4 + 3]);
			if (!TROPICAL)
				v = make_float4(fmaxf(v.x + bias[at], 0), fmaxf(v.y + bias[at + 1], 0), fmaxf(v.z + bias[at + 2], 0), fmaxf(v.w + bias[at + 3], 0));
			*(float4*)&c[(I)(i0 + i % 4 + i / 4 * 64 + ty * 4) * n + at] = v;
		}
}
extern "C" __global__ void __launch_bounds__(256) gemmbias(I n, const float* __restrict__ a, const float* __restrict__ b, const float* __restrict__ bias, float* __restrict__ c)
{
	blocked<false>((int)n, a, b, bias, c);
}
extern "C" __global__ void __launch_bounds__(256) maxplus(I n, const float* __restrict__ a, const float* __restrict__ b, float* __restrict__ c)
{
	blocked<true>((int)n, a, b, nullptr, c);
}

// 32 x 32 points of 8 channels out a team, 4 rows x 8 channels a thread, a channel in at a time in team memory.
extern "C" __global__ void __launch_bounds__(256) convchannels(I in_, I out_, I n_, const float* __restrict__ x, const float* __restrict__ f, float* __restrict__ y)
{
	__shared__ float t[34][35], w[8][9];
	int in = (int)in_, n = (int)n_, j0 = blockIdx.x * 32, i0 = blockIdx.y * 32, o0 = blockIdx.z * 8, me = threadIdx.y * 32 + threadIdx.x;
	float s[8][4] = {};
	for (int c = 0; c < in; c++) {
		for (int e = me; e < 34 * 34; e += 256) {
			int i = i0 + e / 34, j = j0 + e % 34;
			t[e / 34][e % 34] = i < n && j < n ? x[((I)c * n + i) * n + j] : 0;
		}
		if (me < 72)
			w[me / 9][me % 9] = o0 + me / 9 < out_ ? f[((I)(o0 + me / 9) * in + c) * 9 + me % 9] : 0;
		__syncthreads();
		float v[6][3];
#pragma unroll
		for (int r = 0; r < 6; r++)
#pragma unroll
			for (int b = 0; b < 3; b++)
				v[r][b] = t[threadIdx.y * 4 + r][threadIdx.x + b];
#pragma unroll
		for (int o = 0; o < 8; o++)
#pragma unroll
			for (int a = 0; a < 9; a++) {
				float g = w[o][a];
#pragma unroll
				for (int r = 0; r < 4; r++)
					s[o][r] += v[r + a / 3][a % 3] * g;
			}
		__syncthreads();
	}
	int j = j0 + threadIdx.x + 1;
	for (int o = 0; o < 8; o++)
		for (int r = 0; r < 4; r++) {
			int i = i0 + threadIdx.y * 4 + r + 1;
			if (i < n - 1 && j < n - 1 && o0 + o < out_)
				y[((I)(o0 + o) * n + i) * n + j] = s[o][r];
		}
}

// A team a channel.
extern "C" __global__ void __launch_bounds__(512) channelstats(I batch_, I channels, I size_, const float* __restrict__ x, float* __restrict__ mean, float* __restrict__ square)
{
	__shared__ float t[2][16];
	int batch = (int)batch_, size = (int)size_, c = blockIdx.x, me = threadIdx.x;
	float s = 0, q = 0;
	for (int b = 0; b < batch; b++) {
		const float* p = x + ((I)b * channels + c) * size;
		if (size % 4 == 0) {
#pragma unroll 2
			for (int k = me; k < size / 4; k += 512) {
				float4 v = ((const float4*)p)[k];
				s += v.x + v.y + v.z + v.w, q += v.x * v.x + v.y * v.y + v.z * v.z + v.w * v.w;
			}
		} else
			for (int k = me; k < size; k += 512)
				s += p[k], q += p[k] * p[k];
	}
	for (int k = 16; k > 0; k /= 2)
		s += __shfl_xor_sync(~0u, s, k), q += __shfl_xor_sync(~0u, q, k);
	if (me % 32 == 0)
		t[0][me / 32] = s, t[1][me / 32] = q;
	__syncthreads();
	if (me == 0) {
		s = q = 0;
		for (int k = 0; k < 16; k++)
			s += t[0][k], q += t[1][k];
		mean[c] = s / (batch * size), square[c] = q / (batch * size);
	}
}

// Tiles of 32 x 32 turned in team memory, 32 x 8 threads.
extern "C" __global__ void __launch_bounds__(256) channelsfirst(I batch, I channels_, I size_, const float* __restrict__ x, float* __restrict__ y)
{
	__shared__ float t[32][33];
	int channels = (int)channels_, size = (int)size_, c0 = blockIdx.x * 32, p0 = blockIdx.y * 32;
	x += (I)blockIdx.z * channels * size, y += (I)blockIdx.z * channels * size;
	for (int k = threadIdx.y; k < 32; k += 8)
		if (p0 + k < size && c0 + threadIdx.x < channels)
			t[k][threadIdx.x] = x[(I)(p0 + k) * channels + c0 + threadIdx.x];
	__syncthreads();
	for (int k = threadIdx.y; k < 32; k += 8)
		if (c0 + k < channels && p0 + threadIdx.x < size)
			y[(I)(c0 + k) * size + p0 + threadIdx.x] = t[threadIdx.x][k];
}

__device__ __forceinline__ void step(float rate, float b1, float b2, float eps, float g, float& w, float& m, float& v)
{
	m = b1 * m + (1 - b1) * g, v = b2 * v + (1 - b2) * g * g;
	w -= rate * m / (sqrtf(v) + eps);
}
extern "C" __global__ void __launch_bounds__(256) adam(float rate, float b1, float b2, float eps, const float4* __restrict__ g, float4* __restrict__ w, float4* __restrict__ m, float4* __restrict__ v, I n)
{
	I i = (I)blockIdx.x * 256 + threadIdx.x;
	if (i >= n / 4)
		return;
	float4 p = w[i], q = m[i], r = v[i], s = g[i];
	step(rate, b1, b2, eps, s.x, p.x, q.x, r.x), step(rate, b1, b2, eps, s.y, p.y, q.y, r.y);
	step(rate, b1, b2, eps, s.z, p.z, q.z, r.z), step(rate, b1, b2, eps, s.w, p.w, q.w, r.w);
	w[i] = p, m[i] = q, v[i] = r;
}

// A row of 4096 a team of 256, in registers.
extern "C" __global__ void __launch_bounds__(256) quantiserows(I n, I m, const float4* __restrict__ x, float* __restrict__ scale, char4* __restrict__ y)
{
	__shared__ float t[8];
	int me = threadIdx.x;
	I row = (I)blockIdx.x * (m / 4);
	float4 v[4];
	float most = 0;
#pragma unroll
	for (int k = 0; k < 4; k++)
		if (me + 256 * k < m / 4) {
			v[k] = x[row + me + 256 * k];
			most = fmaxf(most, fmaxf(fmaxf(fabsf(v[k].x), fabsf(v[k].y)), fmaxf(fabsf(v[k].z), fabsf(v[k].w))));
		}
	for (int k = 16; k > 0; k /= 2)
		most = fmaxf(most, __shfl_xor_sync(~0u, most, k));
	if (me % 32 == 0)
		t[me / 32] = most;
	__syncthreads();
	for (int k = 0; k < 8; k++)
		most = fmaxf(most, t[k]);
	float s = 127 / fmaxf(most, 1e-20f);
#pragma unroll
	for (int k = 0; k < 4; k++)
		if (me + 256 * k < m / 4)
			y[row + me + 256 * k] = make_char4((int)roundf(v[k].x * s), (int)roundf(v[k].y * s), (int)roundf(v[k].z * s), (int)roundf(v[k].w * s));
	if (me == 0)
		scale[blockIdx.x] = 1 / s;
}

// A warp a row, 16 bytes a lane at a time.
extern "C" __global__ void __launch_bounds__(256) bytegemv(I n, I m, const int4* __restrict__ w, const float* __restrict__ scale, const float4* __restrict__ x, float* __restrict__ y)
{
	I i = ((I)blockIdx.x * 256 + threadIdx.x) / 32;
	int lane = threadIdx.x % 32;
	if (i >= n)
		return;
	float s = 0;
#pragma unroll 4
	for (int k = lane; k < m / 16; k += 32) {
		int4 v = w[i * (m / 16) + k];
		int part[4] = {v.x, v.y, v.z, v.w};
#pragma unroll
		for (int q = 0; q < 4; q++) {
			float4 z = x[4 * k + q];
			char4 c = *(char4*)&part[q];
			s += c.x * z.x + c.y * z.y + c.z * z.z + c.w * z.w;
		}
	}
	for (int k = 16; k > 0; k /= 2)
		s += __shfl_xor_sync(~0u, s, k);
	if (lane == 0)
		y[i] = scale[i] * s;
}

// A warp a matrix: eight lanes a row of 32, 16 bytes each.
extern "C" __global__ void __launch_bounds__(256) batchgemv(I batch, const float4* __restrict__ a, const float4* __restrict__ x, float* __restrict__ y)
{
	I b = ((I)blockIdx.x * 256 + threadIdx.x) / 32;
	int lane = threadIdx.x % 32;
	if (b >= batch)
		return;
	float4 v = x[b * 8 + lane % 8];
#pragma unroll
	for (int r = 0; r < 8; r++) {
		float4 u = a[b * 256 + r * 32 + lane];
		float s = u.x * v.x + u.y * v.y + u.z * v.z + u.w * v.w;
		s += __shfl_xor_sync(~0u, s, 4), s += __shfl_xor_sync(~0u, s, 2), s += __shfl_xor_sync(~0u, s, 1);
		if (lane % 8 == 0)
			y[b * 32 + r * 4 + lane / 8] = s;
	}
}

// A team of 256 a head: a warp a token, then 8 groups of 32 lanes with 4 coordinates each.
extern "C" __global__ void __launch_bounds__(256) attendone(I heads, I t_, const float4* __restrict__ q, const float4* __restrict__ key, const float4* __restrict__ value, float* __restrict__ score, float* __restrict__ out)
{
	__shared__ float part[8], sum[8];
	__shared__ float4 rows[8][32];
	int t = (int)t_, h = blockIdx.x, lane = threadIdx.x % 32, warp = threadIdx.x / 32;
	float4 mine = q[h * 32 + lane];
	float most = -1e30f, total = 0;
	score += (I)h * t, key += (I)h * t * 32, value += (I)h * t * 32;
#pragma unroll 4
	for (int k = warp; k < t; k += 8) {
		float4 v = key[(I)k * 32 + lane];
		float s = v.x * mine.x + v.y * mine.y + v.z * mine.z + v.w * mine.w;
		for (int d = 16; d > 0; d /= 2)
			s += __shfl_xor_sync(~0u, s, d);
		if (lane == 0)
			score[k] = s;
		most = fmaxf(most, s);
	}
	if (lane == 0)
		part[warp] = most;
	__syncthreads();
	for (int k = 0; k < 8; k++)
		most = fmaxf(most, part[k]);
	float4 s = make_float4(0, 0, 0, 0);
#pragma unroll 4
	for (int k = warp; k < t; k += 8) {
		float e = expf(score[k] - most);
		float4 v = value[(I)k * 32 + lane];
		total += e;
		s.x += e * v.x, s.y += e * v.y, s.z += e * v.z, s.w += e * v.w;
	}
	rows[warp][lane] = s;
	if (lane == 0)
		sum[warp] = total;
	__syncthreads();
	if (warp == 0) {
		total = sum[0];
		for (int k = 1; k < 8; k++) {
			float4 v = rows[k][lane];
			s.x += v.x, s.y += v.y, s.z += v.z, s.w += v.w, total += sum[k];
		}
		((float4*)out)[h * 32 + lane] = make_float4(s.x / total, s.y / total, s.z / total, s.w / total);
	}
}

// 256 samples at a time in team memory.
extern "C" __global__ void __launch_bounds__(256) density(I n, I m_, float width, const float* __restrict__ at, const float* __restrict__ sample, float* __restrict__ y)
{
	__shared__ float t[256];
	int m = (int)m_;
	I i = (I)blockIdx.x * 256 + threadIdx.x;
	float here = i < n ? at[i] : 0, s = 0;
	for (int j0 = 0; j0 < m; j0 += 256) {
		__syncthreads();
		if (j0 + threadIdx.x < m)
			t[threadIdx.x] = sample[j0 + threadIdx.x];
		__syncthreads();
		if (m - j0 >= 256) {
#pragma unroll 8
			for (int j = 0; j < 256; j++) {
				float d = (here - t[j]) * width;
				s += expf(-0.5f * d * d);
			}
		} else
			for (int j = 0; j < m - j0; j++) {
				float d = (here - t[j]) * width;
				s += expf(-0.5f * d * d);
			}
	}
	if (i < n)
		y[i] = s / m;
}

// 4 columns a thread; charges in team memory.
extern "C" __global__ void __launch_bounds__(128) coulomb(I n_, I m_, float step, float z, const float4* __restrict__ atom, float* __restrict__ y)
{
	__shared__ float4 t[256];
	int n = (int)n_, m = (int)m_, me = threadIdx.y * 32 + threadIdx.x, j = blockIdx.x * 128 + threadIdx.x, i = blockIdx.y * 4 + threadIdx.y;
	float s[4] = {};
	for (int k0 = 0; k0 < m; k0 += 256) {
		__syncthreads();
		for (int k = me; k < 256; k += 128) {
			float4 v = k0 + k < m ? atom[k0 + k] : make_float4(0, 0, 1e10f, 0);
			v.z = (v.z - z) * (v.z - z);
			t[k] = v;
		}
		__syncthreads();
#pragma unroll 4
		for (int k = 0; k < 256; k++) {
			float4 v = t[k];
			float dy = v.y - i * step, d = dy * dy + v.z;
#pragma unroll
			for (int c = 0; c < 4; c++) {
				float dx = v.x - (j + 32 * c) * step;
				s[c] += v.w * rsqrtf(dx * dx + d);
			}
		}
	}
	for (int c = 0; c < 4; c++)
		if (i < n && j + 32 * c < n)
			y[(I)i * n + j + 32 * c] = s[c];
}

// A table of each warp in team memory; 256 points at a time.
extern "C" __global__ void __launch_bounds__(256) pairdistances(I n_, float scale, const float* __restrict__ x, const float* __restrict__ y, const float* __restrict__ z, int* __restrict__ count)
{
	__shared__ int table[8][64];
	__shared__ float4 t[256];
	int n = (int)n_, me = threadIdx.x, i = blockIdx.x * 256 + me;
	for (int k = me; k < 512; k += 256)
		(&table[0][0])[k] = 0;
	float a = 0, b = 0, c = 0;
	if (i < n)
		a = x[i], b = y[i], c = z[i];
	for (int j0 = (int)blockIdx.y * 1024; j0 < min(n, (int)blockIdx.y * 1024 + 1024); j0 += 256) {
		__syncthreads();
		if (j0 + me < n)
			t[me] = make_float4(x[j0 + me], y[j0 + me], z[j0 + me], 0);
		__syncthreads();
		if (i < n)
			for (int j = 0; j < min(256, n - j0); j++) {
				float4 v = t[j];
				float dx = a - v.x, dy = b - v.y, dz = c - v.z;
				int k = (int)(sqrtf(dx * dx + dy * dy + dz * dz) * scale);
				if (k < 64)
					atomicAdd(&table[me / 32][k], 1);
			}
	}
	__syncthreads();
	if (me < 64) {
		int s = 0;
		for (int w = 0; w < 8; w++)
			s += table[w][me];
		atomicAdd(&count[me], s);
	}
}

// A warp has 32 series, and turns pieces of 32 x 32 in team memory.
extern "C" __global__ void __launch_bounds__(128) ewma(I n, I m_, float alpha, const float* __restrict__ x, float* __restrict__ y)
{
	__shared__ float tile[4][32][33];
	int m = (int)m_, lane = threadIdx.x % 32, warp = threadIdx.x / 32;
	I first = ((I)blockIdx.x * 4 + warp) * 32;
	if (first >= n)
		return;
	float(*t)[33] = tile[warp];
	int rows = (int)min((I)32, n - first);
	float s = 0;
	for (int j0 = 0; j0 < m; j0 += 32) {
		__syncwarp();
#pragma unroll 8
		for (int r = 0; r < 32; r++)
			if (r < rows && j0 + lane < m)
				t[r][lane] = x[(first + r) * m + j0 + lane];
		__syncwarp();
		for (int j = 0; j < min(32, m - j0); j++) {
			float v = t[lane][j];
			s = j0 + j == 0 ? v : alpha * v + (1 - alpha) * s;
			t[lane][j] = s;
		}
		__syncwarp();
#pragma unroll 8
		for (int r = 0; r < 32; r++)
			if (r < rows && j0 + lane < m)
				y[(first + r) * m + j0 + lane] = t[r][lane];
	}
}

// A thread a point.
extern "C" __global__ void __launch_bounds__(256) faraday(I n_, float c, const float* __restrict__ ex, const float* __restrict__ ey, const float* __restrict__ ez, float* __restrict__ hx, float* __restrict__ hy, float* __restrict__ hz)
{
	int n = (int)n_, k = blockIdx.x * 32 + threadIdx.x, j = blockIdx.y * 8 + threadIdx.y, i = blockIdx.z;
	if (k >= n - 1 || j >= n - 1)
		return;
	I p = ((I)i * n + j) * n + k, plane = (I)n * n;
	float x = ex[p], y = ey[p], z = ez[p];
	hx[p] += c * (ey[p + 1] - y - ez[p + n] + z);
	hy[p] += c * (ez[p + plane] - z - ex[p + 1] + x);
	hz[p] += c * (ex[p + n] - x - ey[p + plane] + y);
}

// 4 rows a thread.
extern "C" __global__ void __launch_bounds__(256) shallow(I n_, float dt, const float* __restrict__ h, const float* __restrict__ u, const float* __restrict__ v, float* __restrict__ out)
{
	int n = (int)n_, j = blockIdx.x * 32 + threadIdx.x, i0 = (blockIdx.y * 8 + threadIdx.y) * 4;
	if (j >= n || i0 >= n)
		return;
	int left = j == 0 ? n - 1 : j - 1, right = j == n - 1 ? 0 : j + 1, up = i0 == 0 ? n - 1 : i0 - 1;
	I at = (I)i0 * n;
	float here = h[at + j], flow = here * v[at + j], before = h[(I)up * n + j] * v[(I)up * n + j];
	for (int r = 0; r < 4 && i0 + r < n; r++, at += n) {
		I next = i0 + r == n - 1 ? 0 : at + n;
		float below = h[next + j], after = below * v[next + j];
		float across = h[at + right] * u[at + right] - h[at + left] * u[at + left];
		out[at + j] = here - dt * (across + (after - before));
		before = flow, flow = after, here = below;
	}
}

// A thread a spin of its colour.
extern "C" __global__ void __launch_bounds__(256) ising(I n_, unsigned colour, unsigned time, const unsigned* __restrict__ limit, signed char* __restrict__ spin)
{
	int n = (int)n_, i = blockIdx.y * 8 + threadIdx.y;
	int j = (blockIdx.x * 32 + threadIdx.x) * 2 + ((i ^ (int)colour) & 1);
	if (i >= n || j >= n)
		return;
	int up = i == 0 ? n - 1 : i - 1, down = i == n - 1 ? 0 : i + 1, left = j == 0 ? n - 1 : j - 1, right = j == n - 1 ? 0 : j + 1;
	int s = spin[(I)i * n + j];
	int sum = s * (spin[(I)up * n + j] + spin[(I)down * n + j] + spin[(I)i * n + left] + spin[(I)i * n + right]);
	unsigned r = ((unsigned)(i * n + j) ^ time * 0x9e3779b9u) * 0x85ebca6bu;
	r ^= r >> 13, r *= 0xc2b2ae35u, r ^= r >> 16;
	if (r < limit[(sum + 4) & 7])
		spin[(I)i * n + j] = (signed char)-s;
}

// Four groups a thread, letters in team memory.
extern "C" __global__ void __launch_bounds__(256) base64(I n, const unsigned* __restrict__ text, const B* __restrict__ letter, uint4* __restrict__ out)
{
	__shared__ B t[64];
	if (threadIdx.x < 64)
		t[threadIdx.x] = letter[threadIdx.x];
	__syncthreads();
	I i = (I)blockIdx.x * 256 + threadIdx.x;
	if (i >= n / 4)
		return;
	unsigned u = __byte_perm(text[3 * i], 0, 0x0123), v = __byte_perm(text[3 * i + 1], 0, 0x0123), w = __byte_perm(text[3 * i + 2], 0, 0x0123);
	auto four = [&](unsigned x) { return t[x >> 18 & 63] | t[x >> 12 & 63] << 8 | t[x >> 6 & 63] << 16 | (unsigned)t[x & 63] << 24; };
	out[i] = make_uint4(four(u >> 8), four((u & 255) << 16 | v >> 16), four((v & 65535) << 8 | w >> 24), four(w & 0xffffff));
}

// 16 places a thread, which has their bytes in registers.
extern "C" __global__ void __launch_bounds__(256) matches(I n, I m_, const B* __restrict__ text, const B* __restrict__ pattern, int* __restrict__ count)
{
	__shared__ B p[64];
	int m = (int)m_, found = 0;
	if (threadIdx.x < m && threadIdx.x < 64)
		p[threadIdx.x] = pattern[threadIdx.x];
	__syncthreads();
	for (I at = ((I)blockIdx.x * 256 + threadIdx.x) * 16; at <= n - m; at += (I)gridDim.x * 256 * 16) {
		uint4 v = *(const uint4*)&text[at];
		unsigned part[4] = {v.x, v.y, v.z, v.w};
#pragma unroll
		for (int k = 0; k < 16; k++)
			if ((part[k / 4] >> k % 4 * 8 & 255) == p[0] && at + k <= n - m) {
				int q = 1;
				while (q < m && text[at + k + q] == p[q])
					q++;
				found += q == m;
			}
	}
	for (int k = 16; k > 0; k /= 2)
		found += __shfl_xor_sync(~0u, found, k);
	if (threadIdx.x % 32 == 0 && found)
		atomicAdd(&count[0], found);
}

extern "C" __global__ void __launch_bounds__(256) xtea(I n, const unsigned* __restrict__ key, uint2* __restrict__ text)
{
	I i = (I)blockIdx.x * 256 + threadIdx.x;
	if (i >= n)
		return;
	unsigned k[4] = {key[0], key[1], key[2], key[3]};
	uint2 v = text[i];
	unsigned sum = 0;
#pragma unroll
	for (int r = 0; r < 32; r++) {
		v.x += ((v.y << 4 ^ v.y >> 5) + v.y) ^ (sum + k[sum & 3]);
		sum += 0x9e3779b9;
		v.y += ((v.x << 4 ^ v.x >> 5) + v.x) ^ (sum + k[sum >> 11 & 3]);
	}
	text[i] = v;
}

// 2048 results a team, 8 neighbours a thread, which keeps what they share in registers.
extern "C" __global__ void __launch_bounds__(256) fir(I n, I m_, const float* __restrict__ x, const float* __restrict__ f, float* __restrict__ y)
{
	__shared__ float t[2048 + 64], w[64];
	int m = (int)m_, me = threadIdx.x;
	I first = (I)blockIdx.x * 2048;
	if (me < m)
		w[me] = f[me];
	for (int k = me; k < 2048 + m - 1; k += 256)
		t[k] = first + k < n + m - 1 ? x[first + k] : 0;
	__syncthreads();
	float s[8] = {};
#pragma unroll 4
	for (int k = 0; k < m; k++) {
		float g = w[k];
#pragma unroll
		for (int c = 0; c < 8; c++)
			s[c] += g * t[me + 256 * c + k];
	}
	for (int c = 0; c < 8; c++)
		if (first + me + 256 * c < n)
			y[first + me + 256 * c] = s[c];
}

extern "C" __global__ void __launch_bounds__(128) elements(I n, const int4* __restrict__ node, const float* __restrict__ x, float4* __restrict__ out)
{
	I e = (I)blockIdx.x * 128 + threadIdx.x;
	if (e >= n)
		return;
	int4 c = node[e];
	const float *o = x + (I)c.x * 3, *p = x + (I)c.y * 3, *q = x + (I)c.z * 3, *r = x + (I)c.w * 3;
	float g[4][3];
	for (int d = 0; d < 3; d++)
		g[0][d] = p[d] - o[d], g[1][d] = q[d] - o[d], g[2][d] = r[d] - o[d];
	float det = g[0][0] * (g[1][1] * g[2][2] - g[1][2] * g[2][1]) - g[0][1] * (g[1][0] * g[2][2] - g[1][2] * g[2][0]) + g[0][2] * (g[1][0] * g[2][1] - g[1][1] * g[2][0]);
	for (int d = 0; d < 3; d++)
		g[3][d] = -g[0][d] - g[1][d] - g[2][d];
#pragma unroll
	for (int a = 0; a < 4; a++) {
		float v[4];
#pragma unroll
		for (int b = 0; b < 4; b++)
			v[b] = det * (g[a][0] * g[b][0] + g[a][1] * g[b][1] + g[a][2] * g[b][2]);
		out[4 * e + a] = make_float4(v[0], v[1], v[2], v[3]);
	}
}

// 4 rows a thread.
extern "C" __global__ void __launch_bounds__(256) applydot(I n_, const double* __restrict__ p, double* __restrict__ y, double* __restrict__ dot)
{
	__shared__ double t[8];
	int n = (int)n_, j = blockIdx.x * 32 + threadIdx.x + 1, i0 = (blockIdx.y * 8 + threadIdx.y) * 4 + 1, me = threadIdx.y * 32 + threadIdx.x;
	double s = 0;
	if (j < n - 1 && i0 < n - 1) {
		I at = (I)i0 * n + j;
		double up = p[at - n], here = p[at];
#pragma unroll
		for (int r = 0; r < 4; r++, at += n)
			if (i0 + r < n - 1) {
				double down = p[at + n], v = 4 * here - p[at - 1] - p[at + 1] - up - down;
				y[at] = v, s += v * here;
				up = here, here = down;
			}
	}
	for (int k = 16; k > 0; k /= 2)
		s += __shfl_xor_sync(~0u, s, k);
	if (me % 32 == 0)
		t[me / 32] = s;
	__syncthreads();
	if (me == 0) {
		for (int k = 1; k < 8; k++)
			s += t[k];
		atomicAdd(dot, s);
	}
}

extern "C" __global__ void __launch_bounds__(256) mahalanobis(I n, const float4* __restrict__ x, const float* __restrict__ s, float* __restrict__ y)
{
	__shared__ float4 t[16][4];
	((float*)t)[threadIdx.x] = s[threadIdx.x];
	__syncthreads();
	I i = (I)blockIdx.x * 256 + threadIdx.x;
	if (i >= n)
		return;
	float v[16], total = 0;
#pragma unroll
	for (int k = 0; k < 4; k++)
		*(float4*)&v[4 * k] = x[4 * i + k];
#pragma unroll
	for (int a = 0; a < 16; a++) {
		float u = 0;
#pragma unroll
		for (int k = 0; k < 4; k++) {
			float4 w = t[a][k];
			u += w.x * v[4 * k] + w.y * v[4 * k + 1] + w.z * v[4 * k + 2] + w.w * v[4 * k + 3];
		}
		total += u * v[a];
	}
	y[i] = total;
}

// 4 pairs a thread.
extern "C" __global__ void __launch_bounds__(256) rotary(I tokens, I heads_, I half_, const float4* __restrict__ c, const float4* __restrict__ s, float4* __restrict__ q)
{
	int heads = (int)heads_, half = (int)half_ / 4;
	I e = (I)blockIdx.x * 256 + threadIdx.x;
	if (e >= tokens * heads * half)
		return;
	int d = (int)(e % half), row = (int)(e / half), t = row / heads;
	I at = (I)row * 2 * half + d;
	float4 a = q[at], b = q[at + half], u = c[t * half + d], v = s[t * half + d];
	q[at] = make_float4(a.x * u.x - b.x * v.x, a.y * u.y - b.y * v.y, a.z * u.z - b.z * v.z, a.w * u.w - b.w * v.w);
	q[at + half] = make_float4(a.x * v.x + b.x * u.x, a.y * v.y + b.y * u.y, a.z * v.z + b.z * u.z, a.w * v.w + b.w * u.w);
}
