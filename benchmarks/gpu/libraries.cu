// What NVIDIA's cub takes for the work of some kernels of this folder. Prints the kernel's name, the library's and the time.
#include "timing.cuh"
#include <cub/cub.cuh>

constexpr int COUNT = 1 << 26, BINS = 256;

struct MultipleOfFour { __device__ bool operator()(int value) const { return (value & 3) == 0; } };

template <typename Call> static void tell(const char *name, Call call) {
    size_t bytes = 0;
    void *room = nullptr;
    CHECK(call(room, bytes));
    CHECK(cudaMalloc(&room, bytes));
    double took = timed(name, [&] { CHECK(call(room, bytes)); });
    if (took > 0) printf("%s\tcub\t%.3f\n", name, took);
    CHECK(cudaFree(room));
}

int main(int argc, char **argv) {
    begin(argc, argv);
    float *x = floats(COUNT), *sum = floats(1);
    int *values = ints(COUNT, BINS), *wide = ints(COUNT, 1 << 20), *bins = ints(BINS, 1), *most = ints(1, 1);
    int *kept = ints(COUNT, 1), *many = ints(1, 1);
    tell("sum", [&](void *room, size_t &bytes) { return cub::DeviceReduce::Sum(room, bytes, x, sum, COUNT); });
    tell("largest", [&](void *room, size_t &bytes) { return cub::DeviceReduce::Max(room, bytes, wide, most, COUNT); });
    tell("histogram_shared", [&](void *room, size_t &bytes) {
        return cub::DeviceHistogram::HistogramEven(room, bytes, values, bins, BINS + 1, 0, BINS, COUNT);
    });
    tell("compact", [&](void *room, size_t &bytes) {
        return cub::DeviceSelect::If(room, bytes, wide, kept, many, COUNT, MultipleOfFour());
    });
}
