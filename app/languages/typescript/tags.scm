(interface_declaration name: (_) @name) @definition.interface
(abstract_class_declaration name: (_) @name) @definition.class
(type_alias_declaration name: (_) @name) @definition.type
(enum_declaration name: (_) @name) @definition.enum
(enum_body name: (property_identifier) @name @definition.enum_member)
(enum_assignment name: (property_identifier) @name) @definition.enum_member
(internal_module name: (_) @name) @definition.namespace
(module name: (string (string_fragment) @name)) @definition.module
(module name: [(identifier) (nested_identifier)] @name) @definition.namespace
(function_signature name: (_) @name) @definition.function
(method_signature name: [(property_identifier) (private_property_identifier)] @name) @definition.method
(abstract_method_signature name: [(property_identifier) (private_property_identifier)] @name) @definition.method
(interface_body (property_signature name: (property_identifier) @name) @definition.field)
(type_alias_declaration value: (object_type (property_signature name: (property_identifier) @name) @definition.field))
(public_field_definition
  name: [(property_identifier) (private_property_identifier)] @name
  value: [(arrow_function body: (_) @body) (function_expression body: (_) @body)]) @definition.method
(required_parameter (accessibility_modifier) pattern: (identifier) @name (#set! member)) @definition.field
(public_field_definition name: [(property_identifier) (private_property_identifier)] @name) @definition.field

(required_parameter pattern: (identifier) @local)
(optional_parameter pattern: (identifier) @local)
(type_parameter name: (type_identifier) @local)

(variable_declarator name: (identifier) @target type: (type_annotation (_) @value)) @binding.declare

(extends_clause value: (identifier) @reference.inherit)
(extends_clause value: (member_expression object: (_) @receiver property: (property_identifier) @reference.inherit))
(extends_clause value: (call_expression arguments: (arguments (identifier) @reference.inherit)))
(implements_clause (type_identifier) @reference.inherit)
(implements_clause (generic_type name: (type_identifier) @reference.inherit))
(implements_clause (nested_type_identifier module: (_) @receiver name: (type_identifier) @reference.inherit))
(extends_type_clause type: (type_identifier) @reference.inherit)
(extends_type_clause type: (generic_type name: (type_identifier) @reference.inherit))
(extends_type_clause type: (nested_type_identifier module: (_) @receiver name: (type_identifier) @reference.inherit))

(nested_type_identifier module: (_) @receiver name: (type_identifier) @reference.type)
(type_identifier) @reference.type
(type_query (identifier) @reference.type)
