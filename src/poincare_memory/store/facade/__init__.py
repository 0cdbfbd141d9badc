"""The methods of `Memory`, a module a noun."""
