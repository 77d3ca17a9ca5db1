/**
 * JSON with comments and commas at the end of lists, as people write configuration. It is made plain JSON first, with
 * blanks in the place of what is left out, so places in error messages stay right.
 */
export function plainJson(text: string): string {
  let plain = "";
  let last = 0;
  // A string is matched as a whole, so that nothing in it is taken for a comment.
  for (const { 0: part, index } of text.matchAll(/"(?:[^"\\\n]|\\.)*"|\/\/[^\n]*|\/\*[\s\S]*?\*\//g)) {
    plain += text.slice(last, index);
    plain += part.startsWith('"') ? part : part.replace(/[^\n]/g, " ");
    last = index + part.length;
  }
  return withoutLastCommas(plain + text.slice(last));
}

function withoutLastCommas(text: string): string {
  return text.replace(/"(?:[^"\\\n]|\\.)*"|,(?=\s*[}\]])/g, (part) => (part === "," ? " " : part));
}
