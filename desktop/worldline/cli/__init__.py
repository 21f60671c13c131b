"""The command line: the same engine without a window. JSON on stdout, words for people on stderr."""
