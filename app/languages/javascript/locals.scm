(formal_parameters (identifier) @bind)
