void log_event(int level, const char *event, const char *format, ...);

void
report(int width, const char *text)
{
	log_event(1, "event", "name=%d "
		  "text=\"%*s\"", 1, width, text);
}
