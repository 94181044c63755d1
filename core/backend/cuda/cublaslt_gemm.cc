// CublasLtGemm: the library's functions by name, one plan (descriptors and the kernel chosen) for each size.
#include "core/backend/cuda/cublaslt_gemm.h"

#include <cublasLt.h>
#include <dlfcn.h>

#include <cstdint>
#include <map>
#include <string>
#include <tuple>
#include <utility>

#include "core/backend/cuda/cuda_stream.h"

namespace longview {
namespace {

constexpr char kLibrary[] = "libcublasLt.so.13";
// What the library's Hopper kernels may want; smaller GPUs want less.
constexpr size_t kWorkspaceBytes = size_t{32} << 20;
// Of GpuGemm's pointers, in bytes.
constexpr uint32_t kAlignment = 16;

// The functions that are used, all of one library that stays loaded.
struct Api {
  decltype(&cublasLtCreate) create = nullptr;
  decltype(&cublasLtDestroy) destroy = nullptr;
  decltype(&cublasLtMatmul) matmul = nullptr;
  decltype(&cublasLtMatmulAlgoGetHeuristic) choose = nullptr;
  decltype(&cublasLtMatmulDescCreate) create_desc = nullptr;
  decltype(&cublasLtMatmulDescDestroy) destroy_desc = nullptr;
  decltype(&cublasLtMatmulDescSetAttribute) set_desc = nullptr;
  decltype(&cublasLtMatrixLayoutCreate) create_layout = nullptr;
  decltype(&cublasLtMatrixLayoutDestroy) destroy_layout = nullptr;
  decltype(&cublasLtMatmulPreferenceCreate) create_preference = nullptr;
  decltype(&cublasLtMatmulPreferenceDestroy) destroy_preference = nullptr;
  decltype(&cublasLtMatmulPreferenceSetAttribute) set_preference = nullptr;

  Status Load() {
    void* library = dlopen(kLibrary, RTLD_NOW | RTLD_LOCAL);
    if (library == nullptr) return Unsupported(std::string(kLibrary) + " of CUDA 13 is not on this machine");
    const char* missing = nullptr;
    const auto find = [&](const char* name, auto* function) {
      *function = reinterpret_cast<std::remove_pointer_t<decltype(function)>>(dlsym(library, name));
      if (*function == nullptr) missing = name;
    };
    find("cublasLtCreate", &create);
    find("cublasLtDestroy", &destroy);
    find("cublasLtMatmul", &matmul);
    find("cublasLtMatmulAlgoGetHeuristic", &choose);
    find("cublasLtMatmulDescCreate", &create_desc);
    find("cublasLtMatmulDescDestroy", &destroy_desc);
    find("cublasLtMatmulDescSetAttribute", &set_desc);
    find("cublasLtMatrixLayoutCreate", &create_layout);
    find("cublasLtMatrixLayoutDestroy", &destroy_layout);
    find("cublasLtMatmulPreferenceCreate", &create_preference);
    find("cublasLtMatmulPreferenceDestroy", &destroy_preference);
    find("cublasLtMatmulPreferenceSetAttribute", &set_preference);
    return missing == nullptr ? Status::Ok() : Unsupported(std::string(kLibrary) + " has no " + missing);
  }
};

Status Check(cublasStatus_t status, const char* what) {
  if (status == CUBLAS_STATUS_SUCCESS) return Status::Ok();
  const std::string text =
      std::string("cuBLASLt: ") + what + " failed with status " + std::to_string(static_cast<int>(status));
  if (status == CUBLAS_STATUS_NOT_SUPPORTED) return Unsupported(text);
  return status == CUBLAS_STATUS_ALLOC_FAILED ? ResourceError(text) : InternalError(text);
}

// What a plan depends on.
using Key = std::tuple<GpuGemm::Into, bool, size_t, size_t, size_t, size_t, size_t>;

}  // namespace

// The library is column-major, so y^T = W x^T: W [out, in] is its transposed A, x [rows, in] its B, and the bias, one
// number a row of y^T, is what its epilogue adds.
struct CublasLtGemm::Impl {
  struct Plan {
    cublasLtMatmulDesc_t desc = nullptr;
    cublasLtMatrixLayout_t w = nullptr, x = nullptr, y = nullptr;
    cublasLtMatmulAlgo_t algorithm{};
  };

  ~Impl() {
    for (auto& [key, plan] : plans) Drop(&plan);
    if (handle != nullptr) api.destroy(handle);
    if (workspace != nullptr) cudaFree(workspace);
  }

  void Drop(Plan* plan) const {
    if (plan->desc != nullptr) api.destroy_desc(plan->desc);
    for (cublasLtMatrixLayout_t layout : {plan->w, plan->x, plan->y}) {
      if (layout != nullptr) api.destroy_layout(layout);
    }
  }

  Status Describe(const GpuGemm& call, Plan* plan) const;
  Status Choose(Plan* plan) const;

