/**
 * `pawl approvals`: lists the calls that wait for a person, in all sessions.
 */
import { exitCodes } from "../exit.js";
import { getSession, homeOf, openStore } from "../home.js";
import { describe, listPending, matching, type PendingCall, splitId } from "../pending-calls.js";
import type { Terminal } from "../terminal.js";
import { counted, jsonLine } from "../text.js";

export async function approvals(id: string | undefined, options: { readonly json?: true }, terminal: Terminal) {
  const store = await openStore(homeOf(process.env));
  try {
    const all = await listPending(store, terminal.redaction);
    const shown = id === undefined ? all : matching(all, id);
    // An id that names nothing is a slip, not a session in which nothing waits.
    if (id !== undefined && shown.length === 0) await getSession(store, splitId(id).head);
    if (options.json === true) for (const call of shown) terminal.out(jsonLine(call));
    else show(shown, terminal);
    return exitCodes.done;
  } finally {
    await store.close();
  }
}

function show(shown: readonly PendingCall[], terminal: Terminal): void {
  const now = Date.now();
  for (const call of shown) terminal.out(`${describe(call, now, terminal.styleOut)}\n`);
  const [first] = shown;
  terminal.err(
    first === undefined
      ? "No call waits for an answer.\n"
      : `${counted(shown.length, "call")} ${shown.length === 1 ? "waits" : "wait"}. To answer:\n  pawl approve ${first.id}\n  pawl deny ${first.id} --note "why"\n`,
  );
}
