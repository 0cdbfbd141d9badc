#include "hashing.hpp"
