#include "profiler/kernel/capability.h"

#include <errno.h>
#include <linux/capability.h>
#include <sys/syscall.h>
#include <unistd.h>

static int
capability_read(struct __user_cap_data_struct data[2])
{
	struct __user_cap_header_struct header = {
	    .version = _LINUX_CAPABILITY_VERSION_3};

	return syscall(SYS_capget, &header, data) < 0 ? -errno : 0;
}

uint64_t
capability_get(void)
{
	struct __user_cap_data_struct data[2] = {{0}};

	if (capability_read(data) < 0)
		return 0;
	return (uint64_t)data[1].effective << 32 | data[0].effective;
}

int
capability_keep(uint64_t keep)
{
	struct __user_cap_header_struct header = {
	    .version = _LINUX_CAPABILITY_VERSION_3};
	struct __user_cap_data_struct data[2] = {{0}};
	int i, err = capability_read(data);

	if (err < 0)
		return err;
	for (i = 0; i < 2; i++) {
		uint32_t word = (uint32_t)(keep >> 32 * i);

		data[i].effective &= word;
		data[i].permitted &= word;
		data[i].inheritable &= word;
	}
	return syscall(SYS_capset, &header, data) < 0 ? -errno : 0;
}
