// Hand-written kernels, the yardstick of the measurements.
extern "C" __global__ void triad(double* a, const double* b, const double* c, double s, long long n)
{
	long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x;
	if (i < n)
		a[i] = b[i] + s * c[i];
}

extern "C" __global__ void triad2(double2* a, const double2* b, const double2* c, double s, long long n)
{
	long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x;
	if (i < n / 2) {
		double2 x = b[i], y = c[i];
		x.x += s * y.x;
		x.y += s * y.y;
		a[i] = x;
	}
}

__device__ __forceinline__ void pull(float x, float y, float z, float px, float py, float pz, float& fx, float& fy, float& fz)
{
	float dx = x - px, dy = y - py, dz = z - pz;
	float inv = rsqrtf(dx * dx + dy * dy + dz * dz + 1e-3f), inv3 = inv * inv * inv;
	fx += dx * inv3;
	fy += dy * inv3;
	fz += dz * inv3;
}

extern "C" __global__ void forces(int n, float dt, const float* px, const float* py, const float* pz, float* vx, float* vy, float* vz)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;
	if (i >= n)
		return;
	float x = px[i], y = py[i], z = pz[i], fx = 0, fy = 0, fz = 0;
	for (int j = 0; j < n; j++)
		pull(px[j], py[j], pz[j], x, y, z, fx, fy, fz);
	vx[i] += dt * fx;
	vy[i] += dt * fy;
	vz[i] += dt * fz;
}

// n is a multiple of the threads of a team, 256.
extern "C" __global__ void forces_tiles(int n, float dt, const float* px, const float* py, const float* pz, float* vx, float* vy, float* vz)
{
	__shared__ float4 tile[256];
	int i = blockIdx.x * 256 + threadIdx.x;
	float x = px[i], y = py[i], z = pz[i], fx = 0, fy = 0, fz = 0;
	for (int t = 0; t < n; t += 256) {
		tile[threadIdx.x] = make_float4(px[t + threadIdx.x], py[t + threadIdx.x], pz[t + threadIdx.x], 0);
		__syncthreads();
#pragma unroll 32
		for (int j = 0; j < 256; j++)
			pull(tile[j].x, tile[j].y, tile[j].z, x, y, z, fx, fy, fz);
		__syncthreads();
	}
	vx[i] += dt * fx;
	vy[i] += dt * fy;
	vz[i] += dt * fz;
}
