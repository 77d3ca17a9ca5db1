/**
 * What waits for an answer, in all sessions: the one that has waited longest first. One key answers. Below it, what was
 * answered: by whom, when, and what was changed.
 */
import type { ComponentChildren } from "preact";
import { type AnsweredCall, idOf } from "../state/answered.js";
import type { AppState, Waiting } from "../state/app-state.js";
import { duration, oneLine } from "../state/format.js";
import type { Route } from "../state/route.js";
import { stepOfCall } from "../state/route.js";
import { AnsweredDetail, answerLine } from "./answered-detail.js";
import { ApprovalDetail } from "./approval-detail.js";
import { useInspector, useIsNarrow, useKeys, useNow } from "./hooks.js";
import { Icon } from "./icons.js";
import { Age, Empty, Failed, RouteLink } from "./parts.js";

type ApprovalsRoute = Extract<Route, { readonly screen: "approvals" }>;

/** A line of the inbox, in the order of the lines. */
type Line = Named &
  (
    | { readonly waiting: Waiting; readonly answered?: never }
    | { readonly answered: AnsweredCall; readonly waiting?: never }
  );

function linesOf(waiting: readonly Waiting[], answered: readonly AnsweredCall[]): readonly Line[] {
  return [
    ...waiting.map((one) => ({ ...namedOf(one), waiting: one })),
    ...answered.map((one) => ({ ...namedOf(one), answered: one })),
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
  const lines = linesOf(waiting, answered.answered);
  // A link that names no question means the first one of the call.
  const named = lines.findIndex(
    (one) =>
      one.sessionId === route.sessionId &&
      one.callKey === route.callKey &&
      (route.questionId === undefined || one.questionId === route.questionId),
  );
  const at = named === -1 && !isNarrow && route.callKey === undefined && waiting.length > 0 ? 0 : named;
  const selected = lines[at];
  const select = (to: number) => {
    const one = lines[Math.max(0, Math.min(lines.length - 1, to))];
    if (one !== undefined) inspector.navigate(routeTo(one), { isReplacing: !isNarrow });
  };
  useKeys({
    j: () => select(at + 1),
    ArrowDown: () => select(at + 1),
    k: () => select(at - 1),
    ArrowUp: () => select(at - 1),
    o: () => selected !== undefined && inspector.navigate(stepOf(selected)),
    Escape: () => inspector.navigate({ screen: route.callKey === undefined ? "sessions" : "approvals" }),
  });
  const next = () => {
    const following = waiting[at + 1] ?? waiting[at - 1];
    const to = following === undefined || isNarrow ? ({ screen: "approvals" } as const) : routeTo(following);
    inspector.navigate(to, { isReplacing: true });
  };
  const isNothing = items.status === "ready" && waiting.length === 0;
  return (
    <main class={route.callKey !== undefined ? "approvals one-shown" : "approvals"}>
      {items.status === "failed" && <Failed message={items.message} retry={() => void inspector.loadApprovals()} />}
      {items.status === "loading" && <p class="loading">Loading what waits…</p>}
      {isNothing && lines.length === 0 && route.callKey === undefined && <NothingWaits />}
      {items.status === "ready" && (lines.length > 0 || route.callKey !== undefined) && (
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
              {route.callKey === undefined ? <NothingWaits /> : <Gone route={route} />}
            </section>
          )}
        </div>
      )}
    </main>
  );
}

type Named = { readonly sessionId: string; readonly callKey: string; readonly questionId?: string };

function namedOf({ sessionId, callKey, questionId }: Named): Named {
  return { sessionId, callKey, ...(questionId === undefined ? {} : { questionId }) };
}

function routeTo(one: Named): Route {
  return { screen: "approvals", ...namedOf(one) };
}

function stepOf({ sessionId, callKey }: Named): Route {
  return { screen: "session", sessionId, step: stepOfCall(callKey), tab: "step" };
}

function NothingWaits() {
  return (
    <Empty title="Nothing waits for you">
      <p>Calls that need an answer appear here, of all sessions.</p>
    </Empty>
  );
}

function Inbox({
  waiting,
  answered: { answered, next },
  selected,
  onSelect,
}: {
  readonly waiting: readonly Waiting[];
  readonly answered: AppState["approvals"]["answered"];
  readonly selected: number;
  readonly onSelect: (at: number) => void;
}) {
  const inspector = useInspector();
  return (
    <section class="inbox" aria-label="What waits, and what was answered">
      {waiting.length === 0 && <p class="loading">Nothing waits.</p>}
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
              <InboxLine key={idOf(one)} at={waiting.length + index} selected={selected} onSelect={onSelect}>
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

function WaitingCells({ approval }: { readonly approval: Waiting }) {
  const now = useNow(5_000);
  const { name, askedAt, session, sessionId, expiresAt } = approval;
  return (
    <>
      <Icon sign="waiting" label="waits" />
      <span class="mono name cut">{name}</span>
      <span class="num dim">
        <Age at={askedAt} isInList />
      </span>
      <span class="cut dim mono preview">{previewOf(approval)}</span>
      <span class="cut dim from">
        <span dir="auto">{oneLine(session.title ?? sessionId, 80)}</span>
        {expiresAt !== undefined && <span class="warns"> · expires in {duration(Math.max(0, expiresAt - now))}</span>}
      </span>
    </>
  );
}

function previewOf({ input, question }: Waiting): string {
  if (question !== undefined && (typeof input !== "object" || input === null)) return oneLine(question, 160);
  const values = typeof input === "object" && input !== null ? Object.values(input) : [input];
  return oneLine(values.map((one) => (typeof one === "string" ? one : JSON.stringify(one))).join("  "), 160);
}

const refusals: ReadonlySet<string> = new Set(["deny", "abort", "fail", "decline", "expired"]);

function AnsweredCells({ answered }: { readonly answered: AnsweredCall }) {
  const { name, at, answer, isSecond, session, sessionId } = answered;
  return (
    <>
      <Icon sign={isSecond || refusals.has(answer) ? "denied" : "done"} label="answered" />
      <span class="mono name cut">{name}</span>
      <span class="num dim">
        <Age at={at} isInList />
      </span>
      <span class="cut preview">{answerLine(answered)}</span>
      <span class="cut dim from" dir="auto">
        {oneLine(session?.title ?? sessionId, 80)}
      </span>
    </>
  );
}

/** The call of the address waits no more, and its answer is not among those that are listed. */
function Gone({ route }: { readonly route: ApprovalsRoute }) {
  return (
    <Empty title="This call no longer waits">
      <p>
        {route.sessionId !== undefined && route.callKey !== undefined && (
          <RouteLink to={stepOf({ sessionId: route.sessionId, callKey: route.callKey })}>
            Show what became of it
          </RouteLink>
        )}
      </p>
      <p>
        <RouteLink to={{ screen: "approvals" }}>What waits</RouteLink>
      </p>
    </Empty>
  );
}
