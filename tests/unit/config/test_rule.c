/* Goal: a rule of hedging.repeatable is accepted if it is a method that needs
 * one and a path pattern; an old one, a regular expression, is explained. */
#include "tests/unit/unit.h"

#include "config/rule.h"

#define LIKE \
	"write it like \"POST /*/_search\": * is one segment, ** any number"
#define FORM "a rule is a method, a space and a path pattern: " LIKE
#define NEVER "CONNECT and TRACE are never forwarded"
#define SAFE "GET, HEAD and OPTIONS need no rule"
#define EXPRESSION "regular expressions are not supported: " LIKE
#define POST "an unknown method: did you mean POST?"
#define PATH "a path pattern begins with /"
#define WHOLE                                                                \
	"* is a whole segment and ** any number of them: write /*/_search, " \
	"not /index-*/_search"

static void
assert_judged(const char *text, const char *why, const char *expected)
{
	print_message("%s\n", text);
	if (expected == NULL)
		assert_null(why);
	else
		assert_string_equal(why == NULL ? "accepted" : why, expected);
}

TEST(test_classes)
{
#define CLASS_FORM                                                          \
	"a class is a method or *, a space and a path pattern, like \"GET " \
	"/search/**\""
#define CLASS_NAME                                                             \
	"a class has no comma, quote or backslash, and only printable ASCII, " \
	"as reports show it as a name"
	static const struct {
		const char *class, *why;
	} cases[] = {
	    {"GET /search/**", NULL},
	    {"* /", NULL},
	    {"", CLASS_FORM},
	    {"/search", CLASS_FORM},
	    {"** /search", CLASS_FORM},
	    {"get /search", CLASS_FORM},
	    {"GET search", PATH},
	    {"GET /a,b", CLASS_NAME},
	    {"GET /a\"", CLASS_NAME},
	    {"GET /\xc3\xa4", CLASS_NAME},
	    {"GET /a23456789012345678901234567890123456789012", NULL},
	    {"GET /a234567890123456789012345678901234567890123",
		"a class has 47 bytes at most, as reports show it as a "
		"name"},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		assert_judged(
		    cases[i].class, class_judge(cases[i].class), cases[i].why);
}

TEST(test_rules)
{
	static const struct {
		const char *rule, *why;
	} cases[] = {
	    {"POST /*/_search", NULL},
	    {"VERSION-CONTROL /**", NULL},
	    {"POST /$metadata", NULL},
	    {"", FORM},
	    {"POST", FORM},
	    {"POST ", FORM},
	    {"post /", FORM},
	    {" /", FORM},
	    {"ABCDEFGHIJKLMNOPQ /", FORM},
	    {"CONNECT /", NEVER},
	    {"TRACE /", NEVER},
	    {"GET /a", SAFE},
	    {"HEAD /a", SAFE},
	    {"OPTIONS /a", SAFE},
	    {"POST ^/[^ ]*/_search$", EXPRESSION},
	    {"POST ^/", EXPRESSION},
	    {"POST /_search$", EXPRESSION},
	    {"POST /(a|b)", EXPRESSION},
	    {"POST /a{2}", EXPRESSION},
	    {"PUT /a\\d", EXPRESSION},
	    {"POST .*", EXPRESSION},
	    {"POST /.*", EXPRESSION},
	    {"^POST /.*/_search$", EXPRESSION},
	    {"/search.*", EXPRESSION},
	    {"POST _search", PATH},
	    {"PSOT /a", POST},
	    {"POSTS /a", POST},
	    {"PROPFIND /a", NULL},
	    {"POST /idx-*/_search", WHOLE},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		assert_judged(
		    cases[i].rule, rule_judge(cases[i].rule), cases[i].why);
}

#define NAME                                                    \
	"a field's name has 1 to 64 letters, digits or any of " \
	"!#$%&'*+-.^_`|~"
#define OURS "Tailor's own fields are never copied"
#define MESSAGE "it belongs to one message or connection: Tailor writes it"
#define SENDER "it identifies the client: a copy has none"

TEST(test_fields)
{
	static const struct {
		const char *name, *why;
	} cases[] = {
	    {"X-Tenant", NULL},
	    {"Cookie", NULL},
	    {"authorization", NULL},
	    {"X-Forwarded-Proto", NULL},
	    {"", NAME},
	    {"X Tenant", NAME},
	    {"X-Tenant:", NAME},
	    {"Tailor-Request", OURS},
	    {"x-tailor-hedge", OURS},
	    {"Transfer-Encoding", MESSAGE},
	    {"content-length", MESSAGE},
	    {"HOST", MESSAGE},
	    {"X-Request-Id", SENDER},
	    {"TraceParent", SENDER},
	    {"x-forwarded-for", SENDER},
	    {"Forwarded", SENDER},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		assert_judged(
		    cases[i].name, field_judge(cases[i].name), cases[i].why);
}
