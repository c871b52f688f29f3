; Definitions

(decorated_definition
  (decorator (identifier) @_decorator)
  definition: (function_definition name: (identifier) @name) @definition.property
  (#any-of? @_decorator "property" "cached_property"))

(function_definition name: (identifier) @name) @definition.function
(class_definition name: (identifier) @name) @definition.class
(assignment left: (identifier) @name right: (lambda body: (_) @body)) @definition.function
(type_alias_statement left: (type (identifier) @name)) @definition.type
(type_alias_statement left: (type (generic_type . (identifier) @name))) @definition.type

((assignment left: (attribute object: (identifier) @_self attribute: (identifier) @name)) @definition.field
  (#eq? @_self "self") (#set! member))
(assignment left: (identifier) @name) @definition.variable
(assignment left: (pattern_list (identifier) @name)) @definition.variable
(assignment left: (tuple_pattern (identifier) @name)) @definition.variable

(function_definition
  name: (identifier) @name
  body: (block . (string) @docstring))
(class_definition
  name: (identifier) @name
  body: (block . (string) @docstring))

(decorator) @leading

; Names bound inside a function

(parameters (identifier) @local)
(typed_parameter . (identifier) @local)
(typed_parameter . (_ (identifier) @local))
(default_parameter name: (identifier) @local)
(typed_default_parameter name: (identifier) @local)
(list_splat_pattern (identifier) @local)
(dictionary_splat_pattern (identifier) @local)
(lambda_parameters (identifier) @local)
(for_statement left: (identifier) @local)
(for_statement left: (_ (identifier) @local))
(for_in_clause left: (identifier) @local)
(for_in_clause left: (_ (identifier) @local))
(as_pattern_target (identifier) @local)
(named_expression name: (identifier) @local)

; References

(class_definition superclasses: (argument_list (identifier) @reference.inherit))
(class_definition superclasses: (argument_list (attribute object: (_) @receiver attribute: (identifier) @reference.inherit)))
(class_definition superclasses: (argument_list (subscript value: (identifier) @reference.inherit)))
(class_definition superclasses: (argument_list (subscript value: (attribute object: (_) @receiver attribute: (identifier) @reference.inherit))))

(decorator (identifier) @reference.decorate)
(decorator (attribute object: (_) @receiver attribute: (identifier) @reference.decorate))
(decorator (call function: (identifier) @reference.decorate))
(decorator (call function: (attribute object: (_) @receiver attribute: (identifier) @reference.decorate)))

(call function: (identifier) @reference.call)
(call function: (attribute object: (_) @receiver attribute: (identifier) @reference.call))
(call function: [(call) (subscript)] @reference.value)
((decorator (call) @reference.value) (#set! decorator))
(raise_statement . (identifier) @reference.call)
(raise_statement . (attribute object: (_) @receiver attribute: (identifier) @reference.call))

(type (identifier) @reference.type)
(type (attribute object: (_) @receiver attribute: (identifier) @reference.type))
(generic_type . (identifier) @reference.type)
(type (string (string_content) @reference.type) (#not-match? @reference.type "^(?![A-Za-z_][A-Za-z0-9_]*$)"))
(type (binary_operator (identifier) @reference.type))
(type (binary_operator (attribute object: (_) @receiver attribute: (identifier) @reference.type)))
(type (binary_operator (binary_operator (identifier) @reference.type)))
(type (subscript (identifier) @reference.type))
(type (subscript (attribute object: (_) @receiver attribute: (identifier) @reference.type)))
(type (subscript (subscript (identifier) @reference.type)))

((argument_list [(identifier) @reference.read (attribute object: (_) @receiver attribute: (identifier) @reference.read)]) (#set! argument))
((keyword_argument value: [(identifier) @reference.read (attribute object: (_) @receiver attribute: (identifier) @reference.read)])
  (#set! argument))
(assignment right: [(identifier) @reference.read (attribute object: (_) @receiver attribute: (identifier) @reference.read)])
(return_statement [(identifier) @reference.read (attribute object: (_) @receiver attribute: (identifier) @reference.read)])
(pair value: [(identifier) @reference.read (attribute object: (_) @receiver attribute: (identifier) @reference.read)])
(list [(identifier) @reference.read (attribute object: (_) @receiver attribute: (identifier) @reference.read)])
(tuple [(identifier) @reference.read (attribute object: (_) @receiver attribute: (identifier) @reference.read)])
(set [(identifier) @reference.read (attribute object: (_) @receiver attribute: (identifier) @reference.read)])
(expression_list [(identifier) @reference.read (attribute object: (_) @receiver attribute: (identifier) @reference.read)])
(default_parameter value: [(identifier) @reference.read (attribute object: (_) @receiver attribute: (identifier) @reference.read)])
(typed_default_parameter value: [(identifier) @reference.read (attribute object: (_) @receiver attribute: (identifier) @reference.read)])
(conditional_expression [(identifier) @reference.read (attribute object: (_) @receiver attribute: (identifier) @reference.read)])
(binary_operator (identifier) @reference.read)
(comparison_operator (identifier) @reference.read)
(except_clause [(identifier) @reference.read (attribute object: (_) @receiver attribute: (identifier) @reference.read)])
(as_pattern . [(identifier) @reference.read (attribute object: (_) @receiver attribute: (identifier) @reference.read)])

(attribute object: (_) @receiver attribute: (identifier) @reference.constant)
; What names are given

(assignment
  left: _ @target
  right: [(call) (identifier) (attribute) (dictionary) (list) (tuple) (expression_list) (conditional_expression) (boolean_operator) (await) (subscript) (assignment) (parenthesized_expression) (list_comprehension)] @value) @binding.assign
(assignment left: [(identifier) (attribute)] @target type: (type) @value) @binding.declare
(named_expression name: (identifier) @target value: [(call) (identifier) (attribute) (subscript)] @value) @binding.assign
(for_statement left: _ @target right: [(call) (identifier) (attribute) (list) (tuple) (subscript)] @value) @binding.item
(for_in_clause left: _ @target right: [(call) (identifier) (attribute) (list) (tuple) (subscript)] @value) @binding.item
(with_item value: (as_pattern . [(call) (identifier) (attribute)] @value alias: (as_pattern_target (_) @target))) @binding.enter
(return_statement [(call) (identifier) (attribute) (dictionary) (list) (tuple) (expression_list) (conditional_expression) (boolean_operator) (await) (subscript) (assignment) (parenthesized_expression) (list_comprehension)] @value) @binding.return
(yield [(call) (identifier) (attribute) (tuple)] @value) @binding.yield
(argument_list (call function: (identifier)) @argument)
(keyword_argument value: (call function: (identifier)) @argument)
(decorated_definition (decorator (_) @value) definition: (_ name: (identifier) @target)) @binding.decorate

((comment) @comment)
(ERROR) @error
