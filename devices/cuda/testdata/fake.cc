// A libcuda and libnvrtc for machines without a GPU: streams are threads, physical memory is mprotect, kernels are
// compiled by the C++ compiler and run one thread after the other (so none with barriers or shuffles). It has the
// calls that package cuda makes, and functions for tests to make them fail. For the tests alone.
#include <atomic>
#include <cerrno>
#include <condition_variable>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <dlfcn.h>
#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <sys/mman.h>
#include <thread>
#include <unistd.h>
#include <vector>

typedef unsigned long long u64;
typedef int Result;

static std::mutex big;
static std::map<std::string, long> calls;       // how often each was called
static std::map<std::string, long> failAt;      // which call fails
static std::map<std::string, long> failFrom;    // and from which on all do
static std::map<std::string, int> failWith;
static std::map<std::string, long> live;        // objects that were made and not freed
static int broken = 0;                          // the sticky error
static int gpus = 2;
static u64 used[8], total = 256ull << 20; // of each GPU
static int slowMicroseconds = 0;

static std::string heldCall; // calls of this function do not go on

static int enter(const char* name)
{
	std::unique_lock<std::mutex> l(big);
	const long n = ++calls[name];
	while (heldCall == name) {
		l.unlock();
		usleep(100);
		l.lock();
	}
	if (n == failAt[name] || (failFrom[name] && n >= failFrom[name])) {
		const int code = failWith[name];
		if (code >= 700 && code != 712)
			broken = code;
		return code;
	}
	return broken;
}
#define ENTER if (int code = enter(__func__)) return code
static void alive(const char* what, int n) { std::lock_guard<std::mutex> l(big); live[what] += n; }

struct Stream;
struct Event {
	std::mutex m;
	std::condition_variable c;
	long recorded = 0, happened = 0;
	long at = 0; // what the kernels of its stream took before it, in microseconds
};
struct Stream {
	long took = 0; // by all kernels, as fakeTeamTime has it
	std::mutex m;
	std::condition_variable c;
	std::deque<std::function<void()>> queue;
	bool over = false, busy = false;
	std::thread t;
	Stream() : t([this] { work(); }) {}
	void work()
	{
		std::unique_lock<std::mutex> l(m);
		for (;;) {
			c.wait(l, [this] { return over || !queue.empty(); });
			if (queue.empty())
				return;
			auto f = queue.front();
			queue.pop_front();
			busy = true;
			l.unlock();
			f();
			l.lock();
			busy = false;
			c.notify_all();
		}
	}
	void push(std::function<void()> f)
	{
		std::lock_guard<std::mutex> l(m);
		queue.push_back(f);
		c.notify_all();
	}
	void drain()
	{
		std::unique_lock<std::mutex> l(m);
		c.wait(l, [this] { return queue.empty() && !busy; });
	}
};

static std::atomic<int> held; // copies and kernels do not begin
static void linger()
{
	while (held)
		usleep(100);
	if (slowMicroseconds)
		usleep(slowMicroseconds);
}

static std::map<unsigned, long> teamTimes; // microseconds of a kernel by the threads of a team; under big
static std::map<unsigned, long> launchesOf; // by the threads of a team; under big
static long timeOfTeam(unsigned team) { std::lock_guard<std::mutex> l(big); launchesOf[team]++; return teamTimes.count(team) ? teamTimes[team] : 0; }

static std::atomic<int> linkRate; // copies carry so many bytes a microsecond, 0 for no time
static std::atomic<int> heldPins, slowPins; // registering of host memory does not end, or takes microseconds, as does the opposite

