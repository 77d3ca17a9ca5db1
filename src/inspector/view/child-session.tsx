/**
 * A child session inside the call that started it: a summary and, if it is expanded, its steps. Its own children appear inside its own
 * calls.
 */
import type { ComponentChildren } from "preact";
import { useEffect, useState } from "preact/hooks";
import type { PublicEvent } from "../../index.js";
import { formatErrorMessage } from "../api.js";
import { formatCost, formatStatus, resolveShownStatus, toOneLine } from "../state/format.js";
import { type Loaded, listWaits, type SessionNow } from "../state/session-state.js";
import { type StepItem, toStepItems } from "../state/step-items.js";
import { RouteLink } from "./common.js";
import { useInspector } from "./hooks.js";
import { Icon, signOfStatus } from "./icons.js";

/** The number of entries at the end of a child's log that are shown. */
const maxEntries = 300;
/** How often an active child session is loaded again, in milliseconds. */
const refreshMs = 2_000;

type Child = { readonly now: SessionNow; readonly events: readonly PublicEvent[] };

/** @param renderItems renders the items of a session as its steps do */
export function ChildSession({
  childId,
  renderItems,
}: {
  readonly childId: string;
  readonly renderItems: (items: readonly StepItem[]) => ComponentChildren;
}) {
  const [isOpen, setIsOpen] = useState(false);
  const child = useChild(childId, isOpen);
  const to = { screen: "session", sessionId: childId, tab: "step" } as const;
  return (
    <details class="child" open={isOpen} onToggle={(event) => setIsOpen(event.currentTarget.open)}>
      <summary>
        <ChildFacts child={child} childId={childId} />
      </summary>
      {isOpen && (
        <div class="child-items">
          {child.status === "loading" && <p class="loading">Loading its steps…</p>}
          {child.status === "failed" && <p class="warning">{child.message}</p>}
          {child.status === "ready" && (
            <>
              {child.value.now.seq > maxEntries && <p class="dim">What it did last:</p>}
              {renderItems(toStepItems(child.value.events, null))}
            </>
          )}
          <p>
            <RouteLink to={to}>Open the child session</RouteLink>
          </p>
        </div>
      )}
    </details>
  );
}

function ChildFacts({ child, childId }: { readonly child: Loaded<Child>; readonly childId: string }) {
  if (child.status !== "ready")
    return (
      <>
        Child session <span class="mono dim">{childId.slice(0, 8)}</span>
      </>
    );
  const { info, run, waiting } = child.value.now;
  const status = resolveShownStatus(child.value.now);
  const isWaiting = waiting.length + listWaits(child.value.now).length > 0;
  return (
    <>
      <Icon sign={isWaiting ? "waiting" : signOfStatus(status)} label={isWaiting ? "waits" : formatStatus(status)} />
      <b class="mono">{info?.agent ?? "child"}</b>
      <span class="cut" dir="auto">
        {toOneLine(info?.title ?? "", 100)}
      </span>
      <span class="num dim">{formatCost(run?.usage.costUsd, run?.usage.partial)}</span>
    </>
  );
}

/** Loads the child and, if it is expanded, the end of its log; repeatedly while the child is active. */
function useChild(childId: string, isOpen: boolean): Loaded<Child> {
  const inspector = useInspector();
  const [child, setChild] = useState<Loaded<Child>>({ status: "loading" });
  useEffect(() => {
    let isCurrent = true;
    let timer: ReturnType<typeof setTimeout> | undefined;
    const path = `/v1/sessions/${encodeURIComponent(childId)}`;
    const load = async () => {
      const now = await inspector.api.get<SessionNow>(path);
      const query = { after: Math.max(0, now.seq - maxEntries), limit: 500 };
      const { events } = isOpen
        ? await inspector.api.get<{ readonly events: readonly PublicEvent[] }>(`${path}/events`, query)
        : { events: [] };
      if (!isCurrent) return;
      setChild({ status: "ready", value: { now, events } });
      if (now.activity !== "resting" || now.inbox > 0) timer = setTimeout(refresh, refreshMs);
    };
    const refresh = () => {
      load().catch((error: unknown) => isCurrent && setChild({ status: "failed", message: formatErrorMessage(error) }));
    };
    refresh();
    return () => {
      isCurrent = false;
      clearTimeout(timer);
    };
  }, [childId, isOpen]);
  return child;
}
