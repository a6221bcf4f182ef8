// Kernels by hand, beside those of nested_kernels.go: LANES lanes share a row or node in place up to HUB elements; longer ones are saved
// in hubs, whose first element is their number, and run by a grid of their own, a team each.
typedef long long I;
enum { HUB = 1024, ROOM = 1 << 17 };

struct RowProducts {
	const int *start, *col; const double *val, *x; double *y; double s;
	__device__ bool active(I) { return true; }
	__device__ void edge(I, int k) { s += val[k] * x[col[k]]; }
	__device__ void finish(I r) { y[r] = s; }
	__device__ static double first() { return 0; }
	__device__ static double join(double a, double b) { return a + b; }
	enum { SUMS = 1 };
};
struct RankStep {
	double d; const int *start, *col; const double *share; double *next; double s;
	__device__ bool active(I) { return true; }
	__device__ void edge(I, int k) { s += share[col[k]]; }
	__device__ void finish(I v) { next[v] = 1 - d + d * s; }
	__device__ static double first() { return 0; }
	__device__ static double join(double a, double b) { return a + b; }
	enum { SUMS = 1 };
};
struct LevelOf {
	int level; const int *start, *col, *depth; int *next; double s;
	__device__ bool active(I v) { return depth[v] == level; }
	__device__ void edge(I, int e) { int w = col[e]; if (depth[w] > level) atomicMin(next + w, level + 1); }
	__device__ void finish(I) {}
	__device__ static double first() { return 0; }
	__device__ static double join(double a, double b) { return a + b; }
	enum { SUMS = 0 };
};
struct Relax {
	const int *start, *col, *weight, *dist; int *next; int mine; double s;
	__device__ bool active(I v) { mine = dist[v]; return (mine & 3) == 0; }
	__device__ void edge(I, int e) { atomicMin(next + col[e], mine + weight[e]); }
	__device__ void finish(I) {}
	__device__ static double first() { return 0; }
	__device__ static double join(double a, double b) { return a + b; }
	enum { SUMS = 0 };
};

struct ScatterProducts {
	const int *start, *col; const double *val, *x; double *y; double by, s;
	__device__ bool active(I r) { by = x[r]; return by != 0; }
	__device__ void edge(I, int k) { atomicAdd(y + col[k], by * val[k]); }
	__device__ void finish(I) {}
	__device__ static double first() { return 0; }
	__device__ static double join(double a, double b) { return a + b; }
	enum { SUMS = 0 };
};
struct Highest {
	int round; const int *start, *col, *priority; int *colour; int s;
	__device__ bool active(I) { return true; }
	__device__ void edge(I, int e) { s = max(s, priority[col[e]]); }
	__device__ void finish(I v) { if (s <= priority[v]) colour[v] = round; }
	__device__ static int first() { return -1; }
	__device__ static int join(int a, int b) { return max(a, b); }
	enum { SUMS = 1 };
};
struct Dependency {
	const int *start, *col, *depth; const float *paths, *delta; float *next; int below; float s;
	__device__ bool active(I v) { below = depth[v] + 1; return true; }
	__device__ void edge(I, int e) { int w = col[e]; if (depth[w] == below) s += (1 + delta[w]) / paths[w]; }
	__device__ void finish(I v) { next[v] = paths[v] * s; }
	__device__ static float first() { return 0; }
	__device__ static float join(float a, float b) { return a + b; }
	enum { SUMS = 1 };
};
struct Tessellate {
	const int *start, *col; const float *a, *b, *c; float *point; float p, q, r, by, s; int lo;
	__device__ bool active(I v) { p = a[v]; q = b[v]; r = c[v]; lo = start[v]; by = 1 / (float)(start[v + 1] - lo + 1); return true; }
	__device__ void edge(I, int k) { float t = (float)(k - lo) * by, u = 1 - t; point[k] = u * u * p + 2 * t * u * q + t * t * r; }
	__device__ void finish(I) {}
	__device__ static float first() { return 0; }
	__device__ static float join(float a, float b) { return a + b; }
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
	op.s = Op::first();
	for (int e = lo + lane; e < hi; e += LANES)
		op.edge(v, e);
	if (Op::SUMS) {
		unsigned group = LANES == 32 ? ~0u : ((1u << LANES % 32) - 1) << (threadIdx.x % 32 / LANES * LANES);
		for (int d = LANES / 2; d; d /= 2)
			op.s = Op::join(op.s, __shfl_xor_sync(group, op.s, d));
		if (lane == 0)
			op.finish(v);
	}
}

