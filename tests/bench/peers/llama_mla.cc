// llama.cpp's flash attention on the CPU over a latent cache: 512 + 64 numbers a token in fp16, one row of queries.
// Prints the median nanoseconds a token. Built and run by mla_wide.py.
//   llama_mla TOKENS HEADS THREADS
#include <ggml-cpu.h>
#include <ggml.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <vector>

int main(int argc, char** argv) {
  if (argc != 4) return 2;
  const int64_t tokens = std::atoll(argv[1]), heads = std::atoll(argv[2]);
  const int threads = std::atoi(argv[3]);
  const int64_t width = 576, values = 512;
  ggml_init_params init = {static_cast<size_t>(tokens * (width + 1) * 2) + (size_t{256} << 20), nullptr, false};
  ggml_context* context = ggml_init(init);
  ggml_tensor* query = ggml_new_tensor_3d(context, GGML_TYPE_F32, width, 1, heads);
  ggml_tensor* keys = ggml_new_tensor_3d(context, GGML_TYPE_F16, width, tokens, 1);
  // The values are the first numbers of the keys.
  ggml_tensor* part = ggml_view_3d(context, keys, values, tokens, 1, keys->nb[1], keys->nb[2], 0);
  unsigned state = 1;
  const auto number = [&] {
    state = state * 1664525u + 1013904223u;
    return static_cast<float>(state >> 8) / 8388608.0f - 1.0f;
  };
  for (int64_t i = 0; i < ggml_nelements(query); ++i) static_cast<float*>(query->data)[i] = number();
  for (int64_t i = 0; i < ggml_nelements(keys); ++i)
    static_cast<ggml_fp16_t*>(keys->data)[i] = ggml_fp32_to_fp16(number());
  ggml_tensor* out =
      ggml_flash_attn_ext(context, query, keys, part, nullptr, 1.0f / std::sqrt(static_cast<float>(width)), 0.0f, 0.0f);
  ggml_cgraph* graph = ggml_new_graph(context);
  ggml_build_forward_expand(graph, out);
  std::vector<double> times;
  for (int i = 0; i < 11; ++i) {
    const auto began = std::chrono::steady_clock::now();
    if (ggml_graph_compute_with_ctx(context, graph, threads) != GGML_STATUS_SUCCESS) return 1;
    times.push_back(std::chrono::duration<double, std::nano>(std::chrono::steady_clock::now() - began).count());
  }
  std::sort(times.begin() + 2, times.end());
  std::printf("%.2f\n", times[6] / static_cast<double>(tokens));
  ggml_free(context);
}
