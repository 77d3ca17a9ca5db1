/**
 * Maximum lengths of the tools' inputs. The schemas declare these bounds, and the tools check them again, because a tool may be
 * called without its schema. All lengths are in characters (UTF-16 units in the checks).
 */

/** The maximum length of a path on Linux. */
export const maxPathCharacters = 4096;

export const maxPatternCharacters = 500;

/** The maximum length of a search text. */
export const maxSearchCharacters = 1000;

/** The maximum length of a file's content, or of part of it, in a call. */
export const maxContentCharacters = 1024 * 1024;

/** @throws Error that names the input and the bound */
export function assertMaxLength(name: string, text: string, max: number): void {
  if (text.length > max) throw new Error(`${name} has ${text.length} characters; at most ${max} are allowed.`);
}

/**
 * A lone surrogate cannot be represented in UTF-8: it would become U+FFFD, and the file would differ from the given text.
 *
 * @throws Error if the text has a lone surrogate
 */
export function assertNoLoneSurrogates(name: string, text: string): void {
  if (!loneSurrogate.test(text)) return;
  throw new Error(
    `${name} contains half of a character (a lone surrogate), which UTF-8 cannot represent. Give the whole character.`,
  );
}

const loneSurrogate = /[\uD800-\uDFFF]/u;
