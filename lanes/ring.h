/* ring.h: shared by the program and its loader. */
#pragma once

#define LANES_RING 4096 /* bytes: a page */
