#include "spreading.hpp"
