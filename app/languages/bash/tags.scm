; Definitions

(function_definition name: (word) @name) @definition.function
((command name: (command_name (word) @_alias) argument: (concatenation . (word) @name)) @definition.function
  (#eq? @_alias "alias") (#not-match? @name "^(?![^=]+=$)"))
((declaration_command . "readonly" (variable_assignment name: (variable_name) @name)) @definition.constant)
(declaration_command (variable_assignment name: (variable_name) @name)) @definition.variable
(variable_assignment name: (variable_name) @name) @definition.variable
(variable_assignment name: (subscript name: (variable_name) @name)) @definition.variable

(comment) @comment
(ERROR) @error

; Names bound inside a function

(function_definition body: (_ (declaration_command ["local" "declare" "typeset"] (variable_name) @local)))
(for_statement variable: (variable_name) @local)

; References

((command name: (command_name (word) @reference.call)) (#not-match? @reference.call "^(?![A-Za-z_])"))
((command name: (command_name (word) @_trap) . argument: (word) @reference.read) (#eq? @_trap "trap"))
((command name: (command_name (word) @_run) . argument: (word) @reference.call) (#eq? @_run "run"))

((simple_expansion (variable_name) @reference.read) (#not-match? @reference.read "^(?![A-Za-z_])"))
((expansion (variable_name) @reference.read) (#not-match? @reference.read "^(?![A-Za-z_])"))
(expansion (subscript name: (variable_name) @reference.read))
