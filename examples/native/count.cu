// The parameters are those of the Go function: slices are the address of their first element.
extern "C" __global__ void CountCUDA(long long n, const unsigned char *data, unsigned int *counts)
{
	extern __shared__ unsigned int local[];
	for (int b = threadIdx.x; b < 256; b += blockDim.x)
		local[b] = 0;
	__syncthreads();
	long long stride = (long long)gridDim.x * blockDim.x;
	for (long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x; i < n; i += stride)
		atomicAdd(&local[data[i]], 1u);
	__syncthreads();
	for (int b = threadIdx.x; b < 256; b += blockDim.x)
		if (local[b])
			atomicAdd(&counts[b], local[b]);
}
