/**
 * The list of sessions, newest first: title, progress and cost.
 */
import type { ComponentChildren } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import type { Status } from "../../index.js";
import type { ListedSession } from "../../server/client/index.js";
import { type AppState, type ListRow, listRows } from "../state/app-state.js";
import {
  formatCost,
  formatCount,
  formatShortCount,
  formatStatus,
  resolveShownStatus,
  toOneLine,
} from "../state/format.js";
import type { Route } from "../state/route.js";
import { Age, EmptyState, LoadFailure, RouteLink } from "./common.js";
import { useInspector, useKeys } from "./hooks.js";
import { Icon, signOfStatus } from "./icons.js";

/** The filter has no entry for sessions that have just begun. */
const statuses = Object.keys({
  model_running: true,
  tool_running: true,
  awaiting_human: true,
  completed: true,
  failed: true,
  aborted: true,
} satisfies Record<Exclude<Status, "idle" | "preparing">, true>) as readonly Exclude<Status, "idle" | "preparing">[];

export function SessionList({ list, waiting }: { readonly list: AppState["list"]; readonly waiting: number }) {
  const inspector = useInspector();
  const [selectedIndex, setSelectedIndex] = useState(0);
  const { sessions } = list;
  const rows = listRows(list);
  const selected = Math.min(selectedIndex, rows.length - 1);
  const move = (offset: number) => setSelectedIndex(Math.max(0, Math.min(rows.length - 1, selected + offset)));
  const open = () => {
    const row = rows[selected];
    if (row !== undefined) inspector.navigate(toSessionRoute(row.session));
  };
  const setFolded = (isOpening: boolean) => {
    const session = rows[selected]?.session;
    if (session?.hasChildren === true && list.children.has(session.sessionId) !== isOpening)
      void inspector.toggleChildren(session.sessionId);
  };
  useKeys({
    j: () => move(1),
    ArrowDown: () => move(1),
    k: () => move(-1),
    ArrowUp: () => move(-1),
    Home: () => setSelectedIndex(0),
    End: () => setSelectedIndex(rows.length - 1),
    Enter: open,
    ArrowRight: () => setFolded(true),
    ArrowLeft: () => setFolded(false),
    a: () => inspector.navigate({ screen: "approvals" }),
    "/": () => document.getElementById("find")?.focus(),
  });
  return (
    <main class="sessions">
      <Filters list={list} />
      {waiting > 0 && (
        <RouteLink to={{ screen: "approvals" }} class="banner">
          <Icon sign="waiting" /> {waiting === 1 ? "One call waits" : `${waiting} calls wait`} for an answer
          <kbd>a</kbd>
        </RouteLink>
      )}
      {sessions.status === "failed" && (
        <LoadFailure message={sessions.message} retry={() => void inspector.loadList()} />
      )}
      {sessions.status === "loading" && <p class="loading">Loading sessions…</p>}
      {sessions.status === "ready" && rows.length === 0 && <NoSessions list={list} />}
      {rows.length > 0 && (
        <Table rows={rows} unfolded={list.children} selected={selected} onSelect={setSelectedIndex} />
      )}
      {list.next !== null && (
        <button type="button" class="load-more" onClick={() => void inspector.loadList({ isMore: true })}>
          Older sessions
        </button>
      )}
    </main>
  );
}

function toSessionRoute({ sessionId }: ListedSession): Route {
  return { screen: "session", sessionId, tab: "step" };
}

function Filters({ list }: { readonly list: AppState["list"] }) {
  const inspector = useInspector();
  const timer = useRef<ReturnType<typeof setTimeout> | undefined>(undefined);
  const applyFilter = (change: Partial<Pick<AppState["list"], "status" | "agent" | "find">>, waitMs = 0) => {
    inspector.dispatch({ type: "list_filtered", filter: change });
    clearTimeout(timer.current);
    timer.current = setTimeout(() => void inspector.loadList(), waitMs);
  };
  useEffect(() => () => clearTimeout(timer.current), []);
  return (
    <div class="filters" role="search">
      <input
        id="find"
        type="search"
        placeholder="Search by title or id"
        aria-label="Search by title or id"
        value={list.find}
        onInput={(event) => applyFilter({ find: event.currentTarget.value }, 200)}
        onKeyDown={(event) => event.key === "Escape" && event.currentTarget.blur()}
      />
      <select
        aria-label="Status"
        value={list.status}
        onChange={(event) => applyFilter({ status: event.currentTarget.value })}
      >
        <option value="">Every status</option>
        {statuses.map((status) => (
          <option value={status} key={status}>
            {formatStatus(status)}
          </option>
        ))}
      </select>
      <select
        aria-label="Agent"
        value={list.agent}
        onChange={(event) => applyFilter({ agent: event.currentTarget.value })}
      >
        <option value="">Every agent</option>
        {list.agents.map((agent) => (
          <option value={agent} key={agent}>
            {agent}
          </option>
        ))}
      </select>
    </div>
  );
}

