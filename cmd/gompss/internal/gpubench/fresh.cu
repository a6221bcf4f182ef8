// Kernels by hand, beside those of fresh_kernels.go.

extern "C" __global__ void __launch_bounds__(256) radixfour(I n_, I quarter_, const float* __restrict__ re, const float* __restrict__ im, const float* __restrict__ c, const float* __restrict__ s, float* __restrict__ outRe, float* __restrict__ outIm)
{
	int n = (int)n_, quarter = (int)quarter_, t = blockIdx.x * 256 + threadIdx.x;
	if (t >= n / 4)
		return;
	int k = t & (quarter - 1), p = (t - k) * 4 + k, w = k * (n / 4 / quarter);
	float ar = re[p], ai = im[p], xr = re[p + quarter], xi = im[p + quarter];
	float yr = re[p + 2 * quarter], yi = im[p + 2 * quarter], zr = re[p + 3 * quarter], zi = im[p + 3 * quarter];
	float c1 = c[w], s1 = s[w], c2 = c[2 * w], s2 = s[2 * w], c3 = c[3 * w], s3 = s[3 * w];
	float br = xr * c1 - xi * s1, bi = xr * s1 + xi * c1, cr = yr * c2 - yi * s2, ci = yr * s2 + yi * c2;
	float dr = zr * c3 - zi * s3, di = zr * s3 + zi * c3;
	float er = ar + cr, ei = ai + ci, fr = ar - cr, fi = ai - ci, gr = br + dr, gi = bi + di, hr = br - dr, hi = bi - di;
	outRe[p] = er + gr, outIm[p] = ei + gi;
	outRe[p + quarter] = fr + hi, outIm[p + quarter] = fi - hr;
	outRe[p + 2 * quarter] = er - gr, outIm[p + 2 * quarter] = ei - gi;
	outRe[p + 3 * quarter] = fr - hi, outIm[p + 3 * quarter] = fi + hr;
}

// A tile of 32 x 32 results with its rim in team memory, 4 rows a thread.
extern "C" __global__ void __launch_bounds__(256) bilateral(I n_, float sharp, const float* __restrict__ x, const float* __restrict__ near, float* __restrict__ y)
{
	__shared__ float t[36][37], w[25];
	int n = (int)n_, i0 = blockIdx.y * 32, j0 = blockIdx.x * 32, me = threadIdx.y * 32 + threadIdx.x;
	if (me < 25)
		w[me] = near[me];
	for (int e = me; e < 36 * 36; e += 256) {
		int i = i0 + e / 36, j = j0 + e % 36;
		t[e / 36][e % 36] = i < n && j < n ? x[(I)i * n + j] : 0;
	}
	__syncthreads();
	int j = j0 + threadIdx.x + 2;
#pragma unroll
	for (int r = 0; r < 4; r++) {
		int k = threadIdx.y + 8 * r, i = i0 + k + 2;
		float here = t[k + 2][threadIdx.x + 2], sum = 0, weight = 0;
#pragma unroll
		for (int a = 0; a < 5; a++)
#pragma unroll
			for (int b = 0; b < 5; b++) {
				float v = t[k + a][threadIdx.x + b], d = v - here, u = w[a * 5 + b] * expf(-sharp * d * d);
				sum += u * v, weight += u;
			}
		if (i < n - 2 && j < n - 2)
			y[(I)i * n + j] = sum / weight;
	}
}

// A thread a system; what the next equation needs stays in registers.
extern "C" __global__ void __launch_bounds__(128) tridiagonalcolumns(I n_, I m_, const float* __restrict__ a, const float* __restrict__ b, const float* __restrict__ c, const float* __restrict__ d, float* __restrict__ w, float* __restrict__ x)
{
	int n = (int)n_, m = (int)m_, q = blockIdx.x * 128 + threadIdx.x;
	if (q >= m)
		return;
	float inv = 1 / b[q], u = c[q] * inv, v = d[q] * inv;
	w[q] = u, x[q] = v;
#pragma unroll 8
	for (int i = 1; i < n; i++) {
		I at = (I)i * m + q;
		float e = a[at];
		inv = 1 / (b[at] - e * u);
		u = c[at] * inv, v = (d[at] - e * v) * inv;
		w[at] = u, x[at] = v;
	}
#pragma unroll 8
	for (int i = n - 2; i >= 0; i--) {
		I at = (I)i * m + q;
		v = x[at] - w[at] * v;
		x[at] = v;
	}
}

