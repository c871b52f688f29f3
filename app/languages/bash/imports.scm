((command name: (command_name (word) @_source) argument: [(word) (string) (raw_string) (concatenation)] @module)
  (#any-of? @_source "source" ".") (#set! name "*")) @import
