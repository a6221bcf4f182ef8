// Hand-written kernels, the yardstick of the measurements. Parameters as the Go kernel of the row has them, then n where the
// Go kernel asks for a length.
typedef long long I;
#define AT (I)blockIdx.x * blockDim.x + threadIdx.x

extern "C" __global__ void copy1(double* c, const double* a, I n) { I i = AT; if (i < n) c[i] = a[i]; }
extern "C" __global__ void copy2(double2* c, const double2* a, I n) { I i = AT; if (i < n / 2) c[i] = a[i]; }
extern "C" __global__ void scale1(double* b, const double* c, double s, I n) { I i = AT; if (i < n) b[i] = s * c[i]; }
extern "C" __global__ void scale2(double2* b, const double2* c, double s, I n)
{
	I i = AT;
	if (i < n / 2) { double2 x = c[i]; x.x *= s; x.y *= s; b[i] = x; }
}
extern "C" __global__ void add1(double* c, const double* a, const double* b, I n) { I i = AT; if (i < n) c[i] = a[i] + b[i]; }
extern "C" __global__ void add2(double2* c, const double2* a, const double2* b, I n)
{
	I i = AT;
	if (i < n / 2) { double2 x = a[i], y = b[i]; x.x += y.x; x.y += y.y; c[i] = x; }
}
extern "C" __global__ void triad1(double* a, const double* b, const double* c, double s, I n) { I i = AT; if (i < n) a[i] = b[i] + s * c[i]; }
extern "C" __global__ void triad2(double2* a, const double2* b, const double2* c, double s, I n)
{
	I i = AT;
	if (i < n / 2) { double2 x = b[i], y = c[i]; x.x += s * y.x; x.y += s * y.y; a[i] = x; }
}

__device__ __forceinline__ void pull(float x, float y, float z, float px, float py, float pz, float& fx, float& fy, float& fz)
{
	float dx = x - px, dy = y - py, dz = z - pz;
	float inv = rsqrtf(dx * dx + dy * dy + dz * dz + 1e-3f), inv3 = inv * inv * inv;
	fx += dx * inv3;
	fy += dy * inv3;
	fz += dz * inv3;
}

extern "C" __global__ void forces1(I lo, I n, float dt, const float* px, const float* py, const float* pz, float* vx, float* vy, float* vz)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x, m = (int)n;
	if (i >= m)
		return;
	float x = px[i], y = py[i], z = pz[i], fx = 0, fy = 0, fz = 0;
	for (int j = 0; j < m; j++)
		pull(px[j], py[j], pz[j], x, y, z, fx, fy, fz);
	vx[i] += dt * fx, vy[i] += dt * fy, vz[i] += dt * fz;
}

// n is a multiple of 256.
extern "C" __global__ void forces_tiles(I lo, I n, float dt, const float* px, const float* py, const float* pz, float* vx, float* vy, float* vz)
{
	__shared__ float4 tile[256];
	int i = blockIdx.x * 256 + threadIdx.x;
	float x = px[i], y = py[i], z = pz[i], fx = 0, fy = 0, fz = 0;
	for (int t = 0; t < (int)n; t += 256) {
		tile[threadIdx.x] = make_float4(px[t + threadIdx.x], py[t + threadIdx.x], pz[t + threadIdx.x], 0);
		__syncthreads();
#pragma unroll 32
		for (int j = 0; j < 256; j++)
			pull(tile[j].x, tile[j].y, tile[j].z, x, y, z, fx, fy, fz);
		__syncthreads();
	}
	vx[i] += dt * fx, vy[i] += dt * fy, vz[i] += dt * fz;
}

