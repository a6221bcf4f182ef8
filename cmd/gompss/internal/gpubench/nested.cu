// Kernels by hand, beside those of nested_kernels.go: LANES lanes share a row or node in place up to HUB elements; longer ones are saved
// in hubs, whose first element is their number, and run by a grid of their own, a team each.
typedef long long I;
enum { HUB = 1024, ROOM = 1 << 17 };

struct RowProducts {
	const int *start, *col; const double *val, *x; double *y; double s;
	__device__ bool active(I) { return true; }
	__device__ void edge(I, int k) { s += val[k] * x[col[k]]; }
	__device__ void finish(I r) { y[r] = s; }
	enum { SUMS = 1 };
};
struct RankStep {
	double d; const int *start, *col; const double *share; double *next; double s;
	__device__ bool active(I) { return true; }
	__device__ void edge(I, int k) { s += share[col[k]]; }
	__device__ void finish(I v) { next[v] = 1 - d + d * s; }
	enum { SUMS = 1 };
};
struct LevelOf {
	int level; const int *start, *col, *depth; int *next; double s;
	__device__ bool active(I v) { return depth[v] == level; }
	__device__ void edge(I, int e) { int w = col[e]; if (depth[w] > level) atomicMin(next + w, level + 1); }
	__device__ void finish(I) {}
	enum { SUMS = 0 };
};
struct Relax {
	const int *start, *col, *weight, *dist; int *next; int mine; double s;
	__device__ bool active(I v) { mine = dist[v]; return (mine & 3) == 0; }
	__device__ void edge(I, int e) { atomicMin(next + col[e], mine + weight[e]); }
	__device__ void finish(I) {}
	enum { SUMS = 0 };
};

template <int LANES, class Op> __device__ void rows(Op op, I n, int* hubs)
{
	I g = (I)blockIdx.x * blockDim.x + threadIdx.x, v = g / LANES;
	int lane = threadIdx.x % LANES;
	if (v >= n || !op.active(v))
		return;
	int lo = op.start[v], hi = op.start[v + 1];
	if (hi - lo >= HUB) {
		if (lane == 0) {
			int p = atomicAdd(hubs, 1);
			if (p < ROOM)
				hubs[1 + p] = (int)v;
		}
		return;
	}
	op.s = 0;
	for (int e = lo + lane; e < hi; e += LANES)
		op.edge(v, e);
	if (Op::SUMS) {
		unsigned group = LANES == 32 ? ~0u : ((1u << LANES % 32) - 1) << (threadIdx.x % 32 / LANES * LANES);
		for (int d = LANES / 2; d; d /= 2)
			op.s += __shfl_xor_sync(group, op.s, d);
		if (lane == 0)
			op.finish(v);
	}
}

template <class Op> __device__ void team(Op op, int* hubs)
{
	__shared__ double part[8];
	int n = min(hubs[0], (int)ROOM);
	for (int h = blockIdx.x; h < n; h += gridDim.x) {
		int v = hubs[1 + h], lo = op.start[v], hi = op.start[v + 1];
		op.active(v);
		op.s = 0;
		for (int e = lo + threadIdx.x; e < hi; e += 256)
			op.edge(v, e);
		if (Op::SUMS) {
			for (int d = 16; d; d /= 2)
				op.s += __shfl_xor_sync(~0u, op.s, d);
			if (threadIdx.x % 32 == 0)
				part[threadIdx.x / 32] = op.s;
			__syncthreads();
			if (threadIdx.x == 0) {
				op.s = 0;
				for (int w = 0; w < 8; w++)
					op.s += part[w];
				op.finish(v);
			}
			__syncthreads();
		}
	}
}

#define EACH(NAME, OP, PARAMS, ...) \
extern "C" __global__ void __launch_bounds__(256) NAME##8(PARAMS, I n, int* hubs) { OP op = {__VA_ARGS__}; rows<8>(op, n, hubs); } \
extern "C" __global__ void __launch_bounds__(256) NAME##32(PARAMS, I n, int* hubs) { OP op = {__VA_ARGS__}; rows<32>(op, n, hubs); } \
extern "C" __global__ void __launch_bounds__(256) NAME##team(PARAMS, I n, int* hubs) { OP op = {__VA_ARGS__}; team(op, hubs); }
#define AND ,

EACH(rowproducts, RowProducts, const int* start AND const int* col AND const double* val AND const double* x AND double* y, start, col, val, x, y)
EACH(rankstep, RankStep, double d AND const int* start AND const int* col AND const double* share AND double* next, d, start, col, share, next)
EACH(levelof, LevelOf, I level AND const int* start AND const int* col AND const int* depth AND int* next, (int)level, start, col, depth, next)
EACH(relax, Relax, const int* start AND const int* col AND const int* weight AND const int* dist AND int* next, start, col, weight, dist, next)

extern "C" __global__ void clearhubs(int* hubs) { hubs[0] = 0; }
