// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// A stand-in for NVIDIA's driver, as far as slimhlo-run calls it, so that this is tested where
// there is no GPU: memory is the host's, and the kernels are `add`, which adds two vectors of 1000
// floats, and `step`, which counts a loop's rounds. The environment says what kind of GPU it is: FAKE_CHIP (such as 90), FAKE_MEMORY (bytes),
// FAKE_GPUS (how many), FAKE_POOLS (0: it has no memory pools). What is called is counted in the
// file that FAKE_LOG names, in lines of a word each.

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
  OK = 0,
  INVALID_VALUE = 1,
  OUT_OF_MEMORY = 2,
  NO_DEVICE = 100,
  INVALID_DEVICE = 101,
  INVALID_PTX = 218,
  NOT_FOUND = 500
};

static size_t used;
static uintptr_t current;
static float now;

static size_t setting(const char *name, size_t otherwise) {
  const char *value = getenv(name);
  return value ? strtoull(value, NULL, 10) : otherwise;
}
static size_t memory(void) { return setting("FAKE_MEMORY", 1 << 30); }
static void told(const char *word) {
  FILE *out = getenv("FAKE_LOG") ? fopen(getenv("FAKE_LOG"), "a") : NULL;
  if (out) {
    fprintf(out, "%s\n", word);
    fclose(out);
  }
}

int cuInit(unsigned flags) {
  return flags ? INVALID_VALUE : setting("FAKE_GPUS", 1) ? OK : NO_DEVICE;
}
int cuDeviceGetCount(int *count) { return *count = (int)setting("FAKE_GPUS", 1), OK; }
int cuDeviceGet(int *device, int number) {
  *device = number;
  return (size_t)number < setting("FAKE_GPUS", 1) ? OK : INVALID_DEVICE;
}
int cuDeviceGetName(char *name, int length, int device) {
  strncpy(name, "Fake GPU", length);
  return device == 0 ? OK : INVALID_DEVICE;
}
int cuDeviceGetAttribute(int *value, int attribute, int device) {
  int chip = (int)setting("FAKE_CHIP", 90);
  int pools = (int)setting("FAKE_POOLS", 1);
  *value = attribute == 75 ? chip / 10 : attribute == 76 ? chip % 10 : attribute == 115 ? pools : 0;
  return device == 0 ? OK : INVALID_DEVICE;
}
int cuDevicePrimaryCtxRetain(uintptr_t *context, int device) {
  return *context = 1, device == 0 ? OK : INVALID_DEVICE;
}
int cuDevicePrimaryCtxRelease_v2(int device) { return device == 0 ? OK : INVALID_DEVICE; }
int cuCtxGetCurrent(uintptr_t *context) { return *context = current, OK; }
int cuCtxSetCurrent(uintptr_t context) { return current = context, OK; }
int cuCtxSynchronize(void) { return OK; }
int cuGetErrorName(int error, const char **text) {
  *text = error == INVALID_PTX ? "CUDA_ERROR_INVALID_PTX" : "CUDA_ERROR";
  return OK;
}
int cuGetErrorString(int error, const char **text) {
  return *text = error == INVALID_PTX ? "bad PTX" : "failed", OK;
}

// Code is right if it begins like PTX or like an ELF file.
int cuModuleLoadDataEx(uintptr_t *module, const char *image, unsigned count, const int *options,
                       void **values) {
  *module = 2;
  if (!strncmp(image, ".version", 8) || !strncmp(image, "\177ELF", 4))
    return OK;
  if (count == 2 && options[0] == 5 && options[1] == 6 && (uintptr_t)values[1] > 32)
    strcpy(values[0], "line 1: syntax error");
  return INVALID_PTX;
}
int cuModuleUnload(uintptr_t module) { return module == 2 ? OK : INVALID_VALUE; }
int cuModuleGetFunction(uintptr_t *function, uintptr_t module, const char *name) {
  *function = 3;
  if (!strcmp(name, "step"))
    *function = 4;
  else if (strcmp(name, "add"))
    return NOT_FOUND;
  return module != 2 ? INVALID_VALUE : OK;
}

