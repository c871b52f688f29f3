; Definitions

(namespace_definition name: (namespace_name) @name (#set! exported) (#set! extends)) @definition.namespace
(class_declaration name: (name) @name) @definition.class
(interface_declaration name: (name) @name) @definition.interface
(trait_declaration name: (name) @name) @definition.trait
(enum_declaration name: (name) @name) @definition.enum
(enum_case name: (name) @name) @definition.enum_member
(function_definition name: (name) @name) @definition.function
(method_declaration name: (name) @name) @definition.method
(const_declaration (const_element (name) @name)) @definition.constant
(property_promotion_parameter name: (variable_name (name) @name) (#set! member)) @definition.field
(property_declaration (property_element name: (variable_name (name) @name))) @definition.field
((function_call_expression function: (name) @_define arguments: (arguments . (argument (string (string_content) @name)))) @definition.constant
  (#eq? @_define "define"))

[(anonymous_function) (arrow_function)] @barrier
(comment) @comment
(ERROR) @error

; References

(base_clause [(name) (qualified_name)] @reference.inherit (#set! qualified))
(class_interface_clause [(name) (qualified_name)] @reference.inherit (#set! qualified))
(use_declaration [(name) (qualified_name)] @reference.inherit (#set! qualified))

(attribute . [(name) (qualified_name)] @reference.decorate (#set! qualified))

(function_call_expression function: [(name) (qualified_name)] @reference.call (#set! qualified))
(member_call_expression object: (_) @receiver name: (name) @reference.call)
(nullsafe_member_call_expression object: (_) @receiver name: (name) @reference.call)
(scoped_call_expression scope: (_) @receiver name: (name) @reference.call)
(object_creation_expression [(name) (qualified_name)] @reference.call (#set! qualified))

(named_type [(name) (qualified_name)] @reference.type (#set! qualified))
(binary_expression "instanceof" right: [(name) (qualified_name)] @reference.type (#set! qualified))
(class_constant_access_expression . (name) @reference.type)
(scoped_call_expression scope: (name) @reference.type)

(class_constant_access_expression . (_) @receiver (name) @reference.constant .)
[
  (argument (name) @reference.read)
  (assignment_expression right: (name) @reference.read)
  (return_statement (name) @reference.read)
  (simple_parameter default_value: (name) @reference.read)
  (const_element (name) (name) @reference.read)
  (array_element_initializer (name) @reference.read)
  (binary_expression (name) @reference.read)
]