// A warp has 32 systems, and turns pieces of 32 x 32 in team memory.
extern "C" __global__ void __launch_bounds__(64) tridiagonalrows(I n_, I m_, const float* __restrict__ a, const float* __restrict__ b, const float* __restrict__ c, const float* __restrict__ d, float* w, float* x)
{
	__shared__ float ta[2][32][33], tb[2][32][33], tc[2][32][33], td[2][32][33];
	int n = (int)n_, lane = threadIdx.x % 32, warp = threadIdx.x / 32;
	I first = ((I)blockIdx.x * 2 + warp) * 32;
	if (first >= m_)
		return;
	float(*pa)[33] = ta[warp], (*pb)[33] = tb[warp], (*pc)[33] = tc[warp], (*pd)[33] = td[warp];
	int rows = (int)min((I)32, m_ - first);
	float u = 0, v = 0;
	for (int i0 = 0; i0 < n; i0 += 32) {
		__syncwarp();
#pragma unroll 8
		for (int r = 0; r < 32; r++)
			if (r < rows && i0 + lane < n) {
				I at = (first + r) * n + i0 + lane;
				pa[r][lane] = a[at], pb[r][lane] = b[at], pc[r][lane] = c[at], pd[r][lane] = d[at];
			}
		__syncwarp();
		for (int i = 0; i < min(32, n - i0); i++) {
			float e = i0 + i == 0 ? 0 : pa[lane][i], inv = 1 / (pb[lane][i] - e * u);
			u = pc[lane][i] * inv, v = (pd[lane][i] - e * v) * inv;
			pc[lane][i] = u, pd[lane][i] = v;
		}
		__syncwarp();
#pragma unroll 8
		for (int r = 0; r < 32; r++)
			if (r < rows && i0 + lane < n) {
				I at = (first + r) * n + i0 + lane;
				w[at] = pc[r][lane], x[at] = pd[r][lane];
			}
	}
	v = 0;
	for (int i0 = (n - 1) / 32 * 32; i0 >= 0; i0 -= 32) {
		__syncwarp();
#pragma unroll 8
		for (int r = 0; r < 32; r++)
			if (r < rows && i0 + lane < n) {
				I at = (first + r) * n + i0 + lane;
				pc[r][lane] = w[at], pd[r][lane] = x[at];
			}
		__syncwarp();
		for (int i = min(32, n - i0) - 1; i >= 0; i--) {
			v = i0 + i == n - 1 ? pd[lane][i] : pd[lane][i] - pc[lane][i] * v;
			pd[lane][i] = v;
		}
		__syncwarp();
#pragma unroll 8
		for (int r = 0; r < 32; r++)
			if (r < rows && i0 + lane < n)
				x[(first + r) * n + i0 + lane] = pd[r][lane];
	}
}

// A row of 1024 a team of 256, 4 values a thread in registers.
extern "C" __global__ void __launch_bounds__(256) normback(I n, I m, const float4* __restrict__ x, const float* __restrict__ mean, const float* __restrict__ inv, const float4* __restrict__ scale, const float4* __restrict__ dy, float4* __restrict__ dx)
{
	__shared__ float2 t[8];
	I row = (I)blockIdx.x * 256;
	int me = threadIdx.x;
	float at = mean[blockIdx.x], k = inv[blockIdx.x];
	float4 h = x[row + me], g = dy[row + me], f = scale[me];
	h.x = (h.x - at) * k, h.y = (h.y - at) * k, h.z = (h.z - at) * k, h.w = (h.w - at) * k;
	g.x *= f.x, g.y *= f.y, g.z *= f.z, g.w *= f.w;
	float a = g.x + g.y + g.z + g.w, b = g.x * h.x + g.y * h.y + g.z * h.z + g.w * h.w;
	for (int d = 16; d > 0; d /= 2)
		a += __shfl_xor_sync(0xffffffff, a, d), b += __shfl_xor_sync(0xffffffff, b, d);
	if (me % 32 == 0)
		t[me / 32] = make_float2(a, b);
	__syncthreads();
	a = b = 0;
	for (int w = 0; w < 8; w++)
		a += t[w].x, b += t[w].y;
	a /= m, b /= m;
	dx[row + me] = make_float4(k * (g.x - a - h.x * b), k * (g.y - a - h.y * b), k * (g.z - a - h.z * b), k * (g.w - a - h.w * b));
}

