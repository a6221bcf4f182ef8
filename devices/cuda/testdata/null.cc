// A libcuda and libnvrtc that do nothing but take time, to measure what the host does for a task: calls spin for as long as
// they take on a GPU's machine, and kernels and copies are over when the clock says so, without having been made. For benchmarks alone, and
// to see what is placed where on four GPUs when there are none.
#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <sys/mman.h>
#include <time.h>

typedef unsigned long long u64;
typedef int Result;

static u64 now() { timespec t; clock_gettime(CLOCK_MONOTONIC, &t); return u64(t.tv_sec) * 1000000000 + t.tv_nsec; }
static u64 spinOf(const char* name, u64 usual) { const char* s = getenv(name); return s ? strtoull(s, 0, 10) : usual; }
static const u64 launchTime = spinOf("NULL_LAUNCH_NS", 0), kernelTime = spinOf("NULL_KERNEL_NS", 0), queryTime = spinOf("NULL_QUERY_NS", 0),
	recordTime = spinOf("NULL_RECORD_NS", 0), nodeTime = spinOf("NULL_NODE_NS", 0), linkTime = spinOf("NULL_LINK_NS_MIB", 0),
	peerTime = spinOf("NULL_PEER_NS_MIB", 0), registerTime = spinOf("NULL_REGISTER_NS_MIB", 0);
static u64 copying(u64 ns, size_t bytes) { return 5000 + (u64)((double)ns * bytes / (1 << 20)); }
static void spin(u64 ns) { if (ns) for (const u64 until = now() + ns; now() < until;) ; }

struct Chip { std::mutex m; u64 tail = 0; };
static Chip chips[4];
static thread_local void* current;
struct Stream { std::mutex m; std::atomic<u64> tail{0}; Chip* chip = &chips[((uintptr_t)current - 100) % 4]; };
struct Event { std::atomic<u64> at{0}; };
struct Graph { u64 nodes = 0; };

static void run(Stream* s, u64 ns) { std::lock_guard<std::mutex> l(s->m); const u64 t = s->tail, n = now(); s->tail = (t > n ? t : n) + ns; }
// Kernels of a chip's length fill it: they are over one after the other, on whatever stream.
static void fill(Stream* s, u64 ns)
{
	static const u64 brief = 20000;
	if (kernelTime < brief) return run(s, ns);
	std::lock_guard<std::mutex> l(s->m), c(s->chip->m);
	u64 t = s->tail, n = now();
	if (t < s->chip->tail) t = s->chip->tail;
	s->chip->tail = s->tail = (t > n ? t : n) + ns;
}
static std::atomic<u64> launches{0};

