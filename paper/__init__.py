"""The reproduction of the FOCUS paper, claim by claim. It uses the library as any user would."""
