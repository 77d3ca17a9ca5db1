/**
 * What a folder brings, as a person is shown it: every character visible, and after a change only what has changed.
 */
import { exact } from "../text.js";
import { type BroughtFile, changedLines } from "./trust.js";

/** The file, and what it would do. */
export function describedFile({ kind, path, text, effects, before, isTrusted }: BroughtFile): readonly string[] {
  const hasChanged = before !== null && !isTrusted;
  const changes = hasChanged ? changedLines(before, text) : [];
  const lines = hasChanged ? (changes.length === 0 ? [sameTextBut[kind]] : changes) : text.trimEnd().split("\n");
  return [
    hasChanged ? `${exact(path)} has changed since it was trusted:` : exact(path),
    ...lines.map((line) => `    ${exact(line)}`.trimEnd()),
    ...(effects.length === 0 ? [] : ["It", ...effects.map((effect) => `  ${exact(effect)}`)]),
  ];
}

const behindLink = "its text is the same, and it is in another place: behind a link, or no longer behind one";

/** What has changed of a file whose text is that which was trusted. */
const sameTextBut: { readonly [kind in BroughtFile["kind"]]: string } = {
  settings: behindLink,
  servers: `a file of the folder that its servers may run has changed, or is new or gone; or ${behindLink}`,
  command: behindLink,
};

const whileUntrusted: { readonly [kind in BroughtFile["kind"]]: string } = {
  settings: "it asks and denies, and does nothing else",
  servers: "it starts nothing",
  command: "it is no command",
};

export function verdictOf({ isTrusted, kind }: BroughtFile): string {
  return isTrusted ? "Trusted, as it is now." : `Not trusted: ${whileUntrusted[kind]}.`;
}
