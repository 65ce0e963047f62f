// Times of cub over 2 ** 26 numbers of 32 bits, as algorithms.kpy prints them: a name, a tab, and microseconds.
// nvcc -O3 -std=c++17 -arch=sm_90 cub.cu

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cub/cub.cuh>
#include <vector>

#define CHECK(call)                                                                  \
    do {                                                                             \
        cudaError_t code = (call);                                                   \
        if (code != cudaSuccess) {                                                   \
            std::fprintf(stderr, "%s: %s\n", #call, cudaGetErrorString(code));       \
            std::exit(1);                                                            \
        }                                                                            \
    } while (0)

constexpr int COUNT = 1 << 26;
constexpr int TOGETHER = 10, ROUNDS = 5;

struct IsSmall {
    __device__ bool operator()(uint32_t number) const { return number < (1u << 31); }
};

// `call(memory, bytes)` is a function of cub: without memory it says how much it needs.
template <typename Call>
void measure(const char *name, Call call) {
    size_t bytes = 0;
    CHECK(call(nullptr, bytes));
    void *memory;
    CHECK(cudaMalloc(&memory, bytes));
    cudaEvent_t first, last;
    CHECK(cudaEventCreate(&first));
    CHECK(cudaEventCreate(&last));
    CHECK(call(memory, bytes));
    CHECK(cudaDeviceSynchronize());
    float least = 1e30f;
    for (int round = 0; round < ROUNDS; round++) {
        CHECK(cudaEventRecord(first));
        for (int i = 0; i < TOGETHER; i++)
            CHECK(call(memory, bytes));
        CHECK(cudaEventRecord(last));
        CHECK(cudaEventSynchronize(last));
        float elapsed;
        CHECK(cudaEventElapsedTime(&elapsed, first, last));
        least = std::min(least, elapsed);
    }
    std::printf("%s\t%.3f\n", name, least * 1000 / TOGETHER);
    std::fflush(stdout);
    CHECK(cudaFree(memory));
}

int main() {
    float *x, *y, *total;
    uint32_t *keys, *made, *values, *made_values;
    int *counts, *selected;
    for (void **place : {(void **)&x, (void **)&y, (void **)&keys, (void **)&made, (void **)&values, (void **)&made_values})
        CHECK(cudaMalloc(place, size_t(COUNT) * 4));
    CHECK(cudaMalloc(&total, 4));
    CHECK(cudaMalloc(&selected, 4));
    CHECK(cudaMalloc(&counts, 256 * 4));
    std::vector<uint32_t> host(COUNT);
    uint32_t state = 12345;
    for (auto &number : host) {
        state ^= state << 13;
        state ^= state >> 17;
        state ^= state << 5;
        number = state;
    }
    CHECK(cudaMemcpy(keys, host.data(), size_t(COUNT) * 4, cudaMemcpyHostToDevice));
    std::vector<float> ones(COUNT, 1.0f);
    CHECK(cudaMemcpy(x, ones.data(), size_t(COUNT) * 4, cudaMemcpyHostToDevice));
    CHECK(cudaMemset(values, 0, size_t(COUNT) * 4));
    measure("sum", [&](void *m, size_t &b) { return cub::DeviceReduce::Sum(m, b, x, total, COUNT); });
    measure("cumsum", [&](void *m, size_t &b) { return cub::DeviceScan::InclusiveSum(m, b, x, y, COUNT); });
    measure("select", [&](void *m, size_t &b) { return cub::DeviceSelect::If(m, b, keys, made, selected, COUNT, IsSmall()); });
    measure("unique", [&](void *m, size_t &b) { return cub::DeviceSelect::Unique(m, b, keys, made, selected, COUNT); });
    measure("histogram", [&](void *m, size_t &b) {
        return cub::DeviceHistogram::HistogramEven(m, b, keys, counts, 257, 0u, 4294967295u, COUNT);
    });
    measure("sort", [&](void *m, size_t &b) { return cub::DeviceRadixSort::SortKeys(m, b, keys, made, COUNT); });
    measure("sort pairs", [&](void *m, size_t &b) {
        return cub::DeviceRadixSort::SortPairs(m, b, keys, made, values, made_values, COUNT);
    });
}
