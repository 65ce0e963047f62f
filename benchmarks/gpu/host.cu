// What the host's side takes in CUDA: the twin of host.kpy, for launches, graphs and copies.
#include "timing.cuh"
#include <chrono>

static double now() {
    return std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

static void tell(const char *name, double value, const char *unit) { printf("%s\t%.3f\t%s\n", name, value, unit); }

__global__ void nothing(float *p) {
    if (blockIdx.x * blockDim.x + threadIdx.x > 1 << 30) p[0] = 1;
}

__global__ void add_one(float *p) { p[blockIdx.x * blockDim.x + threadIdx.x] += 1; }

constexpr int COUNT = 1000, REPLAYS = 20;

template <typename Launch> static double of_a_graph(cudaStream_t stream, Launch launch) {
    cudaGraph_t graph; cudaGraphExec_t made;
    CHECK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeRelaxed));
    for (int i = 0; i < COUNT; i++) launch();
    CHECK(cudaStreamEndCapture(stream, &graph));
    CHECK(cudaGraphInstantiateWithFlags(&made, graph, 0));
    CHECK(cudaGraphLaunch(made, stream)); CHECK(cudaStreamSynchronize(stream));
    double least = 1e30;
    for (int i = 0; i < REPLAYS; i++) {
        double begin = now();
        CHECK(cudaGraphLaunch(made, stream)); CHECK(cudaStreamSynchronize(stream));
        double took = (now() - begin) / COUNT;
        if (took < least) least = took;
    }
    return least;
}

int main() {
    constexpr size_t LARGE = 64 << 20;
    cudaStream_t stream;
    CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    float *host, *device, *small;
    CHECK(cudaMallocHost(&host, LARGE * 4)); CHECK(cudaMalloc(&device, LARGE * 4)); CHECK(cudaMalloc(&small, 4096));
    memset(host, 0, LARGE * 4);
    for (int way = 0; way < 2; way++) {
        cudaMemcpyKind kind = way ? cudaMemcpyDeviceToHost : cudaMemcpyHostToDevice;
        void *to = way ? host : device, *from = way ? device : host;
        CHECK(cudaMemcpyAsync(to, from, LARGE * 4, kind, stream)); CHECK(cudaStreamSynchronize(stream));
        double begin = now();
        for (int i = 0; i < 5; i++) CHECK(cudaMemcpyAsync(to, from, LARGE * 4, kind, stream));
        CHECK(cudaStreamSynchronize(stream));
        tell(way ? "copy to the host, 256 MiB" : "copy to the device, 256 MiB", 5 * 4e-3 * LARGE / (now() - begin), "GB/s");
    }
    auto work = [&] { add_one<<<4, 256, 0, stream>>>(small); };
    auto idle = [&] { nothing<<<1, 32, 0, stream>>>(small); };
    for (int i = 0; i < COUNT; i++) work();
    CHECK(cudaStreamSynchronize(stream));
    double begin = now();
    for (int i = 0; i < COUNT; i++) work();
    double enqueued = now();
    CHECK(cudaStreamSynchronize(stream));
    tell("a launch, on the host", (enqueued - begin) / COUNT, "us");
    tell("a launch", (now() - begin) / COUNT, "us");
    tell("an empty kernel of a graph of 1000", of_a_graph(stream, idle), "us");
    tell("a kernel of a graph of 1000", of_a_graph(stream, work), "us");
}
