/**
 * The hooks that ran: the purpose, the outcome and the duration of each.
 */
import { formatDuration } from "../state/format.js";
import type { StepTrace } from "../state/session-state.js";
import { Icon } from "./icons.js";

type Hook = StepTrace["hooks"][number];

export function HookLines({ hooks }: { readonly hooks: readonly Hook[] }) {
  if (hooks.length === 0) return null;
  const failed = hooks.filter(({ outcome }) => isFailed(outcome)).length;
  const ms = hooks.reduce((sum, { durationMs }) => sum + durationMs, 0);
  return (
    <details class="hooks" open={failed > 0}>
      <summary>
        {hooks.length === 1 ? "1 hook" : `${hooks.length} hooks`}, <span class="num">{formatDuration(ms)}</span>
        {failed > 0 && <span class="warns"> {failed} failed</span>}
      </summary>
      {hooks.map(({ name, hook, outcome, message, startedAt, durationMs }) => (
        <p class="hook-line" key={`${name} ${hook} ${startedAt}`}>
          <Icon sign={isFailed(outcome) ? "failed" : "done"} label={outcome} />
          <span class="cut">{name}</span>
          <span class="mono dim">{hook}</span>
          <span class="dim">{outcome.replace("_", " ")}</span>
          <span class="num dim right">{formatDuration(durationMs)}</span>
          {message !== undefined && <span class="about">{message}</span>}
        </p>
      ))}
    </details>
  );
}

function isFailed(outcome: Hook["outcome"]): boolean {
  return outcome === "threw" || outcome === "timed_out" || outcome === "refused";
}
