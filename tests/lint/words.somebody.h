/* The socket may be somebody else's. */
