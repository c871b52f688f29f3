; Scopes

(function_definition) @scope.function
[(compound_statement) (for_statement)] @scope.block

; What they bind. What stands outside of functions is a symbol.

(parameter_declaration declarator: (identifier) @bind)
(parameter_declaration declarator: (pointer_declarator declarator: (identifier) @bind))
(parameter_declaration declarator: (pointer_declarator declarator: (pointer_declarator declarator: (identifier) @bind)))
(parameter_declaration declarator: (array_declarator declarator: (identifier) @bind))
(compound_statement (declaration declarator: (identifier) @bind))
(compound_statement (declaration declarator: (pointer_declarator declarator: (identifier) @bind)))
(compound_statement (declaration declarator: (array_declarator declarator: (identifier) @bind)))
(compound_statement (declaration declarator: (init_declarator declarator: (identifier) @bind)))
(compound_statement (declaration declarator: (init_declarator declarator: (pointer_declarator declarator: (identifier) @bind))))
(compound_statement (declaration declarator: (init_declarator declarator: (array_declarator declarator: (identifier) @bind))))
(for_statement initializer: (declaration declarator: (identifier) @bind))
(for_statement initializer: (declaration declarator: (init_declarator declarator: (identifier) @bind)))
(for_statement initializer: (declaration declarator: (init_declarator declarator: (pointer_declarator declarator: (identifier) @bind))))