// 8 rows a thread, three rows in registers; the weights too.
extern "C" __global__ void __launch_bounds__(256) depthwise(I planes, I channels, I h_, I w_, const float* __restrict__ x, const float* __restrict__ f, float* __restrict__ y)
{
	int h = (int)h_, w = (int)w_, p = blockIdx.z, j = blockIdx.x * 32 + threadIdx.x, i0 = (blockIdx.y * 8 + threadIdx.y) * 8;
	if (j >= w || i0 >= h)
		return;
	const float *k = &f[p % (int)channels * 9], *in = &x[(I)p * h * w];
	float* out = &y[(I)p * h * w];
	float c[9];
#pragma unroll
	for (int e = 0; e < 9; e++)
		c[e] = k[e];
	bool l = j > 0, r = j < w - 1, up = i0 > 0;
	const float* at = in + (i0 - 1) * w + j;
	float a0 = up && l ? at[-1] : 0, a1 = up ? at[0] : 0, a2 = up && r ? at[1] : 0;
	at += w;
	float b0 = l ? at[-1] : 0, b1 = at[0], b2 = r ? at[1] : 0;
#pragma unroll
	for (int q = 0; q < 8; q++) {
		int i = i0 + q;
		if (i >= h)
			break;
		at += w;
		bool down = i < h - 1;
		float d0 = down && l ? at[-1] : 0, d1 = down ? at[0] : 0, d2 = down && r ? at[1] : 0;
		out[i * w + j] = c[0] * a0 + c[1] * a1 + c[2] * a2 + c[3] * b0 + c[4] * b1 + c[5] * b2 + c[6] * d0 + c[7] * d1 + c[8] * d2;
		a0 = b0, a1 = b1, a2 = b2, b0 = d0, b1 = d1, b2 = d2;
	}
}

// A warp a bag of rows of 128; each lane loads an index, and 16 bytes of each row.
extern "C" __global__ void __launch_bounds__(256) bagsum(I bags, I each_, I d, const float4* __restrict__ table, const int* __restrict__ index, float4* __restrict__ y)
{
	I bag = ((I)blockIdx.x * 256 + threadIdx.x) / 32;
	int lane = threadIdx.x % 32, each = (int)each_;
	if (bag >= bags)
		return;
	int mine = lane < each ? index[bag * each + lane] : 0;
	float4 s = make_float4(0, 0, 0, 0);
#pragma unroll 8
	for (int k = 0; k < each; k++) {
		float4 v = table[(I)__shfl_sync(0xffffffff, mine, k) * 32 + lane];
		s.x += v.x, s.y += v.y, s.z += v.z, s.w += v.w;
	}
	y[bag * 32 + lane] = s;
}

// A row of 2048 a team of 256, 8 values a thread in registers.
extern "C" __global__ void __launch_bounds__(256) crossentropy(I n, I m, const float4* __restrict__ x, const int* __restrict__ label, float* __restrict__ loss)
{
	__shared__ float t[8], u[8];
	const float4* row = &x[(I)blockIdx.x * 512];
	int me = threadIdx.x;
	float4 v = row[me], w = row[me + 256];
	float most = fmaxf(fmaxf(fmaxf(v.x, v.y), fmaxf(v.z, v.w)), fmaxf(fmaxf(w.x, w.y), fmaxf(w.z, w.w)));
	for (int d = 16; d > 0; d /= 2)
		most = fmaxf(most, __shfl_xor_sync(0xffffffff, most, d));
	if (me % 32 == 0)
		t[me / 32] = most;
	__syncthreads();
	for (int k = 0; k < 8; k++)
		most = fmaxf(most, t[k]);
	float s = expf(v.x - most) + expf(v.y - most) + expf(v.z - most) + expf(v.w - most);
	s += expf(w.x - most) + expf(w.y - most) + expf(w.z - most) + expf(w.w - most);
	for (int d = 16; d > 0; d /= 2)
		s += __shfl_xor_sync(0xffffffff, s, d);
	if (me % 32 == 0)
		u[me / 32] = s;
	__syncthreads();
	if (me == 0) {
		for (int k = 1; k < 8; k++)
			s += u[k];
		loss[blockIdx.x] = logf(s) + most - ((const float*)row)[label[blockIdx.x]];
	}
}

