/**
 * `pawl approvals`: lists the calls that wait for a person, in all sessions.
 */

import {
  findMatchingCalls,
  formatCall,
  listPendingCalls,
  type PendingCall,
  parseCallId,
} from "../decisions/pending-calls.js";
import { exitCodes } from "../exit.js";
import { getSession, openStore } from "../files/session-store.js";
import { describeSearchedStore, resolveHome } from "../files/store-location.js";
import type { Terminal } from "../terminal/terminal.js";
import { formatCount, formatJsonLine } from "../terminal/text.js";

export async function approvals(id: string | undefined, options: { readonly json?: true }, terminal: Terminal) {
  const store = await openStore(resolveHome(process.env));
  try {
    const all = await listPendingCalls(store, terminal.redaction);
    const calls = id === undefined ? all : findMatchingCalls(all, id);
    // An id without waiting calls is an error if there is no such session, and an empty list otherwise.
    if (id !== undefined && calls.length === 0) await getSession(store, parseCallId(id).head);
    if (options.json === true) for (const call of calls) terminal.out(formatJsonLine(call));
    else printCalls(calls, terminal);
    return exitCodes.done;
  } finally {
    await store.close();
  }
}

function printCalls(calls: readonly PendingCall[], terminal: Terminal): void {
  const now = Date.now();
  for (const call of calls) terminal.out(`${formatCall(call, now, terminal.styleOut)}\n`);
  const [first] = calls;
  terminal.hint(
    first === undefined
      ? `No call waits for an answer in ${describeSearchedStore()}.\n`
      : `${formatCount(calls.length, "call")} ${calls.length === 1 ? "waits" : "wait"}. To answer:\n  pawl approve ${first.id}\n  pawl deny ${first.id} --note "why"\n`,
  );
}
