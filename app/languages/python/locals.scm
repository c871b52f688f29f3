; Scopes

(function_definition) @scope.function
(lambda) @scope.function
(class_definition) @scope.class
[(list_comprehension) (set_comprehension) (dictionary_comprehension) (generator_expression)] @scope.block

; What they bind

(function_definition name: (identifier) @bind.outer)
(class_definition name: (identifier) @bind.outer)
(type_alias_statement left: (type (identifier) @bind))

(parameters (identifier) @bind)
(lambda_parameters (identifier) @bind)
(typed_parameter . (identifier) @bind)
(typed_parameter . (_ (identifier) @bind))
(default_parameter name: (identifier) @bind)
(typed_default_parameter name: (identifier) @bind)
(list_splat_pattern (identifier) @bind)
(dictionary_splat_pattern (identifier) @bind)
(tuple_pattern (identifier) @bind)

(assignment left: (identifier) @bind)
(assignment left: (pattern_list (identifier) @bind))
(assignment left: (list_pattern (identifier) @bind))
(augmented_assignment left: (identifier) @bind)
(named_expression name: (identifier) @bind.hoisted)
(for_statement left: (identifier) @bind)
(for_statement left: (pattern_list (identifier) @bind))
(for_in_clause left: (identifier) @bind)
(for_in_clause left: (pattern_list (identifier) @bind))
(as_pattern_target (identifier) @bind)
(as_pattern_target (_ (identifier) @bind))
(case_pattern (dotted_name . (identifier) @bind .))
(case_pattern (as_pattern (identifier) @bind .))
(splat_pattern (identifier) @bind)
(except_clause (as_pattern (as_pattern_target (identifier) @bind)))

(import_statement name: (dotted_name . (identifier) @bind))
(import_statement name: (aliased_import alias: (identifier) @bind))
(import_from_statement name: (dotted_name (identifier) @bind .))
(import_from_statement name: (aliased_import alias: (identifier) @bind))

(assignment left: (attribute) @bind.member)

(keyword_argument name: (identifier) @key)
