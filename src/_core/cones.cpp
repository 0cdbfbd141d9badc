#include "cones.hpp"
