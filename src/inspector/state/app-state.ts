/**
 * The whole state of the page, and the effect of each action on it. The page renders only this state.
 */
import type { StoredApproval, ToolSpecification } from "../../index.js";
import type { ListedSession, ListFrame } from "../../server/client/index.js";
import { type AnsweredCall, type AnswersPage, addOwnAnswer, emptyAnswers, mergeAnswers } from "./answered.js";
import type { ForkPoint } from "./fork.js";
import type { Route } from "./route.js";
import { emptySession, type Loaded, reduceSession, type SessionAction, type SessionState } from "./session-state.js";

/** A call that waits for an answer, with its tool. */
export type WaitingCall = StoredApproval & { readonly tool: ToolSpecification | null };

export type Connection = "connecting" | "open" | "lost";

/**
 * The access of the page. `refused`: its access has expired. `used`: its link was already used, or has expired. `stranger`: the program at
 * this address has not proved that it is the server that gave the page access. `other_login`: the link is for a login other than the page's
 * current one.
 */
export type Access = "checking" | "in" | "no_key" | "refused" | "used" | "stranger" | "other_login";

export type AppState = {
  readonly access: Access;
  readonly connection: Connection;
  readonly route: Route;
  readonly list: {
    readonly sessions: Loaded<readonly ListedSession[]>;
    /** The cursor of the next page; null if there is none. */
    readonly next: string | null;
    readonly status: string;
    readonly agent: string;
    readonly find: string;
    /** The child sessions of expanded sessions. */
    readonly children: ReadonlyMap<string, readonly ListedSession[]>;
    /** The known agents, for the filter. */
    readonly agents: readonly string[];
  };
  readonly approvals: {
    readonly count: number;
    readonly isMore: boolean;
    readonly items: Loaded<readonly WaitingCall[]>;
    readonly answered: AnswersPage;
  };
  readonly session: SessionState | null;
  readonly isHelpOpen: boolean;
  /** The fork point while the fork dialog is open; null otherwise. */
  readonly fork: ForkPoint | null;
};

export type Action =
  | { readonly type: "access"; readonly access: Access }
  | { readonly type: "connection"; readonly connection: Connection }
  | { readonly type: "navigated"; readonly route: Route }
  | {
      readonly type: "list_loaded";
      readonly sessions: readonly ListedSession[];
      readonly next: string | null;
      readonly isMore: boolean;
    }
  | { readonly type: "list_failed"; readonly message: string }
  | { readonly type: "list_filtered"; readonly filter: Partial<Pick<AppState["list"], "status" | "agent" | "find">> }
  | { readonly type: "list_frame"; readonly frame: ListFrame }
  | { readonly type: "unfolded"; readonly parent: string; readonly children: readonly ListedSession[] }
  | { readonly type: "folded"; readonly parent: string }
  | { readonly type: "approvals_loaded"; readonly items: Loaded<readonly WaitingCall[]> }
  | { readonly type: "answers_loaded"; readonly page: AnswersPage; readonly isMore: boolean }
  | { readonly type: "answered"; readonly approval: WaitingCall; readonly answered: AnsweredCall }
  | { readonly type: "help"; readonly isOpen: boolean }
  | { readonly type: "fork"; readonly point: ForkPoint | null }
  | { readonly type: "session"; readonly id: string; readonly action: SessionAction };

export function initialState(route: Route): AppState {
  return {
    access: "checking",
    connection: "connecting",
    route,
    list: {
      sessions: { status: "loading" },
      next: null,
      status: "",
      agent: "",
      find: "",
      children: new Map(),
      agents: [],
    },
    approvals: { count: 0, isMore: false, items: { status: "loading" }, answered: emptyAnswers },
    session: selectSession(route, null),
    isHelpOpen: false,
    fork: null,
  };
}

export function reduce(state: AppState, action: Action): AppState {
  switch (action.type) {
    case "access":
      return { ...state, access: action.access };
    case "connection":
      return { ...state, connection: action.connection };
    case "navigated":
      return {
        ...state,
        route: action.route,
        session: selectSession(action.route, state.session),
        isHelpOpen: false,
        fork: null,
      };
    case "list_loaded":
      return { ...state, list: addPage(state.list, action) };
    case "list_failed":
      return { ...state, list: { ...state.list, sessions: { status: "failed", message: action.message } } };
    case "list_filtered":
      return { ...state, list: { ...state.list, ...action.filter } };
    case "list_frame":
      return applyListFrame(state, action.frame);
    case "unfolded":
      return { ...state, list: setChildren(state.list, action.parent, action.children) };
    case "folded":
      return { ...state, list: setChildren(state.list, action.parent, null) };
    case "approvals_loaded":
      return { ...state, approvals: { ...state.approvals, items: action.items } };
    case "answers_loaded":
      return setAnswers(state, mergeAnswers(state.approvals.answered, action.page, action.isMore));
    case "answered":
      return applyAnswer(state, action.approval, action.answered);
    case "help":
      return { ...state, isHelpOpen: action.isOpen };
    case "fork":
      return { ...state, fork: action.point };
    case "session": {
      const { session } = state;
      // The response may arrive after the page has switched to another session.
      if (session === null || session.id !== action.id) return state;
      return { ...state, session: reduceSession(session, action.action) };
    }
  }
}

