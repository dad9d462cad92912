// The topics kv and fits, and functions for the memory that serving needs.
#include <algorithm>
#include <cmath>
#include <utility>

#include "common/text.h"
#include "predict/topics/serving.h"

namespace assay::predict {
namespace {

std::string ServingSize(double value) { return FormatQuantity(value, Unit::kBytes); }

// Returns the shape of the model whose KV cache the user is asking about. The user gives either the
// model's name or its layers, kv_heads and head_dim.
Result<ModelShape> KvShape(const Arguments& arguments) {
  const char* const kDimensions[] = {"layers", "kv_heads", "head_dim"};
  if (arguments.Has("model")) {
    for (const char* name : kDimensions) {
      if (arguments.Given(name)) {
        return Refuse(name, "cannot be given together with a model",
                      "give --model, or --layers, --kv-heads and --head-dim");
      }
    }
    return arguments.Model();
  }
  for (const char* name : kDimensions) {
    if (!arguments.Has(name)) {
      return Refuse(name == kDimensions[0] ? "model" : name, "is required",
                    "give --model, or --layers, --kv-heads and --head-dim");
    }
  }
  ModelShape shape;
  shape.name = "the model given";
  shape.layers = static_cast<int64_t>(arguments.Number("layers"));
  shape.kv_heads = static_cast<int64_t>(arguments.Number("kv_heads"));
  shape.head_dim = static_cast<int64_t>(arguments.Number("head_dim"));
  shape.heads = shape.kv_heads;
  shape.positions = int64_t{1} << 60;
  return shape;
}

// Adds terms to the answer that say how many pages, tokens and sequences fit in a KV cache pool of
// `pool` bytes, divided into pages of `page` tokens.
void AddKvPool(Answer& answer, const ModelShape& shape, double pool, double page, double context,
               double token_bytes, double paged_sequence_bytes) {
  const double pages = std::floor(pool / (page * token_bytes));
  const double per_sequence = std::ceil(context / page);
  answer.Add("pool_pages", pages, Unit::kCount, "pool / (page x KV per token and GPU), whole",
             "Kwon 2023");
  answer.Add("pool_tokens", pages * page, Unit::kTokens, "pages x page");
  const double sequences = shape.local_layers > 0 ? std::floor(pool / paged_sequence_bytes)
                                                  : std::floor(pages / per_sequence);
  answer.Add("sequences", sequences, Unit::kCount, "whole sequences of the context in the pool");
  answer.Add("concurrency", pages * page / context, Unit::kNumber, "pool tokens / c, as vLLM logs");
}

Result<Answer> KvAnswer(const Arguments& arguments) {
  ASSAY_ASSIGN_OR_RETURN(const ModelShape shape, KvShape(arguments));
  const double batch = arguments.Number("batch");
  const double context = arguments.Number("context");
  const double page = arguments.Number("page");
  const double k = BytesOf(arguments.Text("kv"));
  const auto tp = static_cast<int64_t>(arguments.Number("tp"));
  ASSAY_RETURN_IF_ERROR(CheckServingTokens("context", context, shape));
  Answer answer;
  const double pages = std::ceil(context / page);
  const double token = answer.Add("kv_per_token", KvBytesPerToken(shape, k), Unit::kBytes,
                                  "2 L g e k", "kipply 2022");
  const double sequence = answer.Add(
      "kv_per_sequence", KvBytes(shape, context, k), Unit::kBytes,
      shape.local_layers > 0 ? "2 g e k over layers, min(c, window) where local" : "2 L g e k c");
  const double all = answer.Add("kv", sequence * batch, Unit::kBytes, "KV per sequence x B");
  if (tp > 1) {
    answer.Add("kv_per_gpu", KvBytes(shape, context, k, tp) * batch, Unit::kBytes,
               "ceil(g/p) heads per GPU: with more GPUs than KV heads each holds a copy");
  }
  answer.Add("pages_per_sequence", pages, Unit::kCount, "ceil(c / page)", "Kwon 2023");
  answer.Add("page_loss", pages * page - context, Unit::kTokens,
             "unused in the last page, at most page - 1 per sequence", "Kwon 2023");
  answer.Add("page_waste", (pages * page - context) / (pages * page), Unit::kFraction,
             "page loss / tokens in pages");
  if (arguments.Has("reserved")) {
    const double reserved = arguments.Number("reserved");
    if (reserved < context) {
      return Refuse("reserved", "is less than the context",
                    "reserve at least " + ServingCount(context) + " tokens per sequence");
    }
    answer.Add("reserved_kv", reserved * token * batch, Unit::kBytes, "reserved tokens x B");
    answer.Add("reserved_waste", (reserved - context) / reserved, Unit::kFraction,
               "(reserved - used) / reserved", "Kwon 2023");
  }
  if (arguments.Has("pool")) {
    AddKvPool(answer, shape, arguments.Number("pool"), page, context, KvBytesPerToken(shape, k, tp),
              KvBytes(shape, pages * page, k, tp));
  }
  answer.headline = ServingSequences(batch) + " of " + ServingCount(context) +
                    (batch == 1 ? " tokens needs " : " tokens need ") + ServingSize(all) +
                    " of KV cache, " + ServingSize(token) + " per token.";
  if (shape.local_layers > 0) {
    answer.notes.push_back(
        "Pages per pool count every layer as full; layers with a window need fewer.");
  }
  if (tp > shape.kv_heads) {
    answer.notes.push_back("There are more GPUs than KV heads, so heads are stored twice or more.");
  }
  return answer;
}

Topic KvTopic() {
  Topic topic;
  topic.name = "kv";
  topic.summary = "Compute the KV cache: bytes per token and sequence, pages, what a pool holds";
  topic.about =
      "Each token leaves a key and a value in every layer and KV head. Give a model, or its "
      "layers, KV heads and head dimension. With --pool, counts the pages and sequences that fit.";
  topic.example = "--model llama-3-70b --batch 32 --context 8192";
  topic.inputs = {
      Input::Model(),
      Input::Of("layers", Unit::kCount).AtMost(10000).Help("layers, without a model"),
      Input::Of("kv_heads", Unit::kCount)
          .AtMost(100000)
          .Help("heads of the KV cache, without a model"),
      Input::Of("head_dim", Unit::kCount).AtMost(100000).Help("elements per head, without a model"),
      Input::Of("batch", Unit::kCount).Default("1").Help("sequences"),
      Input::Of("context", Unit::kTokens).Default("1024").AtLeast(1).Help("tokens per sequence"),
      Input::Choice("kv", {"bf16", "fp16", "fp32", "fp8", "int8", "int4"})
          .Default("bf16")
          .Help("type of the elements"),
      Input::Of("tp", Unit::kCount)
          .Default("1")
          .AtMost(kMostServingTp)
          .Help("tensor-parallel GPUs"),
      Input::Of("page", Unit::kCount).Default("16").AtMost(65536).Help("tokens per page"),
      Input::Of("pool", Unit::kBytes).Help("memory for the cache on each GPU"),
      Input::Of("reserved", Unit::kTokens)
          .Help("tokens reserved per sequence, by servers without pages")};
  topic.compute = KvAnswer;
  return topic;
}

Result<Answer> FitsAnswer(const Arguments& arguments) {
  const Hardware& gpu = arguments.Gpu();
  const ModelShape& shape = arguments.Model();
  const double batch = arguments.Number("batch");
  const double context = arguments.Number("context");
  const double chunk = arguments.Number("chunk");
  const auto pp = static_cast<int64_t>(arguments.Number("pp"));
  ASSAY_ASSIGN_OR_RETURN(const Serving serving, ReadServing(arguments, shape));
  ASSAY_RETURN_IF_ERROR(CheckServingTokens("context", context, shape));
  if (shape.layers % pp != 0) {
    return Refuse("pp",
                  ServingCount(static_cast<double>(shape.layers)) +
                      " layers are not divisible by " + ServingCount(static_cast<double>(pp)) +
                      " stages",
                  "choose pp so that each stage gets an equal number of layers");
  }
  const std::optional<double> room = UsableMemory(gpu);
  if (!room) {
    return Refuse("memory", "the memory of " + gpu.name + " is not known",
                  "give --gpu, or --memory such as --memory 80GB");
  }
  const MemoryNeed need = ServingMemory(shape, serving, batch, context, chunk, pp);
  Answer answer;
  AddServingMemory(answer, gpu, shape, serving, need, pp > 1);
  answer.Add("spare", *room - need.total, Unit::kBytes, "room - needed; negative if too small");
  const bool fits = need.total <= *room;
  answer.Add("fits", fits ? 1 : 0, Unit::kNumber, "1 if needed <= room");
  const double most_batch =
      answer.Add("max_batch", LargestBatch(shape, serving, context, chunk, *room, pp), Unit::kCount,
                 "most sequences at this context");
  const double most_context =
      answer.Add("max_context", LongestContext(shape, serving, batch, chunk, *room, pp),
                 Unit::kTokens, "longest context at this batch, at most the model's positions");
  const std::optional<int64_t> least =
      LeastServingTp(shape, serving, batch, context, chunk, *room, pp);
  if (least) {
    answer.Add("least_gpus", static_cast<double>(*least * pp), Unit::kCount,
               "smallest p that is a power of two and divides the heads, x pp");
  }
  answer.dominant = LargestServingPart({{"weights", need.weights},
                                        {"kv", need.kv},
                                        {"activations", need.activations},
                                        {"reserve", need.reserve}});
  answer.headline = (fits ? "Yes: " : "No: ") + shape.name + " for " + ServingSequences(batch) +
                    " of " + ServingCount(context) + " tokens needs " + ServingSize(need.total) +
                    " of " + ServingSize(*room) + " on each of " +
                    ServingCount(static_cast<double>(serving.tp * pp)) + " x " + gpu.name + ".";
  if (most_batch > 0) {
    answer.headline += " At this context at most " + ServingSequences(most_batch) + " fit; ";
    answer.headline +=
        "at this batch at most " + ServingCount(most_context) + " tokens" +
        (most_context == static_cast<double>(shape.positions) ? ", the model's positions." : ".");
  }
  if (least) answer.headline += " Enough: " + Counted(*least * pp, "GPU") + ".";
  answer.notes.push_back(
      "0.92 of the memory may be used. The reserve of 1.5 GiB is for CUDA, NCCL and the "
      "allocator. Left out: prefixes kept for reuse, adapters, draft models.");
  return answer;
}

Topic FitsTopic() {
  Topic topic;
  topic.name = "fits";
  topic.summary = "Say whether a model fits for serving, and how many sequences or tokens do";
  topic.about =
      "Adds weights, KV cache, activations and a reserve per GPU and compares the sum with 0.92 "
      "of the memory. Nothing is refused: the answer is yes or no, with what would fit.";
  topic.example = "--model llama-3-70b --gpu 'H100 SXM' --tp 2 --batch 8 --context 4096";
  topic.inputs = {Input::Model().Required(),
                  Input::Gpu(),
                  Input::Of("batch", Unit::kCount).Default("1").Help("sequences at a time"),
                  Input::Of("context", Unit::kTokens)
                      .Default("1024")
                      .AtLeast(1)
                      .Help("tokens of each sequence, prompt and output"),
                  Input::Of("chunk", Unit::kTokens)
                      .Default("2048")
                      .AtLeast(1)
                      .Help("tokens that one prefill step computes; sizes the activations"),
                  Input::Of("pp", Unit::kCount).Default("1").AtMost(1024).Help("pipeline stages")};
  for (Input& input : ServingInputs("")) topic.inputs.push_back(std::move(input));
  topic.inputs = ServingHardware(std::move(topic.inputs), {"memory"});
  topic.compute = FitsAnswer;
  return topic;
}

}  // namespace

std::optional<double> UsableMemory(const Hardware& gpu) {
  if (!gpu.memory_bytes) return std::nullopt;
  return kUsableMemory * *gpu.memory_bytes;
}

std::optional<int64_t> LeastServingTp(const ModelShape& shape, Serving serving, double batch,
                                      double context, double in_flight, double room, int64_t pp) {
  for (serving.tp = 1; serving.tp <= kMostServingTp; serving.tp *= 2) {
    if (shape.heads % serving.tp != 0) continue;
    if (ServingMemory(shape, serving, batch, context, in_flight, pp).total <= room) {
      return serving.tp;
    }
  }
  return std::nullopt;
}

Status CheckServingFit(const Hardware& gpu, const ModelShape& shape, const Serving& serving,
                       double batch, double context, double in_flight,
                       const std::string& batch_input, const std::string& context_input) {
  const std::optional<double> room = UsableMemory(gpu);
  if (!room) return Status::Ok();
  const MemoryNeed need = ServingMemory(shape, serving, batch, context, in_flight);
  if (need.total <= *room) return Status::Ok();
  const double most_batch = LargestBatch(shape, serving, context, in_flight, *room);
  const double most_context = LongestContext(shape, serving, batch, in_flight, *room);
  const std::optional<int64_t> least =
      LeastServingTp(shape, serving, batch, context, in_flight, *room);
  std::vector<std::string> fits;
  if (most_batch > 0 && !batch_input.empty()) {
    fits.push_back(batch_input + " " + ServingCount(most_batch) + " at this context");
  }
  if (most_context > 0) {
    fits.push_back(context_input + " " + ServingCount(most_context) +
                   (batch_input.empty() ? "" : " at this batch"));
  }
  if (least) fits.push_back("tp " + ServingCount(static_cast<double>(*least)));
  std::string field = "tp";
  if (most_batch > 0 && !batch_input.empty()) {
    field = batch_input;
  } else if (most_context > 0) {
    field = context_input;
  }
  return Refuse(field,
                "does not fit: " + ServingSize(need.weights) + " of weights, " +
                    ServingSize(need.kv) + " of KV cache, " +
                    ServingSize(need.activations + need.reserve) +
                    " of activations and reserve per GPU; " + ServingSize(*gpu.memory_bytes) +
                    " of memory, of which 0.92 may be used",
                fits.empty() ? "choose a GPU with more memory, or smaller weights"
                             : "what fits: " + Join(fits, "; or "));
}

void AddServingMemory(Answer& answer, const Hardware& gpu, const ModelShape& shape,
                      const Serving& serving, const MemoryNeed& need, bool pipelined) {
  const std::string by = pipelined ? " / (p pp)" : " / p";
  const bool quantised = BlockWeightBytes(serving.weights) < 2;
  answer.Add("weights", need.weights, Unit::kBytes,
             (quantised ? "(blocks w + tables 2)" : "N w") + by +
                 (serving.weights == "int4"
                      ? "; w = 4.25 bits: 4, and 2 x 16 per 128 for scale and zero point"
                      : ""),
             shape.source);
  answer.Add("kv", need.kv, Unit::kBytes,
             shape.local_layers > 0 ? "B 2 ceil(g/p) e k over layers, min(c, window) where local"
                                    : "B 2 L ceil(g/p) e k c",
             "kipply 2022");
  answer.Add("activations", need.activations, Unit::kBytes,
             "tokens (2 d + 3 f/p) b + 4 B V/p, tokens of one step");
  answer.Add("reserve", need.reserve, Unit::kBytes, "1.5 GiB: CUDA, NCCL, allocator");
  answer.Add("needed", need.total, Unit::kBytes, "weights + KV + activations + reserve");
  if (gpu.memory_bytes) {
    answer.Add("room", kUsableMemory * *gpu.memory_bytes, Unit::kBytes,
               "0.92 x " + ServingSize(*gpu.memory_bytes));
  }
}

std::vector<Topic> ServingMemoryTopics() { return {KvTopic(), FitsTopic()}; }

}  // namespace assay::predict
