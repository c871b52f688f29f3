; Scopes

[(method_declaration) (constructor_declaration) (compact_constructor_declaration) (lambda_expression)] @scope.function
[(block) (constructor_body) (for_statement) (enhanced_for_statement) (catch_clause) (try_with_resources_statement) (switch_block)
  (class_declaration) (interface_declaration) (record_declaration)] @scope.block

; What they bind. Members of types are symbols.

(formal_parameter name: (identifier) @bind)
(spread_parameter (variable_declarator name: (identifier) @bind))
(lambda_expression parameters: (identifier) @bind)
(inferred_parameters (identifier) @bind)
(catch_formal_parameter name: (identifier) @bind)
(resource name: (identifier) @bind)
(enhanced_for_statement name: (identifier) @bind)
(local_variable_declaration (variable_declarator name: (identifier) @bind))
(instanceof_expression name: (identifier) @bind.hoisted)
(type_pattern (identifier) @bind)
(method_declaration (type_parameters (type_parameter (type_identifier) @bind)))
(class_declaration (type_parameters (type_parameter (type_identifier) @bind)))
(interface_declaration (type_parameters (type_parameter (type_identifier) @bind)))

(labeled_statement (identifier) @key)
(break_statement (identifier) @key)
(continue_statement (identifier) @key)
