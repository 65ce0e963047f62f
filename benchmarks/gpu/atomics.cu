// Kernels whose threads change the same numbers: twins of atomics.kpy.
#include "timing.cuh"

constexpr int COUNT = 1 << 26, BLOCK = 256, BINS = 256;

__global__ void histogram_shared(const int *values, int *bins, int count) {
    __shared__ int mine[BINS];
    mine[threadIdx.x] = 0;
    __syncthreads();
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < count; i += gridDim.x * blockDim.x)
        atomicAdd(&mine[values[i] & (BINS - 1)], 1);
    __syncthreads();
    atomicAdd(&bins[threadIdx.x], mine[threadIdx.x]);
}

__global__ void histogram_global(const int *values, int *bins, int count) {
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < count; i += gridDim.x * blockDim.x)
        atomicAdd(&bins[values[i]], 1);
}

__global__ void scatter_add(const int *index, const float *x, float *y, int count) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < count) atomicAdd(&y[index[i]], x[i]);
}

__global__ void largest(const int *values, int *most, int count) {
    __shared__ int mine;
    if (threadIdx.x == 0) mine = 0;
    __syncthreads();
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < count; i += gridDim.x * blockDim.x)
        atomicMax(&mine, values[i]);
    __syncthreads();
    if (threadIdx.x == 0) atomicMax(&most[blockIdx.x], mine);
}

__global__ void compact(const int *values, int *counter, int *target, int count) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < count && (values[i] & 3) == 0) target[atomicAdd(counter, 1) & (COUNT - 1)] = 4;
}

int main(int argc, char **argv) {
    begin(argc, argv);
    constexpr int blocks = 132 * 8, MANY = 1 << 20;
    float *x = floats(COUNT), *sums = floats(MANY);
    CHECK(cudaMemset(sums, 0, MANY * sizeof(float)));
    int *values = ints(COUNT, MANY), *bins = ints(BINS, 1), *many = ints(MANY, 1), *most = ints(blocks, 1);
    int *counter = ints(1, 1), *kept = ints(COUNT, 1);
    show("histogram_shared", timed("histogram_shared", [&] { histogram_shared<<<blocks, BLOCK>>>(values, bins, COUNT); }, 10), bins, BINS);
    show("histogram_global", timed("histogram_global", [&] { histogram_global<<<blocks, BLOCK>>>(values, many, COUNT); }, 10), many, MANY);
    show("scatter_add", timed("scatter_add", [&] { scatter_add<<<COUNT / BLOCK, BLOCK>>>(values, x, sums, COUNT); }, 10), sums, MANY);
    show("largest", timed("largest", [&] { largest<<<blocks, BLOCK>>>(values, most, COUNT); }, 10), most, blocks);
    show("compact", timed("compact", [&] { compact<<<COUNT / BLOCK, BLOCK>>>(values, counter, kept, COUNT); }, 10), kept, COUNT);
}
