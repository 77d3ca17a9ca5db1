/**
 * `pawl fork`: starts a new session with another session's history up to an entry.
 */
import { randomUUID } from "node:crypto";
import { PawlError, type SessionSummary, type Store } from "../../index.js";
import { type DriveOptions, type NewRunOptions, startOptions, withSessionDriver } from "../drive-session.js";
import { exitCodes } from "../exit.js";
import { agentName, createKeeperAgent } from "../folder-agent.js";
import { getSession, homeOf, openStore, shortId } from "../home.js";
import type { Terminal } from "../terminal.js";
import { visible } from "../text.js";

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
      if (info?.agent !== agentName || info.root === undefined) throw foreignSession(source);
      const { sessionId, at } = await makeFork(store, source, options, terminal);
      return drive({ sessionId, root: info.root, after: at, lastModel: info.model }, (agent, canAsk) =>
        agent.run(input, { sessionId, ...startOptions(options, canAsk) }),
      );
    });
  const store = await openStore(homeOf(process.env));
  try {
    await makeFork(store, await getSession(store, id), options, terminal);
    return exitCodes.done;
  } finally {
    await store.close();
  }
}

type Forked = { readonly sessionId: string; readonly at: number };

/** The fork keeps the agent, the model and the folder of its source. */
async function makeFork(
  store: Store,
  source: SessionSummary,
  options: ForkOptions,
  terminal: Terminal,
): Promise<Forked> {
  const { at = source.seq, id: sessionId = randomUUID() } = options;
  const keeper = createKeeperAgent(store, source.info?.agent);
  await keeper.session(source.sessionId).fork({ at, sessionId });
  const { seq } = await keeper.session(sessionId).state();
  if (options.json === true) terminal.json({ type: "forked", sessionId, source: source.sessionId, at });
  else if (options.input === undefined) terminal.out(`${visible(sessionId)}\n`);
  const id = visible(shortId(sessionId));
  terminal.err(`Forked ${visible(shortId(source.sessionId))} at entry ${at}: ${id}.\n`);
  if (options.input === undefined) terminal.err(`To continue it: pawl run --session ${id} "…"\n`);
  return { sessionId, at: seq };
}

function foreignSession({ sessionId, info }: SessionSummary): PawlError {
  return new PawlError(
    "agent_mismatch",
    `Session ${shortId(sessionId)} belongs to the agent "${info?.agent ?? "unknown"}", so pawl cannot continue a fork of it. Leave out --input to create the fork only.`,
  );
}
