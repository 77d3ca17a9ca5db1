/**
 * How columns are read: text as bytes (see `decodeColumn`), numbers as numbers. Damage can give any value another type, and text that is no
 * longer valid UTF-8 makes `libsql` end the process.
 */
export function bytes(...columns: readonly string[]): string {
  return columns.map((column) => `CAST(${column} AS BLOB) AS ${toPropertyName(column)}`).join(", ");
}

export function numbers(...columns: readonly string[]): string {
  return columns.map((column) => `CAST(${column} AS NUMERIC) AS ${toPropertyName(column)}`).join(", ");
}

/** `s.lease_until` becomes `leaseUntil`. */
function toPropertyName(column: string): string {
  return column.replace(/^.*\./, "").replace(/_([a-z])/g, (_, letter: string) => letter.toUpperCase());
}