// Lengths are kept in front of what is given out. What the pool gets back it keeps: `reserved` is
// all that it ever had at a time.
static size_t pooled, reserved;
static int give(uint64_t *pointer, size_t length) {
  char *start = aligned_alloc(256, 256 + (length + 255) / 256 * 256);
  *(size_t *)start = length;
  return *pointer = (uint64_t)(start + 256), OK;
}
int cuMemAlloc_v2(uint64_t *pointer, size_t length) {
  if (!length)
    return INVALID_VALUE;
  if (length > memory() - used - reserved)
    return OUT_OF_MEMORY;
  told("malloc");
  used += length;
  return give(pointer, length);
}
int cuMemFree_v2(uint64_t pointer) {
  char *start = (char *)pointer - 256;
  used -= *(size_t *)start;
  return free(start), OK;
}
int cuDeviceGetDefaultMemPool(uintptr_t *pool, int device) {
  return *pool = 7, device == 0 ? OK : INVALID_DEVICE;
}
int cuMemPoolSetAttribute(uintptr_t pool, int attribute, const uint64_t *value) {
  return pool == 7 && attribute == 4 && *value == UINT64_MAX ? OK : INVALID_VALUE;
}
int cuMemPoolGetAttribute(uintptr_t pool, int attribute, uint64_t *value) {
  *value = attribute == 5 ? reserved : attribute == 7 ? pooled : 0;
  return pool == 7 ? OK : INVALID_VALUE;
}
int cuMemAllocAsync(uint64_t *pointer, size_t length, uintptr_t stream) {
  if (!length || stream)
    return INVALID_VALUE;
  if (pooled + length > memory() - used)
    return OUT_OF_MEMORY;
  told("malloc_async");
  pooled += length;
  reserved = pooled > reserved ? pooled : reserved;
  return give(pointer, length);
}
int cuMemFreeAsync(uint64_t pointer, uintptr_t stream) {
  char *start = (char *)pointer - 256;
  pooled -= *(size_t *)start;
  return free(start), stream ? INVALID_VALUE : OK;
}
int cuMemGetInfo_v2(size_t *available, size_t *total) {
  *available = memory() - used - reserved;
  return *total = memory(), OK;
}
int cuMemcpyHtoD_v2(uint64_t to, const void *from, size_t length) {
  return memcpy((void *)to, from, length), OK;
}
int cuMemcpyHtoDAsync_v2(uint64_t to, const void *from, size_t length, uintptr_t stream) {
  return memcpy((void *)to, from, length), stream ? INVALID_VALUE : OK;
}
int cuMemcpyDtoH_v2(void *to, uint64_t from, size_t length) {
  return memcpy(to, (void *)from, length), OK;
}
int cuMemcpyDtoDAsync_v2(uint64_t to, uint64_t from, size_t length, uintptr_t stream) {
  now += 0.5F;
  return memcpy((void *)to, (void *)from, length), stream ? INVALID_VALUE : OK;
}

static void add(float **buffers) {
  for (int i = 0; i < 1000; ++i)
    buffers[2][i] = buffers[0][i] + buffers[1][i];
  now += 0.25F;
}
// Guarded: takes 1 from a number, and says whether there is something left of it.
static void step(float **buffers) {
  int32_t *left = (int32_t *)buffers[0];
  if (*(char *)buffers[2])
    *(char *)buffers[1] = --*left > 0;
  now += 0.25F;
}
static void launched(uintptr_t function, float **buffers) {
  function == 4 ? step(buffers) : add(buffers);
}
static int is_launch(uintptr_t function, const unsigned shape[7], void **parameters, void **extra) {
  return (function == 3 || function == 4) && shape[0] == 7 && shape[1] == 1 && shape[2] == 1 && shape[3] == 256 &&
         shape[4] == 1 && shape[5] == 1 && !shape[6] && !parameters && extra[0] == (void *)1 &&
         extra[2] == (void *)2 && *(size_t *)extra[3] == 3 * sizeof(float *) && !extra[4];
}
int cuLaunchKernel(uintptr_t function, unsigned grid, unsigned grid_y, unsigned grid_z,
                   unsigned block, unsigned block_y, unsigned block_z, unsigned shared,
                   uintptr_t stream, void **parameters, void **extra) {
  unsigned shape[7] = {grid, grid_y, grid_z, block, block_y, block_z, shared};
  if (!is_launch(function, shape, parameters, extra) || stream)
    return INVALID_VALUE;
  told("launch");
  return launched(function, extra[1]), OK;
}

