/**
 * The page of a session: its steps on the left, the selected step on the right. Without a step in the URL, the page follows the newest
 * step.
 */

import { useEffect, useMemo, useState } from "preact/hooks";
import type { RunWait } from "../../index.js";
import { formatCursor } from "../../stream/cursor.js";
import {
  formatCost,
  formatCount,
  formatShortCount,
  formatStatus,
  formatWait,
  resolveShownStatus,
  toOneLine,
} from "../state/format.js";
import type { Route, SessionScreen, StepTab } from "../state/route.js";
import { listWaits, type SessionNow, type SessionState } from "../state/session-state.js";
import { isProblem } from "../state/step-rows.js";
import { createTimeline, findNextLine, findNextStep, type TimelineLine, toLineId } from "../state/timeline.js";
import { EmptyState, LoadFailure, RouteLink } from "./common.js";
import { FindPanel } from "./find-panel.js";
import { useInspector, useIsNarrow, useKeys } from "./hooks.js";
import { Icon, signOfStatus } from "./icons.js";
import { LabelButtons } from "./label-buttons.js";
import { MarkDetail } from "./mark-detail.js";
import { SessionViews } from "./session-views.js";
import { StepDetail } from "./step-detail.js";
import { StepList } from "./step-list.js";
import { TimePanel } from "./time-panel.js";

type SessionRoute = Extract<Route, { readonly screen: "session" }>;

/** How long a step must be selected before its details are loaded, in milliseconds. */
const loadDelayMs = 120;

export function SessionPage({ session, route }: { readonly session: SessionState; readonly route: SessionRoute }) {
  const inspector = useInspector();
  const isNarrow = useIsNarrow();
  const [tool, setTool] = useState("");
  const [isFinding, setIsFinding] = useState(false);
  const { rows, runs, marks, filter } = session;
  const lines = useMemo(() => createTimeline({ rows, runs, marks }, filter, tool), [rows, runs, marks, filter, tool]);
  const lineIndexes = useMemo(() => new Map(lines.map((line, at) => [toLineId(line), at])), [lines]);
  const step = route.mark === undefined ? (route.step ?? rows.at(-1)?.key) : undefined;
  const findLine = (to: Pick<SessionRoute, "step" | "mark">) =>
    lineIndexes.get(to.mark === undefined ? `step-${to.step ?? rows.at(-1)?.key}` : `mark-${to.mark}`) ?? -1;
  /** Keys may arrive faster than the page is rendered, but the URL is always current. */
  const currentLine = () => {
    const { route: now } = inspector.state();
    return findLine(now.screen === "session" ? now : route);
  };
  const navigateTo = (to: Pick<SessionRoute, "step" | "mark">, tab: StepTab = route.tab, isReplacing = true) =>
    inspector.navigate({ screen: "session", sessionId: session.id, tab, ...to }, { isReplacing });
  const goToLine = (line: TimelineLine | undefined, isReplacing = true) => {
    if (line?.kind === "step") navigateTo({ step: line.row.key }, route.tab, isReplacing);
    if (line?.kind === "mark") navigateTo({ mark: formatCursor(line.mark) }, "step", isReplacing);
  };
  useStepKeys({ navigateTo, step, tab: route.tab, session });
  useMoveKeys(lines, currentLine, (at) => goToLine(lines[at]));
  useKeys({
    "/": () => setIsFinding(true),
    Escape: () => (isFinding ? setIsFinding(false) : inspector.navigate({ screen: "sessions" })),
  });
  if (session.now.status === "failed") return <SessionFailed message={session.now.message} />;
  const isStepShown = isNarrow && (route.step !== undefined || route.mark !== undefined);
  return (
    <main class={isStepShown ? "session one-step" : "session"}>
      <SessionHeader session={session} screen="session" />
      {rows.length === 0 && session.isIndexed ? (
        <EmptyState title="No steps yet">
          <p>The first step appears here as soon as a process picks up the request.</p>
        </EmptyState>
      ) : (
        <>
          <div class="panes">
            {isFinding ? (
              <FindPanel session={session} onGo={(to) => navigateTo(to, "step")} onClose={() => setIsFinding(false)} />
            ) : (
              <StepList
                session={session}
                lines={lines}
                selected={findLine(route)}
                tool={tool}
                onTool={setTool}
                onSelect={(line) => goToLine(line, !isNarrow)}
              />
            )}
            {route.mark !== undefined && <MarkDetail session={session} cursor={route.mark} />}
            {step !== undefined && (
              <StepDetail
                session={session}
                step={step}
                tab={route.tab}
                isFollowing={route.step === undefined}
                onTab={(tab) => navigateTo({ step }, tab)}
                onFollow={() => navigateTo({}, "step")}
              />
            )}
          </div>
          {rows.length > 0 && <TimePanel session={session} step={step} onSelect={(key) => navigateTo({ step: key })} />}
        </>
      )}
    </main>
  );
}

