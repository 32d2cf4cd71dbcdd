/* words.head.c: see words.head.h. */
