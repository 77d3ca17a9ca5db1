/**
 * Numbers as people read them.
 */

/**
 * Formats a number as an integer, with commas. `toLocaleString` does the same, but in Node its first call takes 10 to 60 ms, because Node
 * then loads its tables of languages.
 */
export function formatNumber(value: number): string {
  return String(Math.round(value)).replace(/\B(?=(?:\d{3})+$)/g, ",");
}