  Api api;
  cublasLtHandle_t handle = nullptr;
  void* workspace = nullptr;
  std::map<Key, Plan> plans;
};

Status CublasLtGemm::Impl::Describe(const GpuGemm& call, Plan* plan) const {
  const bool narrow = call.into == GpuGemm::Into::kBF16 || call.into == GpuGemm::Into::kGelu;
  const cudaDataType_t y_type = narrow ? CUDA_R_16BF : CUDA_R_32F;
  LV_RETURN_IF_ERROR(Check(api.create_desc(&plan->desc, CUBLAS_COMPUTE_32F, CUDA_R_32F), "describing a product"));
  const auto set = [&](cublasLtMatmulDescAttributes_t attribute, const auto& value) {
    return Check(api.set_desc(plan->desc, attribute, &value, sizeof value), "describing a product");
  };
  LV_RETURN_IF_ERROR(set(CUBLASLT_MATMUL_DESC_TRANSA, CUBLAS_OP_T));
  const bool gelu = call.into == GpuGemm::Into::kGelu;
  const cublasLtEpilogue_t with_bias = gelu ? CUBLASLT_EPILOGUE_GELU_BIAS : CUBLASLT_EPILOGUE_BIAS;
  const cublasLtEpilogue_t without = gelu ? CUBLASLT_EPILOGUE_GELU : CUBLASLT_EPILOGUE_DEFAULT;
  LV_RETURN_IF_ERROR(set(CUBLASLT_MATMUL_DESC_EPILOGUE, call.bias != nullptr ? with_bias : without));
  if (call.bias != nullptr) LV_RETURN_IF_ERROR(set(CUBLASLT_MATMUL_DESC_BIAS_POINTER, call.bias));
  LV_RETURN_IF_ERROR(Check(api.create_layout(&plan->w, CUDA_R_16BF, call.in, call.out, static_cast<int64_t>(call.in)),
                           "describing a matrix"));
  LV_RETURN_IF_ERROR(
      Check(api.create_layout(&plan->x, CUDA_R_16BF, call.in, call.rows, static_cast<int64_t>(call.x_stride)),
            "describing a matrix"));
  return Check(api.create_layout(&plan->y, y_type, call.out, call.rows, static_cast<int64_t>(call.y_stride)),
               "describing a matrix");
}

Status CublasLtGemm::Impl::Choose(Plan* plan) const {
  cublasLtMatmulPreference_t preference = nullptr;
  LV_RETURN_IF_ERROR(Check(api.create_preference(&preference), "choosing a kernel"));
  cublasLtMatmulHeuristicResult_t result{};
  int found = 0;
  Status status = Check(api.set_preference(preference, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, &kWorkspaceBytes,
                                           sizeof kWorkspaceBytes),
                        "choosing a kernel");
  // The library would take pointers for multiples of 256; a row within a buffer is not.
  for (const auto matrix : {CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES,
                            CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES}) {
    if (!status.ok()) break;
    status = Check(api.set_preference(preference, matrix, &kAlignment, sizeof kAlignment), "choosing a kernel");
  }
  if (status.ok()) {
    status = Check(api.choose(handle, plan->desc, plan->w, plan->x, plan->y, plan->y, preference, 1, &result, &found),
                   "choosing a kernel");
  }
  api.destroy_preference(preference);
  LV_RETURN_IF_ERROR(status);
  if (found == 0) return Unsupported("cuBLASLt has no kernel for a product of these sizes");
  plan->algorithm = result.algo;
  return Status::Ok();
}

CublasLtGemm::CublasLtGemm(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
CublasLtGemm::~CublasLtGemm() = default;

Result<std::unique_ptr<CublasLtGemm>> CublasLtGemm::Make() {
  auto impl = std::make_unique<Impl>();
  LV_RETURN_IF_ERROR(impl->api.Load());
  LV_RETURN_IF_ERROR(Check(impl->api.create(&impl->handle), "opening the library"));
  LV_RETURN_IF_ERROR(CudaCheck(cudaMalloc(&impl->workspace, kWorkspaceBytes), "taking device memory"));
  return std::unique_ptr<CublasLtGemm>(new CublasLtGemm(std::move(impl)));
}

Status CublasLtGemm::Run(const GpuGemm& call, cudaStream_t stream) {
  Impl& s = *impl_;
  const Key key(call.into, call.bias != nullptr, call.rows, call.in, call.out, call.x_stride, call.y_stride);
  auto at = s.plans.find(key);
  if (at == s.plans.end()) {
    Impl::Plan plan;
    Status status = s.Describe(call, &plan);
    if (status.ok()) status = s.Choose(&plan);
    if (!status.ok()) {
      s.Drop(&plan);
      return status.WithContext(std::to_string(call.rows) + " x " + std::to_string(call.in) + " by " +
                                std::to_string(call.out));
    }
    at = s.plans.emplace(key, plan).first;
  }
  const Impl::Plan& plan = at->second;
  if (call.bias != nullptr) {
    LV_RETURN_IF_ERROR(Check(s.api.set_desc(plan.desc, CUBLASLT_MATMUL_DESC_BIAS_POINTER, &call.bias, sizeof call.bias),
                             "describing a product"));
  }
  const float alpha = 1.0f, beta = call.into == GpuGemm::Into::kAdd ? 1.0f : 0.0f;
  return Check(s.api.matmul(s.handle, plan.desc, &alpha, call.w, plan.w, call.x, plan.x, &beta, call.y, plan.y, call.y,
                            plan.y, &plan.algorithm, s.workspace, kWorkspaceBytes, stream),
               "a product");
}

}  // namespace longview
