// Which line of the source each line of assembly comes from, by its `.file` and `.loc` directives.

export function origins(text: string, name: string): number[] {
  const lines = text.split("\n");
  const own = new Set<string>();
  for (const line of lines) {
    const found = /^\s*\.file\s+(\d+)\s+(?:"[^"]*"\s+)?"([^"]*)"/.exec(line);
    if (found && found[2].split("/").pop() === name) own.add(found[1]);
  }
  let current = 0;
  return lines.map((line) => {
    const found = /^\s*\.loc\s+(\d+)\s+(\d+)/.exec(line);
    if (found) {
      current = own.has(found[1]) ? Number(found[2]) : 0;
      return 0;
    }
    return /^\s+[^.#;/\s]/.test(line) ? current : 0;
  });
}
