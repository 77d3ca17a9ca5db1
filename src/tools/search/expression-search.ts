/**
 * Searches for lines that match a regular expression from a model, in bounded time (SEC-15).
 *
 * 1. The expressions are those of RE2: without look-around and back-references, so that a match takes time linear in the line. The
 *    cost per character grows with the size of the compiled expression, which is bounded.
 * 2. The size is estimated before the expression is compiled, because compiling a large expression would itself take long.
 * 3. A single match cannot be interrupted. So only the beginning of a very long line is searched, and the result says so. Between
 *    matches, the event loop can run.
 */
import { getErrorMessage } from "../../core/data/error-message.js";
import { assertMaxLength } from "../lib/input-bounds.js";
import { excerptLine, type LineSearch, type SearchOptions } from "./line-search.js";
import type { SearchFilter } from "./search-filter.js";

/** The maximum length of a regular expression. */
export const maxExpressionCharacters = 300;

/** The maximum number of instructions of a compiled expression. */
const maxSize = 4000;

/** The maximum work of one match, as instructions times characters: well under 50 ms. */
const maxWork = 1_000_000;

/** The amount of work after which the event loop may run. */
const maxWorkPerPiece = 50_000;

/**
 * @param filter lines that do not pass the filter are not matched with the expression
 * @throws Error if the expression is too long, too large or invalid
 */
export async function createExpressionSearch(
  { text, ignoreCase, wholeWord }: SearchOptions,
  filter: SearchFilter | null,
): Promise<LineSearch> {
  assertMaxLength("The regular expression", text, maxExpressionCharacters);
  if (estimateSize(text) > maxSize) throw createTooLargeError();
  // The library is large, and most searches are literal.
  const { RE2JS } = await import("re2js");
  const compile = () => {
    try {
      return RE2JS.compile(wholeWord ? `\\b(?:${text})\\b` : text, ignoreCase ? RE2JS.CASE_INSENSITIVE : 0);
    } catch (error) {
      const why = getErrorMessage(error);
      throw new Error(`Invalid regular expression: ${why}. Look-around and back-references are not supported.`);
    }
  };
  const expression = compile();
  const size = expression.programSize();
  if (size > maxSize) throw createTooLargeError();
  return createLineSearch(expression, size, filter);
}

function createTooLargeError(): Error {
  return new Error("The regular expression has too many repetitions. Use smaller numbers in braces, or * and +.");
}

/**
 * Estimates the number of instructions, erring high. Each number in braces counts as if it repeated a single character. Repeated
 * groups count as if all of them were nested, around the whole expression.
 */
function estimateSize(text: string): number {
  // A quotation, \Q…\E, may hide what a number in braces applies to.
  const plain = text.replace(/\\[QE]/g, "");
  let [single, groups] = [plain.length, 1];
  for (const { 1: min = "", 2: max = "", index } of plain.matchAll(/\{(\d{1,9})(?:,(\d{0,9}))?\}/g)) {
    const times = Math.max(1, Number(min), Number(max));
    if (plain[index - 1] === ")") groups *= times;
    else single += times;
  }
  return single * groups;
}

type Expression = {
  test(text: string): boolean;
  matcher(text: string): { find(): boolean; start(): number };
};

function createLineSearch(expression: Expression, size: number, filter: SearchFilter | null): LineSearch {
  const maxLineCharacters = Math.floor(maxWork / size);
  return async (text, { pace, maxMatches, onMatch }) => {
    let [lines, cutLines, work] = [0, 0, 0];
    for (let [line, lineStart] = [1, 0]; lineStart < text.length; line += 1) {
      const newlineIndex = text.indexOf("\n", lineStart);
      const next = newlineIndex === -1 ? text.length : newlineIndex + 1;
      const lineEnd =
        newlineIndex === -1
          ? text.length
          : text[newlineIndex - 1] === "\r" && newlineIndex > lineStart
            ? newlineIndex - 1
            : newlineIndex;
      if (lineEnd - lineStart > maxLineCharacters) cutLines += 1;
      const searchedPart = text.slice(lineStart, Math.min(lineEnd, lineStart + maxLineCharacters));
      const mayMatch = filter === null || filter.mayMatchLine(searchedPart);
      if (mayMatch && expression.test(searchedPart)) {
        lines += 1;
        if (lines <= maxMatches)
          onMatch({ line, text: excerptLine(text, { at: lineStart + findMatchStart(searchedPart), lineStart }) });
      }
      work += mayMatch ? size * (searchedPart.length + 1) : searchedPart.length;
      // Most of a long line may have been skipped without a match.
      if (work >= maxWorkPerPiece || next - lineStart >= maxWorkPerPiece) {
        work = 0;
        await pace();
      }
      lineStart = next;
    }
    return { lines, cutLines };
  };

  function findMatchStart(line: string): number {
    const matcher = expression.matcher(line);
    return matcher.find() ? matcher.start() : 0;
  }
}
