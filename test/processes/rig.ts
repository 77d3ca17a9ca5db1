/**
 * Real processes with agents over one SQLite file or one PostgreSQL database, driven step by step: they say what they reach, and can be
 * held there, stopped (SIGSTOP), woken (SIGCONT) and killed (SIGKILL).
 */
import { type ChildProcess, execFileSync, fork } from "node:child_process";
import { randomUUID } from "node:crypto";
import { once } from "node:events";
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { onTestFinished } from "vitest";
import type { Entry, Event } from "../../src/core/index.js";
import type { Reconciled, RunResult, Store } from "../../src/index.js";
import { openPostgresStore } from "../../src/stores/postgres/index.js";
import { openSqliteStore } from "../../src/stores/sqlite/index.js";
import type { ScriptedStep } from "../../src/testing/index.js";

const program = fileURLToPath(new URL("../fixtures/processes/agent.mjs", import.meta.url));

export type ProcessOptions = {
  readonly script: readonly ScriptedStep[];
  readonly name?: string;
  readonly root?: string;
  /** 30 s unless given: nothing that a test does takes so long. */
  readonly leaseMs?: number;
  readonly clockOffsetMs?: number;
  /** How the tool `work` recovers. */
  readonly recover?: "rerun" | "ask" | "fail" | "reconcile";
  /** What the agent behind the tool `helper` says. */
  readonly childScript?: readonly ScriptedStep[];
  /** Tokens of a run. */
  readonly budget?: number;
  /** When an approval of the tool `risky` expires. */
  readonly expiresInMs?: number;
  /** The patience of the process with a PostgreSQL server that is away. */
  readonly busyMs?: number;
};

export type ModelRequestReport = {
  readonly asked: string;
  readonly sessionId: string;
  readonly index: number;
  readonly attempt: number;
};

export type Process = {
  /** Calls a command of the process; see the fixture. What it throws comes as an error with its `code`. */
  readonly call: <Result = RunResult>(command: string, ...args: readonly unknown[]) => Promise<Result>;
  /** Resolves when the process has reached a point, now or before. */
  readonly reached: (point: string) => Promise<void>;
  /** What its models were asked. */
  readonly asked: readonly ModelRequestReport[];
  readonly reconciled: readonly string[];
  /** Stops it where it holds no lock on the file: one that is stopped in a transaction keeps everybody else out. */
  readonly stop: () => Promise<void>;
  readonly wake: () => void;
  readonly kill: () => Promise<void>;
};

export type World = {
  readonly store: Store;
  readonly start: (options: ProcessOptions) => Promise<Process>;
  readonly log: (sessionId: string) => Promise<readonly Entry[]>;
  /** What the tool `work` did: the key of the call and the attempt, in order. */
  readonly effects: () => readonly string[];
  /** What `reconcile` finds. */
  readonly writeReconciled: (found: Reconciled) => void;
};

/** @param url a PostgreSQL database; a SQLite file of its own if left out */
export async function createWorld(url?: string): Promise<World> {
  const folder = mkdtempSync(join(tmpdir(), "pawl-processes-"));
  const path = join(folder, "sessions.db");
  const store = url === undefined ? await openSqliteStore({ path }) : await openPostgresStore({ url });
  const children: ChildProcess[] = [];
  onTestFinished(async () => {
    await Promise.all(children.map(killChild));
    await store.close();
    rmSync(folder, { recursive: true });
  });
  return {
    store,
    async start({ name = "agent", leaseMs = 30_000, ...options }) {
      const child = fork(program, [JSON.stringify({ path, url, folder, name, leaseMs, ...options })]);
      children.push(child);
      const agentProcess = createProcess(child, async () => url !== undefined || (await isWritable(path)));
      await agentProcess.reached("start");
      return agentProcess;
    },
    log: (sessionId) => store.read(sessionId),
    effects() {
      const file = join(folder, "effects");
      return existsSync(file) ? readFileSync(file, "utf8").trimEnd().split("\n") : [];
    },
    writeReconciled: (found) => writeFileSync(join(folder, "statement"), JSON.stringify(found)),
  };
}

