/* symbol.c: the dynamic symbols of an ELF file, then all others.
 *
 * The file is another user's: every number in it is checked against its size.
 *
 * Probes attach at an offset of a file.  libbpf finds a function by its whole
 * name; that of a C++ function ends in its arguments, which change between
 * versions, so here the beginning of the name is enough.  64 bit ELF only. */
#include "profiler/runtimes/probes.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define SECTIONS_MAX 4096
#define TABLE_MAX ((uint64_t)512 << 20) /* bytes of a table of symbols */

struct elf {
	int fd;
	uint64_t bytes;
	Elf64_Shdr *section; /* owned */
	unsigned sections;
};

/* A part of the file, in memory to be freed; NULL with errno. */
static void *
elf_part(const struct elf *e, uint64_t offset, uint64_t bytes)
{
	uint64_t done = 0;
	ssize_t n;
	char *part;

	if (offset > e->bytes || bytes > e->bytes - offset || bytes == 0 ||
	    bytes > TABLE_MAX) {
		errno = EINVAL;
		return NULL;
	}
	part = malloc(bytes);
	while (part != NULL && done < bytes) {
		n = pread(
		    e->fd, part + done, bytes - done, (off_t)(offset + done));
		if (n <= 0) {
			free(part);
			errno = n < 0 ? errno : EINVAL;
			return NULL;
		}
		done += (uint64_t)n;
	}
	return part;
}

static int
elf_open(struct elf *e, const char *path)
{
	Elf64_Ehdr *head;
	struct stat st;

	/* Non-blocking: a FIFO in that place must not hang us. */
	*e = (struct elf){
	    .fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY)};
	if (e->fd < 0 || fstat(e->fd, &st) < 0)
		return -errno;
	if (!S_ISREG(st.st_mode))
		return -EINVAL;
	e->bytes = (uint64_t)st.st_size;
	head = elf_part(e, 0, sizeof(*head));
	if (head == NULL)
		return -errno;
	if (memcmp(head->e_ident, ELFMAG, SELFMAG) == 0 &&
	    head->e_ident[EI_CLASS] == ELFCLASS64 &&
	    head->e_shentsize == sizeof(Elf64_Shdr) &&
	    head->e_shnum <= SECTIONS_MAX) {
		e->sections = head->e_shnum;
		e->section = elf_part(
		    e, head->e_shoff, e->sections * sizeof(*e->section));
	}
	free(head);
	return e->section != NULL ? 0 : -EINVAL;
}

static void
elf_close(struct elf *e)
{
	free(e->section);
	if (e->fd >= 0)
		close(e->fd);
}

/* A function's place in memory as a place in the file; 0: none. */
static uint64_t
elf_offset(const struct elf *e, const Elf64_Sym *s)
{
	const Elf64_Shdr *h;

	if (s->st_shndx >= e->sections)
		return 0;
	h = &e->section[s->st_shndx];
	if (s->st_value < h->sh_addr || s->st_value - h->sh_addr >= h->sh_size)
		return 0;
	return s->st_value - h->sh_addr + h->sh_offset;
}

static uint64_t
symbols_search(const struct elf *e, const Elf64_Sym *symbol, uint64_t symbols,
    const char *names, uint64_t names_bytes, const char *prefix)
{
	size_t length = strlen(prefix);
	uint64_t offset;

	for (uint64_t i = 0; i < symbols; i++) {
		if (ELF64_ST_TYPE(symbol[i].st_info) != STT_FUNC ||
		    symbol[i].st_name >= names_bytes ||
		    names_bytes - symbol[i].st_name <= length ||
		    strncmp(names + symbol[i].st_name, prefix, length) != 0)
			continue;
		offset = elf_offset(e, &symbol[i]);
		if (offset != 0)
			return offset;
	}
	return 0;
}

/* One table of symbols.  0, -ENOENT or another negative errno. */
static int
table_search(const struct elf *e, const Elf64_Shdr *table, const char *prefix,
    uint64_t *offset)
{
	const Elf64_Shdr *names;
	Elf64_Sym *symbol;
	char *text;
	int err = -ENOENT;

	if (table->sh_link >= e->sections ||
	    table->sh_entsize != sizeof(*symbol))
		return -EINVAL;
	names = &e->section[table->sh_link];
	symbol = elf_part(e, table->sh_offset, table->sh_size);
	text = elf_part(e, names->sh_offset, names->sh_size);
	if (symbol == NULL || text == NULL) {
		err = -errno;
	} else {
		*offset =
		    symbols_search(e, symbol, table->sh_size / sizeof(*symbol),
			text, names->sh_size, prefix);
		err = *offset != 0 ? 0 : -ENOENT;
	}
	free(symbol);
	free(text);
	return err;
}

int
symbol_find(const char *path, const char *prefix, uint64_t *offset)
{
	static const uint32_t types[] = {SHT_DYNSYM, SHT_SYMTAB};
	struct elf e;
	int err = elf_open(&e, path);

	if (err == 0)
		err = -ENOENT;
	for (unsigned k = 0; k < 2 && err == -ENOENT; k++)
		for (unsigned i = 0; i < e.sections && err == -ENOENT; i++)
			if (e.section[i].sh_type == types[k])
				err = table_search(
				    &e, &e.section[i], prefix, offset);
	elf_close(&e);
	return err;
}