static __device__ float gate(float x) { return 1 / (1 + expf(-x)); }

extern "C" __global__ void __launch_bounds__(256) gates(I n, I m_, const float4* __restrict__ x, const float4* __restrict__ h, const float4* __restrict__ old, float4* __restrict__ y)
{
	int m = (int)m_ / 4, j = blockIdx.x * 256 + threadIdx.x;
	I i = blockIdx.y, at = i * 3 * m + j;
	if (j >= m)
		return;
	float4 a = x[at], b = x[at + m], c = x[at + 2 * m], d = h[at], e = h[at + m], f = h[at + 2 * m], o = old[i * m + j], out;
	float z;
	z = gate(b.x + e.x), out.x = (1 - z) * tanhf(c.x + gate(a.x + d.x) * f.x) + z * o.x;
	z = gate(b.y + e.y), out.y = (1 - z) * tanhf(c.y + gate(a.y + d.y) * f.y) + z * o.y;
	z = gate(b.z + e.z), out.z = (1 - z) * tanhf(c.z + gate(a.z + d.z) * f.z) + z * o.z;
	z = gate(b.w + e.w), out.w = (1 - z) * tanhf(c.w + gate(a.w + d.w) * f.w) + z * o.w;
	y[i * m + j] = out;
}

static __device__ float flux(float a, float b, float c, float d, float e)
{
	float p = (2 * a - 7 * b + 11 * c) * (1.f / 6), q = (5 * c - b + 2 * d) * (1.f / 6), r = (2 * c + 5 * d - e) * (1.f / 6);
	float t = a - 2 * b + c, u = a - 4 * b + 3 * c, s0 = 13.f / 12 * t * t + 0.25f * u * u;
	t = b - 2 * c + d, u = b - d;
	float s1 = 13.f / 12 * t * t + 0.25f * u * u;
	t = c - 2 * d + e, u = 3 * c - 4 * d + e;
	float s2 = 13.f / 12 * t * t + 0.25f * u * u;
	s0 += 1e-6f, s1 += 1e-6f, s2 += 1e-6f;
	float w0 = 0.1f / (s0 * s0), w1 = 0.6f / (s1 * s1), w2 = 0.3f / (s2 * s2);
	return (w0 * p + w1 * q + w2 * r) / (w0 + w1 + w2);
}

// A thread has the flux at its right; that at its left is its neighbour's, through team memory.
extern "C" __global__ void __launch_bounds__(256) advection(I n_, float dt, const float* __restrict__ x, float* __restrict__ y)
{
	__shared__ float right[256];
	int n = (int)n_, me = threadIdx.x, j = blockIdx.x * 255 + me + 2;
	I row = (I)blockIdx.y * n;
	float here = 0;
	if (j < n - 2) {
		here = x[row + j];
		right[me] = flux(x[row + j - 2], x[row + j - 1], here, x[row + j + 1], x[row + j + 2]);
	}
	__syncthreads();
	if (me > 0 && j < n - 2)
		y[row + j] = here - dt * (right[me] - right[me - 1]);
}

