"""The commands around the compiler: each file is one of them, over the same driver as `ktc build`.

They are imported when they are used: `ktc build` must not load them.
"""

COMMANDS = {
    "bench": "ktc.cli.bench:bench_group",
    "check": "ktc.tools.check:check_command",
    "completion": "ktc.tools.shell:completion_command",
    "debug": "ktc.tools.debug:debug_command",
    "doc": "ktc.tools.doc:doc_command",
    "explore": "ktc.tools.explore:explore_command",
    "format": "ktc.tools.format:format_command",
    "lsp": "ktc.tools.lsp:lsp_command",
    "man": "ktc.tools.shell:man_command",
    "new": "ktc.tools.new:new_command",
    "package": "ktc.tools.package:package_command",
    "report": "ktc.cli.report:report_command",
    "repl": "ktc.tools.repl:repl_command",
    "run": "ktc.cli.run:run_command",
    "test": "ktc.tools.test:test_command",
    "tune": "ktc.cli.tune:tune_command",
    "wheel": "ktc.cli.wheel:wheel_command",
}
"""Name of a command, and where it is."""
