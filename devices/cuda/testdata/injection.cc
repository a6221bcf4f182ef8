// A tool as NVTX sees it: it takes the table of the core module and serves pushes and pops, which it writes down. The types are those of
// NVTX's published headers (nvtxTypes.h, version 3).
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstring>

typedef void (*Function)();
typedef Function** FunctionTable;

struct Callbacks {
  size_t struct_size;
  int (*GetModuleFunctionTable)(int32_t module, FunctionTable* table, unsigned int* size);
};
struct VersionInfo {
  size_t struct_size;
  uint32_t version;
  uint32_t reserved0;
  void (*SetInjectionNvtxVersion)(uint32_t version);
};

static char seen[1 << 16];
static size_t length;
static int depth;

static void write(const char* a, const char* b) {
  length += snprintf(seen + length, sizeof seen - length, "%s%s\n", a, b);
  if (length > sizeof seen - 256) length = 0;
}
static int push(const char* name) {
  write("push ", name);
  return depth++;
}
static int pop() {
  write("pop", "");
  return --depth;
}

extern "C" const char* injection_seen() { return seen; }
extern "C" int injection_depth() { return depth; }

extern "C" int InitializeInjectionNvtx2(const void* (*table)(uint32_t id)) {
  auto* version = static_cast<const VersionInfo*>(table(3));
  if (!version || version->struct_size < sizeof(VersionInfo) || version->version != 3) return 0;
  version->SetInjectionNvtxVersion(3);
  auto* callbacks = static_cast<const Callbacks*>(table(1));
  if (!callbacks || callbacks->struct_size < sizeof(Callbacks) || table(77)) return 0;
  FunctionTable core = nullptr;
  unsigned int size = 0;
  if (callbacks->GetModuleFunctionTable(0, &core, &size) || callbacks->GetModuleFunctionTable(7, &core, &size)) return 0;  // there are none
  const unsigned sizes[] = {0, 16, 9, 15, 7, 16, 7};
  for (int32_t m = 1; m < 7; m++)  // NVIDIA's tools take nothing where the domains, 5, are missing
    if (!callbacks->GetModuleFunctionTable(m, &core, &size) || size != sizes[m] || core[0] || !core[size - 1] || core[size]) return 0;
  if (!callbacks->GetModuleFunctionTable(1, &core, &size) || size < 16 || core[0] || core[16]) return 0;
  *core[9] = reinterpret_cast<Function>(push);
  *core[11] = reinterpret_cast<Function>(pop);
  return 1;
}