/** The session that a route shows: the current one if it is the same, or an empty one. */
function selectSession(route: Route, known: SessionState | null): SessionState | null {
  if (route.screen === "sessions" || route.screen === "approvals") return null;
  if (route.screen === "evals" || route.screen === "schedules") return null;
  return known?.id === route.sessionId ? known : emptySession(route.sessionId);
}

function addPage(
  list: AppState["list"],
  { sessions, next, isMore }: Extract<Action, { readonly type: "list_loaded" }>,
): AppState["list"] {
  const previous = isMore && list.sessions.status === "ready" ? list.sessions.value : [];
  const known = new Set(sessions.map(({ sessionId }) => sessionId));
  const all = [...previous.filter(({ sessionId }) => !known.has(sessionId)), ...sessions];
  return { ...list, sessions: { status: "ready", value: all }, next, agents: addAgents(list.agents, sessions) };
}

function applyListFrame(state: AppState, frame: ListFrame): AppState {
  switch (frame.type) {
    case "list_open":
      return frame.approvals === null ? state : setApprovalCount(state, frame.approvals);
    case "approvals":
      return setApprovalCount(state, frame);
    case "list_changed":
      return state;
    case "session":
      return {
        ...state,
        list: upsertSession(state.list, frame.session),
        session:
          state.session === null ? null : reduceSession(state.session, { type: "listed", session: frame.session }),
      };
  }
}

function setApprovalCount(
  state: AppState,
  { count, more }: { readonly count: number; readonly more: boolean },
): AppState {
  return { ...state, approvals: { ...state.approvals, count, isMore: more } };
}

function setChildren(
  list: AppState["list"],
  parent: string,
  sessions: readonly ListedSession[] | null,
): AppState["list"] {
  const children = new Map(list.children);
  if (sessions === null) children.delete(parent);
  else children.set(parent, sessions);
  return { ...list, children };
}

/** A row of the list: a session, or a child of an expanded session. */
export type ListRow = { readonly session: ListedSession; readonly depth: number };

export function listRows({ sessions, children }: Pick<AppState["list"], "sessions" | "children">): readonly ListRow[] {
  const rows: ListRow[] = [];
  const add = (session: ListedSession, depth: number) => {
    rows.push({ session, depth });
    for (const child of children.get(session.sessionId) ?? []) add(child, depth + 1);
  };
  if (sessions.status === "ready") for (const session of sessions.value) add(session, 0);
  return rows;
}

/** Updates a child session, if its parent is expanded. */
function updateChild(list: AppState["list"], session: ListedSession): AppState["list"] {
  const parent = session.info?.parent?.sessionId;
  const known = parent === undefined ? undefined : list.children.get(parent);
  if (parent === undefined || known === undefined) return list;
  const isKnown = known.some(({ sessionId }) => sessionId === session.sessionId);
  const next = isKnown
    ? known.map((one) => (one.sessionId === session.sessionId ? session : one))
    : [...known, session];
  return setChildren(list, parent, next);
}

function upsertSession(list: AppState["list"], session: ListedSession): AppState["list"] {
  if (session.info?.parent !== undefined) return updateChild(list, session);
  if (list.sessions.status !== "ready") return list;
  const known = list.sessions.value;
  const isKnown = known.some(({ sessionId }) => sessionId === session.sessionId);
  const isMatch = matchesFilter(list, session);
  // A row keeps its position while its session is active: a list that jumps can be neither read nor clicked.
  const sessions = isKnown
    ? known.flatMap((one) => (one.sessionId !== session.sessionId ? [one] : isMatch ? [session] : []))
    : isMatch
      ? [session, ...known]
      : known;
  return { ...list, sessions: { status: "ready", value: sessions }, agents: addAgents(list.agents, [session]) };
}

/** Whether a changed session belongs in the current list. */
function matchesFilter({ status, agent, find }: AppState["list"], session: ListedSession): boolean {
  const { info } = session;
  if (status !== "" && session.status !== status) return false;
  if (agent !== "" && info?.agent !== agent) return false;
  const text = find.trim().toLowerCase();
  return [session.sessionId, info?.title ?? ""].some((one) => one.toLowerCase().includes(text));
}

function addAgents(agents: readonly string[], sessions: readonly ListedSession[]): readonly string[] {
  const all = new Set([...agents, ...sessions.flatMap(({ info }) => (info === null ? [] : [info.agent]))]);
  return all.size === agents.length ? agents : [...all].sort();
}

function setAnswers(state: AppState, answered: AnswersPage): AppState {
  return { ...state, approvals: { ...state.approvals, answered } };
}

/** Removes an answered call from the waiting calls. */
function applyAnswer(state: AppState, approval: WaitingCall, answered: AnsweredCall): AppState {
  const { items, answered: previousAnswers } = state.approvals;
  const isSameCall = (one: WaitingCall) =>
    one.callKey === approval.callKey && one.sessionId === approval.sessionId && one.questionId === approval.questionId;
  const remaining: AppState["approvals"]["items"] =
    items.status === "ready" ? { status: "ready", value: items.value.filter((one) => !isSameCall(one)) } : items;
  return {
    ...state,
    approvals: { ...state.approvals, items: remaining, answered: addOwnAnswer(previousAnswers, answered) },
  };
}
