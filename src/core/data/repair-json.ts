/**
 * Repairs JSON as models write it: in a Markdown fence, with comments, or with trailing commas.
 *
 * 1. Every character is read a bounded number of times.
 * 2. Strings are not changed. Nothing is added, so a truncated text stays truncated.
 */

/** The text without its fence, comments and trailing commas; undefined if it has none of them. The result may still be invalid. */
export function repairJson(text: string): string | undefined {
  const body = stripFence(text.trim());
  const repaired = stripCommentsAndCommas(body);
  return repaired === text.trim() ? undefined : repaired;
}

function stripFence(text: string): string {
  if (!text.startsWith("```")) return text;
  const start = text.indexOf("\n") + 1;
  const end = text.lastIndexOf("```");
  return start === 0 || end < start ? text : text.slice(start, end).trim();
}

function stripCommentsAndCommas(text: string): string {
  const pieces: string[] = [];
  let comma = "";
  let last = "";
  const push = (piece: string) => {
    if (comma !== "") pieces.push(comma);
    comma = "";
    pieces.push(piece);
    last = piece.slice(-1);
  };
  for (let index = 0; index < text.length; ) {
    const end = findTokenEnd(text, index);
    const token = text.slice(index, end);
    index = end;
    if (isComment(token)) pieces.push(" ");
    else if (token.trim() === "") pieces.push(token);
    else if (token === "," && comma === "" && endsValue(last)) comma = token;
    else if (token === "}" || token === "]") {
      comma = "";
      push(token);
    } else push(token);
  }
  return pieces.join("") + comma;
}

/** Only a comma after a value can be a trailing comma. Any other comma is a different mistake and is kept. */
function endsValue(last: string): boolean {
  return last !== "" && !"{[,:".includes(last);
}

function isComment(token: string): boolean {
  return token.startsWith("//") || (token.startsWith("/*") && token.length >= 4 && token.endsWith("*/"));
}

function findTokenEnd(text: string, start: number): number {
  const first = text.charAt(start);
  if (first === '"') return findStringEnd(text, start);
  if (text.startsWith("//", start)) return indexOrEnd(text.indexOf("\n", start), text);
  if (text.startsWith("/*", start)) return indexOrEnd(text.indexOf("*/", start + 2) + 2, text, 1);
  if ("{}[],:".includes(first)) return start + 1;
  let end = start + 1;
  const isSpace = isWhitespace(first);
  while (end < text.length && isWhitespace(text.charAt(end)) === isSpace && !'"{}[],:/'.includes(text.charAt(end)))
    end += 1;
  return end;
}

function findStringEnd(text: string, start: number): number {
  for (let index = start + 1; index < text.length; index += 1) {
    const character = text.charAt(index);
    if (character === "\\") index += 1;
    else if (character === '"') return index + 1;
  }
  return text.length;
}

/** @param notFound the index that means "not found" */
function indexOrEnd(index: number, text: string, notFound = -1): number {
  return index === notFound ? text.length : index;
}

function isWhitespace(character: string): boolean {
  return character === " " || character === "\n" || character === "\t" || character === "\r";
}
