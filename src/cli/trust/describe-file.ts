/**
 * Describes a file that the folder supplies: every character is visible, and after a change only the changed lines are shown.
 */
import { sanitizeStrictly, wrapWords } from "../terminal/text.js";
import type { HookScript } from "./hook-scripts.js";
import { diffLines, type SuppliedFile } from "./trust.js";

/**
 * The file, and its effects.
 * @param columns the width of the effects. The lines of the file are not wrapped, because they are shown exactly.
 */
export function describeFile(file: SuppliedFile, columns = Number.POSITIVE_INFINITY): readonly string[] {
  const { kind, path, text, effects, before, isTrusted } = file;
  const hasChanged = before !== null && !isTrusted;
  const lines = hasChanged ? describeChange(before, text, sameTextNotes[kind]) : text.trimEnd().split("\n");
  return [
    hasChanged ? `${sanitizeStrictly(path)} has changed since it was trusted:` : sanitizeStrictly(path),
    ...lines.map(indentLine),
    ...describeScripts(file),
    ...(effects.length === 0 ? [] : ["It", ...effects.flatMap((effect) => describeEffect(effect, columns))]),
  ];
}

/** The changed lines. If none was added or removed, their order has changed, and all of them are shown. */
function describeChange(before: string, text: string, sameTextNote: string): readonly string[] {
  const changes = diffLines(before, text);
  if (changes.length > 0) return changes;
  return before === text ? [sameTextNote] : ["(the same lines in another order)", ...text.trimEnd().split("\n")];
}

const indentLine = (line: string) => `    ${sanitizeStrictly(line)}`.trimEnd();

/** The scripts in full; after a change, only what has changed in them. */
function describeScripts({ scripts = [], scriptsBefore, before, isTrusted }: SuppliedFile): readonly string[] {
  const hasChanged = before !== null && !isTrusted;
  const removed = scriptsBefore.filter(({ path }) => !scripts.some((script) => script.path === path));
  return [
    ...scripts.flatMap((script) => {
      const old = scriptsBefore.find(({ path }) => path === script.path);
      if (!hasChanged || old === undefined)
        return [`  ${sanitizeStrictly(script.path)}${hasChanged ? ", which is new" : ""}:`, ...describeText(script)];
      if (old.hash === script.hash) return [];
      const { text } = script;
      const lines =
        text === null || old.text === null
          ? describeText(script)
          : describeChange(old.text, text, "(only its encoding)").map(indentLine);
      return [`  ${sanitizeStrictly(script.path)} has changed:`, ...lines];
    }),
    ...(hasChanged ? removed.map(({ path }) => `  ${sanitizeStrictly(path)} is gone, or no longer run`) : []),
  ];
}

function describeText({ text, hash }: HookScript): readonly string[] {
  if (text === null) return [`    not shown, because it is not text or is too large: SHA-256 ${hash}`];
  return text.trimEnd().split("\n").map(indentLine);
}

function describeEffect(effect: string, columns: number): readonly string[] {
  const rows = wrapWords(sanitizeStrictly(effect), Math.max(20, columns - 4));
  return rows.map((row, at) => (at === 0 ? `  ${row}` : `    ${row}`));
}

const linkNote = "its text is the same, but it is now reached through a link, or no longer through one";

/** Describes the change if the text is still the trusted text. */
const sameTextNotes: { readonly [kind in SuppliedFile["kind"]]: string } = {
  settings: linkNote,
  servers: `a file of the folder that its servers may run has changed, or is new or gone; or ${linkNote}`,
  hooks: `a file of the folder that its hooks run has changed, or is new or gone; or ${linkNote}`,
  command: linkNote,
  agent: linkNote,
};

const untrustedNotes: { readonly [kind in SuppliedFile["kind"]]: string } = {
  settings: "only its rules that ask or deny apply",
  servers: "it starts nothing",
  hooks: "no hook in it runs",
  command: "it is not a command",
  agent: "the model cannot start it",
};

export function formatTrust({ isTrusted, inSandbox, kind }: SuppliedFile): string {
  if (isTrusted) return inSandbox ? "Trusted, as it is now. Its servers run in the sandbox." : "Trusted, as it is now.";
  return `Not trusted: ${untrustedNotes[kind]}.`;
}
