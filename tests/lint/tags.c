/* Two of one name: ctags finds the wrong one. */
struct reading {
	int value;
};

enum reading {
	READING_NONE,
};
