[(function_definition) (struct_definition) (trait_definition) (block)] @local.scope

(function_definition name: (identifier) @local.definition.function)
(struct_definition name: (identifier) @local.definition.type)
(parameter name: (identifier) @local.definition.parameter)
(variable_declaration . (identifier) @local.definition.var)
(alias_declaration name: (identifier) @local.definition.constant)

(identifier) @local.reference