// Graphs are chains: nodes in the order in which they were added, each after the one before.
typedef struct {
  float *buffers[3];
  uint64_t to, from;
  size_t length;
  uintptr_t function;
} Node;
typedef struct {
  Node nodes[1024];
  int count;
} Graph;
typedef struct {
  uintptr_t function;
  unsigned shape[7];
  void **parameters;
  void **extra;
  void *kernel, *context;
} KernelNode;
typedef struct {
  size_t from_x, from_y, from_z, from_lod;
  int from_type;
  const void *from_host;
  uint64_t from;
  void *from_array, *reserved0;
  size_t from_pitch, from_height, to_x, to_y, to_z, to_lod;
  int to_type;
  void *to_host;
  uint64_t to;
  void *to_array, *reserved1;
  size_t to_pitch, to_height, width, height, depth;
} CopyNode;
int cuGraphCreate(Graph **graph, unsigned flags) {
  return *graph = calloc(1, sizeof(Graph)), flags ? INVALID_VALUE : OK;
}
static int node(uintptr_t *made, Graph *graph, const uintptr_t *before, size_t count, Node node) {
  int chained = graph->count ? count == 1 && *before == (uintptr_t)graph->count : !count;
  if (!chained || graph->count == 1024)
    return INVALID_VALUE;
  graph->nodes[graph->count++] = node;
  return *made = (uintptr_t)graph->count, OK;
}
int cuGraphAddKernelNode_v2(uintptr_t *made, Graph *graph, const uintptr_t *before, size_t count,
                            const KernelNode *given) {
  if (!is_launch(given->function, given->shape, given->parameters, given->extra))
    return INVALID_VALUE;
  float **buffers = given->extra[1];
  return node(made, graph, before, count, 
              (Node){{buffers[0], buffers[1], buffers[2]}, 0, 0, 0, given->function});
}
int cuGraphAddMemcpyNode(uintptr_t *made, Graph *graph, const uintptr_t *before, size_t count,
                         const CopyNode *given, uintptr_t context) {
  if (given->from_type != 2 || given->to_type != 2 || given->height != 1 || given->depth != 1 ||
      context != 1)
    return INVALID_VALUE;
  return node(made, graph, before, count, (Node){{0}, given->to, given->from, given->width, 0});
}
int cuGraphInstantiateWithFlags(Graph **made, const Graph *graph, unsigned long long flags) {
  *made = malloc(sizeof(Graph));
  **made = *graph;
  return flags ? INVALID_VALUE : OK;
}
int cuGraphLaunch(const Graph *graph, uintptr_t stream) {
  told("graph");
  for (int i = 0; i < graph->count; ++i) {
    Node node = graph->nodes[i];
    if (node.length) {
      memcpy((void *)node.to, (void *)node.from, node.length);
      now += 0.5F;
    } else {
      launched(node.function, node.buffers);
    }
  }
  return stream ? INVALID_VALUE : OK;
}
int cuGraphExecDestroy(Graph *graph) { return free(graph), OK; }
int cuGraphDestroy(Graph *graph) { return free(graph), OK; }

int cuEventCreate(float **event, unsigned flags) {
  return *event = calloc(1, sizeof(float)), flags ? INVALID_VALUE : OK;
}
int cuEventRecord(float *event, uintptr_t stream) {
  return *event = now, stream ? INVALID_VALUE : OK;
}
int cuEventSynchronize(float *event) { return event ? OK : INVALID_VALUE; }
int cuEventElapsedTime(float *milliseconds, float *from, float *to) {
  return *milliseconds = *to - *from, OK;
}
int cuEventDestroy_v2(float *event) { return free(event), OK; }
