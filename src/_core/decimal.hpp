// float64 as text, the shortest digits that read back to the same number, laid out as Python's repr does.
#pragma once

#include <cstddef>
#include <string>

namespace poincare {

// Appends one number. Only for finite ones: JSON has no others.
void append_decimal(double value, std::string& out);

// Appends "[a, b, …]" for n numbers.
void append_decimal_list(const double* values, std::size_t n, std::string& out);

}  // namespace poincare
