#include <string.h>

#include "tailorctl/mistakes.h"

const char *
mistakes_command(const char *word)
{
	static const char *const others[][2] = {{"status", "servers"},
	    {"ps", "servers"}, {"list", "slow"}, {"ls", "slow"},
	    {"show", "why"}, {"explain", "why"}, {"trace", "why"},
	    {"tail", "log"}, {"swap", "switch"}, {"failover", "switch"},
	    {"start", "restart"}, {"undrain", "ready"},
	    {"version", "--version"},
	    {"stop", "drain? SIGTERM ends Tailor itself"},
	    {"quit", "drain? SIGTERM ends Tailor itself"},
	    {"kill", "drain? SIGTERM ends Tailor itself"},
	    {"shutdown", "drain? SIGTERM ends Tailor itself"},
	    {"config", "info? \"tailor -T\" prints all keys"}};

	for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++)
		if (strcmp(word, others[i][0]) == 0)
			return others[i][1];
	return NULL;
}

const char *
mistakes_option(enum command command, char letter)
{
	static const struct {
		enum command command;
		char letter;
		const char *instead;
	} known[] = {
	    {COMMAND_log, 'f', ": it follows without an option"},
	    {COMMAND_log, 'n', ": --stop-after ends it after N lines"},
	    {COMMAND_why, 'n', ": \"slow\" lists several requests"},
	    {COMMAND_slow, 'H', ": an HTML page of one is \"why ID -o FILE\""},
	    {COMMAND_slow, 'o', ": an HTML page of one is \"why ID -o FILE\""},
	    {COMMAND_servers, '1', ": it prints once"},
	};

	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++)
		if (known[i].command == command && known[i].letter == letter)
			return known[i].instead;
	return "";
}

const char *
mistakes_word(const char *letters, const char *word)
{
	if (strchr(letters, 'n') != NULL && strspn(word, "0123456789") > 0 &&
	    word[strspn(word, "0123456789")] == '\0')
		return ": a limit is --number N";
	if (strchr(letters, 'p') != NULL && word[0] == '/')
		return ": a path is --path PATH";
	if (strchr(letters, 'R') != NULL &&
	    (word[0] == '/' || strchr(word, ' ') != NULL))
		return ": a route is --route \"GET /path\"";
	return "";
}