// A team marches along i with a plane of 32 x 16 and its rim in team memory, and 9 planes in registers.
extern "C" __global__ void __launch_bounds__(512) seismic(I n_, const float* __restrict__ x, const float* __restrict__ v, const float* __restrict__ c, float* __restrict__ y)
{
	__shared__ float t[24][40];
	int n = (int)n_, tx = threadIdx.x, ty = threadIdx.y, k = blockIdx.x * 32 + tx + 4, j = blockIdx.y * 16 + ty + 4;
	I plane = (I)n * n, span = (n - 8 + gridDim.z - 1) / gridDim.z, i0 = 4 + blockIdx.z * span, end = min(i0 + span, (I)n - 4);
	int kk = min(k, n - 1), jj = min(j, n - 1);
	I at = (I)jj * n + kk;
	bool in = k < n - 4 && j < n - 4;
	float c0 = c[0], c1 = c[1], c2 = c[2], c3 = c[3], c4 = c[4], q[9];
#pragma unroll
	for (int p = 0; p < 8; p++)
		q[p + 1] = x[(i0 - 4 + p) * plane + at];
	for (I i = i0; i < end; i++) {
#pragma unroll
		for (int p = 0; p < 8; p++)
			q[p] = q[p + 1];
		q[8] = x[(i + 4) * plane + at];
		const float* here = &x[i * plane];
		__syncthreads();
		t[ty + 4][tx + 4] = q[4];
		if (tx < 4) {
			t[ty + 4][tx] = here[at - 4];
			t[ty + 4][tx + 36] = here[(I)jj * n + min(k + 32, n - 1)];
		}
		if (ty < 4) {
			t[ty][tx + 4] = here[at - 4 * n];
			t[ty + 20][tx + 4] = here[(I)min(j + 16, n - 1) * n + kk];
		}
		__syncthreads();
		if (in) {
			const float* o = &t[ty + 4][tx + 4];
			float s = c0 * q[4];
			s += c1 * (q[3] + q[5] + o[-1] + o[1] + o[-40] + o[40]);
			s += c2 * (q[2] + q[6] + o[-2] + o[2] + o[-80] + o[80]);
			s += c3 * (q[1] + q[7] + o[-3] + o[3] + o[-120] + o[120]);
			s += c4 * (q[0] + q[8] + o[-4] + o[4] + o[-160] + o[160]);
			y[i * plane + at] = 2 * q[4] - y[i * plane + at] + v[i * plane + at] * s;
		}
	}
}

// 128 sequences a team; pieces of 32 symbols and the tables are in team memory, the scores in registers.
extern "C" __global__ void __launch_bounds__(128) viterbi(I n, I m_, const int* __restrict__ seen, const float* __restrict__ move, const float* __restrict__ emit, float* __restrict__ best)
{
	__shared__ float mv[64], em[4][8];
	__shared__ int w[128][33];
	int m = (int)m_, me = threadIdx.x;
	I first = (I)blockIdx.x * 128;
	if (me < 64)
		mv[me] = move[me];
	if (me < 32)
		em[me / 8][me % 8] = emit[me];
	float score[8] = {0, 0, 0, 0, 0, 0, 0, 0};
	for (int t0 = 0; t0 < m; t0 += 32) {
		__syncthreads();
#pragma unroll 8
		for (int k = 0; k < 32; k++) {
			int e = k * 128 + me;
			if (first + e / 32 < n)
				w[e / 32][e % 32] = seen[(first + e / 32) * m + t0 + e % 32];
		}
		__syncthreads();
		for (int t = 0; t < 32; t++) {
			const float* e = em[first + me < n ? w[me][t] : 0];
			float next[8];
#pragma unroll
			for (int s = 0; s < 8; s++)
				next[s] = score[0] + mv[s];
#pragma unroll
			for (int r = 1; r < 8; r++)
#pragma unroll
				for (int s = 0; s < 8; s++)
					next[s] = fmaxf(next[s], score[r] + mv[r * 8 + s]);
#pragma unroll
			for (int s = 0; s < 8; s++)
				score[s] = next[s] + e[s];
		}
	}
	float v = score[0];
#pragma unroll
	for (int s = 1; s < 8; s++)
		v = fmaxf(v, score[s]);
	if (first + me < n)
		best[first + me] = v;
}

#define TURN(x, k) __funnelshift_l(x, x, k)
#define ROUND(a, b, c, d) a += b, d = TURN(d ^ a, 16), c += d, b = TURN(b ^ c, 12), a += b, d = TURN(d ^ a, 8), c += d, b = TURN(b ^ c, 7)

