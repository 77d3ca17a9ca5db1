/**
 * The information that lists show about the newest run of a session, and about its child sessions.
 */
import { deepStrictEqual } from "node:assert/strict";
import type { State, Status } from "../../core/machine/state.js";
import { buildOverview } from "../../core/view/session-overview.js";
import type { ListOptions, Store } from "../../ports/store.js";
import { claim, commit, createCases, createMessage, createRestingSession, createState, t0 } from "./bench.js";
import { bindTo } from "./summaries.js";

/** The state of a session, with the number of model calls of its run so far. */
function createRunState(seq: number, status: Status, totalSteps: number): State {
  const state = createState(seq, status) as Extract<State, { readonly counters: unknown }>;
  return { ...state, counters: { ...state.counters, totalSteps }, usage: { inputTokens: 10 * totalSteps } };
}

async function listOverviews(store: Store, options: ListOptions = {}) {
  const page = await store.list({ overview: true, ...options });
  return Object.fromEntries(page.map(({ sessionId, overview }) => [sessionId, overview]));
}

const emptyOverview = { lastRun: null, questions: 0, hasChildren: false };

export const overviewCases = createCases(["STOR-1"], {
  "a list contains no overviews unless requested": async ({ store }) => {
    await createRestingSession(store, "s");
    deepStrictEqual(Object.hasOwn((await store.list())[0] ?? {}, "overview"), false);
    deepStrictEqual(Object.hasOwn((await store.describe("s")) ?? {}, "overview"), false);
  },
  "an overview reflects the last commit, while the session is held and afterwards": async ({ store, reopened }) => {
    const of = (state: State) => ({ ...buildOverview(state), hasChildren: false });
    const [first, second, third, fourth] = ["model_running", "completed", "model_running", "model_running"].map(
      (status, index) => createRunState(index + 1, status as Status, index + 1),
    ) as [State, State, State, State];
    let lease = await claim(store);
    await commit(store, lease, 0, { state: first });
    deepStrictEqual(await listOverviews(store), { s: of(first) });
    await commit(store, lease, 1, { state: second, release: true });
    deepStrictEqual(await listOverviews(store), { s: of(second) });
    lease = await claim(store);
    deepStrictEqual(await listOverviews(store), { s: of(second) });
    await commit(store, lease, 2, { state: third });
    deepStrictEqual(await listOverviews(store), { s: of(third) });
    await store.release(lease);
    deepStrictEqual(await listOverviews(store), { s: of(third) });
    lease = await claim(store);
    await commit(store, lease, 3, { state: fourth });
    await commit(store, lease, 4, { events: 0, state: fourth, release: true });
    const reopenedStore = await reopened();
    deepStrictEqual(await listOverviews(reopenedStore), { s: of(fourth) });
    deepStrictEqual(await reopenedStore.verify(), []);
  },
  "the overview of a session without a log is empty": async ({ store }) => {
    await store.post("posted", createMessage("m"));
    await claim(store, "claimed");
    deepStrictEqual(await listOverviews(store), { claimed: emptyOverview, posted: emptyOverview });
  },
  "an overview shows whether there are child sessions": async ({ store }) => {
    await createRestingSession(store, "top", bindTo({}));
    await createRestingSession(store, "child", bindTo({ parent: { sessionId: "top", callKey: "run 1/1/1" } }));
    const hasChildren = async (options: ListOptions) =>
      Object.entries(await listOverviews(store, options)).map(([id, overview]) => [id, overview?.hasChildren]);
    deepStrictEqual(await hasChildren({ parent: null }), [["top", true]]);
    deepStrictEqual(await hasChildren({ parent: "top" }), [["child", false]]);
    await store.delete("child", { now: t0 });
    deepStrictEqual(await hasChildren({}), [["top", false]]);
  },
});
