// Kernels that make few numbers of many: twins of reductions.kpy.
#include "timing.cuh"

constexpr int COUNT = 1 << 26, BLOCK = 256, ROWS = 16384, COLUMNS = 4096;

__device__ float warp_sum(float v) {
    for (int d = 16; d > 0; d /= 2) v += __shfl_xor_sync(~0u, v, d);
    return v;
}

__device__ float warp_max(float v) {
    for (int d = 16; d > 0; d /= 2) v = fmaxf(v, __shfl_xor_sync(~0u, v, d));
    return v;
}

__device__ float block_sum(float v) {
    __shared__ float parts[32];
    int lane = threadIdx.x % 32;
    v = warp_sum(v);
    if (lane == 0) parts[threadIdx.x / 32] = v;
    __syncthreads();
    v = warp_sum(lane < BLOCK / 32 ? parts[lane] : 0);
    __syncthreads();
    return v;
}

__device__ float block_max(float v) {
    __shared__ float parts[32];
    int lane = threadIdx.x % 32;
    v = warp_max(v);
    if (lane == 0) parts[threadIdx.x / 32] = v;
    __syncthreads();
    v = warp_max(lane < BLOCK / 32 ? parts[lane] : parts[0]);
    __syncthreads();
    return v;
}

__global__ void sum_plain(const float *x, float *result, int count) {
    float sum = 0;
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < count; i += gridDim.x * blockDim.x) sum += x[i];
    sum = block_sum(sum);
    if (threadIdx.x == 0) result[blockIdx.x] = sum;
}

__global__ void sum_wide(const float *x, float *result, int count) {
    float4 sum = {0, 0, 0, 0};
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < count / 4; i += gridDim.x * blockDim.x) {
        float4 v = ((const float4 *)x)[i];
        sum.x += v.x; sum.y += v.y; sum.z += v.z; sum.w += v.w;
    }
    float all = block_sum(sum.x + sum.y + sum.z + sum.w);
    if (threadIdx.x == 0) result[blockIdx.x] = all;
}

__global__ void dot(const float *x, const float *y, float *result, int count) {
    float sum = 0;
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < count; i += gridDim.x * blockDim.x) sum += x[i] * y[i];
    sum = block_sum(sum);
    if (threadIdx.x == 0) result[blockIdx.x] = sum;
}

__global__ void softmax(const float *x, float *y, int columns) {
    const float *row = x + (long)blockIdx.x * columns;
    float *made = y + (long)blockIdx.x * columns, most = -FLT_MAX, sum = 0;
    for (int i = threadIdx.x; i < columns; i += BLOCK) most = fmaxf(most, row[i]);
    most = block_max(most);
    for (int i = threadIdx.x; i < columns; i += BLOCK) sum += expf(row[i] - most);
    sum = 1 / block_sum(sum);
    for (int i = threadIdx.x; i < columns; i += BLOCK) made[i] = expf(row[i] - most) * sum;
}

__global__ void rms_norm(const float *x, const float *weight, float *y, int columns) {
    const float *row = x + (long)blockIdx.x * columns;
    float *made = y + (long)blockIdx.x * columns, sum = 0;
    for (int i = threadIdx.x; i < columns; i += BLOCK) sum += row[i] * row[i];
    float scale = rsqrtf(block_sum(sum) / columns + 1e-6f);
    for (int i = threadIdx.x; i < columns; i += BLOCK) made[i] = row[i] * scale * weight[i];
}

__global__ void column_sums(const float *x, float *result, int rows, int columns) {
    int column = blockIdx.x * blockDim.x + threadIdx.x;
    float sum = 0;
    for (int row = blockIdx.y * 64; row < blockIdx.y * 64 + 64; row++) sum += x[row * columns + column];
    result[blockIdx.y * columns + column] = sum;
}

__global__ void gemv(const float *matrix, const float *x, float *y, int columns) {
    int row = (blockIdx.x * blockDim.x + threadIdx.x) / 32, lane = threadIdx.x % 32;
    float sum = 0;
    for (int i = lane; i < columns; i += 32) sum += matrix[row * columns + i] * x[i];
    sum = warp_sum(sum);
    if (lane == 0) y[row] = sum;
}

int main(int argc, char **argv) {
    begin(argc, argv);
    constexpr int blocks = 132 * 8;
    float *x = floats(COUNT), *y = floats(COUNT, 7), *z = floats(COUNT, 3), *result = floats(blocks);
    show("sum", timed("sum", [&] { sum_plain<<<blocks, BLOCK>>>(x, result, COUNT); }), result, blocks);
    show("sum_few_threads", timed("sum_few_threads", [&] { sum_plain<<<132, BLOCK>>>(x, result, COUNT); }), result, blocks);
    show("sum_wide", timed("sum_wide", [&] { sum_wide<<<blocks, BLOCK>>>(x, result, COUNT); }), result, blocks);
    show("dot", timed("dot", [&] { dot<<<blocks, BLOCK>>>(x, y, result, COUNT); }), result, blocks);
    show("softmax", timed("softmax", [&] { softmax<<<ROWS, BLOCK>>>(x, z, COLUMNS); }), z, COUNT);
    show("rms_norm", timed("rms_norm", [&] { rms_norm<<<ROWS, BLOCK>>>(x, y, z, COLUMNS); }), z, COUNT);
    float *sums = floats(COLUMNS * ROWS / 64), *rows = floats(ROWS);
    dim3 grid(COLUMNS / BLOCK, ROWS / 64);
    show("column_sums", timed("column_sums", [&] { column_sums<<<grid, BLOCK>>>(x, sums, ROWS, COLUMNS); }), sums,
         COLUMNS * ROWS / 64);
    show("gemv", timed("gemv", [&] { gemv<<<ROWS * 32 / BLOCK, BLOCK>>>(x, y, rows, COLUMNS); }), rows, ROWS);
}
