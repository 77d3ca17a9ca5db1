/**
 * What the page does: it follows the route, loads what the route shows, and puts all of it into the one state.
 */
import type { ApprovalDecision, GivenAnswer, PublicEvent } from "../index.js";
import type { ListedSession, ListFrame, StreamFrame, StreamView } from "../server/client/index.js";
import { type Api, messageOf } from "./api.js";
import type { PageKey } from "./page-key.js";
import { createPageStream } from "./page-stream.js";
import { createSessionLoads, type SessionLoads } from "./session-loads.js";
import { type AnswersPage, ownAnswer } from "./state/answered.js";
import { type Access, type Action, type AppState, initialState, reduce, type Waiting } from "./state/app-state.js";
import { fragmentOf, type Route, routeOf } from "./state/route.js";

export type Inspector = {
  readonly api: Api;
  readonly state: () => AppState;
  readonly dispatch: (action: Action) => void;
  /** Calls back after changes: at once when the page goes elsewhere, otherwise at most once a frame. */
  readonly subscribe: (listener: () => void) => () => void;
  readonly navigate: (route: Route, options?: { readonly isReplacing?: boolean }) => void;
  readonly loadList: (options?: { readonly isMore?: boolean }) => Promise<void>;
  /** Shows the child sessions of a session in the list, or hides them. */
  readonly fold: (parent: string) => Promise<void>;
  readonly loadApprovals: () => Promise<void>;
  /** What was answered: the newest, or those before the ones that are there. */
  readonly loadAnswers: (options?: { readonly isMore?: boolean }) => Promise<void>;
  /** Answers a call. @throws ApiError */
  readonly answer: (approval: Waiting, decision: ApprovalDecision) => Promise<void>;
  /** Loads what the page shows of a step, unless it is there. */
  readonly loadStep: (key: string) => void;
  readonly loadRequest: (key: string, attempt?: number) => void;
  readonly loadTraces: SessionLoads["traces"];
  readonly loadEvent: SessionLoads["event"];
  /** Whom the page acts as, and whom its link is for. */
  readonly otherLogin: PageKey["otherLogin"];
  /** Takes the login of the link, or keeps the present one. */
  readonly chooseLogin: (choice: "link" | "present") => Promise<void>;
  readonly start: () => Promise<void>;
};

const listPage = 50;
/** Child sessions that are listed below their parent. */
const mostChildren = 200;

