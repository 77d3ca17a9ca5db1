/**
 * Whether a name is what a mistyped word was probably meant to be.
 */

/** Whether two names differ in at most two adjacent characters, or the name begins with the word. */
export function isNear(name: string, word: string): boolean {
  if (word.length > 2 && name.startsWith(word)) return true;
  let start = 0;
  while (start < Math.min(name.length, word.length) && name[start] === word[start]) start += 1;
  let end = 0;
  while (end < Math.min(name.length, word.length) - start && name.at(-1 - end) === word.at(-1 - end)) end += 1;
  return Math.max(name.length, word.length) - start - end <= 2;
}
