/* Only the first of these has a comment of its own. */
int documented(void);
int in_the_same_group(void);

int undocumented(int a,
    int b);
