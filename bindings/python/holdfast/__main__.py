"""`python -m holdfast`: the command."""

from .command import main

main()
