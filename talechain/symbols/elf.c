/* elf.c: names from a file's symbol tables, by libelf.
 *
 * The file is a server's, so libelf reads it (a mapping ends in SIGBUS if the
 * file is cut short).  libelf keeps all that it has read until the end, and
 * parts of a file may overlap, so the sum of all reads is bounded. */
#include <gelf.h>
#include <libelf.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "talechain/symbols/sources.h"

#define TABLES_BYTES (UINT64_C(128) << 20) /* all tables and names of a file */
#define NOTES_BYTES (UINT64_C(256) << 10)  /* all notes of a file */
#define SECTIONS_MAX 4096 /* more than any linked program has */
#define GO_BUILD_ID 4	  /* a note's type; its owner is "Go" */

/* Begin to read a file; NULL if it is no 64-bit ELF file. */
static Elf *
file_begin(int fd)
{
	Elf64_Ehdr head = {0};

	/* libelf allocates memory for each section that the head counts, and
	 * takes 0 for "more than fit here". */
	if (pread(fd, &head, sizeof(head), 0) != sizeof(head) ||
	    head.e_ident[EI_CLASS] != ELFCLASS64 ||
	    head.e_shnum > SECTIONS_MAX ||
	    (head.e_shnum == 0 && head.e_shoff != 0) ||
	    elf_version(EV_CURRENT) == EV_NONE)
		return NULL;
	return elf_begin(fd, ELF_C_READ, NULL);
}

/* True if a table and its names may still be read. */
static bool
table_fits(Elf *elf, const GElf_Shdr *header, uint64_t *left)
{
	Elf_Scn *section = elf_getscn(elf, header->sh_link);
	GElf_Shdr names;

	if (gelf_getshdr(section, &names) == NULL || header->sh_size > *left ||
	    names.sh_size > *left - header->sh_size)
		return false;
	*left -= header->sh_size + names.sh_size;
	return true;
}

/* True if a symbol contains the address and begins nearer to it than the best
 * one so far. */
static bool
is_better(const GElf_Sym *symbol, const struct symbol *of)
{
	return of->at >= symbol->st_value &&
	       of->at - symbol->st_value < symbol->st_size &&
	       (of->name[0] == '\0' || symbol->st_value > of->nearest);
}

static void
name_from(Elf *elf, const GElf_Shdr *header, const GElf_Sym *symbol,
    struct symbol *of)
{
	const char *name = elf_strptr(elf, header->sh_link, symbol->st_name);

	if (name == NULL || name[0] == '\0')
		return;
	of->nearest = symbol->st_value;
	symbol_demangle(of->name, name);
}

static void
table_read(Elf *elf, Elf_Scn *section, const GElf_Shdr *header,
    struct symbol *const *of, size_t n)
{
	Elf_Data *data = elf_getdata(section, NULL);
	GElf_Sym symbol;

	if (data == NULL || header->sh_entsize == 0)
		return;
	for (int i = 0; gelf_getsym(data, i, &symbol) != NULL; i++) {
		if (GELF_ST_TYPE(symbol.st_info) != STT_FUNC &&
		    GELF_ST_TYPE(symbol.st_info) != STT_GNU_IFUNC)
			continue;
		for (size_t k = 0; k < n; k++)
			if (is_better(&symbol, of[k]))
				name_from(elf, header, &symbol, of[k]);
	}
}

/* Change of[]->at from offsets in the file to the addresses that its symbols
 * use. */
static void
offsets_move(Elf *elf, struct symbol *const *of, size_t n)
{
	size_t count = 0;
	GElf_Phdr p;

	for (size_t k = 0; k < n; k++)
		of[k]->nearest = 0;
	if (elf_getphdrnum(elf, &count) != 0 || count > UINT16_MAX)
		return;
	for (size_t i = 0; i < count; i++) {
		if (gelf_getphdr(elf, (int)i, &p) == NULL ||
		    p.p_type != PT_LOAD)
			continue;
		for (size_t k = 0; k < n; k++)
			if (of[k]->nearest == 0 && of[k]->at >= p.p_offset &&
			    of[k]->at - p.p_offset < p.p_filesz) {
				of[k]->at += p.p_vaddr - p.p_offset;
				of[k]->nearest = 1; /* moved */
			}
	}
}

void
symbols_of_file(int fd, struct symbol *const *of, size_t n)
{
	uint64_t left = TABLES_BYTES;
	Elf_Scn *section = NULL;
	Elf *elf = file_begin(fd);
	GElf_Shdr header;

	if (elf_kind(elf) == ELF_K_ELF) {
		offsets_move(elf, of, n);
		while ((section = elf_nextscn(elf, section)) != NULL)
			if (gelf_getshdr(section, &header) != NULL &&
			    (header.sh_type == SHT_SYMTAB ||
				header.sh_type == SHT_DYNSYM) &&
			    table_fits(elf, &header, &left))
				table_read(elf, section, &header, of, n);
	}
	elf_end(elf);
}

/* True if a segment of notes has the note that Go's linker writes. */
static bool
notes_of_go(Elf *elf, const GElf_Phdr *p)
{
	Elf_Data *data = elf_getdata_rawchunk(
	    elf, (int64_t)p->p_offset, p->p_filesz, ELF_T_NHDR);
	size_t at = 0, next, name, text;
	GElf_Nhdr note;

	for (; data != NULL &&
	       (next = gelf_getnote(data, at, &note, &name, &text)) > 0;
	     at = next)
		if (note.n_type == GO_BUILD_ID && note.n_namesz == 4 &&
		    memcmp((char *)data->d_buf + name, "Go\0", 4) == 0)
			return true;
	return false;
}

bool
symbols_file_is_go(int fd)
{
	uint64_t left = NOTES_BYTES;
	Elf *elf = file_begin(fd);
	size_t count = 0;
	bool found = false;
	GElf_Phdr p;

	if (elf_kind(elf) == ELF_K_ELF && elf_getphdrnum(elf, &count) == 0)
		for (size_t i = 0; i < count && i < UINT16_MAX && !found; i++)
			if (gelf_getphdr(elf, (int)i, &p) != NULL &&
			    p.p_type == PT_NOTE && p.p_filesz <= left) {
				left -= p.p_filesz;
				found = notes_of_go(elf, &p);
			}
	elf_end(elf);
	return found;
}
