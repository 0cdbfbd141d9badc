#include "ball.hpp"
