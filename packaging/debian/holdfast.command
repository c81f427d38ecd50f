#!/usr/bin/python3
from holdfast.command import main

main()
