"""The application's functions: what each command does, without the command line around it.

The only place where concrete things are put together: the disk, the bundle on it, the compiler, ledgers, reports.
"""
