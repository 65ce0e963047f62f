"""The language server: `ktc lsp`, over the same front end as a build; pygls speaks the protocol.

positions -> facts -> analysis -> symbols, queries, completion, tokens -> server
"""
