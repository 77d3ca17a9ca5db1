/**
 * `pawl fork`: starts a new session with another session's history up to an entry.
 */
import { randomUUID } from "node:crypto";
import { PawlError, type SessionSummary, type Store } from "../../index.js";
import { agentName } from "../agent/agent-name.js";
import { createPassiveAgent } from "../agent/passive-agent.js";
import { exitCodes } from "../exit.js";
import { getSession, openStore, shortId } from "../files/session-store.js";
import { resolveHome } from "../files/store-location.js";
import { type DriveOptions, type NewRunOptions, toStartOptions, withSessionDriver } from "../run/drive-session.js";
import type { Terminal } from "../terminal/terminal.js";
import { sanitize } from "../terminal/text.js";

export type ForkOptions = DriveOptions &
  NewRunOptions & {
    readonly at?: number;
    readonly id?: string;
    readonly input?: string;
  };

export async function fork(id: string, options: ForkOptions, terminal: Terminal): Promise<number> {
  const { input } = options;
  if (input !== undefined)
    return withSessionDriver(options, terminal, async ({ store, drive }) => {
      const source = await getSession(store, id);
      const { info } = source;
      if (info?.agent !== agentName || info.root === undefined) throw createForeignSessionError(source);
      const { sessionId, at } = await createFork(store, source, options, terminal);
      return drive({ sessionId, root: info.root, after: at, lastModel: info.model }, (agent, canAsk) =>
        agent.run(input, { sessionId, ...toStartOptions(options, canAsk) }),
      );
    });
  const store = await openStore(resolveHome(process.env));
  try {
    await createFork(store, await getSession(store, id), options, terminal);
    return exitCodes.done;
  } finally {
    await store.close();
  }
}

type ForkResult = { readonly sessionId: string; readonly at: number };

/** The fork keeps the agent, the model and the folder of its source. */
async function createFork(
  store: Store,
  source: SessionSummary,
  options: ForkOptions,
  terminal: Terminal,
): Promise<ForkResult> {
  const { at = source.seq, id: sessionId = randomUUID() } = options;
  const passiveAgent = createPassiveAgent(store, source.info?.agent);
  await passiveAgent.session(source.sessionId).fork({ at, sessionId });
  const { seq } = await passiveAgent.session(sessionId).state();
  if (options.json === true) terminal.json({ type: "forked", sessionId, source: source.sessionId, at });
  else if (options.input === undefined) terminal.out(`${sanitize(sessionId)}\n`);
  const id = sanitize(shortId(sessionId));
  terminal.err(`Forked ${sanitize(shortId(source.sessionId))} at entry ${at}: ${id}.\n`);
  if (options.input === undefined) terminal.hint(`To continue it: pawl run --session ${id} "…"\n`);
  return { sessionId, at: seq };
}

function createForeignSessionError({ sessionId, info }: SessionSummary): PawlError {
  return new PawlError(
    "agent_mismatch",
    `Session ${shortId(sessionId)} belongs to the agent "${info?.agent ?? "unknown"}", so pawl cannot continue a fork of it. Leave out --input to create the fork only.`,
  );
}