template <class Op> __device__ void team(Op op, int* hubs)
{
	__shared__ decltype(op.s) part[8];
	int n = min(hubs[0], (int)ROOM);
	for (int h = blockIdx.x; h < n; h += gridDim.x) {
		int v = hubs[1 + h], lo = op.start[v], hi = op.start[v + 1];
		op.active(v);
		op.s = Op::first();
		for (int e = lo + threadIdx.x; e < hi; e += 256)
			op.edge(v, e);
		if (Op::SUMS) {
			for (int d = 16; d; d /= 2)
				op.s = Op::join(op.s, __shfl_xor_sync(~0u, op.s, d));
			if (threadIdx.x % 32 == 0)
				part[threadIdx.x / 32] = op.s;
			__syncthreads();
			if (threadIdx.x == 0) {
				op.s = Op::first();
				for (int w = 0; w < 8; w++)
					op.s = Op::join(op.s, part[w]);
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
EACH(scatterproducts, ScatterProducts, const int* start AND const int* col AND const double* val AND const double* x AND double* y, start, col, val, x, y)
EACH(highest, Highest, int round AND const int* start AND const int* col AND const int* priority AND int* colour, round, start, col, priority, colour)
EACH(dependency, Dependency, const int* start AND const int* col AND const int* depth AND const float* paths AND const float* delta AND float* next, start, col, depth, paths, delta, next)
EACH(tessellate, Tessellate, const int* start AND const int* col AND const float* a AND const float* b AND const float* c AND float* point, start, col, a, b, c, point)

// The loop over a row twice: with its greatest element, and then with what follows from that.
template <int LANES> __device__ float joined(float x, bool greatest, unsigned group)
{
	for (int d = LANES / 2; d; d /= 2) {
		float o = __shfl_xor_sync(group, x, d);
		x = greatest ? fmaxf(x, o) : x + o;
	}
	return x;
}
template <int LANES> __device__ void softmaxrows(const int* start, const float* score, float* total, I n, int* hubs)
{
	I v = ((I)blockIdx.x * blockDim.x + threadIdx.x) / LANES;
	int lane = threadIdx.x % LANES;
	if (v >= n)
		return;
	int lo = start[v], hi = start[v + 1];
	if (hi - lo >= HUB) {
		if (lane == 0) {
			int p = atomicAdd(hubs, 1);
			if (p < ROOM)
				hubs[1 + p] = (int)v;
		}
		return;
	}
	unsigned group = LANES == 32 ? ~0u : ((1u << LANES % 32) - 1) << (threadIdx.x % 32 / LANES * LANES);
	float most = -1e30f, s = 0;
	for (int e = lo + lane; e < hi; e += LANES)
		most = fmaxf(most, score[e]);
	most = joined<LANES>(most, true, group);
	for (int e = lo + lane; e < hi; e += LANES) {
		float d = score[e] - most;
		s += 1 / (1 + d * d);
	}
	s = joined<LANES>(s, false, group);
	if (lane == 0)
		total[v] = s;
}
#define SOFTMAX(LANES) extern "C" __global__ void __launch_bounds__(256) rowsoftmax##LANES(const int* start, const int* col, const float* score, float* total, I n, int* hubs) \
{ softmaxrows<LANES>(start, score, total, n, hubs); }
SOFTMAX(8)
SOFTMAX(32)
extern "C" __global__ void __launch_bounds__(256) rowsoftmaxteam(const int* start, const int* col, const float* score, float* total, I, int* hubs)
{
	__shared__ float part[8];
	int n = min(hubs[0], (int)ROOM);
	for (int h = blockIdx.x; h < n; h += gridDim.x) {
		int v = hubs[1 + h], lo = start[v], hi = start[v + 1];
		float most = -1e30f, s = 0;
		for (int pass = 0; pass < 2; pass++) {
			float x = pass ? 0 : -1e30f;
			for (int e = lo + threadIdx.x; e < hi; e += 256) {
				float d = score[e] - most;
				x = pass ? x + 1 / (1 + d * d) : fmaxf(x, score[e]);
			}
			x = joined<32>(x, !pass, ~0u);
			if (threadIdx.x % 32 == 0)
				part[threadIdx.x / 32] = x;
			__syncthreads();
			x = part[0];
			for (int w = 1; w < 8; w++)
				x = pass ? x + part[w] : fmaxf(x, part[w]);
			__syncthreads();
			pass ? s = x : most = x;
		}
		if (threadIdx.x == 0)
			total[v] = s;
	}
}

extern "C" __global__ void clearhubs(int* hubs) { hubs[0] = 0; }
