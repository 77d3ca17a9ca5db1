/**
 * `pawl sessions redact`: takes a leaked text out of a session, or all content of entries and calls.
 *
 * The text is never an argument: it would stay in the history of the shell, and other users could read it in the list of
 * processes.
 */
import { text as textOf } from "node:stream/consumers";
import { createClient, PawlError, type RedactionResult } from "../../index.js";
import { getSession, shortId } from "../home.js";
import { promptSecret } from "../prompt-secret.js";
import type { Terminal } from "../terminal.js";
import { counted, visible } from "../text.js";
import { userName } from "../user-name.js";
import { type JsonOption, withStore } from "./sessions.js";

export type RedactCommandOptions = JsonOption & {
  readonly seq?: readonly string[];
  readonly call?: readonly string[];
  readonly note?: string;
};

/** The most entries whose numbers are printed. */
const mostNamed = 10;

export function redact(id: string, options: RedactCommandOptions, terminal: Terminal): Promise<number> {
  return withStore(async (store) => {
    const { sessionId } = await getSession(store, id);
    const { seq, call, note } = options;
    const named = {
      ...(seq === undefined ? {} : { seq: seq.map(numberOf) }),
      ...(call === undefined ? {} : { callKey: call }),
    };
    const wanted = Object.keys(named).length > 0 ? named : { text: await leakedText() };
    const result = await createClient({ store })
      .session(sessionId)
      .redact({ ...wanted, by: userName(), ...(note === undefined ? {} : { note }) });
    if (options.json === true) terminal.json(result);
    else terminal.out(reportOf(result));
  });
}

function numberOf(word: string): number {
  if (/^[1-9]\d{0,14}$/.test(word)) return Number(word);
  throw new PawlError(
    "bad_input",
    `${JSON.stringify(word.slice(0, 20))} is not the number of an entry. See: pawl sessions show ID --numbers`,
  );
}

async function leakedText(): Promise<string> {
  const given =
    process.stdin.isTTY === true ? await promptSecret("Text to remove (not shown): ") : await textOf(process.stdin);
  const text = given.replace(/\r?\n$/, "");
  if (text === "")
    throw new PawlError(
      "bad_input",
      "No text was given, so nothing was removed. Type it, or send it to standard input.",
    );
  return text;
}

function reportOf(result: RedactionResult): string {
  const all = familyOf(result).filter(({ seq, blobs }) => seq !== null || blobs > 0);
  if (all.length === 0) return `Nothing to remove was found in ${visible(shortId(result.sessionId))}.\n`;
  const lines = all.map((one) => `Removed from ${placesOf(one)} of ${visible(shortId(one.sessionId))}.`);
  const reminder =
    "Copies elsewhere keep it: exports, backups, and what the model's provider was sent. If it was a key or a password, change it.";
  return `${lines.join("\n")}\n${reminder}\n`;
}

function placesOf({ entries, blobs }: RedactionResult): string {
  const named = entries.length > 0 && entries.length <= mostNamed ? ` (${entries.join(", ")})` : "";
  const changed = entries.length === 1 ? `1 entry${named}` : `${entries.length} entries${named}`;
  if (blobs === 0) return changed;
  return entries.length === 0 ? counted(blobs, "stored file") : `${changed} and ${counted(blobs, "stored file")}`;
}

function familyOf(result: RedactionResult): readonly RedactionResult[] {
  return [result, ...result.children.flatMap(familyOf)];
}
