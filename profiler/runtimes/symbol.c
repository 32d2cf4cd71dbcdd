/* symbol.c: find a symbol of an ELF file: in its dynamic symbols, then in
 * others.
 *
 * The file may be another user's.  libelf reads it, and the bytes read in all
 * are bounded, because its parts may overlap and it may be mostly holes.
 *
 * Probes attach at an offset of a file.  libbpf finds a function by its whole
 * symbol; a C++ function's symbol ends in its arguments, which change between
 * versions, so here the begin of the symbol is enough.  64 bit ELF only. */
#include "profiler/runtimes/probes.h"

#include <errno.h>
#include <fcntl.h>
#include <gelf.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define FILE_MAX ((off_t)1 << 30)      /* bytes; larger files have no symbols */
#define READ_MAX ((uint64_t)128 << 20) /* bytes read of a file, in all */
#define NOTES_MAX ((uint64_t)4 << 20)  /* of a section of notes, or of names */
#define SECTIONS_MAX 4096

struct elf_file {
	int fd;
	Elf *elf;      /* owned; libelf keeps what it has read */
	uint64_t left; /* bytes left of READ_MAX */
};

static void
elf_close(struct elf_file *e)
{
	elf_end(e->elf);
	if (e->fd >= 0)
		close(e->fd);
}

/* Returns 0 or a negative errno; call elf_close in either case. */
static int
elf_open(struct elf_file *e, const char *path)
{
	Elf64_Ehdr head = {0};
	struct stat st;

	/* O_NONBLOCK: opening a pipe in its place must not block. */
	*e = (struct elf_file){
	    .fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY),
	    .left = READ_MAX};
	if (e->fd < 0 || fstat(e->fd, &st) < 0)
		return -errno;
	/* libelf allocates for each section that the header announces, and
	 * takes 0 as "more than fit here": check the number first. */
	if (!S_ISREG(st.st_mode) || st.st_size > FILE_MAX ||
	    pread(e->fd, &head, sizeof(head), 0) != sizeof(head) ||
	    head.e_ident[EI_CLASS] != ELFCLASS64 || head.e_shnum == 0 ||
	    head.e_shnum > SECTIONS_MAX || elf_version(EV_CURRENT) == EV_NONE)
		return -EINVAL;
	e->elf = elf_begin(e->fd, ELF_C_READ, NULL);
	return elf_kind(e->elf) == ELF_K_ELF &&
		       elf_nextscn(e->elf, NULL) != NULL
		   ? 0
		   : -EINVAL;
}

/* A function's offset in the file, from its address; 0: none. */
static uint64_t
symbol_offset(const struct elf_file *e, const GElf_Sym *s)
{
	GElf_Shdr h;

	if (gelf_getshdr(elf_getscn(e->elf, s->st_shndx), &h) == NULL ||
	    s->st_value < h.sh_addr || s->st_value - h.sh_addr >= h.sh_size)
		return 0;
	return s->st_value - h.sh_addr + h.sh_offset;
}

/* Search one table of symbols.  Returns 0, -ENOENT or another negative
 * errno. */
static int
table_search(struct elf_file *e, Elf_Scn *section, const GElf_Shdr *table,
    const char *prefix, uint64_t *offset)
{
	Elf_Data *data;
	const char *name;
	GElf_Shdr names;
	GElf_Sym symbol;

	if (gelf_getshdr(elf_getscn(e->elf, table->sh_link), &names) == NULL ||
	    table->sh_size > e->left ||
	    names.sh_size > e->left - table->sh_size)
		return -EINVAL;
	e->left -= table->sh_size + names.sh_size;
	data = elf_getdata(section, NULL);
	if (data == NULL)
		return -EINVAL;
	for (int i = 0; gelf_getsym(data, i, &symbol) != NULL; i++) {
		if (GELF_ST_TYPE(symbol.st_info) != STT_FUNC)
			continue;
		name = elf_strptr(e->elf, table->sh_link, symbol.st_name);
		if (name == NULL || strncmp(name, prefix, strlen(prefix)) != 0)
			continue;
		*offset = symbol_offset(e, &symbol);
		if (*offset != 0)
			return 0;
	}
	return -ENOENT;
}

int
symbol_file_check(const char *path)
{
	struct elf_file e;
	Elf_Scn *section = NULL;
	size_t names = 0;
	GElf_Shdr h;
	int err = elf_open(&e, path);

	if (err == 0 && elf_getshdrstrndx(e.elf, &names) != 0)
		err = -EINVAL;
	while (err == 0 && (section = elf_nextscn(e.elf, section)) != NULL)
		if (gelf_getshdr(section, &h) == NULL ||
		    (h.sh_size > NOTES_MAX &&
			(h.sh_type == SHT_NOTE ||
			    elf_ndxscn(section) == names)))
			err = -EINVAL;
	elf_close(&e);
	return err;
}

int
symbol_find(const char *path, const char *prefix, uint64_t *offset)
{
	static const uint32_t types[] = {SHT_DYNSYM, SHT_SYMTAB};
	struct elf_file e;
	Elf_Scn *section = NULL;
	GElf_Shdr h;
	int err = elf_open(&e, path);

	if (err == 0)
		err = -ENOENT;
	for (unsigned k = 0; k < 2 && err == -ENOENT; k++, section = NULL)
		while (err == -ENOENT &&
		       (section = elf_nextscn(e.elf, section)) != NULL)
			if (gelf_getshdr(section, &h) != NULL &&
			    h.sh_type == types[k])
				err = table_search(
				    &e, section, &h, prefix, offset);
	elf_close(&e);
	return err;
}
