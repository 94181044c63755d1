// CudnnSdpa: one graph of cuDNN's frontend for each size. The frontend throws and returns errors; both become Status.
#include "core/backend/cuda/cudnn_sdpa.h"

#include <cudnn_frontend.h>
#include <dlfcn.h>

#include <cstdint>
#include <cstdlib>
#include <exception>
#include <map>
#include <mutex>
#include <string>
#include <tuple>
#include <unordered_map>
#include <utility>
#include <vector>

#include "core/backend/cuda/cuda_stream.h"

// Where the frontend looks cuDNN's functions up.
namespace cudnn_frontend {
void* cudnn_dlhandle = nullptr;
}

namespace longview {
namespace {

namespace fe = cudnn_frontend;

constexpr char kLibrary[] = "libcudnn.so.9";
enum Tensor : int64_t { kQ = 1, kK, kV, kOut };

// Loads the library once; the process keeps it.
Status LoadLibrary() {
  static std::mutex mutex;
  const std::scoped_lock lock(mutex);
  if (fe::cudnn_dlhandle != nullptr) return Status::Ok();
  // Where two CUDA runtimes are installed the frontend takes the older one, whose calls differ from this build's.
  setenv("CUDNN_FRONTEND_CUDART_LIB_NAME", "libcudart.so.13", /*replace=*/0);
  fe::cudnn_dlhandle = dlopen(kLibrary, RTLD_NOW | RTLD_LOCAL);
  return fe::cudnn_dlhandle != nullptr ? Status::Ok() : Unsupported(std::string(kLibrary) + " is not on this machine");
}

// cuDNN's own functions may throw (a symbol that is missing, a runtime that cannot be loaded).
template <class F>
Status Guarded(const char* what, const F& f) {
  try {
    return f();
  } catch (const std::exception& error) {
    return Unsupported(std::string("cuDNN: ") + what + " failed: " + error.what());
  }
}

Status Check(const fe::error_t& error, const char* what) {
  if (error.code == fe::error_code_t::OK) return Status::Ok();
  const std::string text = std::string("cuDNN: ") + what + " failed: " + error.err_msg;
  const bool broken =
      error.code == fe::error_code_t::CUDNN_BACKEND_API_FAILED || error.code == fe::error_code_t::CUDA_API_FAILED;
  return broken ? InternalError(text) : Unsupported(text);
}

using Key = std::tuple<size_t, size_t, size_t, size_t, size_t, size_t, float>;

}  // namespace

struct CudnnSdpa::Impl {
  ~Impl() {
    if (handle != nullptr) fe::detail::destroy_handle(handle);
    if (workspace != nullptr) cudaFree(workspace);
  }

  Result<std::shared_ptr<fe::graph::Graph>> Build(const GpuSdpa& call);
  Status Run(const GpuSdpa& call, cudaStream_t stream);

  cudnnHandle_t handle = nullptr;
  std::map<Key, std::shared_ptr<fe::graph::Graph>> graphs;
  void* workspace = nullptr;
  size_t workspace_bytes = 0;
};

Result<std::shared_ptr<fe::graph::Graph>> CudnnSdpa::Impl::Build(const GpuSdpa& call) {
  const auto n = [](size_t value) { return static_cast<int64_t>(value); };
  auto graph = std::make_shared<fe::graph::Graph>();
  graph->set_io_data_type(fe::DataType_t::BFLOAT16)
      .set_intermediate_data_type(fe::DataType_t::FLOAT)
      .set_compute_data_type(fe::DataType_t::FLOAT);
  const std::vector<int64_t> size = {n(call.pictures), n(call.heads), n(call.rows), n(call.head_dim)};
  const auto strides = [&](size_t row) {
    return std::vector<int64_t>{n(call.rows * row), n(call.head_dim), n(row), 1};
  };
  const auto input = [&](const char* name, Tensor id) {
    return graph->tensor(
        fe::graph::Tensor_attributes().set_name(name).set_uid(id).set_dim(size).set_stride(strides(call.row_stride)));
  };
  auto [out, stats] =
      graph->sdpa(input("q", kQ), input("k", kK), input("v", kV),
                  fe::graph::SDPA_attributes().set_name("sdpa").set_generate_stats(false).set_attn_scale(call.scale));
  out->set_output(true).set_uid(kOut).set_dim(size).set_stride(strides(call.out_stride));
  LV_RETURN_IF_ERROR(Check(graph->build(handle, {fe::HeurMode_t::A}), "building attention"));
  int64_t bytes = 0;
  LV_RETURN_IF_ERROR(Check(graph->get_workspace_size(bytes), "asking for its workspace"));
  if (static_cast<size_t>(bytes) > workspace_bytes) {
    // Freeing waits for the work that may still use it.
    cudaFree(workspace);
    workspace = nullptr;
    workspace_bytes = 0;
    LV_RETURN_IF_ERROR(CudaCheck(cudaMalloc(&workspace, static_cast<size_t>(bytes)), "taking device memory"));
    workspace_bytes = static_cast<size_t>(bytes);
  }
  return graph;
}

Status CudnnSdpa::Impl::Run(const GpuSdpa& call, cudaStream_t stream) {
  const Key key(call.pictures, call.rows, call.heads, call.head_dim, call.row_stride, call.out_stride, call.scale);
  auto at = graphs.find(key);
  if (at == graphs.end()) {
    LV_ASSIGN_OR_RETURN(auto graph, Build(call));
    at = graphs.emplace(key, std::move(graph)).first;
  }
  LV_RETURN_IF_ERROR(fe::detail::set_stream(handle, stream) == CUDNN_STATUS_SUCCESS
                         ? Status::Ok()
                         : InternalError("cuDNN: choosing a stream failed"));
  const auto data = [](const uint16_t* p) { return const_cast<void*>(static_cast<const void*>(p)); };
  std::unordered_map<int64_t, void*> tensors = {
      {kQ, data(call.q)}, {kK, data(call.k)}, {kV, data(call.v)}, {kOut, call.out}};
  return Check(at->second->execute(handle, tensors, workspace), "attention");
}

CudnnSdpa::CudnnSdpa(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
CudnnSdpa::~CudnnSdpa() = default;

Result<std::unique_ptr<CudnnSdpa>> CudnnSdpa::Make() {
  LV_RETURN_IF_ERROR(LoadLibrary());
  auto impl = std::make_unique<Impl>();
  LV_RETURN_IF_ERROR(Guarded("opening the library", [&] {
    return fe::detail::create_handle(&impl->handle) == CUDNN_STATUS_SUCCESS
               ? Status::Ok()
               : Unsupported("cuDNN cannot be opened on this GPU");
  }));
  return std::unique_ptr<CudnnSdpa>(new CudnnSdpa(std::move(impl)));
}

Status CudnnSdpa::Run(const GpuSdpa& call, cudaStream_t stream) {
  return Guarded("attention", [&] { return impl_->Run(call, stream); });
}

}  // namespace longview
