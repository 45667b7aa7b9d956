"""The commands of the `consort` command line, one module each."""