/** The keys that move in the list. */
function useMoveKeys(
  lines: readonly TimelineLine[],
  currentLine: () => number,
  selectLine: (at: number) => void,
): void {
  useKeys({
    j: () => selectLine(findNextLine(lines, currentLine(), 1)),
    ArrowDown: () => selectLine(findNextLine(lines, currentLine(), 1)),
    k: () => selectLine(findNextLine(lines, currentLine(), -1)),
    ArrowUp: () => selectLine(findNextLine(lines, currentLine(), -1)),
    PageDown: () => selectLine(findNextLine(lines, Math.min(lines.length, currentLine() + 20) - 1, 1)),
    PageUp: () => selectLine(findNextLine(lines, Math.max(-1, currentLine() - 20), 1)),
    Home: () => selectLine(findNextStep(lines, -1, 1)),
    n: () => selectLine(findNextStep(lines, currentLine(), 1, isProblem)),
  });
}

/** The other keys, and loading the details of the selected step. */
function useStepKeys({
  navigateTo,
  step,
  tab,
  session,
}: {
  readonly navigateTo: (to: Pick<SessionRoute, "step" | "mark">, tab?: StepTab, isReplacing?: boolean) => void;
  readonly step: string | undefined;
  readonly tab: StepTab;
  readonly session: SessionState;
}): void {
  const inspector = useInspector();
  useKeys({
    End: () => navigateTo({}, "step"),
    r: () => step !== undefined && navigateTo({ step }, tab === "request" ? "step" : "request"),
    l: () => inspector.navigate({ screen: "log", sessionId: session.id }),
    f: () => step !== undefined && inspector.dispatch({ type: "fork", point: { step } }),
    a: () => inspector.navigate({ screen: "approvals" }),
  });
  const hasEnded =
    step !== undefined && session.rows.findLast(({ key }) => key === step)?.flags.includes("under_way") === false;
  useEffect(() => {
    if (step === undefined || !session.hasNewest) return;
    const timer = setTimeout(() => {
      inspector.loadStep(step);
      if (tab === "request") inspector.loadRequest(step);
    }, loadDelayMs);
    return () => clearTimeout(timer);
  }, [step, tab, hasEnded, session.hasNewest, session.isIndexed, session.now.status]);
}

function SessionFailed({ message }: { readonly message: string }) {
  return (
    <main class="session">
      <LoadFailure message={message} />
      <p class="center">
        <RouteLink to={{ screen: "sessions" }}>All sessions</RouteLink>
      </p>
    </main>
  );
}

/** The title and status of the session, on one line. */
export function SessionHeader({ session, screen }: { readonly session: SessionState; readonly screen: SessionScreen }) {
  const { now, rows, live } = session;
  if (now.status !== "ready") return <header class="session-head" aria-busy="true" />;
  const { info, activity, sessionId, waiting, run } = now.value;
  const status = resolveShownStatus(now.value);
  const isRunning = activity === "active" && status !== "interrupted";
  const waits = listWaits(now.value);
  const isWaiting = waiting.length + waits.length > 0;
  return (
    <header class="session-head">
      <h1 class="cut" dir="auto">
        {toOneLine(info?.title ?? "") || "Untitled"}
      </h1>
      <span class="id mono dim" title={sessionId}>
        {sessionId.slice(0, 8)}
      </span>
      <span class={isWaiting ? "state waits" : `state ${status}`}>
        <Icon sign={isWaiting ? "waiting" : signOfStatus(status)} />
        {describeState(status, waiting.length, waits)}
      </span>
      {isRunning && live === "none" && (
        <span class="dim" title="Another process runs this session, so its text is not streamed here. The log is.">
          log only
        </span>
      )}
      <Facts now={now.value} steps={rows.length} run={run} />
      {waiting[0] !== undefined && (
        <RouteLink
          class="button primary"
          to={{ screen: "approvals", sessionId: waiting[0].sessionId, callKey: waiting[0].callKey }}
        >
          Answer
        </RouteLink>
      )}
      <LabelButtons sessionId={sessionId} />
      <SessionViews sessionId={sessionId} screen={screen} />
    </header>
  );
}

/** `2 calls wait`, `sleeps until 2026-12-01 14:02`, `completed`. */
function describeState(status: string, calls: number, waits: readonly RunWait[]): string {
  if (calls > 0) return calls === 1 ? "1 call waits" : `${calls} calls wait`;
  const [first] = [...waits].sort((a, b) => (a.until ?? Number.MAX_VALUE) - (b.until ?? Number.MAX_VALUE));
  if (first === undefined) return formatStatus(status);
  return `${formatWait(first)}${waits.length > 1 ? `, and ${waits.length - 1} more` : ""}`;
}

function Facts({
  now,
  steps,
  run,
}: {
  readonly now: SessionNow;
  readonly steps: number;
  readonly run: SessionNow["run"];
}) {
  const usage = run?.usage ?? {};
  const { inputTokens, outputTokens, costUsd, partial } = usage;
  const tokens =
    inputTokens === undefined && outputTokens === undefined ? null : (inputTokens ?? 0) + (outputTokens ?? 0);
  return (
    <dl class="facts">
      <div>
        <dt>agent</dt>
        <dd class="cut agent-name" title={now.info?.agent}>
          {now.info?.agent ?? "–"}
        </dd>
      </div>
      <div>
        <dt>steps</dt>
        <dd class="num">{formatCount(steps)}</dd>
      </div>
      <div title={`${formatCount(tokens)} tokens in the last run`}>
        <dt>tokens</dt>
        <dd class="num">{formatShortCount(tokens)}</dd>
      </div>
      <div title="The cost of the last run, by list prices">
        <dt>cost</dt>
        <dd class="num">{formatCost(costUsd, partial)}</dd>
      </div>
    </dl>
  );
}
