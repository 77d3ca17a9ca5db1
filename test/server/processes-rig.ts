/**
 * Real processes with servers over one SQLite file, on loopback: killed (SIGKILL) and drained.
 */
import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { onTestFinished } from "vitest";
import { createClient, type PublicEvent, type Store } from "../../src/index.js";
import { createStreamView, followSession, type StreamFrame } from "../../src/server/client/index.js";
import { createToken } from "../../src/server/index.js";
import { openSqliteStore } from "../../src/stores/sqlite/index.js";
import { collect } from "../support/agents.js";
import { type Ask, createAsk } from "./rig.js";

const program = fileURLToPath(new URL("../fixtures/server/process.mjs", import.meta.url));

export const words = Array.from({ length: 60 }, (_, index) => `word${index} `);

export type ProcessOptions = {
  /** Whether it carries runs out. Default: true. */
  readonly work?: boolean;
  /** Whether it has the agent. Default: true. */
  readonly agents?: boolean;
  /** The words of a text at which its model waits. */
  readonly stops?: readonly number[];
  /** What it says where it is. Default: where it is. */
  readonly address?: string;
  readonly peerSecret?: string;
};

export type ServerProcess = {
  readonly url: string;
  readonly token: string;
  readonly ask: Ask;
  /** Resolves when its model stands at this word for the n-th time. */
  readonly stands: (at: number, times?: number) => Promise<void>;
  /** Its models go on. */
  readonly go: () => void;
  readonly kill: () => Promise<void>;
  readonly drain: () => Promise<void>;
  readonly isAlive: () => boolean;
};

export type StreamWatcher = {
  readonly frames: StreamFrame[];
  /** Resolves when it is so of the frames that have come. */
  readonly until: (predicate: (frames: readonly StreamFrame[]) => boolean) => Promise<void>;
  /** The text of the message that is being streamed, as far as it has come. */
  readonly text: () => string;
  /** Rejects if the watcher was told something that does not fit. */
  readonly end: Promise<void>;
};

export type Processes = {
  readonly store: Store;
  readonly start: (options?: ProcessOptions) => Promise<ServerProcess>;
  /** Watches at the first of these processes that lives, and at the next one when it is gone. */
  readonly watch: (at: readonly ServerProcess[], path: string) => StreamWatcher;
  /** The public events of a session, as JSON. */
  readonly log: (sessionId: string) => Promise<readonly PublicEvent[]>;
};

export async function createProcesses(): Promise<Processes> {
  const folder = mkdtempSync(join(tmpdir(), "pawl-servers-"));
  const path = join(folder, "sessions.db");
  const store = await openSqliteStore({ path });
  const [token, secret] = [createToken(), createToken()];
  const children: ChildProcess[] = [];
  const lifetime = new AbortController();
  onTestFinished(async () => {
    lifetime.abort();
    await Promise.all(children.map(kill));
    await store.close();
    rmSync(folder, { recursive: true });
  });
  return {
    store,
    async start(options = {}) {
      const defaults = { work: true, agents: true, stops: [], allow: ["http://127.0.0.1:*"] };
      const processOptions = { path, token, secret, words, ...defaults, ...options };
      const child = fork(program, [JSON.stringify(processOptions)]);
      children.push(child);
      return createServerProcess(child, token);
    },
    watch(at, path) {
      const headers = { authorization: `Bearer ${token}` };
      const fetchFromFirstAlive: typeof fetch = (_, init) =>
        fetch(`${at.find((one) => one.isAlive())?.url}${path}`, init);
      return watchStream(
        followSession({ url: path, headers, fetch: fetchFromFirstAlive, signal: lifetime.signal, retryMs: 5 }),
      );
    },
    async log(sessionId) {
      const events = await collect(createClient({ store }).session(sessionId).events({ follow: false }));
      return JSON.parse(JSON.stringify(events)) as readonly PublicEvent[];
    },
  };
}

function watchStream(followed: ReturnType<typeof followSession>): StreamWatcher {
  const frames: StreamFrame[] = [];
  let view = createStreamView();
  const waiters = new Set<() => void>();
  const read = async () => {
    for await (const one of followed) {
      frames.push(one.frame);
      view = one.view;
      if (one.applied === "reconnect") throw new Error("The stream left something out.");
      if (!words.join("").startsWith(text()) && !/^I (?:look|pay|ring)/.test(text()))
        throw new Error(`It says ${text()}.`);
      for (const check of [...waiters]) check();
    }
  };
  const text = () =>
    view
      .partial()
      ?.message.parts.map((part) => ("text" in part ? part.text : ""))
      .join("") ?? "";
  return {
    frames,
    text,
    until: (predicate) =>
      new Promise((resolve) => {
        const check = () => {
          if (!predicate(frames)) return;
          waiters.delete(check);
          resolve();
        };
        waiters.add(check);
        check();
      }),
    end: read(),
  };
}

async function createServerProcess(child: ChildProcess, token: string): Promise<ServerProcess> {
  const reachedWords: number[] = [];
  const waiters = new Set<() => void>();
  child.on("message", (processReport: { readonly stands?: number }) => {
    if (processReport.stands !== undefined) reachedWords.push(processReport.stands);
    for (const check of [...waiters]) check();
  });
  const [{ url }] = (await once(child, "message")) as [{ readonly url: string }];
  const isAlive = () => child.exitCode === null && child.signalCode === null;
  return {
    url,
    token,
    isAlive,
    ask: createAsk(url, token),
    stands: (at, times = 1) =>
      new Promise((resolve) => {
        const check = () => {
          if (reachedWords.filter((one) => one === at).length < times) return;
          waiters.delete(check);
          resolve();
        };
        waiters.add(check);
        check();
      }),
    go: () => void child.send("go"),
    kill: () => kill(child),
    async drain() {
      const ended = once(child, "exit");
      child.send("drain");
      await ended;
    },
  };
}

async function kill(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const ended = once(child, "exit");
  child.kill("SIGKILL");
  await ended;
}
