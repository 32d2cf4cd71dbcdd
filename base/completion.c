/* completion.c: shell completion scripts, from the same tables as --help. */
#include "base/command_line.h"

#include <string.h>

/* The first command that has a name. */
static unsigned
named(const struct command_line *l)
{
	return l->command[0].name[0] == '\0';
}

/* The options of a command; LINE_ANY: those that every one takes, or the one
 * without a name. */
static void
print_options(FILE *out, const struct command_line *l, unsigned command)
{
	const struct option_row *row;
	bool common = command == LINE_ANY;

	if (common && named(l) > 0)
		command = 0, common = false;
	for (unsigned i = 0; (row = line_row(l, i)) != NULL; i++)
		if (row->help != NULL && line_takes(row, command) &&
		    (!common || row->commands == 0))
			fprintf(out, "--%s ", row->name);
}

/* Each command that has a name. */
static void
print_names(FILE *out, const struct command_line *l, const char *between)
{
	const char *before = "";

	for (unsigned i = named(l); i < l->commands; i++) {
		fprintf(out, "%s%s", before, l->command[i].name);
		before = between;
	}
}

/* bash: words as within double quotes. */
static void
print_values(FILE *out, const struct command_line *l, const char *values)
{
	if (*values == '@')
		fprintf(out, "$(_%s_words %s)", l->program, values + 1);
	else
		fputs(values, out);
}

/* What may follow an option with an argument. */
static void
print_arguments(FILE *out, const struct command_line *l)
{
	const struct option_row *o;

	for (unsigned i = 0; (o = line_row(l, i)) != NULL; i++) {
		if (o->argument == NULL || o->help == NULL)
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
		print_values(out, l, o->values);
		fprintf(out, "\" ;;\n");
	}
}

/* Which command stands there already, and what may follow it. */
static void
print_commands(FILE *out, const struct command_line *l)
{
	fprintf(out, "\tfor ((i = 1; i < COMP_CWORD; i++)); do\n"
		     "\t\tcase ${COMP_WORDS[i]} in\n\t\t");
	print_names(out, l, " | ");
	fprintf(out, ") command=${COMP_WORDS[i]} && break ;;\n"
		     "\t\tesac\n\tdone\n\tcase $command in\n");
	for (unsigned i = named(l); i < l->commands; i++) {
		const char *values = l->command[i].values;

		fprintf(out, "\t%s) words=\"", l->command[i].name);
		print_options(out, l, i);
		print_values(out, l, values != NULL ? values : "");
		fprintf(out, "\" ;;\n");
	}
	fprintf(out, "\tesac\n");
}

/* What a running program knows, as one word on each line. */
static void
print_bash_words(FILE *out, const struct command_line *l)
{
	const struct option_row *o = &l->row[0];

	if (!l->selects)
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
	    l->program, o->letter, o->name, o->letter, l->program);
}

static void
print_bash(FILE *out, const struct command_line *l)
{
	fprintf(out, "# bash completion for %s\n", l->program);
	print_bash_words(out, l);
	fprintf(out,
	    "_%s()\n{\n"
	    "\tlocal word=${COMP_WORDS[COMP_CWORD]} command='' files='' i\n"
	    "\tlocal words='",
	    l->program);
	print_names(out, l, " ");
	fputs(l->commands > named(l) ? " " : "", out);
	print_options(out, l, LINE_ANY);
	fprintf(out, "'\n");
	if (l->commands > named(l))
		print_commands(out, l);
	fprintf(out, "\tcase ${COMP_WORDS[COMP_CWORD - 1]} in\n");
	print_arguments(out, l);
	fprintf(out,
	    "\tesac\n"
	    "\tmapfile -t COMPREPLY < <(compgen ${files:+-f} -W \"$words\" "
	    "-- \"$word\")\n"
	    "\t[[ ${COMPREPLY[0]} != *= ]] || compopt -o nospace\n"
	    "}\n"
	    "complete -F _%s %s\n",
	    l->program, l->program);
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
print_zsh_action(FILE *out, const struct command_line *l, const char *values)
{
	if (values == NULL)
		fprintf(out, "_files");
	else if (*values == '@')
		fprintf(out, " _%s_words %s", l->program, values + 1);
	else if (strchr(values, '=') != NULL)
		fprintf(out, " _%s_keys", l->program);
	else if (*values != '\0')
		fprintf(out, "(%s)", values);
	else
		fputc(' ', out);
}

/* '-c[meaning]:value:action' \ */
static void
print_zsh_option(FILE *out, const struct command_line *l,
    const struct option_row *o, const char *dashes, const char *name)
{
	fprintf(out, "\t'%s%s[", dashes, name);
	print_meaning(out, o->help);
	fprintf(out, "]");
	if (o->argument != NULL) {
		fprintf(out, ":value:");
		print_zsh_action(out, l, o->values);
	}
	fprintf(out, "' \\\n");
}

/* Functions for values: what a running program knows, and keys behind which a
 * value follows. */
static void
print_zsh_functions(FILE *out, const struct command_line *l)
{
	const struct option_row *o = &l->row[0];

	if (l->selects)
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
		    l->program, o->letter, o->name, o->letter, l->program);
	for (unsigned i = 0; (o = line_row(l, i)) != NULL; i++)
		if (o->values != NULL && strchr(o->values, '=') != NULL)
			fprintf(out,
			    "_%s_keys()\n{\n\tlocal keys='%s'\n"
			    "\tlocal -a found=(${=keys})\n"
			    "\tcompadd -S '' -a found\n}\n",
			    l->program, o->values);
}

