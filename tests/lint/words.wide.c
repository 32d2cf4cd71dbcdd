/* A comment of more than eighty columns, which clang-format leaves as it stands. */
