#include "base/usage.h"

#include <string.h>

#include "base/nearest.h"

#define OPTION_TEXT_MAX 64

static const struct option *
option_of(const struct option *longs, int code)
{
	for (; longs->name != NULL; longs++)
		if (longs->val == code)
			return longs;
	return NULL;
}

/* List the options that begin with a word: "--cause or --chrome"; returns how
 * many. */
static unsigned
meant(const struct option *longs, const char *word, char *out, size_t size)
{
	unsigned count = 0;
	size_t n = 0;

	for (; longs->name != NULL; longs++) {
		if (strncmp(longs->name, word, strlen(word)) != 0 || n >= size)
			continue;
		n += (size_t)snprintf(out + n, size - n, "%s--%s",
		    count++ > 0 ? " or " : "", longs->name);
	}
	return count;
}

/* An unknown or ambiguous long option. */
static void
refuse_long(
    const struct option *longs, const char *given, char *out, size_t size)
{
	struct nearest best = {NULL, 0};
	char word[OPTION_TEXT_MAX], several[2 * OPTION_TEXT_MAX];
	const char *name = given + strspn(given, "-");

	snprintf(word, sizeof(word), "%.*s", (int)strcspn(name, "="), name);
	if (meant(longs, word, several, sizeof(several)) > 1) {
		snprintf(out, size, "--%s is ambiguous: %s?", word, several);
		return;
	}
	for (; longs->name != NULL; longs++)
		nearest_consider(&best, word, longs->name);
	if (best.word != NULL)
		snprintf(out, size, "unknown option --%s; did you mean --%s?",
		    word, best.word);
	else
		snprintf(out, size, "unknown option --%s", word);
}

const char *
usage_refusal(const struct option *longs, int code, char *const *argv,
    char *out, size_t size)
{
	const struct option *o = optopt != 0 ? option_of(longs, optopt) : NULL;

	if (o != NULL && code == ':')
		snprintf(out, size, "option --%s needs an argument", o->name);
	else if (o != NULL)
		snprintf(out, size, "option --%s takes no argument", o->name);
	else if (optopt != 0)
		snprintf(out, size, "unknown option -%c", optopt);
	else
		refuse_long(longs, argv[optind - 1], out, size);
	return out;
}

/* --- shell completion -------------------------------------------------- */

static void
print_names(FILE *out, const char *before, const struct completion_word *word,
    unsigned words)
{
	for (unsigned i = 0; i < words; i++)
		fprintf(out, "%s%s%s", i > 0 ? " " : "", before, word[i].name);
}

static void
print_bash(FILE *out, const struct completion *c)
{
	fprintf(out,
	    "# bash completion for %s\n"
	    "_%s()\n{\n"
	    "\tlocal word=${COMP_WORDS[COMP_CWORD]}\n"
	    "\tlocal before=${COMP_WORDS[COMP_CWORD - 1]} o\n"
	    "\tfor o in ",
	    c->program, c->program);
	for (unsigned i = 0; i < c->options; i++)
		if (c->option[i].argument)
			fprintf(out, "--%s ", c->option[i].name);
	fprintf(out, "; do\n"
		     "\t\t[[ $before == \"$o\" ]] || continue\n"
		     "\t\tmapfile -t COMPREPLY < <(compgen -f -- \"$word\")\n"
		     "\t\treturn\n"
		     "\tdone\n"
		     "\tmapfile -t COMPREPLY < <(compgen -W '");
	print_names(out, "", c->command, c->commands);
	fputs(c->commands > 0 ? " " : "", out);
	print_names(out, "--", c->option, c->options);
	fprintf(out,
	    "' -- \"$word\")\n"
	    "}\n"
	    "complete -F _%s %s\n",
	    c->program, c->program);
}

/* Text within single quotes, for all shells: special characters are left
 * out. */
static void
print_meaning(FILE *out, const char *text)
{
	for (; *text != '\0'; text++)
		if (strchr("'[]\\:", *text) == NULL)
			fputc(*text, out);
}

static void
print_zsh(FILE *out, const struct completion *c)
{
	fprintf(out, "#compdef %s\n_arguments \\\n", c->program);
	for (unsigned i = 0; i < c->options; i++) {
		fprintf(out, "\t'--%s[", c->option[i].name);
		print_meaning(out, c->option[i].meaning);
		fprintf(out, "]%s' \\\n",
		    c->option[i].argument ? ":value:_files" : "");
	}
	if (c->commands > 0) {
		fprintf(out, "\t'1:command:((");
		for (unsigned i = 0; i < c->commands; i++) {
			fprintf(out, "%s%s\\:\"", i > 0 ? " " : "",
			    c->command[i].name);
			print_meaning(out, c->command[i].meaning);
			fprintf(out, "\"");
		}
		fprintf(out, "))' \\\n");
	}
	/* With "::" zsh would offer no options after the first word. */
	fprintf(out, "\t'*: :_files'\n");
}

static void
print_fish(FILE *out, const struct completion *c)
{
	fprintf(out, "# fish completion for %s\n", c->program);
	for (unsigned i = 0; i < c->commands; i++) {
		fprintf(out,
		    "complete -c %s -f -n __fish_use_subcommand -a %s -d '",
		    c->program, c->command[i].name);
		print_meaning(out, c->command[i].meaning);
		fprintf(out, "'\n");
	}
	for (unsigned i = 0; i < c->options; i++) {
		fprintf(out, "complete -c %s -l %s%s -d '", c->program,
		    c->option[i].name, c->option[i].argument ? " -r" : "");
		print_meaning(out, c->option[i].meaning);
		fprintf(out, "'\n");
	}
}

bool
completion_print(FILE *out, const char *shell, const struct completion *c)
{
	if (strcmp(shell, "bash") == 0)
		print_bash(out, c);
	else if (strcmp(shell, "zsh") == 0)
		print_zsh(out, c);
	else if (strcmp(shell, "fish") == 0)
		print_fish(out, c);
	else
		return false;
	return true;
}
