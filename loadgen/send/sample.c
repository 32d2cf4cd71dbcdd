#include "loadgen/send/sample.h"

const char *
outcome_name(enum outcome outcome)
{
	switch (outcome) {
	case OUTCOME_UNSENT:
		return "unsent";
	case OUTCOME_UNANSWERED:
		return "unanswered";
	case OUTCOME_OK:
		return "ok";
	case OUTCOME_CONNECT:
		return "connect";
	case OUTCOME_RESET:
		return "reset";
	case OUTCOME_TIMEOUT:
		return "timeout";
	case OUTCOME_SHORT:
		return "short";
	case OUTCOME_MALFORMED:
		return "malformed";
	case OUTCOME_STATUS:
		return "status";
	case OUTCOME_BODY:
		return "body";
	}
	return "?";
}
