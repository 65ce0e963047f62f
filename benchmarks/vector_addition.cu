#include <cstdio>
#include <cstdlib>

constexpr int WIDTH = 10;
constexpr int BLOCK = 5;

#define CHECK(call)                                                                                  \
    do {                                                                                             \
        cudaError_t status = (call);                                                                 \
        if (status != cudaSuccess) {                                                                 \
            fprintf(stderr, "%s\n", cudaGetErrorString(status));                                     \
            exit(1);                                                                                 \
        }                                                                                            \
    } while (0)

__global__ void fill(float *data, float value, int size) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < size) data[i] = value;
}

__global__ void vector_addition(const float *lhs, const float *rhs, float *out, int size) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < size) out[i] = lhs[i] + rhs[i];
}

int main() {
    float *lhs, *rhs, *out, host[WIDTH];
    CHECK(cudaMalloc(&lhs, sizeof host));
    CHECK(cudaMalloc(&rhs, sizeof host));
    CHECK(cudaMalloc(&out, sizeof host));
    int blocks = (WIDTH + BLOCK - 1) / BLOCK;
    fill<<<blocks, BLOCK>>>(lhs, 1.25f, WIDTH);
    fill<<<blocks, BLOCK>>>(rhs, 2.5f, WIDTH);
    vector_addition<<<blocks, BLOCK>>>(lhs, rhs, out, WIDTH);
    CHECK(cudaGetLastError());
    CHECK(cudaMemcpy(host, out, sizeof host, cudaMemcpyDeviceToHost));
    printf("Resulting vector:");
    for (float value : host) printf(" %g", value);
    printf("\n");
    return 0;
}
