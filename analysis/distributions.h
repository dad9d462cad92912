// The normal distribution and Student's t distribution.
#pragma once

namespace assay::analysis {

// Returns the probability that a standard normal value is below `z`.
double NormalCdf(double z);

// Returns the value below which a standard normal value lies with probability `p`, which must be
// between 0 and 1, exclusive. The relative error is below 1e-9.
double NormalQuantile(double p);

// The corresponding functions for Student's t distribution with `freedom` degrees of freedom.
// `freedom` must be positive and may be a fraction.
double StudentCdf(double t, double freedom);
double StudentQuantile(double p, double freedom);

}  // namespace assay::analysis
