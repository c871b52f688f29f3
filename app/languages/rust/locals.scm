; Scopes

[(function_item) (closure_expression)] @scope.function
[(block) (match_arm) (for_expression) (if_expression) (while_expression)] @scope.block

; What they bind. Items are symbols.

(parameter pattern: (identifier) @bind)
(parameter pattern: (mut_pattern (identifier) @bind))
(closure_parameters (identifier) @bind)
(let_declaration pattern: (identifier) @bind)
(let_declaration pattern: (mut_pattern (identifier) @bind))
(let_declaration pattern: (tuple_pattern (identifier) @bind))
(let_declaration pattern: (tuple_struct_pattern (identifier) @bind))
(let_condition pattern: (identifier) @bind)
(let_condition pattern: (tuple_struct_pattern (identifier) @bind))
(for_expression pattern: (identifier) @bind)
(for_expression pattern: (tuple_pattern (identifier) @bind))
(match_pattern (identifier) @bind)
(match_pattern (tuple_struct_pattern (identifier) @bind))
(match_pattern (tuple_pattern (identifier) @bind))
(type_parameters (type_parameter name: (type_identifier) @bind))
