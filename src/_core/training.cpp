#include "training.hpp"
