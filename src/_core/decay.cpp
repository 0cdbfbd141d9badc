#include "decay.hpp"
