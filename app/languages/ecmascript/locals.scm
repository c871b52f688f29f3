; Scopes

[(function_declaration) (generator_function_declaration) (function_expression) (generator_function) (arrow_function) (method_definition)]
  @scope.function
[(statement_block) (for_statement) (for_in_statement) (catch_clause) (switch_body) (class_declaration) (class)] @scope.block

; What they bind

(function_declaration name: (_) @bind.outer)
(generator_function_declaration name: (_) @bind.outer)
(class_declaration name: (_) @bind.outer)
(function_expression name: (identifier) @bind)
(class name: (_) @bind)

(variable_declaration (variable_declarator name: (identifier) @bind.hoisted))
(lexical_declaration (variable_declarator name: (identifier) @bind))
(shorthand_property_identifier_pattern) @bind
(object_pattern (pair_pattern value: (identifier) @bind))
(array_pattern (identifier) @bind)
(rest_pattern (identifier) @bind)
(object_assignment_pattern left: (shorthand_property_identifier_pattern) @bind)
(assignment_pattern left: (identifier) @bind)
(arrow_function parameter: (identifier) @bind)
(for_in_statement kind: _ left: (identifier) @bind)
(catch_clause parameter: (identifier) @bind)

(import_clause (identifier) @bind)
(import_specifier name: (identifier) @bind !alias)
(import_specifier alias: (identifier) @bind)
(namespace_import (identifier) @bind)

(assignment_expression left: (member_expression) @bind.member)

(pair key: (property_identifier) @bind.property)
(object (shorthand_property_identifier) @bind.property)

(pair key: (property_identifier) @key)
(labeled_statement label: (_) @key)
