[(interface_declaration) (type_alias_declaration) (abstract_class_declaration) (internal_module) (module)] @scope.block
[(function_signature) (method_signature) (abstract_method_signature) (call_signature) (construct_signature) (function_type) (constructor_type)]
  @scope.function
[(conditional_type) (mapped_type_clause) (index_signature)] @scope.block

(interface_declaration name: (_) @bind.outer)
(type_alias_declaration name: (_) @bind.outer)
(abstract_class_declaration name: (_) @bind.outer)
(enum_declaration name: (_) @bind)
(internal_module name: (identifier) @bind.outer)
(module name: (identifier) @bind.outer)
(function_signature name: (_) @bind.outer)
(import_require_clause (identifier) @bind)
(import_alias (identifier) @bind)

(required_parameter pattern: (identifier) @bind)
(optional_parameter pattern: (identifier) @bind)
(type_parameter name: (type_identifier) @bind)
(infer_type (type_identifier) @bind)
(mapped_type_clause name: (type_identifier) @bind)

(object_type (property_signature name: (property_identifier) @bind.property))
