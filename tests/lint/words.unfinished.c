/* TODO: finish. */
