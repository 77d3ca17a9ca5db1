/**
 * The inbox: waiting calls of all sessions, longest-waiting first, each answered with one key. Below them are the answered calls: who
 * answered, when, and what was changed.
 */
import type { ComponentChildren } from "preact";
import { type AnsweredCall, toAnswerId } from "../state/answered.js";
import type { AppState, WaitingCall } from "../state/app-state.js";
import { formatDuration, toOneLine } from "../state/format.js";
import type { Route } from "../state/route.js";
import { stepKeyOfCall } from "../state/route.js";
import { AnsweredDetail, formatAnswer } from "./answered-detail.js";
import { ApprovalDetail } from "./approval-detail.js";
import { Age, EmptyState, LoadFailure, RouteLink } from "./common.js";
import { useInspector, useIsNarrow, useKeys, useNow } from "./hooks.js";
import { Icon } from "./icons.js";
import { PushSwitch } from "./push-switch.js";

type ApprovalsRoute = Extract<Route, { readonly screen: "approvals" }>;

/** A line of the inbox. */
type InboxEntry = CallReference &
  (
    | { readonly waiting: WaitingCall; readonly answered?: never }
    | { readonly answered: AnsweredCall; readonly waiting?: never }
  );

function listEntries(waiting: readonly WaitingCall[], answered: readonly AnsweredCall[]): readonly InboxEntry[] {
  return [
    ...waiting.map((one) => ({ ...pickReference(one), waiting: one })),
    ...answered.map((one) => ({ ...pickReference(one), answered: one })),
  ];
}

export function ApprovalsPage({
  approvals: { items, answered },
  route,
}: {
  readonly approvals: AppState["approvals"];
  readonly route: ApprovalsRoute;
}) {
  const inspector = useInspector();
  const isNarrow = useIsNarrow();
  const waiting = items.status === "ready" ? items.value : [];
  const entries = listEntries(waiting, answered.answered);
  // A link without a question id refers to the first question of the call.
  const routeIndex = entries.findIndex(
    (one) =>
      one.sessionId === route.sessionId &&
      one.callKey === route.callKey &&
      (route.questionId === undefined || one.questionId === route.questionId),
  );
  const at = routeIndex === -1 && !isNarrow && route.callKey === undefined && waiting.length > 0 ? 0 : routeIndex;
  const selected = entries[at];
  const select = (to: number) => {
    const one = entries[Math.max(0, Math.min(entries.length - 1, to))];
    if (one !== undefined) inspector.navigate(toApprovalRoute(one), { isReplacing: !isNarrow });
  };
  useKeys({
    j: () => select(at + 1),
    ArrowDown: () => select(at + 1),
    k: () => select(at - 1),
    ArrowUp: () => select(at - 1),
    o: () => selected !== undefined && inspector.navigate(toStepRoute(selected)),
    Escape: () => inspector.navigate({ screen: route.callKey === undefined ? "sessions" : "approvals" }),
  });
  const next = () => {
    const neighbour = waiting[at + 1] ?? waiting[at - 1];
    const to = neighbour === undefined || isNarrow ? ({ screen: "approvals" } as const) : toApprovalRoute(neighbour);
    inspector.navigate(to, { isReplacing: true });
  };
  const isEmpty = items.status === "ready" && waiting.length === 0;
  return (
    <main class={route.callKey !== undefined ? "approvals one-shown" : "approvals"}>
      {items.status === "failed" && (
        <LoadFailure message={items.message} retry={() => void inspector.loadApprovals()} />
      )}
      <PushSwitch />
      {items.status === "loading" && <p class="loading">Loading waiting calls…</p>}
      {isEmpty && entries.length === 0 && route.callKey === undefined && <NothingWaits />}
      {items.status === "ready" && (entries.length > 0 || route.callKey !== undefined) && (
        <div class="panes">
          <Inbox waiting={waiting} answered={answered} selected={at} onSelect={select} />
          {selected?.waiting !== undefined && (
            <ApprovalDetail
              approval={selected.waiting}
              onAnswered={next}
              key={`${selected.callKey} ${selected.waiting.questionId ?? ""}`}
            />
          )}
          {selected?.answered !== undefined && <AnsweredDetail answered={selected.answered} />}
          {selected === undefined && (
            <section class="approval-detail">
              {route.callKey === undefined ? <NothingWaits /> : <NoLongerWaits route={route} />}
            </section>
          )}
        </div>
      )}
    </main>
  );
}

type CallReference = { readonly sessionId: string; readonly callKey: string; readonly questionId?: string };

function pickReference({ sessionId, callKey, questionId }: CallReference): CallReference {
  return { sessionId, callKey, ...(questionId === undefined ? {} : { questionId }) };
}

function toApprovalRoute(one: CallReference): Route {
  return { screen: "approvals", ...pickReference(one) };
}