extern "C" {
u64 nullLaunches() { return launches; }
Result cuInit(unsigned) { return 0; }
Result cuDriverGetVersion(int* v) { *v = 13000; return 0; }
Result cuGetErrorName(int, const char** s) { *s = "error"; return 0; }
Result cuGetErrorString(int, const char** s) { *s = "error"; return 0; }
Result cuDeviceGetCount(int* n) { *n = 4; return 0; }
Result cuDeviceGet(int* d, int i) { *d = i; return 0; }
Result cuDeviceGetName(char* s, int, int) { strcpy(s, "Null GPU"); return 0; }
Result cuDeviceGetAttribute(int* v, int a, int)
{
	switch (a) {
	case 10: *v = 32; break;
	case 11: *v = 0x7fffffff; break;
	case 16: *v = 132; break;
	case 75: *v = 9; break;
	case 76: *v = 1; break; // of no real GPU, so that no cache takes its code for one
	default: *v = 1;
	}
	return 0;
}
Result cuDevicePrimaryCtxRetain(void** c, int d) { *c = (void*)(uintptr_t)(100 + d); return 0; }
Result cuDevicePrimaryCtxRelease_v2(int) { return 0; }
Result cuDeviceCanAccessPeer(int* can, int, int) { *can = 1; return 0; }
Result cuDeviceGetDefaultMemPool(void** p, int) { *p = (void*)1; return 0; }
Result cuMemPoolSetAttribute(void*, int, void*) { return 0; }
Result cuCtxSetCurrent(void* c) { current = c; return 0; }
Result cuCtxGetCurrent(void** c) { *c = current; return 0; }
Result cuStreamCreate(Stream** s, unsigned) { *s = new Stream; return 0; }
Result cuStreamDestroy_v2(Stream* s) { delete s; return 0; }
Result cuStreamSynchronize(Stream* s) { while (now() < s->tail) ; return 0; }
Result cuStreamWaitEvent(Stream* s, Event* e, unsigned) { std::lock_guard<std::mutex> l(s->m); if (s->tail < e->at) s->tail = e->at.load(); return 0; }
Result cuEventCreate(Event** e, unsigned) { *e = new Event; return 0; }
Result cuEventDestroy_v2(Event* e) { delete e; return 0; }
Result cuEventRecord(Event* e, Stream* s) { spin(recordTime); e->at = s->tail.load(); return 0; }
Result cuEventQuery(Event* e) { spin(queryTime); return now() >= e->at ? 0 : 600; }
Result cuEventElapsedTime(float* ms, Event*, Event*) { *ms = 1; return 0; }
Result cuMemGetInfo_v2(size_t* free, size_t* all) { *free = *all = 64ull << 30; return 0; }
Result cuMemGetAllocationGranularity(size_t* n, void*, int) { *n = 2 << 20; return 0; }
Result cuMemAddressReserve(u64* p, size_t n, size_t, u64, u64) { *p = (u64)mmap(0, n, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0); return 0; }
Result cuMemAddressFree(u64 p, size_t n) { return munmap((void*)p, n) ? 1 : 0; }
Result cuMemCreate(u64* h, size_t, void*, u64) { *h = 1; return 0; }
Result cuMemRelease(u64) { return 0; }
Result cuMemMap(u64, size_t, size_t, u64, u64) { return 0; }
Result cuMemSetAccess(u64, size_t, void*, size_t) { return 0; }
Result cuMemUnmap(u64, size_t) { return 0; }
Result cuMemAllocAsync(u64* p, size_t n, Stream*) { *p = (u64)malloc(n); return 0; }
Result cuMemFreeAsync(u64 p, Stream*) { free((void*)p); return 0; }
Result cuMemHostAlloc(void** p, size_t n, unsigned) { *p = malloc(n); return 0; }
Result cuMemFreeHost(void* p) { free(p); return 0; }
Result cuMemHostRegister_v2(void*, size_t n, unsigned)
{
	const u64 ns = copying(registerTime, n);
	const timespec t = {time_t(ns / 1000000000), long(ns % 1000000000)};
	if (registerTime) nanosleep(&t, 0);
	return 0;
}
Result cuMemHostUnregister(void*) { return 0; }
Result cuMemsetD8Async(u64, unsigned char, size_t, Stream*) { return 0; }
Result cuMemcpyHtoDAsync_v2(u64, u64, size_t n, Stream* s) { run(s, copying(linkTime, n)); return 0; }
Result cuMemcpyDtoHAsync_v2(u64, u64, size_t n, Stream* s) { run(s, copying(linkTime, n)); return 0; }
Result cuMemcpyDtoDAsync_v2(u64, u64, size_t n, Stream* s) { run(s, copying(peerTime, n)); return 0; }
Result cuMemcpy2DAsync_v2(void*, Stream* s) { run(s, 5000); return 0; }
Result cuModuleLoadData(void** m, const char*) { *m = (void*)1; return 0; }
Result cuModuleUnload(void*) { return 0; }
Result cuModuleGetFunction(void** f, void*, const char*) { *f = (void*)1; return 0; }
Result cuFuncSetAttribute(void*, int, int) { return 0; }
Result cuFuncGetAttribute(int* v, int, void*) { *v = 1024; return 0; }
Result cuOccupancyMaxActiveBlocksPerMultiprocessor(int* n, void*, int, size_t) { *n = 2; return 0; }
Result cuLaunchKernel(void*, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, Stream* s, void**, void**)
{
	launches++;
	spin(launchTime);
	fill(s, kernelTime);
	return 0;
}
Result cuGraphCreate(Graph** g, unsigned) { *g = new Graph; return 0; }
Result cuGraphDestroy(Graph* g) { delete g; return 0; }
Result cuGraphAddKernelNode(void** n, Graph* g, void**, size_t, void*) { *n = (void*)++g->nodes; return 0; }
Result cuGraphKernelNodeSetAttribute(void*, int, void*) { return 0; }
Result cuLaunchKernelEx(void**, void*, void**, void**) { launches++; spin(launchTime); return 0; }
Result cuGraphAddDependencies_v2(Graph*, void**, void**, void*, size_t) { return 0; }
Result cuGraphInstantiateWithFlags(Graph** e, Graph* g, u64) { *e = new Graph(*g); return 0; }
Result cuGraphExecDestroy(Graph* e) { delete e; return 0; }
Result cuGraphExecKernelNodeSetParams(Graph*, void*, void*) { spin(nodeTime); return 0; }
Result cuGraphLaunch(Graph* e, Stream* s) { launches += e->nodes; spin(launchTime); fill(s, e->nodes * (kernelTime < 20000 ? kernelTime / 2 : kernelTime)); return 0; }

Result nvrtcVersion(int* a, int* b) { *a = 13, *b = 0; return 0; }
const char* nvrtcGetErrorString(int) { return "error"; }
Result nvrtcCreateProgram(void** p, const char*, const char*, int, void*, void*) { *p = (void*)1; return 0; }
Result nvrtcDestroyProgram(void**) { return 0; }
Result nvrtcCompileProgram(void*, int, const char**) { return 0; }
Result nvrtcGetProgramLogSize(void*, size_t* n) { *n = 1; return 0; }
Result nvrtcGetProgramLog(void*, char* s) { *s = 0; return 0; }
Result nvrtcGetCUBINSize(void*, size_t* n) { *n = 8; return 0; }
Result nvrtcGetCUBIN(void*, char* s) { memset(s, 1, 8); return 0; }
}
