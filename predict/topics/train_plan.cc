// The topics train and plan train: a training step on given GPUs, and a whole training run.
#include <algorithm>
#include <cmath>
#include <optional>
#include <string>
#include <utility>

#include "common/numbers.h"
#include "common/text.h"
#include "predict/cost.h"
#include "predict/step.h"
#include "predict/topics/sizes.h"
#include "predict/topics/topics.h"
#include "predict/training.h"

namespace assay::predict {
namespace {

// Memory for the CUDA context, NCCL's buffers and fragmentation.
constexpr double kTrainingReserve = 1.5 * 1024 * 1024 * 1024;
// The number of bytes per parameter that an Adam update moves. It reads the gradient (2), writes
// the weight (2), and both reads and writes the master copy, momentum and variance (24).
constexpr double kUpdateBytes = 28;

// All values that determine the memory and the time of a training step.
struct TrainingSetup {
  const ModelShape* shape = nullptr;
  Parallelism division;
  double gpus = 1;
  double micro = 1;          // B, sequences per micro-batch
  double sequence = 1;       // T
  double micro_batches = 1;  // m, per step and data-parallel rank
  double chunks = 1;         // v
  bool sequence_parallel = false;
  bool flash = true;
  Recompute recompute = Recompute::kNone;
  double node_gpus = 8;
  Figure network;  // Between nodes, per GPU.
};

struct TrainingMemory {
  TrainingState state;
  double gathered = 0;     // The layer that ZeRO-3 has whole.
  double activations = 0;  // All micro-batches in flight.
  double logits = 0;
  double Total() const {
    return state.Total() + gathered + activations + logits + kTrainingReserve;
  }
};

TrainingMemory TrainingMemoryOf(const TrainingSetup& setup) {
  const auto n = static_cast<double>(CountParameters(*setup.shape));
  const Parallelism& division = setup.division;
  const auto layers = static_cast<double>(setup.shape->layers);
  TrainingMemory memory;
  memory.state = TrainingStateOf(n, division);
  if (division.zero == 3 && division.dp > 1) memory.gathered = 2 * n / layers / division.tp;
  ActivationPlan plan;
  plan.batch = setup.micro;
  plan.sequence = setup.sequence;
  plan.tp = division.tp;
  plan.sequence_parallel = setup.sequence_parallel;
  plan.flash = setup.flash;
  plan.recompute = setup.recompute;
  const ActivationShape shape = ActivationsOf(*setup.shape);
  // The number of micro-batches whose activations are in memory, counted as if each were kept for
  // all L layers. With the 1F1B schedule, the first stage keeps pp micro-batches for its L/pp
  // layers, which counts as one. Interleaved schedules keep a fraction (pp-1)/(pp v) more.
  const double in_flight =
      std::min(setup.micro_batches / division.pp,
               1 + (setup.chunks > 1 ? (division.pp - 1) / (division.pp * setup.chunks) : 0));
  memory.activations = ActivationBytesPerLayer(shape, plan) * layers * in_flight;
  if (setup.recompute == Recompute::kFull) {
    // The activations of the block that is currently being recomputed.
    plan.recompute = Recompute::kNone;
    memory.activations += ActivationBytesPerLayer(shape, plan);
  }
  if (division.pp == 1) {
    memory.logits =
        4 * setup.micro * setup.sequence * static_cast<double>(setup.shape->vocab) / division.tp;
  }
  return memory;
}

// Returns a hint with the choices that would make the training fit in memory.
std::string WhatTrains(const TrainingSetup& setup, double room) {
  const auto fits = [&](const TrainingSetup& other) {
    return TrainingMemoryOf(other).Total() <= room;
  };
  std::vector<std::string> ways;
  for (int zero = setup.division.zero + 1; zero <= 3 && setup.division.dp > 1; ++zero) {
    TrainingSetup other = setup;
    other.division.zero = zero;
    if (!fits(other)) continue;
    ways.push_back("--zero " + std::to_string(zero));
    break;
  }
  if (setup.recompute != Recompute::kFull) {
    TrainingSetup other = setup;
    other.recompute = Recompute::kFull;
    if (fits(other)) ways.push_back("--recompute full");
  }
  for (double micro = std::floor(setup.micro / 2); micro >= 1; micro = std::floor(micro / 2)) {
    TrainingSetup other = setup;
    other.micro = micro;
    if (!fits(other)) continue;
    ways.push_back("--micro " + FormatExact(micro));
    break;
  }
  if (!ways.empty()) return "fits with " + Join(ways, ", or ");
  TrainingSetup least = setup;
  least.division.zero = 3;
  least.recompute = Recompute::kFull;
  least.micro = 1;
  for (double dp = setup.division.dp; dp <= 1e6; dp *= 2) {
    least.division.dp = dp;
    if (!fits(least)) continue;
    return "fits with --zero 3 --recompute full --micro 1 on " +
           FormatQuantity(dp * setup.division.tp * setup.division.pp, Unit::kCount) +
           " GPUs (--dp " + FormatExact(dp) + ")";
  }
  return "fits on no number of GPUs with these tp and pp; raise tp or pp, or shorten the sequence";
}

Status CheckTrainingDivision(const TrainingSetup& setup) {
  const Parallelism& division = setup.division;
  const ModelShape& shape = *setup.shape;
  const auto count = [](double value) { return FormatQuantity(value, Unit::kCount); };
  if (division.tp * division.pp * division.dp != setup.gpus) {
    return Refuse("gpus",
                  "tp x pp x dp is " + count(division.tp * division.pp * division.dp) + ", not " +
                      count(setup.gpus),
                  "choose degrees whose product is the number of GPUs; dp may be left out");
  }
  if (std::fmod(static_cast<double>(shape.heads), division.tp) != 0) {
    return Refuse("tp",
                  count(static_cast<double>(shape.heads)) + " heads are not divisible by " +
                      count(division.tp),
                  "choose a divisor of the heads");
  }
  if (std::fmod(static_cast<double>(shape.layers), division.pp * setup.chunks) != 0) {
    return Refuse("pp",
                  count(static_cast<double>(shape.layers)) + " layers are not divisible by " +
                      count(division.pp * setup.chunks) + " chunks",
                  "choose pp and interleave whose product divides the layers");
  }
  if (setup.sequence > static_cast<double>(shape.positions)) {
    return Refuse("sequence",
                  "is longer than the " + count(static_cast<double>(shape.positions)) +
                      " positions of " + shape.name,
                  "give at most " + count(static_cast<double>(shape.positions)));
  }
  return Status::Ok();
}

Result<TrainingSetup> TrainingSetupOf(const Arguments& arguments) {
  TrainingSetup setup;
  setup.shape = &arguments.Model();
  setup.gpus = arguments.Number("gpus");
  setup.division.tp = arguments.Number("tp");
  setup.division.pp = arguments.Number("pp");
  setup.division.dp =
      arguments.Has("dp")
          ? arguments.Number("dp")
          : std::max(1.0, std::floor(setup.gpus / (setup.division.tp * setup.division.pp)));
  setup.division.zero = arguments.Text("zero")[0] - '0';
  setup.micro = arguments.Number("micro");
  setup.sequence = arguments.Number("sequence");
  setup.chunks = arguments.Number("interleave");
  setup.sequence_parallel = arguments.Flag("sequence_parallel");
  setup.flash = arguments.Text("attention") == "flash";
  setup.recompute = RecomputeOf(arguments);
  setup.node_gpus = arguments.Number("node_gpus");
  const double network = arguments.Number("network");
  setup.network = {network, network, network,
                   arguments.Given("network") ? "given" : "assumed: 400 Gbit/s per GPU"};
  ASSAY_RETURN_IF_ERROR(CheckTrainingDivision(setup));
  const double pass = setup.division.dp * setup.micro * setup.sequence;
  const double batch = arguments.Number("global_batch");
  setup.micro_batches = batch / pass;
  if (setup.micro_batches != std::floor(setup.micro_batches)) {
    const double near = std::max(1.0, std::round(setup.micro_batches));
    return Refuse("global_batch",
                  FormatQuantity(batch, Unit::kTokens) +
                      " are not a multiple of dp x micro x "
                      "sequence = " +
                      FormatQuantity(pass, Unit::kTokens),
                  "for example --global-batch " + FormatExact(near * pass));
  }
  return setup;
}

// The seconds that the forward pass of one micro-batch takes on one GPU of the slowest stage.
struct TrainingForwardTime {
  double blocks = 0;     // Products and attention of the layers.
  double attention = 0;  // Included in `blocks`.
  double elementwise = 0;
  double head = 0;
  double Total() const { return blocks + elementwise + head; }
};

Result<TrainingForwardTime> TrainingForwardTimeOf(const TrainingSetup& setup, const Hardware& gpu,
                                                  const std::string& dtype) {
  const ModelShape& shape = *setup.shape;
  const double p = setup.division.tp;
  const double tokens = setup.micro * setup.sequence;
  const double layers = static_cast<double>(shape.layers) / setup.division.pp;
  const auto d = static_cast<double>(shape.d);
  const auto e = static_cast<double>(shape.head_dim);
  const auto g = static_cast<double>(shape.kv_heads);
  const double width = static_cast<double>(shape.heads) * e / p;
  const double projections = shape.kind == "gpt2" ? 1 : 2;  // Into the MLP.
  const double kv = 2 * std::ceil(g / p) * e;
  TrainingForwardTime time;
  const auto add = [&](double m, double n, double k, double count, double& sum) -> Status {
    if (m <= 0 || n <= 0 || k <= 0) return Status::Ok();
    Result<ProductTime> product = Estimate(gpu, Product{m, n, k, dtype, ""});
    if (!product.ok()) return AsRefusal("bandwidth", product.status());
    sum += count * product->seconds;
    return Status::Ok();
  };
  const double ff = static_cast<double>(shape.ff) / p;
  ASSAY_RETURN_IF_ERROR(add(tokens, width + kv, d, layers, time.blocks));
  ASSAY_RETURN_IF_ERROR(add(tokens, d, width, layers, time.blocks));
  ASSAY_RETURN_IF_ERROR(add(tokens, projections * ff, d, layers, time.blocks));
  ASSAY_RETURN_IF_ERROR(add(tokens, d, ff, layers, time.blocks));
  double active = ff;
  if (shape.experts > 0) {
    // Each expert is one product, with its share of the tokens.
    const auto experts = static_cast<double>(shape.experts);
    const double expert_ff = static_cast<double>(shape.expert_ff) / p;
    const double rows = tokens * static_cast<double>(shape.active_experts) / experts;
    ASSAY_RETURN_IF_ERROR(add(rows, 2 * expert_ff, d, layers * experts, time.blocks));
    ASSAY_RETURN_IF_ERROR(add(rows, d, expert_ff, layers * experts, time.blocks));
    active += static_cast<double>(shape.active_experts) * expert_ff;
  }
  ASSAY_RETURN_IF_ERROR(add(tokens, static_cast<double>(shape.vocab) / p, d, 1, time.head));
  ASSAY_ASSIGN_OR_RETURN(const Figure peak, RequiredPeak(gpu, dtype));
  // A kernel that stores the scores also computes the half that the mask removes.
  time.attention = setup.micro * PromptAttentionFlops(shape, setup.sequence, setup.flash) /
                   (p * setup.division.pp) / peak.value;
  time.blocks += time.attention;
  const double whole = 10 * d / (setup.sequence_parallel ? p : 1);
  const double divided = 2 * (width + kv / 2) + (projections + 1) * active;
  // The scores are written once, read and written by softmax, and read once more.
  const double scores = setup.flash ? 0 : 4 * static_cast<double>(shape.heads) / p * setup.sequence;
  const double logits = 3 * 4 * static_cast<double>(shape.vocab) / p;
  time.elementwise =
      tokens * (2 * layers * (whole + divided + scores) + logits) / gpu.memory_bandwidth->value;
  return time;
}

// The seconds of a whole step, divided by cause.
struct TrainingStep {
  double compute = 0;
  double backward = 0;  // Included in `compute` and `elementwise`.
  double elementwise = 0;
  double tensor_parallel = 0;
  double pipeline = 0;
  double bubble = 0;
  double data_parallel = 0;
  double exposed = 0;  // Included in `data_parallel`.
  double update = 0;
  double Total() const {
    return compute + elementwise + tensor_parallel + pipeline + bubble + exposed + update;
  }
  std::string link_source;     // For tensor parallelism.
  std::string network_source;  // For data parallelism.
};

// The bytes that each GPU sends per step.
struct TrainingBytes {
  double all_reduced = 0;  // S of one all-reduce of tensor parallelism.
  double all_reduces = 0;  // All-reduces per step.
  double tensor_parallel = 0;
  double message = 0;  // Between stages.
  double messages = 0;
  double data_parallel = 0;
};

TrainingBytes TrainingBytesOf(const TrainingSetup& setup) {
  const Parallelism& division = setup.division;
  const double layers = static_cast<double>(setup.shape->layers) / division.pp;
  const double array = 2 * setup.micro * setup.sequence * static_cast<double>(setup.shape->d);
  TrainingBytes sent;
  sent.all_reduced = array;
  // Full recomputation repeats the two all-reduces of the forward pass.
  const double per_layer = setup.recompute == Recompute::kFull ? 6 : 4;
  if (division.tp > 1) sent.all_reduces = per_layer * layers * setup.micro_batches;
  sent.tensor_parallel = sent.all_reduces * 2 * (division.tp - 1) / division.tp * array;
  sent.message = array / (setup.sequence_parallel ? division.tp : 1);
  if (division.pp > 1) sent.messages = 2 * setup.chunks * setup.micro_batches;
  const double own =
      2 * static_cast<double>(CountParameters(*setup.shape)) / (division.tp * division.pp);
  sent.data_parallel = DataParallelBytes(own, division.dp, division.zero, setup.micro_batches);
  return sent;
}

// The rate at which each GPU in a group, such as the data-parallel ranks, sends in a ring. Within a
// node, this is the rate of the link between GPUs. A ring that spans several nodes uses the network
// adapters of all of the group's GPUs in each node.
struct GroupRate {
  double bytes_per_second = 0;
  std::string source;
};

// Returns the rate at which each GPU in a group sends. `stride` is the distance between neighboring
// ranks of the group: 1 for tensor-parallel ranks and p for data-parallel ranks.
Result<GroupRate> GroupRateOf(const TrainingSetup& setup, const Hardware& gpu, double ranks,
                              double stride) {
  const bool one_node = ranks * stride <= setup.node_gpus;
  if (!gpu.link_bandwidth && one_node) {
    return Refuse("link", "the bandwidth between GPUs of " + gpu.name + " is not known",
                  "give it in one direction, such as --link 450GB/s; PCI Express 5.0 x16 has "
                  "63GB/s");
  }
  if (one_node) return GroupRate{gpu.link_bandwidth->value, gpu.link_bandwidth->source};
  const double neighbours = std::clamp(std::floor(setup.node_gpus / stride), 1.0, ranks);
  double rate = setup.network.value * neighbours;
  if (neighbours > 1 && gpu.link_bandwidth) rate = std::min(rate, gpu.link_bandwidth->value);
  return GroupRate{rate, setup.network.source};
}

Result<TrainingStep> TrainingStepOf(const TrainingSetup& setup, const Hardware& gpu,
                                    const std::string& dtype, double overlap) {
  ASSAY_ASSIGN_OR_RETURN(const TrainingForwardTime forward,
                         TrainingForwardTimeOf(setup, gpu, dtype));
  const TrainingBytes sent = TrainingBytesOf(setup);
  const Parallelism& division = setup.division;
  const double products = forward.blocks + forward.head;
  double again = 0;
  if (setup.recompute == Recompute::kFull) again = forward.blocks;
  if (setup.recompute == Recompute::kSelective) again = forward.attention;
  TrainingStep step;
  step.compute = setup.micro_batches * (3 * products + again);
  step.backward = setup.micro_batches * (2 * forward.Total() + again);
  step.elementwise =
      setup.micro_batches * forward.elementwise * (setup.recompute == Recompute::kFull ? 4 : 3);
  if (division.tp > 1) {
    ASSAY_ASSIGN_OR_RETURN(const GroupRate rate, GroupRateOf(setup, gpu, division.tp, 1));
    double seconds = sent.tensor_parallel / sent.all_reduces / rate.bytes_per_second;
    step.link_source = rate.source;
    if (division.tp <= setup.node_gpus) {
      ASSAY_ASSIGN_OR_RETURN(
          const AllReduceTime reduce,
          EstimateAllReduce(gpu, sent.all_reduced, static_cast<int64_t>(division.tp)));
      seconds = reduce.seconds;
      step.link_source = reduce.source;
    }
    step.tensor_parallel = sent.all_reduces * seconds;
  }
  if (division.pp > 1) {
    ASSAY_ASSIGN_OR_RETURN(const GroupRate rate,
                           GroupRateOf(setup, gpu, division.pp, setup.gpus / division.pp));
    step.pipeline = sent.messages * sent.message / rate.bytes_per_second;
  }
  step.bubble = (division.pp - 1) / (setup.chunks * setup.micro_batches) *
                (step.compute + step.elementwise + step.tensor_parallel);
  if (division.dp > 1) {
    ASSAY_ASSIGN_OR_RETURN(const GroupRate rate, GroupRateOf(setup, gpu, division.dp, division.tp));
    step.network_source = rate.source;
    step.data_parallel = sent.data_parallel / rate.bytes_per_second;
    step.exposed = std::max(0.0, step.data_parallel - overlap * step.backward);
  }
  const double own = static_cast<double>(CountParameters(*setup.shape)) /
                     (division.tp * division.pp * (division.zero > 0 ? division.dp : 1));
  step.update = kUpdateBytes * own / gpu.memory_bandwidth->value;
  return step;
}

void AddTrainingMemory(const TrainingSetup& setup, const TrainingMemory& memory, Answer& answer) {
  const int zero = setup.division.zero;
  const auto divided = [&](int from) { return zero >= from ? " N/(p pp n)" : " N/(p pp)"; };
  answer.Add("weights", memory.state.weights, Unit::kBytes, std::string("2") + divided(3),
             "Rajbhandari 2020");
  answer.Add("gradients", memory.state.gradients, Unit::kBytes, std::string("2") + divided(2),
             "Rajbhandari 2020");
  answer.Add("optimizer", memory.state.optimizer, Unit::kBytes, std::string("12") + divided(1),
             "Rajbhandari 2020");
  if (memory.gathered > 0) {
    answer.Add("gathered", memory.gathered, Unit::kBytes, "2 N/(L p), the layer in use");
  }
  answer.Add("activations", memory.activations, Unit::kBytes,
             "bytes per layer x L x micro-batches in flight / pp", "Korthikanti 2022");
  if (memory.logits > 0) {
    answer.Add("logits", memory.logits, Unit::kBytes, "4 B T V/p", "Korthikanti 2022");
  }
  answer.Add("reserve", kTrainingReserve, Unit::kBytes, "CUDA, NCCL, fragmentation", "assumed");
}

// Adds the memory terms. If the training does not fit, returns an error that says what would fit.
Status AddCheckedMemory(const TrainingSetup& setup, const Hardware& gpu, Answer& answer) {
  const TrainingMemory memory = TrainingMemoryOf(setup);
  AddTrainingMemory(setup, memory, answer);
  const double total = answer.Add("memory", memory.Total(), Unit::kBytes, "sum, per GPU");
  if (!gpu.memory_bytes) {
    answer.notes.push_back("The memory of " + gpu.name + " is not known: check that it fits.");
    return Status::Ok();
  }
  const double room = kUsableMemory * *gpu.memory_bytes;
  answer.Add("room", room - total, Unit::kBytes, "0.92 x memory - sum");
  if (total <= room) return Status::Ok();
  return Refuse("gpu",
                "does not fit: " + FormatQuantity(total, Unit::kBytes) + " per GPU, of which " +
                    FormatQuantity(memory.state.Total(), Unit::kBytes) +
                    " are weights, gradients and optimizer and " +
                    FormatQuantity(memory.activations, Unit::kBytes) + " activations; " +
                    FormatQuantity(room, Unit::kBytes) + " are usable",
                WhatTrains(setup, room));
}

void AddTrainingBytes(const TrainingSetup& setup, Answer& answer) {
  const TrainingBytes sent = TrainingBytesOf(setup);
  const Parallelism& division = setup.division;
  if (division.tp > 1) {
    answer.Add("sent_tensor_parallel", sent.tensor_parallel, Unit::kBytes,
               setup.recompute == Recompute::kFull ? "6 m L/pp x 2 (p-1)/p B T d b"
                                                   : "4 m L/pp x 2 (p-1)/p B T d b",
               "Shoeybi 2019");
  }
  if (division.pp > 1) {
    answer.Add("sent_pipeline", sent.messages * sent.message, Unit::kBytes, "2 m v B T d b",
               "Narayanan 2021");
  }
  if (division.dp > 1) {
    answer.Add("sent_data_parallel", sent.data_parallel, Unit::kBytes,
               division.zero == 3 ? "(2 m + 1) (n-1)/n 2 N/(p pp)" : "2 (n-1)/n 2 N/(p pp)",
               "Rajbhandari 2020");
  }
}

void AddTrainingStep(const TrainingSetup& setup, const TrainingStep& step, const Hardware& gpu,
                     Answer& answer) {
  const auto add = [&](const char* name, double value, const char* formula,
                       const std::string& source = "") {
    answer.Add(name, value, Unit::kSeconds, formula, source);
    const Term* const most = answer.Find(answer.dominant);
    if (most == nullptr || value > most->value) answer.dominant = name;
  };
  add("compute", step.compute,
      setup.recompute == Recompute::kFull ? "m (4 x blocks + 3 x head), products and attention"
                                          : "3 m x forward, products and attention");
  add("elementwise", step.elementwise,
      "3 (4 recomputed) m x bytes of norms, residuals, activations and the loss / bandwidth",
      gpu.memory_bandwidth->source);
  if (setup.division.tp > 1) {
    add("tensor_parallel", step.tensor_parallel, "4 (6 recomputed) m L/pp x all-reduce of B T d b",
        step.link_source);
  }
  if (setup.division.pp > 1) {
    add("pipeline", step.pipeline, "2 m v B T d b / rate");
    add("bubble", step.bubble, "(pp-1)/(v m) x (compute + elementwise + tensor_parallel)",
        "Narayanan 2021");
  }
  if (setup.division.dp > 1) {
    answer.Add("data_parallel", step.data_parallel, Unit::kSeconds,
               "sent / rate: link, or network x GPUs of the group in a node", step.network_source);
    add("exposed", step.exposed, "max(0, data_parallel - backward x overlap)");
  }
  add("update", step.update, "28 bytes x parameters of this rank / bandwidth",
      gpu.memory_bandwidth->source);
}

Result<Answer> TrainAnswer(const Arguments& arguments) {
  const std::string& dtype = arguments.Text("dtype");
  ASSAY_ASSIGN_OR_RETURN(const TrainingSetup setup, TrainingSetupOf(arguments));
  const Hardware gpu =
      WithLink(arguments.Gpu(), static_cast<int64_t>(std::min(setup.gpus, setup.node_gpus)));
  ASSAY_ASSIGN_OR_RETURN(const Figure peak, RequiredPeak(gpu, dtype));
  const TokenFlops flops = TrainingFlops(*setup.shape, setup.sequence, setup.recompute);
  const double tokens = arguments.Number("global_batch");
  const double peak_seconds = tokens / (setup.gpus * peak.value);  // Per FLOP of a token.
  Answer answer;
  ASSAY_RETURN_IF_ERROR(AddCheckedMemory(setup, gpu, answer));
  answer.Add("micro_batches", setup.micro_batches, Unit::kCount, "global batch / (n B T)");
  answer.Add("peak", peak.value, Unit::kFlopPerSecond, "dense " + dtype, peak.source);
  answer.Add("flops", flops.mfu * tokens, Unit::kFlop, "(6 N_mm + 6 L h e T) x global batch");
  AddTrainingBytes(setup, answer);
  const bool ideal = gpu.products.empty() && !arguments.Has("mfu");
  double step = 0;
  if (arguments.Has("mfu")) {
    const double mfu = arguments.Number("mfu");
    if (mfu * flops.hfu / flops.mfu > 1) {
      return Refuse("mfu", "with what is computed again the GPU would do more than its peak",
                    "give at most " + FormatQuantity(flops.mfu / flops.hfu, Unit::kFraction));
    }
    answer.dominant = "flops";
    step = answer.Add("step", flops.mfu * peak_seconds / mfu, Unit::kSeconds,
                      "flops / (GPUs x peak x mfu)", "mfu given");
  } else {
    ASSAY_ASSIGN_OR_RETURN(const TrainingStep time,
                           TrainingStepOf(setup, gpu, dtype, arguments.Number("overlap")));
    AddTrainingStep(setup, time, gpu, answer);
    step = answer.Add("step", time.Total(), Unit::kSeconds,
                      "compute + elementwise + communication + bubble + update");
    answer.notes.push_back(
        "Left out: loading data, checkpoints, stragglers, and launches of small kernels.");
    if (ideal) {
      answer.notes.push_back(
          "No measured products of this GPU: all run at the dense peak, which none reaches. "
          "Published trainings reach an MFU of 38 to 56%; give one as --mfu.");
    }
  }
  const double rate = answer.Add("tokens_per_second_per_gpu", tokens / step / setup.gpus,
                                 Unit::kTokensPerSecond, "global batch / (step x GPUs)");
  const auto share = [&](double per_token) { return per_token * (peak_seconds / step); };
  answer.Add("mfu_full", share(flops.mfu_full), Unit::kFraction, "6 N + 12 L h e T",
             "Chowdhery 2022 (PaLM)");
  answer.Add("mfu_6n", share(flops.mfu_6n), Unit::kFraction, "6 N", "Kaplan 2020");
  answer.Add("hfu", share(flops.hfu), Unit::kFraction, "mfu, with recomputed FLOPs",
             "Korthikanti 2022");
  const double mfu = answer.Add("mfu", share(flops.mfu), Unit::kFraction,
                                "(6 N_mm + 6 L h e T) x tok/s / peak", "causal half of attention");
  answer.headline = "A step of " + FormatQuantity(tokens, Unit::kTokens) + " takes " +
                    FormatQuantity(step, Unit::kSeconds) + (ideal ? " on the spec sheet: " : ": ") +
                    FormatQuantity(rate, Unit::kTokensPerSecond) + " per GPU, MFU " +
                    FormatQuantity(mfu, Unit::kFraction) + ".";
  return answer;
}

Topic TrainTopic() {
  Topic topic;
  topic.name = "train";
  topic.summary = "Predict the step time, memory and MFU of a training on given GPUs";
  topic.about =
      "Adds up the products, the communication of each kind of parallelism and the bubble of the "
      "pipeline. Tensor-parallel ranks are neighbours, then data-parallel ranks, then stages; "
      "what leaves a node uses --network. With --mfu the step follows from that alone. A training "
      "that does not fit is refused with what does.";
  topic.example =
      "--model llama-3-70b --gpu 'H100 SXM' --gpus 2048 --tp 8 --pp 4 --dp 64 --zero 1 --micro 1 "
      "--global-batch 4Mi --sequence 8192 --recompute selective";
  topic.inputs = {
      Input::Model().Required(),
      Input::Gpu().Required(),
      Input::Of("gpus", Unit::kCount).Default("1").AtMost(1e6).Help("GPUs in all"),
      Input::Of("tp", Unit::kCount).Default("1").AtMost(1024).Help("tensor-parallel ranks"),
      Input::Of("pp", Unit::kCount).Default("1").AtMost(1024).Help("pipeline stages"),
      Input::Of("dp", Unit::kCount)
          .AtMost(1e6)
          .Help("data-parallel ranks; gpus / (tp pp) if left out"),
      Input::Choice("zero", {"0", "1", "2", "3"})
          .Default("0")
          .Help("ZeRO stage: 1 divides the optimizer, 2 gradients too, 3 (FSDP) weights too"),
      Input::Of("micro", Unit::kCount).Default("1").AtMost(1e9).Help("sequences per micro-batch"),
      Input::Of("global_batch", Unit::kCount)
          .Required()
          .Help("tokens per step of all GPUs, such as 4Mi"),
      Input::Of("sequence", Unit::kCount).Required().Help("tokens per sequence"),
      RecomputeInput(),
      Input::Choice("attention", {"flash", "plain"})
          .Default("flash")
          .Help("flash does not keep the scores"),
      Input::Flag("sequence_parallel")
          .Help("tensor-parallel ranks also divide what is between products"),
      Input::Of("interleave", Unit::kCount)
          .Default("1")
          .AtMost(1024)
          .Help("chunks of layers per pipeline stage"),
      Input::Of("mfu", Unit::kFraction)
          .Help("replaces the step time by FLOPs / (peak x mfu), causal as \"mfu\" of \"predict "
                "mfu\""),
      Input::Of("overlap", Unit::kFraction)
          .AtLeast(0)
          .Default("0")
          .Help("share of the backward pass that hides data-parallel communication"),
      Input::Of("node_gpus", Unit::kCount).Default("8").Help("GPUs per node"),
      Input::Of("network", Unit::kBytesPerSecond)
          .Default("50GB/s")
          .Help("bandwidth between nodes per GPU, in one direction"),
      Input::Choice("dtype", {"bf16", "fp16", "fp8"})
          .Default("bf16")
          .Help("type of the matrix products; weights have 16 bits with an fp32 copy")};
  AppendInputs(topic.inputs,
               HardwareInputs({"peak", "bandwidth", "link", "both_directions", "memory"}));
  topic.compute = TrainAnswer;
  return topic;
}

// Returns the smallest number of GPUs on which training with ZeRO-3 fits in memory, ignoring
// activations. Returns nullopt if the GPU's memory is unknown or too small.
std::optional<double> LeastTrainingGpus(double parameters, const Hardware& gpu) {
  if (!gpu.memory_bytes) return std::nullopt;
  const double room = kUsableMemory * *gpu.memory_bytes - kTrainingReserve;
  if (room <= 0) return std::nullopt;
  return std::max(1.0, std::ceil(16 * parameters / room));
}

// Returns the number of GPUs given by the user or, if there is none, the number needed to meet the
// deadline and fit in memory.
Result<double> PlannedTrainingGpus(const Arguments& arguments, const ModelSize& size,
                                   double gpu_seconds, Answer& answer) {
  const Hardware& gpu = arguments.Gpu();
  const std::optional<double> least = LeastTrainingGpus(size.parameters, gpu);
  const auto count = [](double value) { return FormatQuantity(value, Unit::kCount); };
  double needed = 0;
  if (arguments.Has("deadline")) {
    needed = answer.Add("gpus_for_deadline",
                        std::max(1.0, std::ceil(gpu_seconds / arguments.Number("deadline"))),
                        Unit::kCount, "ceil(FLOPs / (peak x mfu x deadline))");
  }
  if (least) {
    answer.Add("gpus_for_memory", *least, Unit::kCount,
               "ceil(16 N / (0.92 x memory - 1.5 GiB)), ZeRO-3", "Rajbhandari 2020");
  }
  if (!arguments.Has("gpus")) {
    if (needed == 0) {
      return Refuse("gpus", "is required, or a deadline", "such as --gpus 1024 or --deadline 30d");
    }
    return std::max(needed, least.value_or(1));
  }
  const double gpus = arguments.Number("gpus");
  if (least && gpus < *least) {
    return Refuse("gpus",
                  "does not fit: weights, gradients and optimizer take " +
                      FormatQuantity(16 * size.parameters, Unit::kBytes) + ", which is " +
                      FormatQuantity(16 * size.parameters / gpus, Unit::kBytes) +
                      " per GPU even with ZeRO-3; " + gpu.name + " has " +
                      FormatQuantity(*gpu.memory_bytes, Unit::kBytes),
                  "use at least " + count(*least) + " GPUs, and more for activations");
  }
  if (gpus < needed) {
    return Refuse("deadline",
                  count(gpus) + " GPUs need " + FormatQuantity(gpu_seconds / gpus, Unit::kSeconds),
                  "use at least " + count(needed) + " GPUs, or a deadline of " +
                      FormatQuantity(gpu_seconds / gpus, Unit::kSeconds));
  }
  return gpus;
}

void AddTrainingEnergy(const Arguments& arguments, double gpu_seconds, Answer& answer) {
  const bool given = arguments.Has("watts");
  if (!given && !arguments.Gpu().watts) return;
  const double watts = given ? arguments.Number("watts") : *arguments.Gpu().watts;
  answer.Add("power", watts, Unit::kWatts, "per GPU",
             given ? "given" : "sheet: TDP, an upper bound");
  answer.Add("energy", watts * gpu_seconds, Unit::kJoules,
             given ? "GPU hours x power; GPUs alone"
                   : "GPU hours x TDP: an upper bound, of the GPUs alone");
}

Result<Answer> TrainPlanAnswer(const Arguments& arguments) {
  ASSAY_ASSIGN_OR_RETURN(const ModelSize size, ModelSizeOf(arguments));
  ASSAY_ASSIGN_OR_RETURN(const Figure peak, RequiredPeak(arguments.Gpu(), arguments.Text("dtype")));
  const double tokens = arguments.Number("tokens");
  const double mfu = arguments.Number("mfu");
  Answer answer;
  answer.Add("parameters", size.active, Unit::kParameters, "N, active ones",
             size.shape != nullptr ? size.shape->source : "given");
  answer.Add("tokens", tokens, Unit::kTokens, "D", "given");
  const double ratio = answer.Add("tokens_per_parameter", tokens / size.active, Unit::kNumber,
                                  "D/N; 20 is the least training cost for a loss", "Hoffmann 2022");
  const double flops =
      answer.Add("flops", 6 * size.active * tokens, Unit::kFlop, "C = 6 N D", "Kaplan 2020");
  answer.Add("peak", peak.value, Unit::kFlopPerSecond, "dense " + arguments.Text("dtype"),
             peak.source);
  answer.Add("mfu", mfu, Unit::kFraction, "share of the peak",
             arguments.Given("mfu") ? "given"
                                    : "assumed: Llama 3 405B reached 38 to 43% on 16,384 H100 "
                                      "(Grattafiori 2024); give a measured one as --mfu");
  const double gpu_seconds = flops / (peak.value * mfu);
  ASSAY_ASSIGN_OR_RETURN(const double gpus,
                         PlannedTrainingGpus(arguments, size, gpu_seconds, answer));
  answer.Add("gpus", gpus, Unit::kCount, "n", arguments.Has("gpus") ? "given" : "as needed");
  answer.Add("state_per_gpu", 16 * size.parameters / gpus, Unit::kBytes,
             "16 N/n: weights, gradients and optimizer with ZeRO-3", "Rajbhandari 2020");
  answer.Add("gpu_hours", gpu_seconds / 3600, Unit::kNumber, "C / (peak x mfu) / 3600");
  AddTrainingEnergy(arguments, gpu_seconds, answer);
  const double time =
      answer.Add("time", gpu_seconds / gpus, Unit::kSeconds, "C / (GPUs x peak x mfu)");
  answer.Add("days", time / 86400, Unit::kNumber, "time / 86400");
  answer.headline = "Training takes " + FormatQuantity(time / 86400, Unit::kNumber) + " days on " +
                    FormatQuantity(gpus, Unit::kCount) + " x " + arguments.Gpu().name;
  if (arguments.Has("price")) {
    const double cost = answer.Add("cost", gpu_seconds / 3600 * arguments.Number("price"),
                                   Unit::kMoney, "GPU hours x price per GPU hour", "price given");
    answer.headline += " and costs " + FormatQuantity(cost, Unit::kMoney, arguments.currency());
  }
  answer.headline += ".";
  answer.dominant = "flops";
  if (ratio < 20) {
    answer.notes.push_back("The model sees " + FormatQuantity(ratio, Unit::kNumber) +
                           " tokens per parameter: a smaller model on more tokens reaches a lower "
                           "loss for the same FLOPs.");
  }
  answer.notes.push_back(
      "Left out: restarts, failed nodes, evaluation, storage and network, and FLOPs of attention; "
      "see predict train for the step itself and the memory of activations.");
  return answer;
}

Topic TrainPlanTopic() {
  Topic topic;
  topic.name = "train";
  topic.command = "plan";
  topic.summary = "Plan a training: days, GPU hours, cost and energy";
  topic.about =
      "FLOPs are 6 N D. The days follow from the GPUs, their dense peak and the MFU, which decides "
      "most: measure it with a short run. Give a deadline to get the GPUs instead. A plan whose "
      "weights, gradients and optimizer do not fit is refused.";
  topic.example = "--model llama-3-8b --tokens 15T --gpu 'H100 SXM' --gpus 1024 --price '2.00 USD'";
  topic.inputs = SizeInputs();
  AppendInputs(
      topic.inputs,
      {Input::Of("tokens", Unit::kTokens).Required().Help("tokens to train on, such as 15T"),
       Input::Gpu(), Input::Of("gpus", Unit::kCount).AtMost(1e7).Help("GPUs"),
       Input::Of("deadline", Unit::kSeconds)
           .Help("time by which it must be done, such as 30d; gives the GPUs needed"),
       Input::Of("price", Unit::kMoneyPerHour).Help("price of one GPU per hour, as \"2.00 USD\""),
       Input::Of("mfu", Unit::kFraction)
           .Default("0.4")
           .Help("share of the dense peak, by 6 N D: \"mfu_6n\" of \"predict mfu\""),
       Input::Of("watts", Unit::kWatts).Help("measured power per GPU; the TDP if left out"),
       Input::Choice("dtype", {"bf16", "fp16", "fp8"})
           .Default("bf16")
           .Help("type of the matrix products")});
  AppendInputs(topic.inputs, HardwareInputs({"peak", "memory"}));
  topic.compute = TrainPlanAnswer;
  return topic;
}

}  // namespace

std::vector<Topic> TrainTopics() { return {TrainTopic(), TrainPlanTopic()}; }

}  // namespace assay::predict
