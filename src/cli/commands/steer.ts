/**
 * `pawl steer`: sends a message to a run in progress, from another terminal.
 */
import { text } from "node:stream/consumers";
import { createClient, PawlError, type SessionSummary } from "../../index.js";
import { isHolderDead } from "../../inspect.js";
import { exitCodes } from "../exit.js";
import { getSession, openStore, shortId } from "../files/session-store.js";
import { resolveHome } from "../files/store-location.js";
import { nameAsStarted } from "../terminal/started-as.js";
import type { Terminal } from "../terminal/terminal.js";
import { sanitize } from "../terminal/text.js";

export type SteerCommandOptions = { readonly skipUnstarted?: true; readonly json?: true };

export async function steer(id: string, words: readonly string[], options: SteerCommandOptions, terminal: Terminal) {
  const message = await readMessage(words);
  const store = await openStore(resolveHome(process.env));
  try {
    const summary = await getSession(store, id);
    const skips = options.skipUnstarted === true;
    await createClient({ store })
      .session(summary.sessionId)
      .steer(message, skips ? { skip: "unstarted" } : {})
      .catch((error: unknown) => {
        throw error instanceof PawlError && error.code === "run_finished" ? createNoRunError(summary, error) : error;
      });
    if (options.json === true) terminal.json({ sessionId: summary.sessionId, steered: message });
    else terminal.out(nameAsStarted(formatConfirmation(summary, skips)));
    return exitCodes.done;
  } finally {
    await store.close();
  }
}

async function readMessage(words: readonly string[]): Promise<string> {
  const message = words.join(" ");
  if (message !== "" && message !== "-") return message;
  const read = process.stdin.isTTY === true ? "" : (await text(process.stdin)).trim();
  if (read !== "") return read;
  throw new PawlError("bad_input", 'There is no message. Give one, as in pawl steer ID "Leave the tests alone"');
}

function createNoRunError({ sessionId, status }: SessionSummary, cause: PawlError): PawlError {
  const id = shortId(sessionId);
  const message = `Session ${id} has no run in progress (${status}), so there is nothing to steer. To send a new request: pawl run --session ${id} "…"`;
  return new PawlError("run_finished", message, { cause });
}

function formatConfirmation({ sessionId, status, activity, holder }: SessionSummary, skips: boolean): string {
  const id = sanitize(shortId(sessionId));
  if (holder !== null && !isHolderDead(holder)) return `Sent to ${id}. The model gets it with its next call.\n`;
  if (status === "awaiting_human" && !skips)
    return `Sent to ${id}. The model gets it after the waiting calls are answered: pawl approvals ${id}\n`;
  if (activity === "waiting" && !skips)
    return `Sent to ${id}. The model gets it after the call, which sleeps or waits for a signal or another session.\n`;
  return `Sent to ${id}, but no process drives the run. To continue: pawl resume ${id}, or pawl worker\n`;
}
