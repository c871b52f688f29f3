(field_definition
  property: [(property_identifier) (private_property_identifier)] @name
  value: [(arrow_function body: (_) @body) (function_expression body: (_) @body)]) @definition.method
(field_definition property: [(property_identifier) (private_property_identifier)] @name) @definition.field

(formal_parameters (identifier) @local)

(class_heritage (identifier) @reference.inherit)
(class_heritage (member_expression object: (_) @receiver property: (property_identifier) @reference.inherit))
(class_heritage (call_expression arguments: (arguments (identifier) @reference.inherit)))
