/**
 * The page of bad input: tables of what the user and the model see, written by the tests that show it.
 *
 * `node scripts/bad-input.mjs` writes docs/bad-input.md; a run of the tests fails where the page says otherwise.
 */
import { expectTable } from "../support/docs-page.js";

export type Row = {
  /** What comes in. */
  readonly input: string;
  readonly user: string;
  readonly model: string;
};

const page = {
  file: "bad-input.md",
  command: "node scripts/bad-input.mjs",
  columns: ["What comes in", "What the user sees", "What the model sees"],
} as const;

/** Compares a table with the page's, or writes it. */
export function expectBadInputTable(heading: string, rows: readonly Row[]): void {
  expectTable(
    page,
    heading,
    rows.map(({ input, user, model }) => [input, user, model]),
  );
}

/** A text as it is shown in a table: short, on one line, nothing invisible; of what was cut, the mark. */
export function formatShown(text: string, maxCharacters = 150): string {
  const cutMark = /\[… [^\]]{1,200} …\]/.exec(text)?.[0].replace(/[0-9a-f]{60}(?=[0-9a-f]{4})/, "…");
  const plain = text.slice(0, 2_000).replace(/(.)\1{9,}/gsu, "$1$1$1…");
  const cut = plain.length > maxCharacters ? `${plain.slice(0, cutMark === undefined ? maxCharacters : 40)}…` : plain;
  const visible = `${cut}${cutMark === undefined ? "" : ` ${cutMark} …`}`.replace(
    /[\p{Cc}\p{Surrogate}]/gu,
    (character) => (character === "\n" ? "⏎" : `\\u${(character.codePointAt(0) ?? 0).toString(16).padStart(4, "0")}`),
  );
  return `\`${visible.replaceAll("`", "'")}\``;
}
