/**
 * The context source texts that apply to a run, as the log refers to them.
 */

/** Who wrote a text: the agent's author, its user, or the author of the folder that it works in. */
export type SourceTrust = "author" | "user" | "project";

/** A text of a context source. The text itself is a blob of the session. */
export type SourceReference = {
  /** The name of the source. */
  readonly name: string;
  /** Where the text comes from: a path or another address. */
  readonly path: string;
  /** The SHA-256 of the text. */
  readonly blob: string;
  /** Its size in bytes. */
  readonly bytes: number;
  /** Who wrote the text. */
  readonly trust: SourceTrust;
};

export type SourcesOfRun = {
  readonly runId: string;
  /** The texts that apply to the run. */
  readonly list: readonly SourceReference[];
};

/** The texts that apply to a run, and the texts that its system prompt contains. */
export type SourcesInForce = SourcesOfRun & {
  /** The texts in the system prompt. These are the texts of an earlier run, if messages have reported the changes since then. */
  readonly prompt: readonly SourceReference[];
};

/** How a text differs from its version in the previous run. */
export type SourceChange = {
  /** The name of the source. */
  readonly name: string;
  /** Where the text comes from. */
  readonly path: string;
  /** What happened to the text. */
  readonly change: "added" | "changed" | "removed";
};

/** How the texts of a run differ from those of the previous run. A text is identified by its source and path. */
export function diffSources(
  before: readonly SourceReference[],
  after: readonly SourceReference[],
): readonly SourceChange[] {
  const known = new Map(before.map((text) => [sourceKey(text), text]));
  const changes: SourceChange[] = [];
  for (const text of after) {
    const old = known.get(sourceKey(text));
    known.delete(sourceKey(text));
    if (old === undefined) changes.push(toChange(text, "added"));
    else if (old.blob !== text.blob || old.trust !== text.trust) changes.push(toChange(text, "changed"));
  }
  for (const text of known.values()) changes.push(toChange(text, "removed"));
  return changes;
}

function sourceKey({ name, path }: SourceReference): string {
  return `${name}\0${path}`;
}

function toChange({ name, path }: SourceReference, change: SourceChange["change"]): SourceChange {
  return { name, path, change };
}
