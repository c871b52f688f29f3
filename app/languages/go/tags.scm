; Definitions

(function_declaration name: (identifier) @name) @definition.function
(method_declaration
  receiver: (parameter_list (parameter_declaration type: [
    (type_identifier) @scope
    (generic_type type: (type_identifier) @scope)
    (pointer_type (type_identifier) @scope)
    (pointer_type (generic_type type: (type_identifier) @scope))
  ]))
  name: (field_identifier) @name) @definition.method
(type_spec name: (type_identifier) @name type: (struct_type (field_declaration_list) @body)) @definition.struct
(type_spec name: (type_identifier) @name type: (interface_type)) @definition.interface
(type_spec name: (type_identifier) @name) @definition.type
(type_alias name: (type_identifier) @name) @definition.type
(method_elem name: (field_identifier) @name) @definition.method
(field_declaration name: (field_identifier) @name) @definition.field
(const_spec name: (identifier) @name) @definition.constant
(var_spec name: (identifier) @name) @definition.variable

(func_literal) @barrier
(comment) @comment
(ERROR) @error

; Names bound inside a function

(parameter_declaration name: (identifier) @local)
(variadic_parameter_declaration name: (identifier) @local)
(type_parameter_declaration name: (identifier) @local)
(method_declaration receiver: (parameter_list (parameter_declaration type: [
  (generic_type type_arguments: (type_arguments (type_elem (type_identifier) @local)))
  (pointer_type (generic_type type_arguments: (type_arguments (type_elem (type_identifier) @local))))
])))
(short_var_declaration left: (expression_list (identifier) @local))
(range_clause left: (expression_list (identifier) @local))
(receive_statement left: (expression_list (identifier) @local))
(type_switch_statement alias: (expression_list (identifier) @local))

; References. Embedding is Go's inheritance; a composite literal makes a value as a constructor call would.

(field_declaration !name type: (type_identifier) @reference.inherit)
(field_declaration !name type: (generic_type type: (type_identifier) @reference.inherit))
(field_declaration !name type: (qualified_type package: (_) @receiver name: (type_identifier) @reference.inherit))
(interface_type (type_elem . (type_identifier) @reference.inherit .))
(interface_type (type_elem . (qualified_type package: (_) @receiver name: (type_identifier) @reference.inherit) .))

(call_expression function: (identifier) @reference.call)
(call_expression function: (selector_expression operand: (_) @receiver field: (field_identifier) @reference.call))
(composite_literal type: (type_identifier) @reference.call)
(composite_literal type: (generic_type type: (type_identifier) @reference.call))
(composite_literal type: (qualified_type package: (_) @receiver name: (type_identifier) @reference.call))
(type_conversion_expression type: (generic_type type: (type_identifier) @reference.call))
(type_conversion_expression type: (generic_type type: (qualified_type package: (_) @receiver name: (type_identifier) @reference.call)))

(qualified_type package: (_) @receiver name: (type_identifier) @reference.type)
(type_identifier) @reference.type

[
  (argument_list (identifier) @reference.read)
  (expression_list (identifier) @reference.read)
  (keyed_element value: (literal_element (identifier) @reference.read))
  (literal_value (literal_element (identifier) @reference.read))
  (binary_expression (identifier) @reference.read)
]
[
  (argument_list (selector_expression operand: (_) @receiver field: (field_identifier) @reference.read))
  (expression_list (selector_expression operand: (_) @receiver field: (field_identifier) @reference.read))
  (keyed_element value: (literal_element (selector_expression operand: (_) @receiver field: (field_identifier) @reference.read)))
  (binary_expression (selector_expression operand: (_) @receiver field: (field_identifier) @reference.read))
]
