// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// A stand-in for NVIDIA's driver, as far as slimhlo-run calls it, so that this is tested where
// there is no GPU: memory is the host's, and the one kernel, `add`, adds two vectors of 1000
// floats. The environment says what kind of GPU it is: FAKE_CHIP (such as 90), FAKE_MEMORY (bytes),
// FAKE_GPUS (how many).

#include <stddef.h>
#include <stdint.h>
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
  *value = attribute == 75 ? chip / 10 : attribute == 76 ? chip % 10 : 0;
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
  return module != 2 ? INVALID_VALUE : strcmp(name, "add") ? NOT_FOUND : OK;
}

// Lengths are kept in front of what is given out.
int cuMemAlloc_v2(uint64_t *pointer, size_t length) {
  if (!length)
    return INVALID_VALUE;
  if (length > memory() - used)
    return OUT_OF_MEMORY;
  char *start = aligned_alloc(256, 256 + (length + 255) / 256 * 256);
  *(size_t *)start = length;
  used += length;
  return *pointer = (uint64_t)(start + 256), OK;
}
int cuMemFree_v2(uint64_t pointer) {
  char *start = (char *)pointer - 256;
  used -= *(size_t *)start;
  return free(start), OK;
}
int cuMemGetInfo_v2(size_t *available, size_t *total) {
  *available = memory() - used;
  return *total = memory(), OK;
}
int cuMemcpyHtoD_v2(uint64_t to, const void *from, size_t length) {
  return memcpy((void *)to, from, length), OK;
}
int cuMemcpyDtoH_v2(void *to, uint64_t from, size_t length) {
  return memcpy(to, (void *)from, length), OK;
}
int cuMemcpyDtoDAsync_v2(uint64_t to, uint64_t from, size_t length, uintptr_t stream) {
  now += 0.5F;
  return memcpy((void *)to, (void *)from, length), stream ? INVALID_VALUE : OK;
}

int cuLaunchKernel(uintptr_t function, unsigned grid, unsigned grid_y, unsigned grid_z,
                   unsigned block, unsigned block_y, unsigned block_z, unsigned shared,
                   uintptr_t stream, void **parameters, void **extra) {
  if (function != 3 || grid != 7 || grid_y != 1 || grid_z != 1 || block != 256 || block_y != 1 ||
      block_z != 1 || shared || stream || parameters)
    return INVALID_VALUE;
  if (extra[0] != (void *)1 || extra[2] != (void *)2 ||
      *(size_t *)extra[3] != 3 * sizeof(float *) || extra[4])
    return INVALID_VALUE;
  float **buffers = extra[1];
  for (int i = 0; i < 1000; ++i)
    buffers[2][i] = buffers[0][i] + buffers[1][i];
  now += 0.25F;
  return OK;
}

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
