/**
 * What `run` and `resume` have in common: a store, a model, an agent on a folder, and somebody who watches.
 */
import { realpathSync } from "node:fs";
import { resolve } from "node:path";
import {
  type Agent,
  type Model,
  PawlError,
  type RunResult,
  type Session,
  type StartOptions,
  type Store,
} from "../index.js";
import { chooseModel } from "../models/index.js";
import { detectSandbox } from "../tools/index.js";
import { exitCodes } from "./exit.js";
import { createFolderAgent } from "./folder-agent.js";
import { homeOf, openStore, shortId } from "./home.js";
import { listenForInterruptions } from "./interruptions.js";
import { modelLabel } from "./model-label.js";
import { createPermissions } from "./permissions.js";
import { converse } from "./run-on-terminal.js";
import { createJsonView, createTextView, redactedView } from "./run-view.js";
import type { Terminal } from "./terminal.js";
import { visible } from "./text.js";

export type WorkOptions = {
  readonly model?: string;
  /** Tokens. */
  readonly contextWindow?: number;
  readonly yes?: true;
  readonly allowShell?: true;
  /** How long a question waits; milliseconds. */
  readonly expireAfter?: number;
  readonly json?: true;
};

/** What a new run may be told. */
export type RequestFlags = {
  readonly maxSteps?: number;
  readonly maxTokens?: number;
  /** US dollars. */
  readonly maxCost?: number;
  /** Milliseconds. */
  readonly maxWallClock?: number;
  /** What would ask waits where nobody can be asked. */
  readonly park?: true;
};

export function startOptions(options: RequestFlags, canAsk: boolean): StartOptions {
  const { maxSteps, maxTokens, maxCost, maxWallClock, park } = options;
  return {
    limits: {
      ...(maxSteps === undefined ? {} : { maxSteps }),
      ...(maxTokens === undefined ? {} : { maxTokens }),
      ...(maxCost === undefined ? {} : { maxCostUsd: maxCost }),
      ...(maxWallClock === undefined ? {} : { maxWallClockMs: maxWallClock }),
    },
    ...(canAsk || park === true ? {} : { interactive: false }),
  };
}

export type Target = {
  readonly sessionId: string;
  readonly root: string;
  /** The last entry that need not be shown. */
  readonly after: number;
  /** The model that the session had so far; one that is named now comes before it, and the surroundings choose where there is none. */
  readonly lastModel?: string;
};

export type Task = {
  readonly store: Store;
  /** Does what `start` begins, and gives the exit code. */
  readonly begin: (target: Target, start: Start) => Promise<number>;
};

export type Start = (agent: Agent, canAsk: boolean, session: Session) => Promise<RunResult>;

export async function withWork(
  options: WorkOptions,
  terminal: Terminal,
  work: (work: Task) => Promise<number>,
): Promise<number> {
  const interruptions = listenForInterruptions(terminal);
  const home = homeOf(process.env);
  const store = await openStore(home);
  try {
    return await work({
      store,
      async begin({ sessionId, root, after, lastModel }, start) {
        const model = await chooseAndTell(options.model, lastModel, terminal);
        const permissions = createPermissions({ allowAll: options.yes === true, expiresInMs: options.expireAfter });
        const allowShell = options.allowShell === true;
        const { contextWindow } = options;
        const agent = createFolderAgent({ store, home, model, root, allowShell, permissions, contextWindow });
        const canAsk = terminal.isInteractive && options.json !== true;
        const shown = options.json === true ? createJsonView(terminal) : createTextView(terminal, canAsk);
        const view = redactedView(shown, terminal.redaction);
        const how = canAsk ? " · type to say something while it works, Ctrl-C ends it" : "";
        terminal.err(`${terminal.paint("dim", `Session ${visible(shortId(sessionId))} in ${visible(root)}${how}`)}\n`);
        if (allowShell) terminal.err(`${terminal.paint("yellow", sandboxNote())}\n`);
        if (interruptions.stop.aborted) return exitCodes.aborted;
        if (interruptions.leave.aborted) return exitCodes.interrupted;
        return converse(
          { agent, sessionId, store, view, terminal, permissions, interruptions, canAsk },
          after,
          (session) => start(agent, canAsk, session),
        );
      },
    });
  } finally {
    await store.close();
  }
}

async function chooseAndTell(named: string | undefined, last: string | undefined, terminal: Terminal): Promise<Model> {
  const name = named ?? last;
  const { model, why } = await chooseModel(name === undefined ? {} : { name });
  const said = named === undefined && last !== undefined ? `Using ${modelLabel(last)}, as before.` : why;
  terminal.err(`${terminal.paint("dim", visible(terminal.redaction.text(said)))}\n`);
  return model;
}

function sandboxNote(): string {
  return detectSandbox() === "bubblewrap"
    ? "Commands are sandboxed: they can write this folder only, and have no network."
    : "Commands are not sandboxed: bubblewrap does not work here.";
}

/** @throws PawlError `bad_configuration` where there is no such folder */
export function realFolder(path: string): string {
  try {
    return realpathSync(resolve(path));
  } catch (cause) {
    throw new PawlError("bad_configuration", `There is no folder ${path}. Name one that exists with --root.`, {
      cause,
    });
  }
}