function toStepRoute({ sessionId, callKey }: CallReference): Route {
  return { screen: "session", sessionId, step: stepKeyOfCall(callKey), tab: "step" };
}

function NothingWaits() {
  return (
    <EmptyState title="Nothing is waiting for you">
      <p>Calls that need an answer, in any session, appear here.</p>
    </EmptyState>
  );
}

function Inbox({
  waiting,
  answered: { answered, next },
  selected,
  onSelect,
}: {
  readonly waiting: readonly WaitingCall[];
  readonly answered: AppState["approvals"]["answered"];
  readonly selected: number;
  readonly onSelect: (at: number) => void;
}) {
  const inspector = useInspector();
  return (
    <section class="inbox" aria-label="Waiting and answered calls">
      {waiting.length === 0 && <p class="loading">Nothing is waiting.</p>}
      <div
        role="listbox"
        aria-label="Calls"
        tabIndex={0}
        {...(selected === -1 ? {} : { "aria-activedescendant": `inbox-${selected}` })}
      >
        {waiting.map((one, index) => (
          <InboxLine
            key={`${one.sessionId} ${one.callKey} ${one.questionId ?? ""}`}
            at={index}
            selected={selected}
            onSelect={onSelect}
          >
            <WaitingCells approval={one} />
          </InboxLine>
        ))}
        {answered.length > 0 && (
          <div role="group" aria-label="Answered">
            <p class="label" aria-hidden="true">
              Answered
            </p>
            {answered.map((one, index) => (
              <InboxLine key={toAnswerId(one)} at={waiting.length + index} selected={selected} onSelect={onSelect}>
                <AnsweredCells answered={one} />
              </InboxLine>
            ))}
          </div>
        )}
      </div>
      {next !== null && (
        <button type="button" class="load-more" onClick={() => void inspector.loadAnswers({ isMore: true })}>
          Older answers
        </button>
      )}
    </section>
  );
}

function InboxLine({
  at,
  selected,
  onSelect,
  children,
}: {
  readonly at: number;
  readonly selected: number;
  readonly onSelect: (at: number) => void;
  readonly children: ComponentChildren;
}) {
  return (
    <div
      id={`inbox-${at}`}
      role="option"
      tabIndex={-1}
      aria-selected={at === selected}
      class={at === selected ? "waiting-line selected" : "waiting-line"}
      onClick={() => onSelect(at)}
    >
      {children}
    </div>
  );
}

function WaitingCells({ approval }: { readonly approval: WaitingCall }) {
  const now = useNow(5_000);
  const { name, askedAt, session, sessionId, expiresAt } = approval;
  return (
    <>
      <Icon sign="waiting" label="waits" />
      <span class="mono name cut">{name}</span>
      <span class="num dim">
        <Age at={askedAt} isInList />
      </span>
      <span class="cut dim mono preview">{formatPreview(approval)}</span>
      <span class="cut dim from">
        <span dir="auto">{toOneLine(session.title ?? sessionId, 80)}</span>
        {expiresAt !== undefined && (
          <span class="warns"> · expires in {formatDuration(Math.max(0, expiresAt - now))}</span>
        )}
      </span>
    </>
  );
}

function formatPreview({ input, question }: WaitingCall): string {
  if (question !== undefined && (typeof input !== "object" || input === null)) return toOneLine(question, 160);
  const values = typeof input === "object" && input !== null ? Object.values(input) : [input];
  return toOneLine(values.map((one) => (typeof one === "string" ? one : JSON.stringify(one))).join("  "), 160);
}

const refusalTypes: ReadonlySet<string> = new Set(["deny", "abort", "fail", "decline", "expired"]);

function AnsweredCells({ answered }: { readonly answered: AnsweredCall }) {
  const { name, at, answer, isSecond, session, sessionId } = answered;
  return (
    <>
      <Icon sign={isSecond || refusalTypes.has(answer) ? "denied" : "done"} label="answered" />
      <span class="mono name cut">{name}</span>
      <span class="num dim">
        <Age at={at} isInList />
      </span>
      <span class="cut preview">{formatAnswer(answered)}</span>
      <span class="cut dim from" dir="auto">
        {toOneLine(session?.title ?? sessionId, 80)}
      </span>
    </>
  );
}

/** Shown if the call in the URL is no longer waiting and its answer is not in the list. */
function NoLongerWaits({ route }: { readonly route: ApprovalsRoute }) {
  return (
    <EmptyState title="This call is no longer waiting">
      <p>
        {route.sessionId !== undefined && route.callKey !== undefined && (
          <RouteLink to={toStepRoute({ sessionId: route.sessionId, callKey: route.callKey })}>
            Show what happened to it
          </RouteLink>
        )}
      </p>
      <p>
        <RouteLink to={{ screen: "approvals" }}>What waits</RouteLink>
      </p>
    </EmptyState>
  );
}
