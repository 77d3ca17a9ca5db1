/**
 * The position and kind of the first syntax error in invalid JSON text.
 *
 * The message of `JSON.parse` is not enough: Node.js 20 gives no position for many errors ("Unexpected token 'h'"), and JavaScript engines
 * word them differently.
 */
export type JsonFault = { readonly position: number; readonly message: string };

/** Finds the first error in text that does not parse. */
export function findJsonFault(text: string): JsonFault {
  const closers: ("]" | "}")[] = [];
  let expected: Expected = "value";
  for (let index = skipSpace(text, 0); ; index = skipSpace(text, index)) {
    const character = text[index];
    const closer = closers.at(-1);
    if (character === undefined) return unexpectedEnd(index, describeExpected(expected, closer));
    if (expected === "comma or end") {
      if (character === closer) closers.pop();
      else if (character === "," && closer !== undefined) expected = closer === "}" ? "key" : "value";
      else return unexpectedCharacter(index, character, describeExpected(expected, closer));
      index += 1;
    } else if (expected === "colon") {
      if (character !== ":") return unexpectedCharacter(index, character, describeExpected(expected, closer));
      expected = "value";
      index += 1;
    } else if ((expected === "value or ]" || expected === "key or }") && character === closer) {
      closers.pop();
      expected = "comma or end";
      index += 1;
    } else if (expected === "key" || expected === "key or }") {
      if (character !== '"') return unexpectedCharacter(index, character, describeExpected(expected, closer));
      const end = readString(text, index);
      if (typeof end !== "number") return end;
      expected = "colon";
      index = end;
    } else if (character === "[" || character === "{") {
      closers.push(character === "[" ? "]" : "}");
      expected = character === "[" ? "value or ]" : "key or }";
      index += 1;
    } else {
      const end = character === '"' ? readString(text, index) : readWord(text, index);
      if (end === null) return unexpectedCharacter(index, character, describeExpected(expected, closer));
      if (typeof end !== "number") return end;
      expected = "comma or end";
      index = end;
    }
  }
}

function unexpectedEnd(position: number, expected: string): JsonFault {
  return { position, message: `the text ends where ${expected} was expected` };
}

function unexpectedCharacter(position: number, character: string, expected: string): JsonFault {
  return { position, message: `unexpected ${formatCharacter(character)} where ${expected} was expected` };
}

type Expected = "value" | "value or ]" | "key" | "key or }" | "colon" | "comma or end";

function describeExpected(expected: Expected, closer: string | undefined): string {
  switch (expected) {
    case "value":
      return "a value";
    case "value or ]":
      return "a value or ']'";
    case "key":
      return "a key in double quotes";
    case "key or }":
      return "a key in double quotes or '}'";
    case "colon":
      return "':'";
    case "comma or end":
      return closer === undefined ? "the end" : `',' or '${closer}'`;
  }
}

function skipSpace(text: string, start: number): number {
  let index = start;
  while (index < text.length && " \t\n\r".includes(text.charAt(index))) index += 1;
  return index;
}

/** The index after the string, or the error inside it. */
function readString(text: string, start: number): number | JsonFault {
  for (let index = start + 1; index < text.length; index++) {
    const character = text.charAt(index);
    if (character === '"') return index + 1;
    if (character < " ") return { position: index, message: `unescaped ${formatCharacter(character)} in a string` };
    if (character !== "\\") continue;
    const sequence = text.slice(index, index + 6);
    if (/^\\["\\/bfnrt]/.test(sequence)) index += 1;
    else if (/^\\u[0-9a-fA-F]{4}/.test(sequence)) index += 5;
    else if (!/^\\(?:u[0-9a-fA-F]{0,3})?$/.test(sequence))
      return { position: index, message: "an escape that JSON does not have" };
  }
  return { position: text.length, message: `the text ends inside the string that began at position ${start},` };
}

/** The index after a number, `true`, `false` or `null`; null if none of them is at this index. */
function readWord(text: string, start: number): number | null {
  const word = /(?:-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?|true|false|null)(?![\w.+-])/y;
  word.lastIndex = start;
  return word.test(text) ? word.lastIndex : null;
}

function formatCharacter(character: string): string {
  return character < " " || character > "~"
    ? `U+${character.charCodeAt(0).toString(16).toUpperCase().padStart(4, "0")}`
    : `'${character}'`;
}