type Report =
  | { readonly reached: string }
  | { readonly reconciled: string }
  | ModelRequestReport
  | { readonly id: number; readonly value: unknown }
  | { readonly id: number; readonly error: { readonly code: string | null; readonly message: string } };

function createProcess(child: ChildProcess, canWriteFile: () => Promise<boolean>): Process {
  const reachedPoints = new Set<string>();
  const asked: ModelRequestReport[] = [];
  const reconciled: string[] = [];
  const replies = new Map<number, (reply: Extract<Report, { id: number }>) => void>();
  let calls = 0;
  child.on("message", (report: Report) => {
    if ("reached" in report) reachedPoints.add(report.reached);
    else if ("reconciled" in report) reconciled.push(report.reconciled);
    else if ("asked" in report) asked.push(report);
    else replies.get(report.id)?.(report);
  });

  function call<Result>(command: string, ...args: readonly unknown[]): Promise<Result> {
    calls += 1;
    const id = calls;
    const result = new Promise<Result>((resolve, reject) => {
      replies.set(id, (reply) => {
        if ("error" in reply) reject(Object.assign(new Error(reply.error.message), { code: reply.error.code }));
        else resolve(reply.value as Result);
      });
    });
    // A process that is killed answers nothing.
    result.catch(() => {});
    child.send({ id, command, args });
    return result;
  }

  return {
    call,
    asked,
    reconciled,
    reached: (point) => waitUntil(() => reachedPoints.has(point), `${point} was not reached`),
    async stop() {
      for (;;) {
        child.kill("SIGSTOP");
        await waitUntil(() => readProcessState(child).startsWith("T"), "it was not stopped");
        if (await canWriteFile()) return;
        child.kill("SIGCONT");
        // It may not get a turn between two signals that follow each other.
        await waitUntil(canWriteFile, "its transaction did not end");
      }
    },
    wake: () => void child.kill("SIGCONT"),
    kill: () => killChild(child),
  };
}

async function killChild(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const ended = once(child, "exit");
  child.kill("SIGKILL");
  await ended;
}

async function isWritable(path: string): Promise<boolean> {
  const store = await openSqliteStore({ path, busyMs: 1_000 }).catch(() => null);
  if (store === null) return false;
  try {
    const probe = `probe-${randomUUID()}`;
    await store.post(probe, { id: "probe", at: 0, body: { type: "abort" } });
    await store.delete(probe, { now: 0, force: true });
    return true;
  } catch {
    return false;
  } finally {
    await store.close();
  }
}

function readProcessState({ pid }: ChildProcess): string {
  return execFileSync("ps", ["-o", "stat=", "-p", String(pid)], { encoding: "utf8" }).trim();
}

/** Looks again and again until something holds; the test's own time limit ends it. */
export async function waitUntil(condition: () => boolean | Promise<boolean>, failureMessage: string): Promise<void> {
  for (let attempt = 0; !(await condition()); attempt += 1) {
    if (attempt > 5_000) throw new Error(failureMessage);
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
}

export function filterEvents<Type extends Event["type"]>(
  log: readonly Entry[],
  type: Type,
): readonly Extract<Event, { type: Type }>[] {
  return log.flatMap(({ event }) => (event.type === type ? [event as Extract<Event, { type: Type }>] : []));
}

/** Does the work of each, so many at a time. */
export async function forEachConcurrently<In>(
  items: readonly In[],
  concurrency: number,
  work: (item: In) => Promise<void>,
): Promise<void> {
  const queue = [...items];
  const runNext = async () => {
    for (let item = queue.shift(); item !== undefined; item = queue.shift()) await work(item);
  };
  await Promise.all(Array.from({ length: concurrency }, runNext));
}
