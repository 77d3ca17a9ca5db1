/**
 * Lists in sentences.
 */

/** `a, b or c` */
export function joinWords(words: readonly string[], conjunction: "and" | "or"): string {
  return [words.slice(0, -1).join(", "), ...words.slice(-1)].filter((part) => part !== "").join(` ${conjunction} `);
}