extern "C" __global__ void __launch_bounds__(128) cipher(I n, const unsigned* __restrict__ key, const uint4* __restrict__ text, uint4* __restrict__ out)
{
	int i = blockIdx.x * 128 + threadIdx.x;
	if (i >= n)
		return;
	unsigned x[16] = {0x61707865, 0x3320646e, 0x79622d32, 0x6b206574, key[0], key[1], key[2], key[3], key[4], key[5], key[6], key[7], (unsigned)i, 0, 7, 11};
	uint4 t0 = text[i * 4], t1 = text[i * 4 + 1], t2 = text[i * 4 + 2], t3 = text[i * 4 + 3];
#pragma unroll
	for (int r = 0; r < 10; r++) {
		ROUND(x[0], x[4], x[8], x[12]);
		ROUND(x[1], x[5], x[9], x[13]);
		ROUND(x[2], x[6], x[10], x[14]);
		ROUND(x[3], x[7], x[11], x[15]);
		ROUND(x[0], x[5], x[10], x[15]);
		ROUND(x[1], x[6], x[11], x[12]);
		ROUND(x[2], x[7], x[8], x[13]);
		ROUND(x[3], x[4], x[9], x[14]);
	}
	out[i * 4] = make_uint4(t0.x ^ (x[0] + 0x61707865), t0.y ^ (x[1] + 0x3320646e), t0.z ^ (x[2] + 0x79622d32), t0.w ^ (x[3] + 0x6b206574));
	out[i * 4 + 1] = make_uint4(t1.x ^ (x[4] + key[0]), t1.y ^ (x[5] + key[1]), t1.z ^ (x[6] + key[2]), t1.w ^ (x[7] + key[3]));
	out[i * 4 + 2] = make_uint4(t2.x ^ (x[8] + key[4]), t2.y ^ (x[9] + key[5]), t2.z ^ (x[10] + key[6]), t2.w ^ (x[11] + key[7]));
	out[i * 4 + 3] = make_uint4(t3.x ^ (x[12] + i), t3.y ^ x[13], t3.z ^ (x[14] + 7), t3.w ^ (x[15] + 11));
}

// The last 16 words of the schedule are in registers.
extern "C" __global__ void __launch_bounds__(128) digests(I n, const uint4* __restrict__ text, const unsigned* __restrict__ round, const unsigned* __restrict__ start, uint4* __restrict__ digest)
{
	__shared__ unsigned k[64];
	if (threadIdx.x < 64)
		k[threadIdx.x] = round[threadIdx.x];
	__syncthreads();
	int i = blockIdx.x * 128 + threadIdx.x;
	if (i >= n)
		return;
	unsigned w[16];
#pragma unroll
	for (int q = 0; q < 4; q++) {
		uint4 v = text[i * 4 + q];
		w[q * 4] = __byte_perm(v.x, 0, 0x0123), w[q * 4 + 1] = __byte_perm(v.y, 0, 0x0123);
		w[q * 4 + 2] = __byte_perm(v.z, 0, 0x0123), w[q * 4 + 3] = __byte_perm(v.w, 0, 0x0123);
	}
	unsigned a = start[0], b = start[1], c = start[2], d = start[3], e = start[4], f = start[5], g = start[6], h = start[7];
#pragma unroll
	for (int t = 0; t < 64; t++) {
		if (t >= 16) {
			unsigned p = w[(t - 15) & 15], q = w[(t - 2) & 15];
			w[t & 15] += (TURN(p, 25) ^ TURN(p, 14) ^ p >> 3) + w[(t - 7) & 15] + (TURN(q, 15) ^ TURN(q, 13) ^ q >> 10);
		}
		unsigned u = h + (TURN(e, 26) ^ TURN(e, 21) ^ TURN(e, 7)) + ((e & f) ^ (~e & g)) + k[t] + w[t & 15];
		unsigned v = (TURN(a, 30) ^ TURN(a, 19) ^ TURN(a, 10)) + ((a & b) ^ (a & c) ^ (b & c));
		h = g, g = f, f = e, e = d + u, d = c, c = b, b = a, a = u + v;
	}
	digest[i * 2] = make_uint4(a + start[0], b + start[1], c + start[2], d + start[3]);
	digest[i * 2 + 1] = make_uint4(e + start[4], f + start[5], g + start[6], h + start[7]);
}

