[
  (function_definition)
  (struct_definition)
  (trait_definition)
  (extension_definition)
  (if_statement)
  (for_statement)
  (while_statement)
  (try_statement)
  (with_statement)
  (argument_list)
  (list)
  (dictionary)
] @fold