export function createInspector(api: Api, key: PageKey): Inspector {
  let state = initialState(routeOf(location.hash));
  const listeners = new Set<() => void>();
  let isTelling = false;
  let listAsked = 0;

  function dispatch(action: Action): void {
    const next = reduce(state, action);
    if (next === state) return;
    state = next;
    tell();
  }

  /** A frame of the screen takes all changes that came before it. A hidden tab has no frames, and needs none. */
  function tell(): void {
    if (isTelling) return;
    isTelling = true;
    requestAnimationFrame(() => {
      isTelling = false;
      tellNow();
    });
  }

  function tellNow(): void {
    for (const listener of listeners) listener();
  }

  const loads = createSessionLoads(api, () => state.session, dispatch);
  const stream = createPageStream(api, {
    onFrame: take,
    onConnection: (connection) => dispatch({ type: "connection", connection }),
    onRefused(status) {
      if (status === 401 && state.access === "in") dispatch({ type: "access", access: "refused" });
      else dispatch({ type: "connection", connection: "lost" });
    },
  });

  function take(frame: StreamFrame, view: StreamView): void {
    const { data } = frame;
    if (isListFrame(data)) {
      dispatch({ type: "list_frame", frame: data });
      if (data.type === "list_open" || data.type === "list_changed") void loadList();
      if (data.type !== "session" && state.route.screen === "approvals") loadInbox();
      return;
    }
    const { session } = state;
    if (session === null) return;
    const { id } = session;
    // What the page holds of a redacted session has the former words.
    if (data.type === "reset" || data.type === "content_redacted") openSession(id);
    else if (data.type === "open" || data.type === "live")
      dispatch({ type: "session", id, action: { type: "live", live: data.live } });
    else if (frame.id !== undefined)
      dispatch({ type: "session", id, action: { type: "event", event: data as PublicEvent } });
    else if (data.type === "delta" || data.type === "snapshot")
      dispatch({ type: "session", id, action: { type: "partial", partial: view.partial() } });
  }

  async function loadList({ isMore = false }: { readonly isMore?: boolean } = {}): Promise<void> {
    listAsked += 1;
    const asked = listAsked;
    const { next, status, agent, find } = state.list;
    try {
      const query = {
        status,
        agent,
        q: find.trim(),
        limit: listPage,
        cursor: isMore ? (next ?? undefined) : undefined,
      };
      const page = await api.get<{ readonly sessions: readonly ListedSession[]; readonly next: string | null }>(
        "/v1/sessions",
        query,
      );
      if (asked === listAsked) dispatch({ type: "list_loaded", ...page, isMore });
    } catch (error) {
      if (asked === listAsked) dispatch({ type: "list_failed", message: messageOf(error) });
    }
  }

  async function fold(parent: string): Promise<void> {
    if (state.list.children.has(parent)) return dispatch({ type: "folded", parent });
    try {
      const query = { parent, limit: mostChildren };
      const { sessions } = await api.get<{ readonly sessions: readonly ListedSession[] }>("/v1/sessions", query);
      const children = [...sessions].sort((a, b) => a.createdAt - b.createdAt);
      dispatch({ type: "unfolded", parent, children });
    } catch (error) {
      dispatch({ type: "list_failed", message: messageOf(error) });
    }
  }

  async function loadApprovals(): Promise<void> {
    try {
      const { approvals } = await api.get<{ readonly approvals: readonly Waiting[] }>("/v1/approvals", { limit: 100 });
      dispatch({ type: "approvals_loaded", items: { status: "ready", value: approvals } });
    } catch (error) {
      dispatch({ type: "approvals_loaded", items: { status: "failed", message: messageOf(error) } });
    }
  }

  async function loadAnswers({ isMore = false }: { readonly isMore?: boolean } = {}): Promise<void> {
    try {
      const cursor = isMore ? (state.approvals.answered.next ?? undefined) : undefined;
      const page = await api.get<AnswersPage>("/v1/approvals/answered", { limit: listPage, cursor });
      dispatch({ type: "answers_loaded", page, isMore });
    } catch {
      // What waits is loaded beside it, and says what is wrong.
    }
  }

  async function answer(approval: Waiting, decision: ApprovalDecision): Promise<void> {
    const { sessionId, callKey, inputHash, questionId, why } = approval;
    const path = `/v1/sessions/${encodeURIComponent(sessionId)}`;
    const given =
      why === "external" && decision.type === "result"
        ? await api.post<{ readonly counted: "first" | "second" }>(`${path}/results`, {
            ...{ callKey, output: decision.output },
            ...(decision.isError === true ? { isError: true } : {}),
          })
        : await api.post<{ readonly counted: "first" | "second"; readonly answer: GivenAnswer | null }>(
            `${path}/answers`,
            { callKey, decision, ...(questionId === undefined ? { inputHash } : { questionId }) },
          );
    const counting = "answer" in given ? (given as { readonly answer: GivenAnswer | null }).answer : null;
    dispatch({ type: "answered", approval, answered: ownAnswer(approval, decision, given.counted, counting) });
  }

  /** Loads a session from its log, then watches it from there. */
  function openSession(id: string): void {
    dispatch({ type: "session", id, action: { type: "reset" } });
    void loads.open(id).then((seq) => {
      if (seq !== null && state.session?.id === id) stream.watch({ sessionId: id, after: String(seq) });
    });
  }

  function show(route: Route): void {
    const before = state.session?.id ?? null;
    const isNew = state.route.screen !== route.screen;
    dispatch({ type: "navigated", route });
    // Before the next frame: a key that came in between would act on what was left, and might approve another call.
    tellNow();
    if (state.access !== "in") return;
    const id = state.session?.id ?? null;
    if (id !== null && id !== before) openSession(id);
    if (id === null && before !== null) stream.watch(null);
    if (route.screen === "approvals" && (isNew || state.approvals.items.status !== "ready")) loadInbox();
    if (route.screen === "sessions" && state.list.sessions.status !== "ready") void loadList();
  }

  function begin(): void {
    if (state.session === null) stream.watch(null);
    else openSession(state.session.id);
    if (state.route.screen === "approvals") loadInbox();
  }

  function loadInbox(): void {
    void loadApprovals();
    void loadAnswers();
  }

  function letIn(access: Access): void {
    dispatch({ type: "access", access });
    if (access !== "in") return;
    show(routeOf(location.hash));
    begin();
  }

  return {
    api,
    state: () => state,
    dispatch,
    subscribe(listener) {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    navigate(route, { isReplacing = false } = {}) {
      const fragment = fragmentOf(route);
      if (fragment === location.hash) return;
      if (isReplacing) history.replaceState(null, "", fragment);
      else history.pushState(null, "", fragment);
      show(route);
    },
    loadList,
    fold,
    loadApprovals,
    loadAnswers,
    answer,
    loadStep: loads.step,
    loadRequest: loads.request,
    loadTraces: loads.traces,
    loadEvent: loads.event,
    otherLogin: key.otherLogin,
    async chooseLogin(choice) {
      letIn(await key.choose(api, choice));
    },
    async start() {
      addEventListener("hashchange", () => show(routeOf(location.hash)));
      addEventListener("popstate", () => show(routeOf(location.hash)));
      letIn(await key.enter(api));
    },
  };
}

function isListFrame(data: StreamFrame["data"]): data is ListFrame {
  return (
    data.type === "list_open" || data.type === "session" || data.type === "approvals" || data.type === "list_changed"
  );
}