// 16 lanes an atom.
extern "C" __global__ void __launch_bounds__(256) neighbours(I n, I most, float reach, const int* __restrict__ list, const float* __restrict__ x, const float* __restrict__ y, const float* __restrict__ z, float* __restrict__ fx, float* __restrict__ fy, float* __restrict__ fz)
{
	I i = ((I)blockIdx.x * 256 + threadIdx.x) / 16;
	int lane = threadIdx.x % 16;
	float ax = 0, ay = 0, az = 0;
	if (i < n) {
		float px = x[i], py = y[i], pz = z[i];
#pragma unroll 4
		for (int k = lane; k < (int)most; k += 16) {
			int j = list[i * most + k];
			float dx = px - x[j], dy = py - y[j], dz = pz - z[j], r = dx * dx + dy * dy + dz * dz;
			if (r < reach) {
				float q = 1 / (r + 0.01f), s = q * q * q, f = q * s * (s - 0.5f);
				ax += f * dx, ay += f * dy, az += f * dz;
			}
		}
	}
	for (int d = 8; d > 0; d /= 2)
		ax += __shfl_xor_sync(0xffffffff, ax, d), ay += __shfl_xor_sync(0xffffffff, ay, d), az += __shfl_xor_sync(0xffffffff, az, d);
	if (i < n && lane == 0)
		fx[i] = ax, fy[i] = ay, fz[i] = az;
}

// A warp a row, 16 bytes at a time.
extern "C" __global__ void __launch_bounds__(256) twobest(I n, I m, const float4* __restrict__ x, float2* __restrict__ best)
{
	I row = ((I)blockIdx.x * 256 + threadIdx.x) / 32;
	int lane = threadIdx.x % 32, each = (int)m / 4;
	if (row >= n)
		return;
	float a = -3e38f, b = a;
#pragma unroll 4
	for (int k = lane; k < each; k += 32) {
		float4 v = x[row * each + k];
		b = fmaxf(b, fminf(a, v.x)), a = fmaxf(a, v.x);
		b = fmaxf(b, fminf(a, v.y)), a = fmaxf(a, v.y);
		b = fmaxf(b, fminf(a, v.z)), a = fmaxf(a, v.z);
		b = fmaxf(b, fminf(a, v.w)), a = fmaxf(a, v.w);
	}
	for (int d = 16; d > 0; d /= 2) {
		float c = __shfl_xor_sync(0xffffffff, a, d), e = __shfl_xor_sync(0xffffffff, b, d);
		b = fmaxf(fmaxf(b, e), fminf(a, c)), a = fmaxf(a, c);
	}
	if (lane == 0)
		best[row] = make_float2(a, b);
}

// A row of 2048 a team of 256, 8 values a thread.
extern "C" __global__ void __launch_bounds__(256) runningmost(I n, I m, const float4* __restrict__ x, float4* __restrict__ y)
{
	__shared__ float t[8];
	I row = (I)blockIdx.x * 512;
	int me = threadIdx.x, lane = me % 32, warp = me / 32;
	float4 v = x[row + me * 2], w = x[row + me * 2 + 1];
	v.y = fmaxf(v.x, v.y), v.z = fmaxf(v.y, v.z), v.w = fmaxf(v.z, v.w);
	w.x = fmaxf(v.w, w.x), w.y = fmaxf(w.x, w.y), w.z = fmaxf(w.y, w.z), w.w = fmaxf(w.z, w.w);
	float s = w.w;
	for (int d = 1; d < 32; d *= 2) {
		float o = __shfl_up_sync(0xffffffff, s, d);
		if (lane >= d)
			s = fmaxf(s, o);
	}
	if (lane == 31)
		t[warp] = s;
	float before = __shfl_up_sync(0xffffffff, s, 1);
	if (lane == 0)
		before = -3e38f;
	__syncthreads();
	for (int k = 0; k < warp; k++)
		before = fmaxf(before, t[k]);
	y[row + me * 2] = make_float4(fmaxf(before, v.x), fmaxf(before, v.y), fmaxf(before, v.z), fmaxf(before, v.w));
	y[row + me * 2 + 1] = make_float4(fmaxf(before, w.x), fmaxf(before, w.y), fmaxf(before, w.z), fmaxf(before, w.w));
}