extern "C" {
// What tests call: the n-th call from now of a function fails, or all from call -n on; "kernel" is a launch that fails when it runs,
// and "copied" counts the copies that are over.
void fakeFail(const char* name, long n, int code)
{
	std::lock_guard<std::mutex> l(big);
	failAt[name] = n > 0 ? calls[name] + n : 0;
	failFrom[name] = n < 0 ? calls[name] - n : 0;
	failWith[name] = code;
}
void fakeRepair() { std::lock_guard<std::mutex> l(big); broken = 0; failAt.clear(); failFrom.clear(); }
void fakeSlow(int us) { slowMicroseconds = us; }
void fakeHold(int on) { held = on; }
void fakeHoldCall(const char* name) { std::lock_guard<std::mutex> l(big); heldCall = name; }
void fakeHoldPins(int on) { heldPins = on; }
void fakeLink(int bytes) { linkRate = bytes; }
void fakeTeamTime(unsigned team, int us) { std::lock_guard<std::mutex> l(big); if (us) teamTimes[team] = us; else teamTimes.clear(); }
long fakeLaunches(unsigned team) { std::lock_guard<std::mutex> l(big); return launchesOf[team]; }
void fakeSlowPins(int us) { slowPins = us; }
long fakeLive(const char* what) { std::lock_guard<std::mutex> l(big); return live[what]; }
long fakeCalls(const char* name) { std::lock_guard<std::mutex> l(big); return calls[name]; }

Result cuInit(unsigned) { ENTER; return 0; }
#ifndef FAKE_VERSION
#define FAKE_VERSION 13000
#endif
Result cuDriverGetVersion(int* v) { *v = FAKE_VERSION; return 0; }
Result cuGetErrorName(int code, const char** s) { static thread_local char b[32]; snprintf(b, sizeof b, "CUDA_ERROR_%d", code); *s = b; return 0; }
Result cuGetErrorString(int code, const char** s) { *s = code == 2 ? "out of memory" : code == 700 ? "an illegal memory access was encountered" : "some error"; return 0; }
Result cuDeviceGetCount(int* n) { ENTER; *n = gpus; return 0; }
Result cuDeviceGet(int* d, int i) { ENTER; *d = i; return 0; }
Result cuDeviceGetName(char* s, int n, int) { ENTER; snprintf(s, n, "Fake GPU"); return 0; }
Result cuDeviceGetAttribute(int* v, int a, int)
{
	ENTER;
	switch (a) {
	case 10: *v = 32; break;
	case 11: *v = 0x7fffffff; break;
	case 16: *v = 4; break;
	case 75: *v = 9; break;
	case 76: *v = 0; break;
	default: *v = 1;
	}
	return 0;
}
Result cuDeviceTotalMem_v2(size_t* n, int) { *n = total; return 0; }
static thread_local void* current;
static std::atomic<int> retained[8];
static bool lacksContext() { return !current || !retained[(uintptr_t)current - 100]; }
Result cuDevicePrimaryCtxRetain(void** c, int d) { ENTER; *c = (void*)(uintptr_t)(100 + d); retained[d]++; alive("context", 1); return 0; }
Result cuDevicePrimaryCtxRelease_v2(int d) { ENTER; retained[d]--; alive("context", -1); return 0; }
Result cuDeviceCanAccessPeer(int* can, int, int) { ENTER; *can = 1; return 0; }
Result cuDeviceGetDefaultMemPool(void** p, int) { ENTER; *p = (void*)1; return 0; }
Result cuMemPoolSetAttribute(void*, int, void*) { ENTER; return 0; }
Result cuCtxSetCurrent(void* c) { current = c; return 0; }
Result cuCtxGetCurrent(void** c) { *c = current; return 0; }

Result cuStreamCreate(Stream** s, unsigned) { ENTER; *s = new Stream; alive("stream", 1); return 0; }
Result cuStreamDestroy_v2(Stream* s)
{
	ENTER;
	{ std::lock_guard<std::mutex> l(s->m); s->over = true; s->c.notify_all(); }
	s->t.join();
	delete s;
	alive("stream", -1);
	return 0;
}
Result cuStreamSynchronize(Stream* s) { ENTER; s->drain(); return 0; }
Result cuStreamWaitEvent(Stream* s, Event* e, unsigned)
{
	ENTER;
	long n;
	{ std::lock_guard<std::mutex> l(e->m); n = e->recorded; }
	s->push([=] { std::unique_lock<std::mutex> l(e->m); e->c.wait(l, [=] { return e->happened >= n; }); });
	return 0;
}
Result cuEventCreate(Event** e, unsigned) { ENTER; *e = new Event; alive("event", 1); return 0; }
Result cuEventDestroy_v2(Event* e) { ENTER; delete e; alive("event", -1); return 0; }
Result cuEventRecord(Event* e, Stream* s)
{
	ENTER;
	long n;
	{ std::lock_guard<std::mutex> l(e->m); n = ++e->recorded; e->at = s->took; }
	s->push([=] { std::lock_guard<std::mutex> l(e->m); if (e->happened < n) e->happened = n; e->c.notify_all(); });
	return 0;
}
Result cuEventQuery(Event* e) { ENTER; std::lock_guard<std::mutex> l(e->m); return e->happened >= e->recorded ? 0 : 600; }
Result cuEventElapsedTime(float* ms, Event* from, Event* to)
{
	ENTER;
	{ std::lock_guard<std::mutex> l(big); if (teamTimes.empty()) { *ms = 1; return 0; } }
	*ms = (to->at - from->at) / 1000.0f;
	return 0;
}

Result cuMemGetInfo_v2(size_t* free, size_t* all) { ENTER; *free = total - used[((uintptr_t)current - 100) % 8]; *all = total; return 0; }
Result cuMemGetAllocationGranularity(size_t* n, void*, int) { ENTER; *n = 2 << 20; return 0; }
Result cuMemAddressReserve(u64* p, size_t n, size_t, u64, u64)
{
	ENTER;
	void* m = mmap(0, n, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (m == MAP_FAILED)
		return 2;
	*p = (u64)m;
	alive("range", 1);
	return 0;
}
Result cuMemAddressFree(u64 p, size_t n) { ENTER; alive("range", -1); return munmap((void*)p, n) ? 1 : 0; }
Result cuMemCreate(u64* h, size_t n, const int* where, u64)
{
	ENTER;
	static u64 next = 1;
	std::lock_guard<std::mutex> l(big);
	const u64 gpu = where[3] % 8;
	if (used[gpu] + n > total)
		return 2;
	used[gpu] += n;
	live["memory"]++;
	*h = (next++ * 8 + gpu) << 40 | n;
	return 0;
}
Result cuMemRelease(u64 h)
{
	ENTER;
	std::lock_guard<std::mutex> l(big);
	used[(h >> 40) % 8] -= h & ((1ull << 40) - 1);
	live["memory"]--;
	return 0;
}
Result cuMemMap(u64 p, size_t n, size_t, u64, u64) { ENTER; alive("mapping", 1); (void)p, (void)n; return 0; }
Result cuMemSetAccess(u64 p, size_t n, const unsigned (*who)[3], size_t count)
{
	ENTER;
	for (size_t i = 0; i < count; i++)
		if (who[i][0] != 1 || who[i][1] > 7 || who[i][2] != 3)
			return 1;
	if (mprotect((void*)p, n, PROT_READ | PROT_WRITE))
		return 1;
	return 0;
}
Result cuMemUnmap(u64 p, size_t n)
{
	ENTER;
	alive("mapping", -1);
	madvise((void*)p, n, MADV_DONTNEED);
	return mprotect((void*)p, n, PROT_NONE) ? 1 : 0;
}
Result cuMemAllocAsync(u64* p, size_t n, Stream*) { ENTER; *p = (u64)malloc(n); alive("scratch", 1); return 0; }
Result cuMemFreeAsync(u64 p, Stream* s) { ENTER; s->push([=] { free((void*)p); }); alive("scratch", -1); return 0; }
Result cuMemHostAlloc(void** p, size_t n, unsigned) { ENTER; *p = malloc(n); alive("host", 1); return 0; }
Result cuMemFreeHost(void* p) { ENTER; free(p); alive("host", -1); return 0; }
Result cuMemHostRegister_v2(void*, size_t, unsigned)
{
	ENTER;
	usleep(slowPins);
	while (heldPins)
		usleep(100);
	if (lacksContext())
		alive("stray pin", 1);
	alive("pin", 1);
	return 0;
}
Result cuMemHostUnregister(void*) { ENTER; usleep(slowPins); alive("pin", -1); return 0; }
Result cuMemsetD8Async(u64 p, unsigned char c, size_t n, Stream* s) { ENTER; s->push([=] { memset((void*)p, c, n); }); return 0; }
Result cuMemsetD32Async(u64 p, unsigned v, size_t n, Stream* s)
{
	ENTER;
	s->push([=] { for (size_t i = 0; i < n; i++) ((unsigned*)p)[i] = v; });
	return 0;
}
static void copy(u64 to, u64 from, size_t n, Stream* s) { s->push([=] { linger(); if (linkRate) usleep(n / linkRate); memcpy((void*)to, (void*)from, n); enter("copied"); }); }
Result cuMemcpyHtoDAsync_v2(u64 to, u64 from, size_t n, Stream* s) { ENTER; copy(to, from, n, s); return 0; }
Result cuMemcpyDtoHAsync_v2(u64 to, u64 from, size_t n, Stream* s) { ENTER; copy(to, from, n, s); return 0; }
Result cuMemcpyDtoDAsync_v2(u64 to, u64 from, size_t n, Stream* s) { ENTER; copy(to, from, n, s); return 0; }
struct Side { size_t x, y; unsigned kind; u64 host, device; void* array; size_t pitch; };
struct Copy2D { Side from, to; size_t width, height; };
Result cuMemcpy2DAsync_v2(Copy2D* c, Stream* s)
{
	ENTER;
	const Copy2D k = *c;
	if (k.width > k.from.pitch || k.width > k.to.pitch)
		return 1;
	for (size_t i = 0; i < k.height; i++)
		copy((k.to.kind == 1 ? k.to.host : k.to.device) + i * k.to.pitch,
			(k.from.kind == 1 ? k.from.host : k.from.device) + i * k.from.pitch, k.width, s);
	return 0;
}

Result cuModuleLoadData(void** m, const char* image)
{
	ENTER;
	u64 n;
	memcpy(&n, image, 8);
	char path[] = "/tmp/fakeXXXXXX";
	const int f = mkstemp(path);
	if (f < 0) {
		perror("fake: cuModuleLoadData: mkstemp");
		return 200;
	}
	for (u64 done = 0; done < n;) {
		const ssize_t part = write(f, image + 8 + done, n - done);
		if (part < 0 && errno != EINTR) {
			perror("fake: cuModuleLoadData: write");
			return 200;
		}
		done += part > 0 ? part : 0;
	}
	close(f);
	*m = dlopen(path, RTLD_NOW | RTLD_LOCAL);
	if (!*m)
		fprintf(stderr, "fake: cuModuleLoadData: %s\n", dlerror());
	unlink(path);
	if (!*m)
		return 200;
	alive("module", 1);
	return 0;
}
Result cuModuleUnload(void* m) { ENTER; dlclose(m); alive("module", -1); return 0; }
Result cuModuleGetFunction(void** f, void* m, const char* name)
{
	ENTER;
	*f = dlsym(m, (std::string(name) + "__run").c_str());
	return *f ? 0 : 500;
}
Result cuFuncSetAttribute(void*, int, int) { ENTER; return 0; }
Result cuFuncGetAttribute(int* v, int, void*) { ENTER; *v = 1024; return 0; }
Result cuOccupancyMaxActiveBlocksPerMultiprocessor(int* n, void*, int threads, size_t)
{
	ENTER;
	*n = 2048 / threads > 32 ? 32 : 2048 / threads;
	return 0;
}
Result cuLaunchKernel(void* f, unsigned grid, unsigned, unsigned, unsigned team, unsigned, unsigned, unsigned, Stream* s, void**, void** extra)
{
	ENTER;
	const size_t n = *(size_t*)extra[3];
	std::string params((char*)extra[1], n);
	s->took += timeOfTeam(team);
	s->push([=] {
		linger();
		if (enter("kernel"))
			return;
		((void (*)(const char*, unsigned, unsigned))f)(params.data(), grid, team);
	});
	return 0;
}

// Teams that wait for each other: of one thread each, for the threads of a team run one after the
// other here.
struct Attribute { unsigned id, pad; union { int cooperative; char size[64]; } value; };
struct Config { unsigned gx, gy, gz, bx, by, bz, shared; Stream* s; Attribute* attributes; unsigned count; };
static const unsigned together = 5;
Result cuLaunchKernelEx(Config* c, void* f, void**, void** extra)
{
	ENTER;
	if (c->count != 1 || c->attributes->id != 2 || c->attributes->value.cooperative != 1 || c->gx > 2048 / c->bx * 132u)
		return 720; // CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE
	const size_t n = *(size_t*)extra[3];
	std::string params((char*)extra[1], n);
	const unsigned teams = c->gx < together ? c->gx : together;
	c->s->push([=] {
		linger();
		if (enter("kernel"))
			return;
		((void (*)(const char*, unsigned, unsigned))f)(params.data(), teams, 0);
	});
	return 0;
}

// A graph keeps its nodes in the order in which they are added, which is one that their dependencies allow.
struct Node { void* f; unsigned grid, team; std::string params; };
struct Graph { std::vector<Node> nodes; };
static Graph* growing; // which a node was added to last
struct NodeParams { void* f; unsigned gx, gy, gz, bx, by, bz, shared; void** params; void** extra; };
Result cuGraphCreate(Graph** g, unsigned) { ENTER; *g = new Graph; alive("graph", 1); return 0; }
Result cuGraphDestroy(Graph* g) { ENTER; delete g; alive("graph", -1); return 0; }
Result cuGraphAddKernelNode(void** n, Graph* g, void** after, size_t count, NodeParams* p)
{
	ENTER;
	for (size_t i = 0; i < count; i++)
		if ((size_t)after[i] == 0 || (size_t)after[i] > g->nodes.size())
			return 1;
	g->nodes.push_back({p->f, p->gx, p->bx, std::string((char*)p->extra[1], *(size_t*)p->extra[3])});
	*n = (void*)g->nodes.size();
	growing = g;
	return 0;
}
Result cuGraphKernelNodeSetAttribute(void* node, int id, int* value)
{
	ENTER;
	if (id != 2 || *value != 1 || !growing || (size_t)node != growing->nodes.size())
		return 1;
	Node& n = growing->nodes.back();
	n.grid = n.grid < together ? n.grid : together;
	n.team = 0;
	return 0;
}
Result cuGraphAddDependencies_v2(Graph* g, void** from, void** to, u64* data, size_t count)
{
	ENTER;
	for (size_t i = 0; i < count; i++)
		if (from[i] >= to[i] || (size_t)to[i] > g->nodes.size() || data[i] != 0x10001)
			return 1;
	return 0;
}
Result cuGraphInstantiateWithFlags(Graph** e, Graph* g, u64) { ENTER; *e = new Graph(*g); alive("graph", 1); return 0; }
Result cuGraphExecDestroy(Graph* e) { ENTER; delete e; alive("graph", -1); return 0; }
Result cuGraphExecKernelNodeSetParams(Graph* e, void* node, NodeParams* p)
{
	ENTER;
	const size_t i = (size_t)node - 1;
	if (i >= e->nodes.size())
		return 1;
	e->nodes[i] = {p->f, p->gx, p->bx, std::string((char*)p->extra[1], *(size_t*)p->extra[3])};
	return 0;
}
Result cuGraphLaunch(Graph* e, Stream* s)
{
	ENTER;
	const std::vector<Node> nodes = e->nodes; // changes count from the next launch on
	s->push([=] {
		for (const Node& n : nodes) {
			linger();
			if (enter("kernel"))
				return;
			((void (*)(const char*, unsigned, unsigned))n.f)(n.params.data(), n.grid, n.team);
		}
	});
	return 0;
}

struct Program { std::string name, text, log, code; };
#ifndef FAKE_NVRTC
#define FAKE_NVRTC 13
#endif
Result nvrtcVersion(int* a, int* b) { *a = FAKE_NVRTC, *b = 0; return 0; }
const char* nvrtcGetErrorString(int) { return "some error"; }
Result nvrtcCreateProgram(Program** p, const char* text, const char* name, int, void*, void*) { ENTER; *p = new Program{name, text, "", ""}; return 0; }
Result nvrtcDestroyProgram(Program** p) { delete *p; return 0; }

static void replace(std::string& s, const std::string& a, const std::string& b)
{
	for (size_t i = s.find(a); i != std::string::npos; i = s.find(a, i + b.size()))
		s.replace(i, a.size(), b);
}
static std::string slurp(const std::string& path)
{
	std::string out;
	if (FILE* f = fopen(path.c_str(), "rb")) {
		char b[65536];
		for (size_t n; (n = fread(b, 1, sizeof b, f)) > 0;)
			out.append(b, n);
		fclose(f);
	}
	return out;
}
Result nvrtcCompileProgram(Program* p, int, const char**)
{
	ENTER;
	std::string text = p->text, tail;
	replace(text, "asm volatile(\"exit;\" ::: \"memory\");", "throw Exit();");
	const std::string head = "extern \"C\" __global__ void";
	for (size_t i = text.find(head); i != std::string::npos; i = text.find(head, i + 1)) {
		size_t close = text.find(")\n{", i), open = text.rfind('(', close), start = text.rfind('\n', open) + 1;
		for (size_t k = text.find("\n", i); k != std::string::npos && k < close; k = text.find("\n", k + 1))
			if (text[k + 1] != '\t') { start = k + 1; open = text.find('(', start); }
		const std::string name = text.substr(start, open - start);
		tail += "\nextern \"C\" void " + name + "__run(const char* p, unsigned g, unsigned t) { run(" + name + ", p, g, t); }\n";
	}
	char dir[] = "/tmp/fakeXXXXXX";
	if (!mkdtemp(dir))
		return 7;
	const std::string d = dir;
	FILE* f = fopen((d + "/k.cc").c_str(), "w");
	fprintf(f, "#include \"device.h\"\n%s%s", text.c_str(), tail.c_str());
	fclose(f);
	const char* include = getenv("FAKE_INCLUDE");
	const std::string cmd = "g++ -std=c++17 -O1 -w -ffp-contract=off -shared -fPIC -I" + std::string(include ? include : ".") +
		" -o " + d + "/k.so " + d + "/k.cc 2>" + d + "/log";
	const int bad = system(cmd.c_str());
	p->log = slurp(d + "/log");
	const std::string so = slurp(d + "/k.so");
	const u64 n = so.size();
	p->code = std::string((const char*)&n, 8) + so;
	if (system(("rm -r " + d).c_str()))
		return 7;
	if (bad) { // in the form of NVRTC: file(line): error: text
		std::string out;
		size_t at = p->log.find(": error: "), line = p->log.rfind('\n', at) + 1;
		const std::string where = p->log.substr(line, at - line), rest = p->log.substr(at, p->log.find('\n', at) - at);
		const size_t colon = where.find(':'), second = where.find(':', colon + 1);
		out = where.substr(0, colon) + "(" + where.substr(colon + 1, second - colon - 1) + ")" + rest + "\n";
		p->log = out;
		return 6;
	}
	return 0;
}
Result nvrtcGetProgramLogSize(Program* p, size_t* n) { *n = p->log.size() + 1; return 0; }
Result nvrtcGetProgramLog(Program* p, char* s) { memcpy(s, p->log.c_str(), p->log.size() + 1); return 0; }
Result nvrtcGetCUBINSize(Program* p, size_t* n) { *n = p->code.size(); return 0; }
Result nvrtcGetCUBIN(Program* p, char* s) { memcpy(s, p->code.data(), p->code.size()); return 0; }
}
