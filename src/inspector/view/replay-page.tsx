/**
 * A replay of the log with the current code, with the first difference side by side. Nothing runs, and nothing is written.
 */
import { useEffect, useMemo, useState } from "preact/hooks";
import type { Replay } from "../../inspect.js";
import { ApiError, formatErrorMessage } from "../api.js";
import { formatCount } from "../state/format.js";
import { diffLines, toSideBySide } from "../state/line-diff.js";
import type { Loaded, SessionState } from "../state/session-state.js";
import { EmptyState, ExactText, LoadFailure, RouteLink } from "./common.js";
import { useInspector, useKeys } from "./hooks.js";
import { Icon } from "./icons.js";
import { SessionHeader } from "./session-page.js";

type ReplayChoices = { readonly policy: "present" | "recorded"; readonly prompt: "present" | "recorded" };

export function ReplayPage({ session }: { readonly session: SessionState }) {
  const inspector = useInspector();
  const [options, setOptions] = useState<ReplayChoices>({ policy: "present", prompt: "present" });
  const { replay, isElsewhere, run } = useReplay(session.id, options);
  const goBack = () => inspector.navigate({ screen: "session", sessionId: session.id, tab: "step" });
  useKeys({
    Escape: goBack,
    l: () => inspector.navigate({ screen: "log", sessionId: session.id }),
    a: () => inspector.navigate({ screen: "approvals" }),
  });
  return (
    <main class="session replay">
      <SessionHeader session={session} screen="replay" />
      <div class="filters">
        <RecordedOption name="policy" options={options} onChange={setOptions}>
          Use the recorded permission decisions
        </RecordedOption>
        <RecordedOption name="prompt" options={options} onChange={setOptions}>
          Ignore changes of prompts and tools
        </RecordedOption>
        <button type="button" disabled={replay.status === "loading"} onClick={run}>
          Run again
        </button>
      </div>
      <div class="replay-body">
        {replay.status === "loading" && <p class="loading">Replaying the log with the current code…</p>}
        {replay.status === "failed" &&
          (isElsewhere ? <AgentElsewhere /> : <LoadFailure message={replay.message} retry={run} />)}
        {replay.status === "ready" && <Outcome replay={replay.value} session={session} />}
      </div>
    </main>
  );
}

function RecordedOption({
  name,
  options,
  onChange,
  children,
}: {
  readonly name: keyof ReplayChoices;
  readonly options: ReplayChoices;
  readonly onChange: (options: ReplayChoices) => void;
  readonly children: string;
}) {
  return (
    <label class="flag">
      <input
        type="checkbox"
        checked={options[name] === "recorded"}
        onChange={(event) => onChange({ ...options, [name]: event.currentTarget.checked ? "recorded" : "present" })}
      />
      {children}
    </label>
  );
}

function AgentElsewhere() {
  return (
    <EmptyState title="This session's agent is not in this process">
      <p>A replay needs the agent's current code. Run it in a process that has the agent:</p>
      <pre>await agent.session(id).replay()</pre>
    </EmptyState>
  );
}

function useReplay(sessionId: string, options: ReplayChoices) {
  const inspector = useInspector();
  const [replay, setReplay] = useState<Loaded<Replay>>({ status: "loading" });
  const [isElsewhere, setIsElsewhere] = useState(false);
  const [runCount, setRunCount] = useState(0);
  const { policy, prompt } = options;
  useEffect(() => {
    let isCurrent = true;
    setReplay({ status: "loading" });
    inspector.api
      .post<{ readonly replay: Replay }>(`/v1/sessions/${encodeURIComponent(sessionId)}/replay`, { policy, prompt })
      .then(
        (reply) => isCurrent && setReplay({ status: "ready", value: reply.replay }),
        (error: unknown) => {
          if (!isCurrent) return;
          setIsElsewhere(error instanceof ApiError && error.code === "agent_mismatch");
          setReplay({ status: "failed", message: formatErrorMessage(error) });
        },
      );
    return () => {
      isCurrent = false;
    };
  }, [sessionId, policy, prompt, runCount]);
  return { replay, isElsewhere, run: () => setRunCount((previous) => previous + 1) };
}

function Outcome({ replay, session }: { readonly replay: Replay; readonly session: SessionState }) {
  const { difference, entries, sessions } = replay;
  const size = `${formatCount(entries)} ${entries === 1 ? "entry" : "entries"}${sessions === 1 ? "" : ` of ${sessions} sessions`}`;
  if (difference === null)
    return (
      <p class="outcome-line">
        <Icon sign="done" /> The current code does the same: {size}, no difference.
      </p>
    );
  const { seq, event, path, recorded, present, sessionId } = difference;
  const row = session.rows.filter((one) => one.seq <= seq).at(-1);
  return (
    <>
      <p class="outcome-line">
        <Icon sign="failed" />
        <span>
          The current code differs at {event === null ? `the end of the log, entry ${seq}` : `entry ${seq} (${event})`}
          {path !== "" && (
            <>
              : <span class="mono">{path}</span>
            </>
          )}
          . {size} were compared up to there.
        </span>
      </p>
      <p>
        {sessionId !== session.id ? (
          <RouteLink to={{ screen: "replay", sessionId }}>The child session</RouteLink>
        ) : (
          row !== undefined && (
            <RouteLink to={{ screen: "session", sessionId, step: row.key, tab: "step" }}>Step {row.index}</RouteLink>
          )
        )}
      </p>
      {path === "promptHash" && (
        <p class="note warn">
          The system prompt or the tools have changed. Ignore such changes above to see later differences.
        </p>
      )}
      <SideBySide recorded={recorded} present={present} />
    </>
  );
}

function SideBySide({ recorded, present }: { readonly recorded: unknown; readonly present: unknown }) {
  const rows = useMemo(() => toSideBySide(diffLines(formatValue(recorded), formatValue(present))), [recorded, present]);
  return (
    <table class="sides mono">
      <thead>
        <tr>
          <th scope="col">Recorded</th>
          <th scope="col">Now</th>
        </tr>
      </thead>
      <tbody>
        {rows.map(({ old, next, isSame }, index) => (
          <tr key={index}>
            <td class={isSame || old === null ? "" : "removed"}>{old !== null && <ExactText text={old} />}</td>
            <td class={isSame || next === null ? "" : "added"}>{next !== null && <ExactText text={next} />}</td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}

function formatValue(value: unknown): string {
  if (value === undefined) return "nothing";
  return typeof value === "string" ? value : JSON.stringify(value, null, 2);
}