/* What follows a command. */
static void
print_zsh_argument(FILE *out, const struct command_line *l)
{
	fprintf(out, "_%s_argument()\n{\n\tcase $line[1] in\n", l->program);
	for (unsigned i = 0; i < l->commands; i++) {
		const struct line_command *w = &l->command[i];

		if (w->values == NULL)
			continue;
		if (*w->values == '@')
			fprintf(out, "\t%s) _%s_words %s ;;\n", w->name,
			    l->program, w->values + 1);
		else
			fprintf(out, "\t%s) compadd -- %s ;;\n", w->name,
			    w->values);
	}
	fprintf(out, "\tesac\n}\n");
}

static void
print_zsh(FILE *out, const struct command_line *l)
{
	const struct option_row *o;

	fprintf(out, "#compdef %s\n", l->program);
	print_zsh_functions(out, l);
	if (l->selects)
		print_zsh_argument(out, l);
	fprintf(out, "_arguments \\\n");
	for (unsigned i = 0; (o = line_row(l, i)) != NULL; i++) {
		if (o->help == NULL)
			continue;
		print_zsh_option(out, l, o, "--", o->name);
		if (o->letter != '\0')
			print_zsh_option(
			    out, l, o, "-", (char[]){o->letter, '\0'});
	}
	if (l->commands > named(l)) {
		fprintf(out, "\t'1:command:((");
		for (unsigned i = named(l); i < l->commands; i++) {
			fprintf(out, "%s%s\\:\"", i > named(l) ? " " : "",
			    l->command[i].name);
			print_meaning(out, l->command[i].help);
			fprintf(out, "\"");
		}
		fprintf(out, "))' \\\n");
	}
	/* With "::" zsh would offer no options after the first word. */
	if (l->selects)
		fprintf(out, "\t'*: : _%s_argument'\n", l->program);
	else
		fprintf(out, "\t'*: :_files'\n");
}

/* What a running program knows, as one word on each line. */
static void
print_fish_words(FILE *out, const struct command_line *l)
{
	const struct option_row *o = &l->row[0];

	if (!l->selects)
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
	    l->program, l->program, o->letter, o->name, o->letter, l->program);
}

/* Only these words; files for NULL. */
static void
print_fish_values(FILE *out, const struct command_line *l, const char *values)
{
	fprintf(out, values != NULL ? " -f" : " -F");
	if (values == NULL)
		return;
	if (*values == '@')
		fprintf(out, " -a '(_%s_words %s)'", l->program, values + 1);
	else if (*values != '\0')
		fprintf(out, " -a '%s'", values);
}

static void
print_fish_command(
    FILE *out, const struct command_line *l, const struct line_command *w)
{
	fprintf(out, "complete -c %s -f -n __fish_use_subcommand -a %s -d '",
	    l->program, w->name);
	print_meaning(out, w->help);
	fprintf(out, "'\n");
	if (!l->selects || w->values == NULL)
		return;
	fprintf(out, "complete -c %s -n '__fish_seen_subcommand_from %s'",
	    l->program, w->name);
	print_fish_values(out, l, w->values);
	fputc('\n', out);
}

static void
print_fish(FILE *out, const struct command_line *l)
{
	const struct option_row *o;

	fprintf(out, "# fish completion for %s\n", l->program);
	print_fish_words(out, l);
	for (unsigned i = named(l); i < l->commands; i++)
		print_fish_command(out, l, &l->command[i]);
	for (unsigned i = 0; (o = line_row(l, i)) != NULL; i++) {
		if (o->help == NULL)
			continue;
		fprintf(out, "complete -c %s -l %s", l->program, o->name);
		if (o->letter != '\0')
			fprintf(out, " -s %c", o->letter);
		if (o->argument != NULL) {
			fprintf(out, " -r");
			print_fish_values(out, l, o->values);
		}
		fprintf(out, " -d '");
		print_meaning(out, o->help);
		fprintf(out, "'\n");
	}
}

bool
line_completion(FILE *out, const struct command_line *l, const char *shell)
{
	if (strcmp(shell, "bash") == 0)
		print_bash(out, l);
	else if (strcmp(shell, "zsh") == 0)
		print_zsh(out, l);
	else if (strcmp(shell, "fish") == 0)
		print_fish(out, l);
	else
		return false;
	return true;
}
