const char *when = __DATE__;
