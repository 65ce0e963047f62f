// What all twins of this folder share: inputs, and how a kernel is timed and checked.
#pragma once
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <cfloat>
#include <vector>

#define CHECK(call) do { cudaError_t e = (call); if (e != cudaSuccess) { \
    fprintf(stderr, "%s: %s\n", #call, cudaGetErrorString(e)); exit(1); } } while (0)

constexpr int ROUNDS = 5;
constexpr int STRIDE = 1009;
static int words; static char **given;

static __global__ void fill_floats(float *p, long count, long seed) {
    for (long i = blockIdx.x * blockDim.x + threadIdx.x; i < count; i += gridDim.x * blockDim.x)
        p[i] = (float)(int)(((unsigned)(i + seed) * 2654435761u) >> 16) / 65536.0f;
}

static __global__ void fill_ints(int *p, long count, long seed, int limit) {
    for (long i = blockIdx.x * blockDim.x + threadIdx.x; i < count; i += gridDim.x * blockDim.x)
        p[i] = (int)(((unsigned)(i + seed) * 2654435761u) >> 1) % limit;
}

static float *floats(long count, long seed = 1) {
    float *made; CHECK(cudaMalloc(&made, count * sizeof(float)));
    fill_floats<<<1024, 256>>>(made, count, seed); return made;
}

static int *ints(long count, int limit, long seed = 1) {
    int *made; CHECK(cudaMalloc(&made, count * sizeof(int)));
    fill_ints<<<1024, 256>>>(made, count, seed, limit); return made;
}

template <typename Launch> static double timed(const char *name, Launch launch, int repeats = 20) {
    bool wanted = words < 2;
    for (int i = 1; i < words; i++) wanted |= !strcmp(name, given[i]);
    if (!wanted) return 0;
    launch(); launch();
    CHECK(cudaDeviceSynchronize());
    cudaEvent_t first, last;
    CHECK(cudaEventCreate(&first)); CHECK(cudaEventCreate(&last));
    float least = FLT_MAX;
    for (int round = 0; round < ROUNDS; round++) {
        float milliseconds;
        CHECK(cudaEventRecord(first));
        for (int i = 0; i < repeats; i++) launch();
        CHECK(cudaEventRecord(last)); CHECK(cudaEventSynchronize(last));
        CHECK(cudaEventElapsedTime(&milliseconds, first, last));
        if (milliseconds < least) least = milliseconds;
    }
    CHECK(cudaGetLastError());
    return least * 1e3 / repeats;
}

template <typename T> static void show(const char *name, double microseconds, const T *result, long count) {
    if (microseconds <= 0) return;
    std::vector<T> host(count);
    CHECK(cudaMemcpy(host.data(), result, count * sizeof(T), cudaMemcpyDeviceToHost));
    double sum = 0;
    for (long i = 0; i < count; i += STRIDE) sum += (double)host[i];
    printf("%s\t%.3f\t%.17g\n", name, microseconds, sum);
}

static void begin(int argc, char **argv) { words = argc; given = argv; }
