/** `1 file`, `2 files`. */
export function formatCount(count: number, noun: keyof typeof plurals): string {
  return `${count} ${count === 1 ? noun : plurals[noun]}`;
}

const plurals = {
  file: "files",
  line: "lines",
  entry: "entries",
  byte: "bytes",
  occurrence: "occurrences",
  path: "paths",
} as const;
