/**
 * `pawl steer`: says something to a run under way, from another terminal.
 */
import { text } from "node:stream/consumers";
import { createClient, isHolderDead, PawlError, type SessionSummary } from "../../index.js";
import { exitCodes } from "../exit.js";
import { getSession, homeOf, openStore, shortId } from "../home.js";
import type { Terminal } from "../terminal.js";
import { visible } from "../text.js";

export async function steer(
  id: string,
  words: readonly string[],
  options: { readonly json?: true },
  terminal: Terminal,
) {
  const said = await readWords(words);
  const store = await openStore(homeOf(process.env));
  try {
    const summary = await getSession(store, id);
    await createClient({ store }).session(summary.sessionId).steer(said);
    if (options.json === true) terminal.json({ sessionId: summary.sessionId, steered: said });
    else terminal.out(told(summary));
    return exitCodes.done;
  } finally {
    await store.close();
  }
}

async function readWords(words: readonly string[]): Promise<string> {
  const said = words.join(" ");
  if (said !== "" && said !== "-") return said;
  const read = process.stdin.isTTY === true ? "" : (await text(process.stdin)).trim();
  if (read !== "") return read;
  throw new PawlError("bad_input", 'Say what it is to know: pawl steer ID "Leave the tests alone"');
}

function told({ sessionId, status, holder }: SessionSummary): string {
  const id = visible(shortId(sessionId));
  if (holder !== null && !isHolderDead(holder)) return `Said to ${id}: it goes in before the next model call.\n`;
  if (status === "awaiting_human")
    return `Said to ${id}: it goes in once what waits is answered (pawl approvals ${id}).\n`;
  return `Said to ${id}, which nobody carries on now: pawl resume ${id}, or leave it to pawl worker.\n`;
}
