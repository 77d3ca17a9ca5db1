/**
 * Watchers whose connections are cut, each by its seed or at its frame, while a run streams, fails and tries again, waits
 * for an approval, lags and is compacted: the events of each are those of the log, and its text is what was said (SRV-2).
 *
 * `RESUME_SEEDS=1000 npx vitest run test/server/resume-seeds.long.test.ts` tries so many on each store, and fails if it does
 * not come to the last of them in `RESUME_SECONDS` (then 3,000). Several processes, which are killed and drained, are tried by `npm run resume`.
 */
import { describe, expect, test } from "vitest";
import { collect } from "../support/agents.js";
import { localStores, withStore } from "../support/stores.js";
import { verifies } from "../verifies.js";
import { type Cut, createRandomCuts, createTalker, type RunKind, watchWithCuts } from "./cut-watchers.js";
import { type Rig, withServer } from "./rig.js";

// What is said at once does not make all watchers too slow.
const limits = { streamsPerPrincipal: 2_000, changesPerMinute: 10_000, maxUnsentBytes: 4 * 1024 * 1024 };

/** Without a number of seeds, as many as fit into the time. */
const wanted = process.env.RESUME_SEEDS === undefined ? null : Number(process.env.RESUME_SEEDS);
const seconds = Number(process.env.RESUME_SECONDS ?? (wanted === null ? 5 : 3_000));

type Joining = { readonly name: string; readonly cuts: readonly Cut[]; readonly afterFrames: number };

/** One run, and its watchers. Each joins when an uncut one has seen so many frames. Gives the types of frames seen. */
async function watchRun(
  open: Parameters<typeof withStore>[0],
  kind: RunKind,
  joining: readonly Joining[],
  onFrame: () => void = () => {},
): Promise<ReadonlySet<string>> {
  const seen = new Set<string>();
  await withStore(open, (store) => {
    const agent = createTalker(store, kind);
    return withServer({ store, agents: [agent], limits }, async (rig) => {
      const { sessionId, runId } = (await rig.ask("POST", "/v1/sessions", { agent: "talker", input: "Go" })).json;
      const at = { url: `${rig.url}/v1/sessions/${sessionId}/stream?runId=${runId}&until=run`, token: rig.token };
      const left = [...joining].sort((a, b) => b.afterFrames - a.afterFrames);
      const watching: Promise<readonly [string, readonly unknown[]]>[] = [];
      let frames = 0;
      const join = (upTo: number) => {
        for (let next = left.at(-1); next !== undefined && next.afterFrames <= upTo; next = left.at(-1)) {
          const { name, cuts } = next;
          left.pop();
          const watched = watchWithCuts(at, kind, cuts).catch((error: Error) => {
            throw new Error(`${name}: ${error.message}`);
          });
          const named = watched.then(({ events, types }) => {
            for (const type of types) seen.add(type);
            return [name, events] as const;
          });
          named.catch(() => {});
          watching.push(named);
        }
      };
      const uncut = await watchWithCuts(at, kind, [], ({ data }) => {
        seen.add(data.type);
        frames += 1;
        onFrame();
        join(frames);
        if (data.type === "approval_requested") void approve(rig, sessionId);
      });
      join(Number.POSITIVE_INFINITY);
      const log = JSON.parse(JSON.stringify(await collect(agent.session(sessionId).events({ follow: false }))));
      expect(uncut.events).toEqual(log);
      for (const [name, events] of await Promise.all(watching)) expect(events, name).toEqual(log);
    });
  });
  return seen;
}

async function approve({ ask }: Rig, sessionId: string): Promise<void> {
  const { approvals } = (await ask("GET", "/v1/approvals")).json;
  const { callKey, inputHash } = approvals[0];
  await ask("POST", `/v1/sessions/${sessionId}/answers`, { callKey, inputHash, decision: { type: "approve" } });
}

describe.each(localStores)("a stream over HTTP, on $name", ({ open }) => {
  test("that is cut by seeds loses nothing", {
    timeout: (seconds + 60) * 1_000,
    ...verifies("SRV-2#one-process"),
  }, async () => {
    const atOnce = 50;
    const until = performance.now() + seconds * 1_000;
    const seen = new Set<string>();
    const most = wanted ?? 1_000;
    let first = 1;
    for (; first <= most && (first === 1 || performance.now() < until); first += atOnce) {
      const joining = Array.from({ length: Math.min(atOnce, most - first + 1) }, (_, index) => {
        const seed = first + index;
        return {
          name: `seed ${seed}`,
          cuts: createRandomCuts(seed),
          afterFrames: seed % 3 === 0 ? (seed * 7) % 200 : 0,
        };
      });
      for (const type of await watchRun(open, { lags: false }, joining)) seen.add(type);
    }
    if (wanted !== null) expect(first, "the first seed that was not tried").toBeGreaterThan(wanted);
    for (const type of ["delta", "attempt_failed", "approval_answered", "compacted", "snapshot"])
      expect([...seen], type).toContain(type);
  });

  test("that says much at once and is cut by seeds loses nothing", verifies("SRV-2#one-process"), async () => {
    const joining = Array.from({ length: 12 }, (_, index) => index + 1).map((seed) => ({
      name: `seed ${seed}`,
      cuts: createRandomCuts(seed),
      afterFrames: 0,
    }));
    // Whether a watcher lags depends on how the store commits: with the one in memory, none does.
    expect([...(await watchRun(open, { lags: true }, joining))]).toContain("delta");
  });

  test("that is cut at every boundary of its frames loses nothing", {
    timeout: 240_000,
    ...verifies("SRV-2#one-process"),
  }, async () => {
    const atOnce = 50;
    let most = 1;
    for (let first = 1; first <= most; first += atOnce) {
      const joining = Array.from({ length: atOnce }, (_, index) => {
        const after = first + index;
        return { name: `cut after ${after} frames`, cuts: [{ by: "frames", after }], afterFrames: 0 } as const;
      });
      let frames = 0;
      await watchRun(open, { lags: false }, joining, () => {
        frames += 1;
      });
      most = Math.max(most, frames);
    }
    expect(most).toBeGreaterThan(atOnce);
  });
});
