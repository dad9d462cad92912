// Checks of outputs, each by itself: STREAM's loops, transfers; and what does not fit into
// memory.
#include <algorithm>
#include <cstddef>
#include <cstdio>
#include <string>
#include <vector>

#include "kernels/cuda/frame/byte_pattern.h"
#include "kernels/cuda/frame/cuda_check.h"
#include "kernels/cuda/frame/device.h"
#include "kernels/cuda/frame/one_wave.h"
#include "kernels/cuda/frame/rotation.h"
#include "kernels/cuda/memory/stream_kernels.h"
#include "tests/gpu/plant.h"
#include "tests/gpu/planted_faults.h"

namespace assay {
namespace {

constexpr uint64_t kSeed = 7;

Status TestStream() {
  constexpr int64_t kElements = (1 << 20) + 3;
  const int64_t stride = AlignUp(kElements * 4, 128);
  ASSAY_ASSIGN_OR_RETURN(const CudaStream stream, CudaStream::Create());
  ASSAY_ASSIGN_OR_RETURN(const DeviceBuffer memory, DeviceBuffer::Allocate(3 * stride, "arrays"));
  const StreamInputs inputs{kSeed, 5, false};
  const StreamInputs others{kSeed, 4, false};
  for (const StreamOp op : {StreamOp::kCopy, StreamOp::kScale, StreamOp::kAdd, StreamOp::kTriad,
                            StreamOp::kRead, StreamOp::kWrite, StreamOp::kMemset}) {
    const StreamArrays arrays{memory.as<float>(), static_cast<float*>(memory.At(stride)),
                              static_cast<float*>(memory.At(2 * stride)), kElements};
    const int64_t outputs = OutputElements(op, kElements);
    const std::string name = "stream op " + std::to_string(static_cast<int>(op));
    ASSAY_RETURN_IF_ERROR(PlantNan(arrays.out, static_cast<size_t>(outputs) * 4));
    Expect(name + ": unwritten", CheckStream(op, arrays, inputs, stream.get()), false);
    ASSAY_RETURN_IF_ERROR(FillStream(arrays, inputs, stream.get()));
    ASSAY_RETURN_IF_ERROR(EnqueueStream(op, arrays, inputs, stream.get()));
    Expect(name + ": right", CheckStream(op, arrays, inputs, stream.get()), true);
    Expect(name + ": of another set", CheckStream(op, arrays, others, stream.get()), false);
    const Plant plant(arrays.out + outputs - 1, {0, 0, 0, 0x40});
    Expect(name + ": last element wrong", CheckStream(op, arrays, inputs, stream.get()), false);
  }
  return Status::Ok();
}

// Checks that a case that exceeds the memory is refused, with the size that would fit.
void TestMemory() {
  const auto plan = PlanRotation(true, int64_t{1} << 40, 60 << 20, int64_t{100} << 30, "A case");
  const bool refused = !plan.ok() && plan.status().code() == Code::kResourceExhausted &&
                       plan.status().message().find("100.0 GiB") != std::string::npos &&
                       !plan.status().hint().empty();
  const auto buffer = DeviceBuffer::Allocate(int64_t{1} << 50, "a test");
  const bool allocated = buffer.ok() || buffer.status().code() != Code::kResourceExhausted;
  std::printf("too much memory: %s\ntoo much memory: %s\n", plan.status().ToString().c_str(),
              buffer.status().ToString().c_str());
  if (!refused || allocated) Fail("too much memory");
}

// Checks the check of transfers: a wrong byte anywhere, bytes that never arrived, and the bytes of
// the other direction must fail.
Status TestTransfer() {
  constexpr int64_t kBytes = 100003;
  const BytePattern pattern = {kSeed, 1};
  ASSAY_ASSIGN_OR_RETURN(const CudaStream stream, CudaStream::Create());
  ASSAY_ASSIGN_OR_RETURN(const DeviceBuffer data, DeviceBuffer::Allocate(kBytes + 8, "bytes"));
  ASSAY_RETURN_IF_ERROR(FillBytes(pattern, data.data(), kBytes, stream.get()));
  const auto check = [&](const BytePattern& expected) {
    return CheckBytes(expected, data.data(), kBytes, stream.get());
  };
  Expect("bytes: right", check(pattern), true);
  for (const int64_t at : {int64_t{0}, kBytes / 2 + 1, kBytes - 1}) {
    unsigned char byte = 0;
    ASSAY_CUDA(cudaMemcpy(&byte, data.At(at), 1, cudaMemcpyDefault));
    const Plant plant(data.At(at), {static_cast<unsigned char>(byte ^ 1)});
    Expect("bytes: a bit of byte " + std::to_string(at), check(pattern), false);
  }
  Expect("bytes: of the other direction", check({kSeed, 2}), false);
  ASSAY_RETURN_IF_ERROR(PlantNan(data.At(kBytes - 3), 3));
  Expect("bytes: the last three never came", check(pattern), false);
  return Status::Ok();
}

// Checks the kernel that fills outputs with 0xff: every byte of a span with any alignment, and no
// byte outside it.
Status TestSetBytes() {
  constexpr size_t kBytes = (1 << 20) + 64;
  ASSAY_ASSIGN_OR_RETURN(const CudaStream stream, CudaStream::Create());
  ASSAY_ASSIGN_OR_RETURN(const DeviceBuffer data, DeviceBuffer::Allocate(kBytes, "bytes"));
  for (const size_t begin : {0, 1, 15, 16, 17}) {
    for (const size_t bytes : {0, 1, 14, 15, 16, 17, 31, 33, 100, 1 << 20}) {
      std::vector<unsigned char> expected(kBytes, 0x5a);
      std::vector<unsigned char> got(kBytes);
      ASSAY_CUDA(WriteToGpu(data.data(), expected.data(), kBytes));
      ASSAY_RETURN_IF_ERROR(SetBytes(data.At(static_cast<int64_t>(begin)), 0xff,
                                     static_cast<int64_t>(bytes), stream.get()));
      ASSAY_CUDA(cudaStreamSynchronize(stream.get()));
      ASSAY_CUDA(cudaMemcpy(got.data(), data.data(), kBytes, cudaMemcpyDefault));
      std::fill_n(expected.begin() + static_cast<std::ptrdiff_t>(begin), bytes, 0xff);
      if (got == expected) continue;
      Fail("SetBytes of " + std::to_string(bytes) + " bytes from byte " + std::to_string(begin));
    }
  }
  return Status::Ok();
}

}  // namespace

void TestPieces() {
  TestMemory();
  for (const auto test : {TestStream, TestTransfer, TestSetBytes, TestGemm}) {
    const Status status = test();
    if (!status.ok()) Fail(status.ToString());
  }
}

void TestBesideVendors() {
  std::vector<Status (*)()> tests = {TestHostGemm};
#if ASSAY_HAVE_NCCL
  tests.insert(tests.end(), {TestReductions, TestMoves, TestRing});
#endif
  for (const auto test : tests) {
    const Status status = test();
    if (!status.ok()) Fail(status.ToString());
  }
}

}  // namespace assay
