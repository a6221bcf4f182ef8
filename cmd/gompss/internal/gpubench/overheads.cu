// Kernels by hand, beside those of overheads_kernels.go: the same work between the same barriers, a team of 256 threads an element of out.
typedef long long I;

extern "C" __global__ void __launch_bounds__(256) barriers(I turns, int* out)
{
	__shared__ int a[256], b[256];
	int i = threadIdx.x;
	a[i] = 0;
	__syncthreads();
	for (I r = 0; r < turns; r++) {
		b[i] = a[(i + 1) & 255] + 1;
		__syncthreads();
		a[i] = b[(i + 3) & 255] ^ (int)r;
		__syncthreads();
	}
	if (i == 0)
		out[blockIdx.x] = a[0];
}

extern "C" __global__ void __launch_bounds__(256) single(I turns, int* out)
{
	__shared__ int a[256], s;
	int i = threadIdx.x;
	a[i] = 0;
	if (i == 0)
		s = 1;
	__syncthreads();
	for (I r = 0; r < turns; r++) {
		if (i == 0)
			s = (int)((unsigned)s * 5 + (unsigned)r);
		__syncthreads();
		a[i] ^= s;
		__syncthreads();
	}
	if (i == 0)
		out[blockIdx.x] = a[0];
}

extern "C" __global__ void __launch_bounds__(256) reduction(I turns, int* out)
{
	__shared__ unsigned part[2][8];
	int i = threadIdx.x;
	unsigned all = blockIdx.x;
	for (I r = 0; r < turns; r++) {
		unsigned sum = __reduce_add_sync(~0u, (unsigned)i ^ all), *mine = part[r & 1];
		if (i % 32 == 0)
			mine[i / 32] = sum;
		__syncthreads();
		sum = 0;
		for (int w = 0; w < 8; w++)
			sum += mine[w];
		all = all * 3 + sum;
	}
	if (i == 0)
		out[blockIdx.x] = (int)all;
}

extern "C" __global__ void __launch_bounds__(256) critical(I turns, int* out)
{
	__shared__ unsigned sums[3];
	int i = threadIdx.x;
	unsigned all = blockIdx.x;
	if (i < 3)
		sums[i] = 0;
	__syncthreads();
	for (I r = 0; r < turns; r++) {
		unsigned* sum = &sums[r % 3];
		atomicAdd(sum, (unsigned)i ^ all);
		if (i == 0)
			sums[(r + 1) % 3] = 0;
		__syncthreads();
		all = all * 3 + *sum;
	}
	if (i == 0)
		out[blockIdx.x] = (int)all;
}

extern "C" __global__ void __launch_bounds__(256) start(I turns, int* out)
{
	__shared__ int a[256];
	a[threadIdx.x] = (int)(threadIdx.x * turns);
	__syncthreads();
	if (threadIdx.x == 0)
		out[blockIdx.x] = a[blockIdx.x & 255] + (int)blockIdx.x;
}

extern "C" __global__ void __launch_bounds__(256) nothing(I, int*) {}
