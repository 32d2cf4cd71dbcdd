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

/* bash: words as within double quotes. */
static void
print_values(FILE *out, const struct completion *c, const char *values)
{
	if (*values == '@')
		fprintf(out, "$(_%s_words %s)", c->program, values + 1);
	else
		fputs(values, out);
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
		if (o->values == NULL) {
			fprintf(out, "words='' files=1 ;;\n");
			continue;
		}
		fprintf(out, "words=\"");
		print_values(out, c, o->values);
		fprintf(out, "\" ;;\n");
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
		print_values(out, c, w->values != NULL ? w->values : "");
		fprintf(out, "\" ;;\n");
	}
	fprintf(out, "\tesac\n");
}

/* What a running program knows, as one word on each line. */
static void
print_bash_words(FILE *out, const struct completion *c)
{
	if (c->selector == NULL)
		return;
	fprintf(out,
	    "_%s_words()\n{\n"
	    "\tlocal i selected=()\n"
	    "\tfor ((i = 1; i < COMP_CWORD - 1; i++)); do\n"
	    "\t\t[[ ${COMP_WORDS[i]} == -%c || ${COMP_WORDS[i]} == --%s ]] "
	    "&&\n"
	    "\t\t\tselected=(-%c \"${COMP_WORDS[i + 1]}\")\n"
	    "\tdone\n"
	    "\t%s \"${selected[@]}\" completion \"$1\" 2>/dev/null\n}\n",
	    c->program, c->selector->letter, c->selector->name,
	    c->selector->letter, c->program);
}

