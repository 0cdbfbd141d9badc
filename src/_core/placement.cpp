#include "placement.hpp"
