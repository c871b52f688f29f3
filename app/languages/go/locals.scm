; Scopes

[(function_declaration) (method_declaration) (func_literal)] @scope.function
[(block) (if_statement) (for_statement) (expression_switch_statement) (type_switch_statement) (expression_case) (type_case)
  (communication_case) (default_case)] @scope.block

; What they bind. What stands outside of functions is a symbol of the package.

(parameter_declaration name: (identifier) @bind)
(variadic_parameter_declaration name: (identifier) @bind)
(type_parameter_declaration name: (identifier) @bind)
(short_var_declaration left: (expression_list (identifier) @bind))
(range_clause left: (expression_list (identifier) @bind))
(receive_statement left: (expression_list (identifier) @bind))
(type_switch_statement alias: (expression_list (identifier) @bind))
(var_spec name: (identifier) @bind)
(const_spec name: (identifier) @bind)

(keyed_element . (literal_element (identifier) @key))
(label_name) @key
