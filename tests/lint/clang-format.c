/* Four blanks where a tab belongs. */
int f(void) {
    return 1;
}