// The same with two bodies a thread; n is a multiple of 512.
extern "C" __global__ void forces_pairs(I lo, I n, float dt, const float* px, const float* py, const float* pz, float* vx, float* vy, float* vz)
{
	__shared__ float4 tile[256];
	int i = blockIdx.x * 512 + threadIdx.x, k = i + 256;
	float x = px[i], y = py[i], z = pz[i], fx = 0, fy = 0, fz = 0;
	float u = px[k], v = py[k], w = pz[k], gx = 0, gy = 0, gz = 0;
	for (int t = 0; t < (int)n; t += 256) {
		tile[threadIdx.x] = make_float4(px[t + threadIdx.x], py[t + threadIdx.x], pz[t + threadIdx.x], 0);
		__syncthreads();
#pragma unroll 16
		for (int j = 0; j < 256; j++) {
			pull(tile[j].x, tile[j].y, tile[j].z, x, y, z, fx, fy, fz);
			pull(tile[j].x, tile[j].y, tile[j].z, u, v, w, gx, gy, gz);
		}
		__syncthreads();
	}
	vx[i] += dt * fx, vy[i] += dt * fy, vz[i] += dt * fz;
	vx[k] += dt * gx, vy[k] += dt * gy, vz[k] += dt * gz;
}

extern "C" __global__ void jacobi(I lo, I hi, I m, double* b, const double* a)
{
	I j = (I)blockIdx.x * blockDim.x + threadIdx.x + 1, i = lo + (I)blockIdx.y * blockDim.y + threadIdx.y;
	if (i < hi && j < m - 1)
		b[i * m + j] = 0.25 * (a[(i - 1) * m + j] + a[(i + 1) * m + j] + a[i * m + j - 1] + a[i * m + j + 1]);
}

// out[0] is 0 before the first launch; every launch adds.
extern "C" __global__ void sum(const double* x, double* out, I n)
{
	__shared__ double part[32];
	double s = 0;
	for (I i = AT; i < n; i += (I)gridDim.x * blockDim.x)
		s += x[i];
	for (int d = 16; d > 0; d /= 2)
		s += __shfl_down_sync(0xffffffff, s, d);
	if (threadIdx.x % 32 == 0)
		part[threadIdx.x / 32] = s;
	__syncthreads();
	if (threadIdx.x < 32) {
		s = threadIdx.x < blockDim.x / 32 ? part[threadIdx.x] : 0;
		for (int d = 16; d > 0; d /= 2)
			s += __shfl_down_sync(0xffffffff, s, d);
		if (threadIdx.x == 0)
			atomicAdd(out, s);
	}
}

extern "C" __global__ void histogram(const int* x, int* hist, I n)
{
	__shared__ int part[256];
	for (int b = threadIdx.x; b < 256; b += blockDim.x)
		part[b] = 0;
	__syncthreads();
	for (I i = AT; i < n; i += (I)gridDim.x * blockDim.x)
		atomicAdd(&part[x[i] & 255], 1);
	__syncthreads();
	for (int b = threadIdx.x; b < 256; b += blockDim.x)
		atomicAdd(&hist[b], part[b]);
}

// Eight lanes a row.
extern "C" __global__ void spmv8(const int* start, const int* col, const double* val, const double* x, double* y, I rows)
{
	I r = (AT) / 8;
	int lane = threadIdx.x % 8;
	double s = 0;
	if (r < rows)
		for (int k = start[r] + lane; k < start[r + 1]; k += 8)
			s += val[k] * x[col[k]];
	for (int d = 4; d > 0; d /= 2)
		s += __shfl_down_sync(0xffffffff, s, d, 8);
	if (r < rows && lane == 0)
		y[r] = s;
}

extern "C" __global__ void spmv32(const int* start, const int* col, const double* val, const double* x, double* y, I rows)
{
	I r = (AT) / 32;
	int lane = threadIdx.x % 32;
	double s = 0;
	if (r < rows)
		for (int k = start[r] + lane; k < start[r + 1]; k += 32)
			s += val[k] * x[col[k]];
	for (int d = 16; d > 0; d /= 2)
		s += __shfl_down_sync(0xffffffff, s, d);
	if (r < rows && lane == 0)
		y[r] = s;
}

extern "C" __global__ void matmul(I n, float* c, const float* a, const float* b)
{
	int m = (int)n, i = blockIdx.y * blockDim.y + threadIdx.y, j = blockIdx.x * blockDim.x + threadIdx.x;
	if (i >= m || j >= m)
		return;
	float s = c[i * m + j];
	for (int k = 0; k < m; k++)
		s += a[i * m + k] * b[k * m + j];
	c[i * m + j] = s;
}
