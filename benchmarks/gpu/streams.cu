// Kernels that pass over memory once: twins of streams.kpy.
#include "timing.cuh"

constexpr int COUNT = 1 << 26, BLOCK = 256;

__global__ void copy(const float *source, float *target, int count) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < count) target[i] = source[i];
}

__global__ void copy4(const float *source, float *target, int count) {
    int i = (blockIdx.x * blockDim.x + threadIdx.x) * 4;
    if (i < count) *(float4 *)(target + i) = *(const float4 *)(source + i);
}

__global__ void saxpy(float a, const float *x, float *y, int count) {
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < count; i += gridDim.x * blockDim.x)
        y[i] = a * x[i] + y[i] * 0.5f;
}

__global__ void gelu(const float *x, float *y, int count) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < count) {
        float v = x[i];
        y[i] = 0.5f * v * (1 + tanhf(0.7978845608f * (v + 0.044715f * v * v * v)));
    }
}

__global__ void gather(const int *index, const float *x, float *y, int count) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < count) y[i] = x[index[i]];
}

__device__ float cumulative(float d) { return 0.5f * (1 + erff(d * 0.7071067811865476f)); }

__global__ void black_scholes(const float *spot, const float *strike, float *call, int count) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < count) {
        float s = spot[i] * 50 + 10, k = strike[i] * 50 + 10;
        const float rate = 0.02f, volatility = 0.3f, years = 1.5f;
        float root = volatility * sqrtf(years);
        float d1 = (logf(s / k) + (rate + 0.5f * volatility * volatility) * years) / root;
        float d2 = d1 - root;
        call[i] = s * cumulative(d1) - k * expf(-rate * years) * cumulative(d2);
    }
}

int main(int argc, char **argv) {
    begin(argc, argv);
    float *x = floats(COUNT), *y = floats(COUNT, 7), *z = floats(COUNT, 3);
    int *index = ints(COUNT, COUNT);
    show("copy", timed("copy", [&] { copy<<<COUNT / BLOCK, BLOCK>>>(x, z, COUNT); }), z, COUNT);
    show("copy4", timed("copy4", [&] { copy4<<<COUNT / BLOCK / 4, BLOCK>>>(x, z, COUNT); }), z, COUNT);
    show("gelu", timed("gelu", [&] { gelu<<<COUNT / BLOCK, BLOCK>>>(x, z, COUNT); }), z, COUNT);
    show("saxpy", timed("saxpy", [&] { saxpy<<<132 * 8, BLOCK>>>(2, x, z, COUNT); }), z, COUNT);
    show("gather", timed("gather", [&] { gather<<<COUNT / BLOCK, BLOCK>>>(index, x, z, COUNT); }), z, COUNT);
    show("black_scholes", timed("black_scholes", [&] { black_scholes<<<COUNT / BLOCK, BLOCK>>>(x, y, z, COUNT); }), z, COUNT);
}
