/* Goal: the overflows of accept queues are found in /proc/net/netstat. */
#include "tests/unit/unit.h"

#include <string.h>

#include "proxy/client/arrival.h"

/* Goal: the value is the one below its name, wherever that stands. */
TEST(test_found)
{
	assert_true(arrival_overflows("TcpExt: A ListenOverflows B\n"
				      "TcpExt: 1 22 333\n"
				      "IpExt: C\nIpExt: 4\n") == 22);
	assert_true(arrival_overflows(
			"IpExt: C\nIpExt: 4\n"
			"TcpExt: A ListenOverflows\n"
			"TcpExt: 1 18446744073709551615\n") == UINT64_MAX);
}

/* Goal: text without it, or cut anywhere before it, is no overflow. */
TEST(test_not_found)
{
	static const char whole[] = "TcpExt: A ListenOverflows\nTcpExt: 1 22\n";
	char part[sizeof(whole)];

	assert_true(arrival_overflows("TcpExt: A\nTcpExt: 1\n"
				      "IpExt: ListenOverflows\n") == 0);
	assert_true(
	    arrival_overflows("TcpExt: A ListenOverflows\nTcpExt: 1") == 0);
	for (size_t n = 0; n < strlen(whole) - strlen("22\n"); n++) {
		memcpy(part, whole, n);
		part[n] = '\0';
		assert_true(arrival_overflows(part) == 0);
	}
}
