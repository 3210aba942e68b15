"""The judge as a program under test: implements PROTOCOL.md with the judge's own code."""
