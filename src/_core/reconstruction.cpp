#include "reconstruction.hpp"
