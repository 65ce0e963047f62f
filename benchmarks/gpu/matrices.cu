// Transposes and products of matrices: twins of matrices.kpy.
#include "timing.cuh"

constexpr int SIDE = 8192, N = 2048, TILE = 32, HEADS = 64, TOKENS = 1024, HEAD = 64;

__global__ void transpose(const float *x, float *y, int side) {
    __shared__ float tile[TILE][TILE + 1];
    int column = blockIdx.x * TILE + threadIdx.x, row = blockIdx.y * TILE + threadIdx.y;
    #pragma unroll
    for (int j = 0; j < TILE; j += 8) tile[threadIdx.y + j][threadIdx.x] = x[(row + j) * side + column];
    __syncthreads();
    column = blockIdx.y * TILE + threadIdx.x; row = blockIdx.x * TILE + threadIdx.y;
    #pragma unroll
    for (int j = 0; j < TILE; j += 8) y[(row + j) * side + column] = tile[threadIdx.x][threadIdx.y + j];
}

__global__ void matmul_naive(const float *a, const float *b, float *c, int n) {
    int row = blockIdx.y * blockDim.y + threadIdx.y, column = blockIdx.x * blockDim.x + threadIdx.x;
    float sum = 0;
    for (int k = 0; k < n; k++) sum += a[row * n + k] * b[k * n + column];
    c[row * n + column] = sum;
}

__global__ void matmul_tiled(const float *a, const float *b, float *c, int n) {
    __shared__ float one[TILE][TILE], two[TILE][TILE];
    int x = threadIdx.x, y = threadIdx.y, row = blockIdx.y * TILE + y, column = blockIdx.x * TILE + x;
    float sum = 0;
    for (int k = 0; k < n; k += TILE) {
        one[y][x] = a[row * n + k + x];
        two[y][x] = b[(k + y) * n + column];
        __syncthreads();
        #pragma unroll
        for (int j = 0; j < TILE; j++) sum += one[y][j] * two[j][x];
        __syncthreads();
    }
    c[row * n + column] = sum;
}

__global__ void matmul_blocked(const float *a, const float *b, float *c, int n) {
    constexpr int BM = 128, BK = 8, T = 8;
    __shared__ __align__(16) float one[BK * BM], two[BK * BM];
    int t = threadIdx.x, row = t / 16 * T, column = t % 16 * T;
    float sums[T][T] = {};
    const float *from_a = a + (blockIdx.y * BM + t / 2) * n + t % 2 * 4;
    const float *from_b = b + t / 32 * n + blockIdx.x * BM + t % 32 * 4;
    for (int k = 0; k < n; k += BK) {
        float4 part = *(const float4 *)(from_a + k);
        one[(t % 2 * 4 + 0) * BM + t / 2] = part.x;
        one[(t % 2 * 4 + 1) * BM + t / 2] = part.y;
        one[(t % 2 * 4 + 2) * BM + t / 2] = part.z;
        one[(t % 2 * 4 + 3) * BM + t / 2] = part.w;
        *(float4 *)(two + t / 32 * BM + t % 32 * 4) = *(const float4 *)(from_b + k * n);
        __syncthreads();
        #pragma unroll
        for (int j = 0; j < BK; j++) {
            float left[T], right[T];
            #pragma unroll
            for (int i = 0; i < T; i += 4) {
                *(float4 *)(left + i) = *(const float4 *)(one + j * BM + row + i);
                *(float4 *)(right + i) = *(const float4 *)(two + j * BM + column + i);
            }
            #pragma unroll
            for (int i = 0; i < T; i++)
                #pragma unroll
                for (int l = 0; l < T; l++) sums[i][l] += left[i] * right[l];
        }
        __syncthreads();
    }
    #pragma unroll
    for (int i = 0; i < T; i++)
        #pragma unroll
        for (int l = 0; l < T; l++) c[(blockIdx.y * BM + row + i) * n + blockIdx.x * BM + column + l] = sums[i][l];
}

__global__ void spmv(const int *starts, const int *columns, const float *values, const float *x, float *y, int rows) {
    int row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row < rows) {
        float sum = 0;
        for (int i = starts[row]; i < starts[row + 1]; i++) sum += values[i] * x[columns[i]];
        y[row] = sum;
    }
}

__global__ void starts_of_rows(int *starts, int each) {
    starts[blockIdx.x * blockDim.x + threadIdx.x] = (blockIdx.x * blockDim.x + threadIdx.x) * each;
}

__device__ float warp_sum(float v) {
    for (int d = 16; d > 0; d /= 2) v += __shfl_xor_sync(~0u, v, d);
    return v;
}

__global__ void attention(const float *q, const float *k, const float *v, float *made, int tokens) {
    int lane = threadIdx.x % 32, query = (blockIdx.x * blockDim.x + threadIdx.x) / 32;
    int head = query / tokens * tokens * HEAD, at = query * HEAD + lane * 2;
    float2 mine = *(const float2 *)(q + at), out = {0, 0};
    float most = -FLT_MAX, sum = 0;
    for (int token = 0; token < tokens; token++) {
        float2 key = *(const float2 *)(k + head + token * HEAD + lane * 2);
        float score = warp_sum(mine.x * key.x + mine.y * key.y) * 0.125f;
        float higher = fmaxf(most, score), scale = expf(most - higher), weight = expf(score - higher);
        float2 value = *(const float2 *)(v + head + token * HEAD + lane * 2);
        sum = sum * scale + weight;
        out.x = out.x * scale + weight * value.x;
        out.y = out.y * scale + weight * value.y;
        most = higher;
    }
    *(float2 *)(made + at) = float2{out.x / sum, out.y / sum};
}

int main(int argc, char **argv) {
    begin(argc, argv);
    float *x = floats(SIDE * SIDE), *y = floats(SIDE * SIDE, 7), *z = floats(SIDE * SIDE, 3), *c = floats(N * N);
    dim3 grid(SIDE / TILE, SIDE / TILE), block(TILE, 8), tiles(N / TILE, N / TILE), tile(TILE, TILE), parts(N / 128, N / 128);
    show("transpose", timed("transpose", [&] { transpose<<<grid, block>>>(x, z, SIDE); }), z, SIDE * SIDE);
    show("matmul_naive", timed("matmul_naive", [&] { matmul_naive<<<tiles, tile>>>(x, y, c, N); }, 5), c, N * N);
    show("matmul_tiled", timed("matmul_tiled", [&] { matmul_tiled<<<tiles, tile>>>(x, y, c, N); }, 5), c, N * N);
    show("matmul_blocked", timed("matmul_blocked", [&] { matmul_blocked<<<parts, 256>>>(x, y, c, N); }, 5), c, N * N);
    constexpr int rows = 1 << 20, each = 32;
    int *starts = ints(rows + 256, 1), *columns = ints(rows * each, rows);
    starts_of_rows<<<rows / 256 + 1, 256>>>(starts, each);
    float *made = floats(rows);
    show("spmv", timed("spmv", [&] { spmv<<<rows / 256, 256>>>(starts, columns, x, y, made, rows); }), made, rows);
    constexpr int size = HEADS * TOKENS * HEAD;
    float *out = floats(size);
    show("attention", timed("attention", [&] { attention<<<HEADS * TOKENS / 8, 256>>>(x, y, z, out, TOKENS); }, 5), out, size);
}
