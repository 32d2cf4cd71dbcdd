#include "base/completion.h"

#include <string.h>

/* The options of a command; NULL: of all. */
static void
print_options(FILE *out, const struct completion *c, const char *letters)
{
	for (unsigned i = 0; i < c->options; i++)
		if (letters == NULL ||
		    (c->option[i].letter != '\0' &&
			strchr(letters, c->option[i].letter) != NULL))
			fprintf(out, "--%s ", c->option[i].name);
}

static void
print_names(FILE *out, const struct completion *c, const char *between)
{
	for (unsigned i = 0; i < c->commands; i++)
		fprintf(out, "%s%s", i > 0 ? between : "", c->command[i].name);
}

/* What may follow an option with an argument. */
static void
print_arguments(FILE *out, const struct completion *c)
{
	for (unsigned i = 0; i < c->options; i++) {
		const struct completion_word *o = &c->option[i];

		if (!o->argument)
			continue;
		fprintf(out, "\t");
		if (o->letter != '\0')
			fprintf(out, "-%c | ", o->letter);
		fprintf(out, "--%s) ", o->name);
		if (o->values != NULL)
			fprintf(out, "words=\"%s\" ;;\n", o->values);
		else
			fprintf(out, "words='' files=1 ;;\n");
	}
}

/* Which command stands there already, and what may follow it. */
static void
print_commands(FILE *out, const struct completion *c)
{
	fprintf(out, "\tfor ((i = 1; i < COMP_CWORD; i++)); do\n"
		     "\t\tcase ${COMP_WORDS[i]} in\n\t\t");
	print_names(out, c, " | ");
	fprintf(out, ") command=${COMP_WORDS[i]} && break ;;\n"
		     "\t\tesac\n\tdone\n\tcase $command in\n");
	for (unsigned i = 0; i < c->commands; i++) {
		const struct completion_word *w = &c->command[i];

		fprintf(out, "\t%s) words=\"", w->name);
		print_options(out, c, w->options);
		if (w->options != NULL)
			print_options(out, c, c->common);
		fprintf(out, "%s\" ;;\n", w->values != NULL ? w->values : "");
	}
	fprintf(out, "\tesac\n");
}

static void
print_bash(FILE *out, const struct completion *c)
{
	fprintf(out,
	    "# bash completion for %s\n%s_%s()\n{\n"
	    "\tlocal word=${COMP_WORDS[COMP_CWORD]} command='' files='' i\n"
	    "\tlocal words='",
	    c->program, c->functions != NULL ? c->functions : "", c->program);
	print_names(out, c, " ");
	fputs(c->commands > 0 ? " " : "", out);
	print_options(out, c, c->common);
	fprintf(out, "'\n");
	if (c->commands > 0)
		print_commands(out, c);
	fprintf(out, "\tcase ${COMP_WORDS[COMP_CWORD - 1]} in\n");
	print_arguments(out, c);
	fprintf(out,
	    "\tesac\n"
	    "\tmapfile -t COMPREPLY < <(compgen ${files:+-f} -W \"$words\" "
	    "-- \"$word\")\n"
	    "\t[[ ${COMPREPLY[0]} != *= ]] || compopt -o nospace\n"
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