static void
print_bash(FILE *out, const struct completion *c)
{
	fprintf(out, "# bash completion for %s\n", c->program);
	print_bash_words(out, c);
	fprintf(out,
	    "_%s()\n{\n"
	    "\tlocal word=${COMP_WORDS[COMP_CWORD]} command='' files='' i\n"
	    "\tlocal words='",
	    c->program);
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

/* The words of an argument, as an action of _arguments.  A blank in front: it
 * is called as it stands. */
static void
print_zsh_action(FILE *out, const struct completion *c, const char *values)
{
	if (values == NULL)
		fprintf(out, "_files");
	else if (*values == '@')
		fprintf(out, " _%s_words %s", c->program, values + 1);
	else if (strchr(values, '=') != NULL)
		fprintf(out, " _%s_keys", c->program);
	else if (*values != '\0')
		fprintf(out, "(%s)", values);
	else
		fputc(' ', out);
}

/* '-c[meaning]:value:action' \ */
static void
print_zsh_option(FILE *out, const struct completion *c,
    const struct completion_word *o, const char *dashes, const char *name)
{
	fprintf(out, "\t'%s%s[", dashes, name);
	print_meaning(out, o->meaning);
	fprintf(out, "]");
	if (o->argument) {
		fprintf(out, ":value:");
		print_zsh_action(out, c, o->values);
	}
	fprintf(out, "' \\\n");
}

/* Functions for values: what a running program knows, and keys behind which a
 * value follows. */
static void
print_zsh_functions(FILE *out, const struct completion *c)
{
	if (c->selector != NULL)
		fprintf(out,
		    "_%s_words()\n{\n"
		    "\tlocal i\n\tlocal -a selected found\n"
		    "\tfor ((i = 2; i < CURRENT - 1; i++)); do\n"
		    "\t\t[[ $words[i] == (-%c|--%s) ]] && "
		    "selected=(-%c $words[i+1])\n"
		    "\tdone\n"
		    "\tfound=(${(f)\"$(%s $selected completion $1 "
		    "2>/dev/null)\"})\n"
		    "\tcompadd -a found\n}\n",
		    c->program, c->selector->letter, c->selector->name,
		    c->selector->letter, c->program);
	for (unsigned i = 0; i < c->options; i++)
		if (c->option[i].values != NULL &&
		    strchr(c->option[i].values, '=') != NULL)
			fprintf(out,
			    "_%s_keys()\n{\n\tlocal keys='%s'\n"
			    "\tlocal -a found=(${=keys})\n"
			    "\tcompadd -S '' -a found\n}\n",
			    c->program, c->option[i].values);
}

/* What follows a command. */
static void
print_zsh_argument(FILE *out, const struct completion *c)
{
	fprintf(out, "_%s_argument()\n{\n\tcase $line[1] in\n", c->program);
	for (unsigned i = 0; i < c->commands; i++) {
		const struct completion_word *w = &c->command[i];

		if (w->values == NULL)
			continue;
		if (*w->values == '@')
			fprintf(out, "\t%s) _%s_words %s ;;\n", w->name,
			    c->program, w->values + 1);
		else
			fprintf(out, "\t%s) compadd -- %s ;;\n", w->name,
			    w->values);
	}
	fprintf(out, "\tesac\n}\n");
}

static void
print_zsh(FILE *out, const struct completion *c)
{
	fprintf(out, "#compdef %s\n", c->program);
	print_zsh_functions(out, c);
	if (c->selector != NULL)
		print_zsh_argument(out, c);
	fprintf(out, "_arguments \\\n");
	for (unsigned i = 0; i < c->options; i++) {
		const struct completion_word *o = &c->option[i];

		print_zsh_option(out, c, o, "--", o->name);
		if (o->letter != '\0')
			print_zsh_option(
			    out, c, o, "-", (char[]){o->letter, '\0'});
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
	if (c->selector != NULL)
		fprintf(out, "\t'*: : _%s_argument'\n", c->program);
	else
		fprintf(out, "\t'*: :_files'\n");
}

/* What a running program knows, as one word on each line. */
static void
print_fish_words(FILE *out, const struct completion *c)
{
	if (c->selector == NULL)
		return;
	fprintf(out,
	    "complete -c %s -f\n"
	    "function _%s_words\n"
	    "\tset -l typed (commandline -opc)\n\tset -l selected\n"
	    "\tfor i in (seq 2 (math (count $typed) - 1))\n"
	    "\t\tcontains -- $typed[$i] -%c --%s\n"
	    "\t\tand set selected -%c $typed[(math $i + 1)]\n"
	    "\tend\n"
	    "\t%s $selected completion $argv[1] 2>/dev/null\n"
	    "end\n",
	    c->program, c->program, c->selector->letter, c->selector->name,
	    c->selector->letter, c->program);
}

/* Only these words; files for NULL. */
static void
print_fish_values(FILE *out, const struct completion *c, const char *values)
{
	fprintf(out, values != NULL ? " -f" : " -F");
	if (values == NULL)
		return;
	if (*values == '@')
		fprintf(out, " -a '(_%s_words %s)'", c->program, values + 1);
	else if (*values != '\0')
		fprintf(out, " -a '%s'", values);
}

static void
print_fish_command(
    FILE *out, const struct completion *c, const struct completion_word *w)
{
	fprintf(out, "complete -c %s -f -n __fish_use_subcommand -a %s -d '",
	    c->program, w->name);
	print_meaning(out, w->meaning);
	fprintf(out, "'\n");
	if (c->selector == NULL || w->values == NULL)
		return;
	fprintf(out, "complete -c %s -n '__fish_seen_subcommand_from %s'",
	    c->program, w->name);
	print_fish_values(out, c, w->values);
	fputc('\n', out);
}

static void
print_fish(FILE *out, const struct completion *c)
{
	fprintf(out, "# fish completion for %s\n", c->program);
	print_fish_words(out, c);
	for (unsigned i = 0; i < c->commands; i++)
		print_fish_command(out, c, &c->command[i]);
	for (unsigned i = 0; i < c->options; i++) {
		const struct completion_word *o = &c->option[i];

		fprintf(out, "complete -c %s -l %s", c->program, o->name);
		if (o->letter != '\0')
			fprintf(out, " -s %c", o->letter);
		if (o->argument) {
			fprintf(out, " -r");
			print_fish_values(out, c, o->values);
		}
		fprintf(out, " -d '");
		print_meaning(out, o->meaning);
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
