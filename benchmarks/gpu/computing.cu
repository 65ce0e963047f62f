// Kernels that compute more than they load: twins of computing.kpy.
#include "timing.cuh"

constexpr int BLOCK = 256, WIDTH = 4096, BODIES = 32768, STEPS = 256;

__global__ void mandelbrot(int *made, int width) {
    int column = blockIdx.x * blockDim.x + threadIdx.x, row = blockIdx.y * blockDim.y + threadIdx.y;
    float cx = (float)column / width * 3 - 2, cy = (float)row / width * 3 - 1.5f, x = 0, y = 0;
    int count = 0;
    while (count < STEPS && x * x + y * y <= 4) {
        float next = x * x - y * y + cx;
        y = 2 * x * y + cy;
        x = next;
        count++;
    }
    made[row * width + column] = count;
}

__global__ void nbody(const float *x, const float *y, const float *z, float *forces, int count) {
    __shared__ float held[3 * BLOCK];
    int t = threadIdx.x, i = blockIdx.x * blockDim.x + t;
    float px = x[i], py = y[i], pz = z[i], fx = 0, fy = 0, fz = 0;
    for (int tile = 0; tile < count; tile += BLOCK) {
        held[t] = x[tile + t]; held[BLOCK + t] = y[tile + t]; held[2 * BLOCK + t] = z[tile + t];
        __syncthreads();
        for (int j = 0; j < BLOCK; j++) {
            float dx = held[j] - px, dy = held[BLOCK + j] - py, dz = held[2 * BLOCK + j] - pz;
            float inverse = rsqrtf(dx * dx + dy * dy + dz * dz + 0.01f), weight = inverse * inverse * inverse;
            fx += dx * weight; fy += dy * weight; fz += dz * weight;
        }
        __syncthreads();
    }
    forces[i] = fx; forces[count + i] = fy; forces[2 * count + i] = fz;
}

__global__ void monte_carlo(int *inside, unsigned seed) {
    int i = blockIdx.x * blockDim.x + threadIdx.x, count = 0;
    unsigned state = i * 747796405u + seed;
    for (int j = 0; j < 1024; j++) {
        state ^= state << 13; state ^= state >> 17; state ^= state << 5;
        float x = (float)(int)(state >> 8) * 5.9604645e-08f;
        state ^= state << 13; state ^= state >> 17; state ^= state << 5;
        float y = (float)(int)(state >> 8) * 5.9604645e-08f;
        if (x * x + y * y < 1) count++;
    }
    inside[i] = count;
}

__global__ void polynomial(const float *x, float *y, int count) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < count) {
        float v = x[i], sum = 1;
        for (int j = 0; j < 64; j++) sum = sum * v + j;
        y[i] = sum;
    }
}

__global__ void primes(int *made, int count) {
    int i = blockIdx.x * blockDim.x + threadIdx.x, n = i + 1, found = 0;
    for (int d = 1; d < 257; d++)
        if (n % d == 0) found++;
    made[i] = found;
}

int main(int argc, char **argv) {
    begin(argc, argv);
    constexpr int THREADS = 1 << 20, COUNT = 1 << 26;
    int *pixels = ints(WIDTH * WIDTH, 1), *inside = ints(THREADS, 1);
    float *x = floats(BODIES, 1), *y = floats(BODIES, 2), *z = floats(BODIES, 3), *forces = floats(3 * BODIES);
    float *numbers = floats(COUNT), *made = floats(COUNT);
    dim3 grid(WIDTH / 32, WIDTH / 8), block(32, 8);
    show("mandelbrot", timed("mandelbrot", [&] { mandelbrot<<<grid, block>>>(pixels, WIDTH); }), pixels, WIDTH * WIDTH);
    show("nbody", timed("nbody", [&] { nbody<<<BODIES / BLOCK, BLOCK>>>(x, y, z, forces, BODIES); }, 5), forces, 3 * BODIES);
    show("monte_carlo", timed("monte_carlo", [&] { monte_carlo<<<THREADS / BLOCK, BLOCK>>>(inside, 12345); }, 5), inside, THREADS);
    show("polynomial", timed("polynomial", [&] { polynomial<<<COUNT / BLOCK, BLOCK>>>(numbers, made, COUNT); }), made, COUNT);
    show("primes", timed("primes", [&] { primes<<<THREADS / BLOCK, BLOCK>>>(inside, THREADS); }), inside, THREADS);
}
