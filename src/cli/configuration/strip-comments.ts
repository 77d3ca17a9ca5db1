/**
 * JSON with comments and commas at the end of lists, as people write configuration. It is made plain JSON first, with
 * blanks in the place of what is left out, so places in error messages stay right.
 */
export function stripComments(text: string): string {
  let plain = "";
  let last = 0;
  // A string is matched as a whole, so that nothing in it is taken for a comment.
  for (const { 0: token, index } of text.matchAll(/"(?:[^"\\\n]|\\.)*"|\/\/[^\n]*|\/\*[\s\S]*?\*\//g)) {
    plain += text.slice(last, index);
    plain += token.startsWith('"') ? token : token.replace(/[^\n]/g, " ");
    last = index + token.length;
  }
  return stripTrailingCommas(plain + text.slice(last));
}

function stripTrailingCommas(text: string): string {
  return text.replace(/"(?:[^"\\\n]|\\.)*"|,(?=\s*[}\]])/g, (token) => (token === "," ? " " : token));
}
