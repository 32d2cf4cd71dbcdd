#include "base/cgroup.h"
