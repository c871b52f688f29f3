; Definitions

(module name: (constant) @name) @definition.module
(module name: (scope_resolution) @name (#set! qualified)) @definition.module
(class name: (constant) @name) @definition.class
(class name: (scope_resolution) @name (#set! qualified)) @definition.class
(method name: (_) @name) @definition.function
(singleton_method name: (_) @name) @definition.function
((call method: (identifier) @_attribute arguments: (argument_list (simple_symbol) @name)) @definition.property
  (#any-of? @_attribute "attr_accessor" "attr_reader" "attr_writer"))
((call method: (identifier) @_define arguments: (argument_list . (simple_symbol) @name)) @definition.function
  (#eq? @_define "define_method"))
(alias name: (_) @name) @definition.function
((call method: (identifier) @_alias arguments: (argument_list . (simple_symbol) @name)) @definition.function
  (#eq? @_alias "alias_method"))
((assignment left: (constant) @name right: (call receiver: (constant) @_maker method: (identifier) @_new)) @definition.class
  (#any-of? @_maker "Struct" "Class" "Data") (#any-of? @_new "new" "define"))
((assignment left: (constant) @name right: (call receiver: (constant) @_maker method: (identifier) @_new)) @definition.module
  (#eq? @_maker "Module") (#eq? @_new "new"))
(assignment left: (constant) @name) @definition.constant

((body_statement (identifier) @access) (#any-of? @access "private" "protected" "public"))
(comment) @comment
(ERROR) @error

; Names bound inside a method

(method_parameters (identifier) @local)
(optional_parameter name: (identifier) @local)
(keyword_parameter name: (identifier) @local)
(splat_parameter name: (identifier) @local)
(hash_splat_parameter name: (identifier) @local)
(block_parameter name: (identifier) @local)
(block_parameters (identifier) @local)
(assignment left: (identifier) @local)
(operator_assignment left: (identifier) @local)
(left_assignment_list (identifier) @local)
(exception_variable (identifier) @local)

; References

(superclass [(constant) @reference.inherit (scope_resolution scope: (_) @receiver name: (constant) @reference.inherit)])
((call !receiver method: (identifier) @_mix arguments: (argument_list [
    (constant) @reference.inherit
    (scope_resolution scope: (_) @receiver name: (constant) @reference.inherit)
  ]))
  (#any-of? @_mix "include" "extend" "prepend"))

((call receiver: [(constant) @reference.call (scope_resolution scope: (_) @receiver name: (constant) @reference.call)] method: (identifier) @_new)
  (#eq? @_new "new"))
(call !receiver method: [(identifier) (constant)] @reference.call)
(call receiver: (_) @receiver method: [(identifier) (constant)] @reference.call)
(body_statement (identifier) @reference.call)
(then (identifier) @reference.call)
(block_body (identifier) @reference.call)

(call receiver: (constant) @reference.type)
(call receiver: (scope_resolution scope: (_) @receiver name: (constant) @reference.type))

([
  (argument_list (constant) @reference.read)
  (assignment right: (constant) @reference.read)
  (pair value: (constant) @reference.read)
  (array (constant) @reference.read)
  (binary (constant) @reference.read)
  (exceptions (constant) @reference.read)
  (body_statement (constant) @reference.read)
  (when (pattern (constant) @reference.read))
  (argument_list (scope_resolution scope: (_) @receiver name: (constant) @reference.read))
  (assignment right: (scope_resolution scope: (_) @receiver name: (constant) @reference.read))
  (pair value: (scope_resolution scope: (_) @receiver name: (constant) @reference.read))
  (exceptions (scope_resolution scope: (_) @receiver name: (constant) @reference.read))
] (#set! always))
[
  (argument_list (identifier) @reference.read)
  (argument_list (simple_symbol) @reference.read)
  (block_argument (simple_symbol) @reference.read)
  (assignment right: (identifier) @reference.read)
  (pair value: (identifier) @reference.read)
  (pair value: (simple_symbol) @reference.read)
  (array (simple_symbol) @reference.read)
  (binary (identifier) @reference.read)
]
