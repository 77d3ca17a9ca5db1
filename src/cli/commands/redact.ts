/**
 * `pawl sessions redact`: removes a leaked string from a session, or all content of entries and calls.
 *
 * The string is never an argument: it would stay in the shell's history, and other users could read it in the process
 * list.
 */
import { text as textOf } from "node:stream/consumers";
import { createClient, PawlError, type RedactionResult } from "../../index.js";
import { resolveUserName } from "../decisions/user-name.js";
import { getSession, shortId } from "../files/session-store.js";
import { resolveHome } from "../files/store-location.js";
import { removeLog } from "../run/background-log.js";
import { promptSecret } from "../terminal/prompt-line.js";
import type { Terminal } from "../terminal/terminal.js";
import { formatCount, sanitize } from "../terminal/text.js";
import { type JsonOption, withStore } from "./sessions.js";

export type RedactCommandOptions = JsonOption & {
  readonly seq?: readonly string[];
  readonly call?: readonly string[];
  readonly note?: string;
};

/** The maximum number of entry numbers that are printed. */
const maxNamed = 10;

export function redact(id: string, options: RedactCommandOptions, terminal: Terminal): Promise<number> {
  return withStore(async (store) => {
    const { sessionId } = await getSession(store, id);
    const { seq, call, note } = options;
    const named = {
      ...(seq === undefined ? {} : { seq: seq.map(parseEntryNumber) }),
      ...(call === undefined ? {} : { callKey: call }),
    };
    const target = Object.keys(named).length > 0 ? named : { text: await readLeakedText() };
    const result = await createClient({ store })
      .session(sessionId)
      .redact({ ...target, by: resolveUserName(), ...(note === undefined ? {} : { note }) });
    // The log of a background run repeats content of the session, and may contain the text in another form.
    for (const redacted of listFamily(result)) removeLog(resolveHome(process.env), redacted.sessionId);
    if (options.json === true) terminal.json(result);
    else terminal.out(formatReport(result));
  });
}

function parseEntryNumber(word: string): number {
  if (/^[1-9]\d{0,14}$/.test(word)) return Number(word);
  throw new PawlError(
    "bad_input",
    `${JSON.stringify(word.slice(0, 20))} is not the number of an entry. See: pawl sessions show ID --numbers`,
  );
}

async function readLeakedText(): Promise<string> {
  const typed =
    process.stdin.isTTY === true ? await promptSecret("Text to remove (not shown): ") : await textOf(process.stdin);
  const text = typed.replace(/\r?\n$/, "");
  if (text === "")
    throw new PawlError(
      "bad_input",
      "No text was given, so nothing was removed. Type it, or send it to standard input.",
    );
  return text;
}

function formatReport(result: RedactionResult): string {
  const results = listFamily(result).filter(({ seq, blobs }) => seq !== null || blobs > 0);
  if (results.length === 0) return `Nothing to remove was found in ${sanitize(shortId(result.sessionId))}.\n`;
  const lines = results.map((one) => `Removed from ${formatRemoved(one)} of ${sanitize(shortId(one.sessionId))}.`);
  const reminder =
    "Copies elsewhere still contain it: exports, backups, and data sent to the model provider. If it was a key or a password, change it.";
  return `${lines.join("\n")}\n${reminder}\n`;
}

function formatRemoved({ entries, blobs }: RedactionResult): string {
  const named = entries.length > 0 && entries.length <= maxNamed ? ` (${entries.join(", ")})` : "";
  const entryText = entries.length === 1 ? `1 entry${named}` : `${entries.length} entries${named}`;
  if (blobs === 0) return entryText;
  return entries.length === 0
    ? formatCount(blobs, "stored file")
    : `${entryText} and ${formatCount(blobs, "stored file")}`;
}

function listFamily(result: RedactionResult): readonly RedactionResult[] {
  return [result, ...result.children.flatMap(listFamily)];
}
