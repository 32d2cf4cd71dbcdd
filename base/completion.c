/* completion.c: shell completion, from the same tables as --help.
 *
 * The script for a shell calls the program with "__complete" and the words
 * typed so far.  The program prints a line for each possible word, with its
 * meaning after a tab; or "/" for files. */
#include "base/command_line.h"

#include <string.h>

#include "base/array.h"

/* %1$s is the program's name; "${COMP_WORDS[0]}" and the like are the name as
 * typed. */
static const char bash[] =
    "# bash completion for %1$s\n"
    "_%1$s()\n"
    "{\n"
    "\tlocal word=${COMP_WORDS[COMP_CWORD]}\n"
    "\tmapfile -t COMPREPLY < <(\"${COMP_WORDS[0]}\" __complete \\\n"
    "\t\t\"${COMP_WORDS[@]:1:COMP_CWORD}\" 2>/dev/null)\n"
    "\tCOMPREPLY=(\"${COMPREPLY[@]%%%%$'\\t'*}\")\n"
    "\t[[ ${COMPREPLY[0]} != / ]] ||\n"
    "\t\tmapfile -t COMPREPLY < <(compgen -f -- \"$word\")\n"
    "\t[[ ${COMPREPLY[0]} != *= ]] || compopt -o nospace\n"
    "}\n"
    "complete -F _%1$s %1$s\n";
static const char zsh[] = "#compdef %1$s\n"
			  "local -a found=(${(f)\"$($words[1] __complete \\\n"
			  "\t\"${(@)words[2,CURRENT]}\" 2>/dev/null)\"})\n"
			  "if [[ $found[1] == / ]]; then\n"
			  "\t_files\n"
			  "elif [[ $found[1] == *= ]]; then\n"
			  "\tcompadd -S '' -a found\n"
			  "else\n"
			  "\tfound=(\"${(@)found//:/\\\\:}\")\n"
			  "\tfound=(\"${(@)found/$'\\t'/:}\")\n"
			  "\t_describe %1$s found\n"
			  "fi\n";
static const char fish[] =
    "# fish completion for %1$s\n"
    "function _%1$s_words\n"
    "\tset -l typed (commandline -opc) (commandline -ct)\n"
    "\tset -l program $typed[1]\n"
    "\tset -e typed[1]\n"
    "\tset -l found ($program __complete $typed 2>/dev/null)\n"
    "\tif test \"$found[1]\" = /\n"
    "\t\t__fish_complete_path (commandline -ct)\n"
    "\telse if set -q found[1]\n"
    "\t\tprintf '%%s\\n' $found\n"
    "\tend\n"
    "end\n"
    "complete -c %1$s -f -a '(_%1$s_words)'\n";

static const struct {
	const char *shell, *script;
} scripts[] = {{"bash", bash}, {"zsh", zsh}, {"fish", fish}};

bool
line_completion(FILE *out, const struct command_line *l, const char *shell)
{
	for (unsigned i = 0; i < COUNT(scripts); i++)
		if (strcmp(shell, scripts[i].shell) == 0) {
			fprintf(out, scripts[i].script, l->program);
			return true;
		}
	return false;
}

/* --- what may follow ------------------------------------------------------ */

void
line_offer(const char *list, const char *typed)
{
	size_t begun = strlen(typed);

	for (size_t n; *list != '\0'; list += n + strspn(list + n, " ")) {
		n = strcspn(list, " ");
		if (n >= begun && strncmp(list, typed, begun) == 0)
			printf("%.*s\n", (int)n, list);
	}
}

/* Print a word with its meaning, if it begins with typed. */
static void
offer(const char *dashes, const char *name, const char *help, const char *typed)
{
	char word[64];

	snprintf(word, sizeof(word), "%s%s", dashes, name);
	if (strncmp(word, typed, strlen(typed)) == 0)
		printf("%s\t%s\n", word, help);
}

/* Return the option in word if its argument is the next word; or NULL. */
static const struct option_row *
option_of(const struct command_line *l, const char *word)
{
	const struct option_row *row;
	size_t n = strlen(word);

	for (unsigned i = 0; (row = line_row(l, i)) != NULL; i++)
		if (row->argument != NULL && n >= 2 && word[0] == '-' &&
		    (word[1] == '-' ? strcmp(word + 2, row->name) == 0
				    : word[n - 1] == row->letter))
			return row;
	return NULL;
}

/* values: as in struct option_row. */
static void
offer_values(const struct command_line *l, const char *values, int count,
    char *const *word)
{
	const char *typed = word[count - 1], *selected = NULL;

	if (values == NULL) {
		printf("/\n");
		return;
	}
	if (values[0] != '@') {
		line_offer(values, typed);
		return;
	}
	for (int i = 0; i + 2 < count; i++)
		if (option_of(l, word[i]) == &l->row[0])
			selected = word[i + 1];
	l->complete(values + 1, selected, typed);
}

void
line_complete(const struct command_line *l, int count, char *const *word)
{
	bool named = l->command[0].name[0] != '\0';
	unsigned command = line_command_of(l, count - 1, word);
	const char *typed = word[count - 1];
	const struct option_row *row =
	    count < 2 ? NULL : option_of(l, word[count - 2]);

	if (row != NULL) {
		offer_values(l, row->values, count, word);
		return;
	}
	if (command == LINE_ANY && !named)
		command = 0;
	for (unsigned i = 0; *typed == '-' && (row = line_row(l, i)) != NULL;
	     i++)
		if (row->help != NULL && line_takes(row, command) &&
		    (command != LINE_ANY || row->commands == 0))
			offer("--", row->name, row->help, typed);
	for (unsigned i = 0;
	     i < l->commands &&
	     (command == LINE_ANY || l->command[command].name[0] == '\0');
	     i++)
		if (l->command[i].name[0] != '\0')
			offer(
			    "", l->command[i].name, l->command[i].help, typed);
	if (command != LINE_ANY && l->command[command].values != NULL)
		offer_values(l, l->command[command].values, count, word);
}
