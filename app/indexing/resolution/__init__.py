"""Which definition a name means: scopes, imports, inheritance, and what each family of languages does differently."""
