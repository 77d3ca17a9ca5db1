/**
 * Schedules: when each runs next, the outcomes of its last slots, and buttons to run it now or to pause it.
 */
import { useCallback, useEffect, useState } from "preact/hooks";
import type { ScheduleInfo } from "../../index.js";
import type { SlotRow } from "../../store.js";
import { formatErrorMessage } from "../api.js";
import { formatDuration, formatExactTime, formatStatus, toOneLine } from "../state/format.js";
import { ColumnHeads, EmptyState, LoadFailure, RouteLink } from "./common.js";
import { useInspector, useKeys, useLoaded } from "./hooks.js";
import { Icon, type Sign, signOfStatus } from "./icons.js";

/** A slot as listed by the server, with the status of its session, if it has its own session. */
type ListedSlot = SlotRow & { readonly status?: string };

const refreshMs = 15_000;
const slotsShown = 20;

export function SchedulesPage() {
  const inspector = useInspector();
  const { api } = inspector;
  /** Incremented by each refresh, so that the page and its rows load again. */
  const [version, setVersion] = useState(0);
  const refresh = useCallback(() => setVersion((before) => before + 1), []);
  const loaded = useLoaded(
    () => api.get<{ readonly schedules: readonly ScheduleInfo[] }>("/v1/schedules", { limit: 200 }),
    [version],
  );
  useEffect(() => {
    const timer = setInterval(refresh, refreshMs);
    return () => clearInterval(timer);
  }, []);
  useKeys({
    Escape: () => inspector.navigate({ screen: "sessions" }),
    a: () => inspector.navigate({ screen: "approvals" }),
  });
  if (loaded.status === "loading") return <p class="loading center">…</p>;
  if (loaded.status === "failed")
    return (
      <main class="schedules">
        <LoadFailure message={loaded.message} retry={refresh} />
      </main>
    );
  if (loaded.value.schedules.length === 0)
    return (
      <main class="schedules">
        <EmptyState title="No schedules yet">
          <p>Let an agent work every morning:</p>
          <pre>pawl schedule add morning "0 8 * * 1-5" "What is new?"</pre>
        </EmptyState>
      </main>
    );
  return (
    <main class="schedules">
      <table>
        <ColumnHeads heads={["Schedule", "When", "Next", "Last slots", ""]} />
        <tbody>
          {loaded.value.schedules.map((schedule) => (
            <ScheduleRow key={schedule.id} schedule={schedule} version={version} onChanged={refresh} />
          ))}
        </tbody>
      </table>
    </main>
  );
}

type RowProps = {
  readonly schedule: ScheduleInfo;
  readonly version: number;
  readonly onChanged: () => void;
};

function ScheduleRow({ schedule, version, onChanged }: RowProps) {
  const { api } = useInspector();
  const [problem, setProblem] = useState<string | null>(null);
  const { id, agent, paused, nextAt, timezone } = schedule;
  const path = `/v1/schedules/${encodeURIComponent(id)}`;
  const slots = useLoaded(
    () => api.get<{ readonly slots: readonly ListedSlot[] }>(`${path}/slots`, { limit: slotsShown }),
    [path, version],
  );

  async function post(action: "run" | "pause" | "resume"): Promise<void> {
    try {
      await api.post(`${path}/${action}`, {});
      setProblem(null);
      onChanged();
    } catch (error) {
      setProblem(formatErrorMessage(error));
    }
  }

  return (
    <tr>
      <th scope="row">
        <span class="cut">{id}</span>
        <span class="dim cut" title={formatInput(schedule)}>
          {agent}: {toOneLine(formatInput(schedule), 60)}
        </span>
      </th>
      <td>{describeTimes(schedule)}</td>
      <td>
        {nextAt === null ? <span class="dim">{paused ? "paused" : "none"}</span> : <Slot at={nextAt} zone={timezone} />}
      </td>
      <td>
        <span class="slots">
          {/* Without its slots, the row still shows when the schedule runs next. */}
          {slots.status === "ready" &&
            slots.value.slots.toReversed().map((slot) => <SlotMark key={`${slot.slot}/${slot.outcome}`} slot={slot} />)}
        </span>
      </td>
      <td>
        <div class="buttons">
          <button type="button" onClick={() => void post("run")}>
            Run now
          </button>
          <button type="button" class="quiet" onClick={() => void post(paused ? "resume" : "pause")}>
            {paused ? "Resume" : "Pause"}
          </button>
          {problem !== null && (
            <span role="alert" class="dim">
              {problem}
            </span>
          )}
        </div>
      </td>
    </tr>
  );
}

/** A time in the time zone of the schedule, and in that of the reader. */
function Slot({ at, zone }: { readonly at: number; readonly zone: string }) {
  const there = formatInZone(at, zone);
  return (
    <>
      <span>
        {there} {zone}
      </span>
      <span class="dim">{formatExactTime(at).slice(0, 16)} here</span>
    </>
  );
}

/** A time that cannot be shown, for example because the browser does not know its zone, must not hide the other schedules. */
function formatInZone(at: number, timeZone: string): string {
  try {
    return new Intl.DateTimeFormat("en-GB", { timeZone, dateStyle: "medium", timeStyle: "short" }).format(at);
  } catch {
    return String(at);
  }
}

/** A slot as an icon. A run with its own session links to that session. */
function SlotMark({ slot }: { readonly slot: ListedSlot }) {
  const { sign, label } = describeSlot(slot);
  const title = `${formatExactTime(slot.slot).slice(0, 19)}: ${label}`;
  if (slot.sessionId === undefined)
    return (
      <span title={title}>
        <Icon sign={sign} label={title} />
      </span>
    );
  return (
    <RouteLink to={{ screen: "session", sessionId: slot.sessionId, tab: "step" }} title={title}>
      <Icon sign={sign} label={title} />
    </RouteLink>
  );
}

function describeSlot({ outcome, status, count = 1, isMinimum }: ListedSlot): {
  readonly sign: Sign;
  readonly label: string;
} {
  const times = count === 1 ? "" : ` × ${isMinimum === true ? "at least " : ""}${count}`;
  switch (outcome) {
    case "missed":
      return { sign: "retried", label: `missed${times}` };
    case "overlap":
      return { sign: "denied", label: `skipped, because the last run had not ended${times}` };
    case "posted":
    case "manual": {
      const asked = outcome === "manual" ? ", on request" : "";
      if (status === undefined) return { sign: "idle", label: `run${asked}` };
      return {
        sign: signOfStatus(status),
        label: `${status === "idle" ? "has not begun" : formatStatus(status)}${asked}`,
      };
    }
  }
}

function describeTimes({ when, timezone }: ScheduleInfo): string {
  if ("cron" in when) return `${when.cron} ${timezone}`;
  return "everyMs" in when ? `every ${formatDuration(when.everyMs)}` : "once";
}

function formatInput({ input }: ScheduleInfo): string {
  return input.flatMap(({ parts }) => parts.flatMap((part) => (part.type === "text" ? [part.text] : []))).join(" ");
}