function NoSessions({ list }: { readonly list: AppState["list"] }) {
  const inspector = useInspector();
  if (list.find === "" && list.status === "" && list.agent === "")
    return (
      <EmptyState title="No sessions yet">
        <p>Sessions appear here as soon as an agent starts one. Try it in a terminal:</p>
        <pre>pawl run "List the files"</pre>
      </EmptyState>
    );
  const clear = () => {
    inspector.dispatch({ type: "list_filtered", filter: { find: "", status: "", agent: "" } });
    void inspector.loadList();
  };
  return (
    <EmptyState title="No matching sessions">
      <button type="button" onClick={clear}>
        Show all sessions
      </button>
    </EmptyState>
  );
}

function Table({
  rows,
  unfolded,
  selected,
  onSelect,
}: {
  readonly rows: readonly ListRow[];
  readonly unfolded: AppState["list"]["children"];
  readonly selected: number;
  readonly onSelect: (selectedIndex: number) => void;
}) {
  const selectedRow = useRef<HTMLDivElement>(null);
  useEffect(() => selectedRow.current?.scrollIntoView({ block: "nearest" }), [selected]);
  // Rows contain links and buttons. Options of a listbox cannot contain them, because assistive technology would ignore them.
  return (
    <div class="table" role="treegrid" aria-label="Sessions" tabIndex={0} aria-activedescendant={`session-${selected}`}>
      <div class="row head" role="row" tabIndex={-1}>
        <span />
        {columns.map(({ name, isRight }) => (
          <span role="columnheader" tabIndex={-1} class={isRight ? "right" : ""} key={name}>
            {name}
          </span>
        ))}
      </div>
      {rows.map((row, index) => {
        const { sessionId, hasChildren } = row.session;
        const isUnfolded = unfolded.has(sessionId);
        return (
          <div
            key={sessionId}
            id={`session-${index}`}
            role="row"
            tabIndex={-1}
            aria-level={row.depth + 1}
            aria-expanded={hasChildren ? isUnfolded : undefined}
            aria-selected={index === selected}
            class={index === selected ? "row selected" : "row"}
            ref={index === selected ? selectedRow : null}
            onPointerDown={() => onSelect(index)}
          >
            <SessionRow row={row} isUnfolded={isUnfolded} />
          </div>
        );
      })}
    </div>
  );
}

const columns = [
  { name: "Session", isRight: false },
  { name: "Agent", isRight: false },
  { name: "Status", isRight: false },
  { name: "Steps", isRight: true },
  { name: "Tokens", isRight: true },
  { name: "Cost", isRight: true },
  { name: "Active", isRight: true },
] as const;

function FoldButton({ sessionId, isUnfolded }: { readonly sessionId: string; readonly isUnfolded: boolean }) {
  const inspector = useInspector();
  const label = isUnfolded ? "Hide child sessions" : "Show child sessions";
  return (
    <button
      type="button"
      class="chip fold"
      tabIndex={-1}
      aria-expanded={isUnfolded}
      aria-label={label}
      title={`${label} (→ ←)`}
      onClick={() => void inspector.toggleChildren(sessionId)}
    >
      {isUnfolded ? "▾" : "▸"} children
    </button>
  );
}

function Cell({
  children,
  ...rest
}: {
  readonly children: ComponentChildren;
  readonly class: string;
  readonly title?: string;
  readonly style?: { readonly paddingInlineStart: string };
}) {
  return (
    <span role="gridcell" tabIndex={-1} {...rest}>
      {children}
    </span>
  );
}

function SessionRow({ row: { session, depth }, isUnfolded }: { readonly row: ListRow; readonly isUnfolded: boolean }) {
  const { sessionId, info, activity, updatedAt, lastRun } = session;
  const status = resolveShownStatus(session);
  const usage = lastRun?.usage;
  const sum = (usage?.inputTokens ?? 0) + (usage?.outputTokens ?? 0);
  const isUnknown = usage?.inputTokens === undefined && usage?.outputTokens === undefined;
  const isWaiting = activity === "waiting";
  return (
    <>
      <Icon sign={isWaiting ? "waiting" : signOfStatus(status)} />
      <Cell class="title" style={{ paddingInlineStart: `${depth * 20}px` }}>
        <RouteLink to={toSessionRoute(session)} tabIndex={-1}>
          <span dir="auto">{toOneLine(info?.title ?? "") || "Untitled"}</span>
          <span class="id mono">{sessionId.slice(0, 8)}</span>
        </RouteLink>
        {session.hasChildren && <FoldButton sessionId={sessionId} isUnfolded={isUnfolded} />}
      </Cell>
      <Cell class="dim cut agent">{info?.agent ?? ""}</Cell>
      <Cell class={isWaiting ? "state waits" : `state ${status}`}>{isWaiting ? "waits" : formatStatus(status)}</Cell>
      <Cell class="right num steps" title={lastRun === null ? "" : "Steps of the last run"}>
        {lastRun === null ? "" : formatCount(lastRun.steps)}
        {lastRun !== null && <span class="unit">{lastRun.steps === 1 ? " step" : " steps"}</span>}
      </Cell>
      <Cell class="right num tokens" title={`${formatCount(isUnknown ? null : sum)} tokens in the last run`}>
        {lastRun === null ? "" : formatShortCount(isUnknown ? null : sum)}
      </Cell>
      <Cell class="right num cost">{lastRun === null ? "" : formatCost(usage?.costUsd, usage?.partial)}</Cell>
      <Cell class="right dim">
        <Age at={updatedAt} isInList />
      </Cell>
    </>
  );
}
