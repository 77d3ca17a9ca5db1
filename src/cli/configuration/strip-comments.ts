/**
 * Turns JSON with comments and trailing commas, as people write configuration, into plain JSON. What is removed is replaced by
 * blanks, so that positions in error messages stay correct.
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