// 16 lanes a row of blocks: 4 blocks at a time, 4 lanes a block.
extern "C" __global__ void __launch_bounds__(256) blockproduct(I n, const int* __restrict__ start, const int* __restrict__ column, const float4* __restrict__ value, const float4* __restrict__ x, float* __restrict__ y)
{
	I r = ((I)blockIdx.x * 256 + threadIdx.x) / 16;
	int lane = threadIdx.x % 16, a = lane % 4;
	float s = 0;
	if (r < n) {
		int end = start[r + 1];
#pragma unroll 2
		for (int k = start[r] + lane / 4; k < end; k += 4) {
			float4 v = value[(I)k * 4 + a], u = x[column[k]];
			s += v.x * u.x + v.y * u.y + v.z * u.z + v.w * u.w;
		}
	}
	s += __shfl_xor_sync(0xffffffff, s, 4);
	s += __shfl_xor_sync(0xffffffff, s, 8);
	if (r < n && lane < 4)
		y[r * 4 + a] = s;
}

// The spheres are in team memory.
extern "C" __global__ void __launch_bounds__(256) rays(I n, I m_, const float* __restrict__ from, const float* __restrict__ to, const float4* __restrict__ sphere, float* __restrict__ hit, int* __restrict__ which)
{
	__shared__ float4 t[256];
	int m = (int)m_, i = blockIdx.x * 256 + threadIdx.x, at = -1;
	if ((int)threadIdx.x < m) {
		float4 s = sphere[threadIdx.x];
		s.w *= s.w;
		t[threadIdx.x] = s;
	}
	__syncthreads();
	if (i >= n)
		return;
	float ox = from[3 * i], oy = from[3 * i + 1], oz = from[3 * i + 2], dx = to[3 * i], dy = to[3 * i + 1], dz = to[3 * i + 2], near = 100;
#pragma unroll 4
	for (int k = 0; k < m; k++) {
		float4 s = t[k];
		float x = ox - s.x, y = oy - s.y, z = oz - s.z, b = x * dx + y * dy + z * dz, d = b * b - (x * x + y * y + z * z - s.w);
		if (d > 0) {
			float u = -b - sqrtf(d);
			if (u > 0 && u < near)
				near = u, at = k;
		}
	}
	hit[i] = near, which[i] = at;
}

// A thread a point of the colour.
extern "C" __global__ void __launch_bounds__(256) redblack(I n_, I colour, const float* __restrict__ f, float* u)
{
	int n = (int)n_, i = blockIdx.y * 8 + threadIdx.y + 1, j = (blockIdx.x * 32 + threadIdx.x) * 2 + 1 + (i + (int)colour) % 2;
	if (i >= n - 1 || j >= n - 1)
		return;
	I at = (I)i * n + j;
	float here = u[at];
	u[at] = here + 0.3f * (u[at - n] + u[at + n] + u[at - 1] + u[at + 1] - 4 * here - f[at]);
}

// Points pass through team memory, so that they are read and written in order.
extern "C" __global__ void __launch_bounds__(256) turns(I n, const float4* __restrict__ q, const float* __restrict__ p, float* __restrict__ out)
{
	__shared__ float t[768];
	int me = threadIdx.x;
	I first = (I)blockIdx.x * 768, i = (I)blockIdx.x * 256 + me;
#pragma unroll
	for (int k = 0; k < 3; k++)
		if (first + k * 256 + me < 3 * n)
			t[k * 256 + me] = p[first + k * 256 + me];
	__syncthreads();
	if (i < n) {
		float4 h = q[i];
		float a = t[3 * me], b = t[3 * me + 1], c = t[3 * me + 2];
		float u = 2 * (h.z * c - h.w * b), v = 2 * (h.w * a - h.y * c), s = 2 * (h.y * b - h.z * a);
		t[3 * me] = a + h.x * u + h.z * s - h.w * v;
		t[3 * me + 1] = b + h.x * v + h.w * u - h.y * s;
		t[3 * me + 2] = c + h.x * s + h.y * v - h.z * u;
	}
	__syncthreads();
#pragma unroll
	for (int k = 0; k < 3; k++)
		if (first + k * 256 + me < 3 * n)
			out[first + k * 256 + me] = t[k * 256 + me];
}
