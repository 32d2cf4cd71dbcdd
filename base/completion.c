#include "base/completion.h"

#include <string.h>

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
