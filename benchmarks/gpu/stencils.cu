// Kernels that look at neighbours: twins of stencils.kpy.
#include "timing.cuh"

constexpr int COUNT = 1 << 26, BLOCK = 256, SIDE = 8192, RADIUS = 8, POINTS = 2 * RADIUS + 1;

__global__ void conv1d(const float *x, const float *weights, float *y, int count) {
    __shared__ float held[BLOCK + 2 * RADIUS];
    int t = threadIdx.x, i = blockIdx.x * blockDim.x + t;
    held[t + RADIUS] = x[i];
    if (t < RADIUS) {
        held[t] = i >= RADIUS ? x[i - RADIUS] : 0;
        held[t + RADIUS + BLOCK] = i + BLOCK < count ? x[i + BLOCK] : 0;
    }
    __syncthreads();
    float sum = 0;
    #pragma unroll
    for (int j = 0; j < POINTS; j++) sum += held[t + j] * weights[j];
    y[i] = sum;
}

__global__ void stencil5(const float *x, float *y, int side) {
    int column = blockIdx.x * blockDim.x + threadIdx.x, row = blockIdx.y * blockDim.y + threadIdx.y;
    if (0 < column && column < side - 1 && 0 < row && row < side - 1) {
        int i = row * side + column;
        y[i] = 0.5f * x[i] + 0.125f * (x[i - 1] + x[i + 1] + x[i - side] + x[i + side]);
    }
}

__global__ void conv2d(const float *x, const float *weights, float *y, int side) {
    int column = blockIdx.x * blockDim.x + threadIdx.x, row = blockIdx.y * blockDim.y + threadIdx.y;
    if (2 <= column && column < side - 2 && 2 <= row && row < side - 2) {
        float sum = 0;
        for (int dy = 0; dy < 5; dy++)
            for (int dx = 0; dx < 5; dx++) sum += x[(row + dy - 2) * side + column + dx - 2] * weights[dy * 5 + dx];
        y[row * side + column] = sum;
    }
}

__global__ void scan(const float *x, float *y, float *totals) {
    __shared__ float held[2 * BLOCK];
    int t = threadIdx.x, i = blockIdx.x * blockDim.x + t, inside = 0;
    held[t] = x[i];
    __syncthreads();
    for (int distance = 1; distance < BLOCK; distance *= 2) {
        int next = BLOCK - inside;
        if (t >= distance) held[next + t] = held[inside + t] + held[inside + t - distance];
        else held[next + t] = held[inside + t];
        inside = next;
        __syncthreads();
    }
    y[i] = held[inside + t];
    if (t == BLOCK - 1) totals[blockIdx.x] = held[inside + t];
}

__global__ void bitonic(const float *x, float *y) {
    __shared__ float held[BLOCK];
    int t = threadIdx.x, i = blockIdx.x * blockDim.x + t;
    held[t] = x[i];
    __syncthreads();
    for (int size = 2; size <= BLOCK; size *= 2)
        for (int step = size / 2; step > 0; step /= 2) {
            int other = t ^ step;
            if (other > t) {
                float one = held[t], two = held[other];
                if ((one > two) == ((t & size) == 0)) { held[t] = two; held[other] = one; }
            }
            __syncthreads();
        }
    y[i] = held[t];
}

int main(int argc, char **argv) {
    begin(argc, argv);
    float *x = floats(COUNT), *z = floats(COUNT, 3), *weights = floats(32, 5), *totals = floats(COUNT / BLOCK);
    dim3 grid(SIDE / 32, SIDE / 8), block(32, 8);
    show("conv1d", timed("conv1d", [&] { conv1d<<<COUNT / BLOCK, BLOCK>>>(x, weights, z, COUNT); }), z, COUNT);
    show("stencil5", timed("stencil5", [&] { stencil5<<<grid, block>>>(x, z, SIDE); }), z, COUNT);
    show("conv2d", timed("conv2d", [&] { conv2d<<<grid, block>>>(x, weights, z, SIDE); }), z, COUNT);
    show("scan", timed("scan", [&] { scan<<<COUNT / BLOCK, BLOCK>>>(x, z, totals); }), z, COUNT);
    show("bitonic", timed("bitonic", [&] { bitonic<<<COUNT / BLOCK, BLOCK>>>(x, z); }), z, COUNT);
}
