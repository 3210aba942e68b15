"""The functions behind the API. Only this package wires concrete parts together: files, compiler, engines, ledgers."""
