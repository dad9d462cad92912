// The normal distribution and Student's t distribution.
#pragma once

namespace assay::analysis {

// Returns the probability that a standard normal value is below `z`.
double NormalCdf(double z);

// Returns the `p` quantile of the standard normal distribution. `p` must be between 0 and 1,
// exclusive. The relative error is below 1e-9.
double NormalQuantile(double p);

// Return the cumulative distribution function and the quantiles of Student's t distribution with
// `freedom` degrees of freedom, a positive number, not necessarily an integer.
double StudentCdf(double t, double freedom);
double StudentQuantile(double p, double freedom);

}  // namespace assay::analysis
