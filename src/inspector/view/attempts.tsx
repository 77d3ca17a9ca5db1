/**
 * The attempts of a model call: their duration and usage, and why they failed.
 */
import { useState } from "preact/hooks";
import { formatCost, formatCount, formatDuration, formatExactTime } from "../state/format.js";
import type { StepTrace } from "../state/session-state.js";
import { Icon } from "./icons.js";

type Attempt = StepTrace["attempts"][number];

export function Attempts({ attempts }: { readonly attempts: readonly Attempt[] }) {
  const [chosen, setChosen] = useState<number | null>(null);
  const selectedIndex = Math.min(chosen ?? attempts.length - 1, attempts.length - 1);
  const attempt = attempts[selectedIndex];
  if (attempt === undefined) return null;
  return (
    <section class="attempts" aria-label="Attempts">
      <AttemptPicker attempts={attempts} selectedIndex={selectedIndex} onChoose={setChosen} />
      <AttemptFacts attempt={attempt} />
      {attempt.failure !== undefined && <Failure attempt={attempt} />}
      {(attempt.warnings ?? []).map((text) => (
        <p class="note warn" key={text}>
          {text}
        </p>
      ))}
    </section>
  );
}

/** Shows a button for each attempt, if there is more than one. */
export function AttemptPicker({
  attempts,
  selectedIndex,
  onChoose,
}: {
  readonly attempts: readonly Attempt[];
  readonly selectedIndex: number;
  readonly onChoose: (selectedIndex: number) => void;
}) {
  if (attempts.length < 2) return null;
  return (
    <fieldset class="picker" aria-label="Attempt">
      {attempts.map((one, index) => (
        <button
          type="button"
          class="chip"
          aria-pressed={index === selectedIndex}
          onClick={() => onChoose(index)}
          key={`${one.attempt} ${one.startedAt}`}
        >
          <Icon
            sign={one.failure === undefined ? "done" : "failed"}
            label={one.failure === undefined ? "ok" : "failed"}
          />
          Attempt {one.attempt}
        </button>
      ))}
    </fieldset>
  );
}

function AttemptFacts({ attempt }: { readonly attempt: Attempt }) {
  const { model, startedAt, durationMs, firstDeltaMs, finishReason, usage = {}, resends } = attempt;
  const { inputTokens, cacheReadTokens, cacheWriteTokens, outputTokens, costUsd } = usage;
  const uncachedTokens = inputTokens === undefined ? null : inputTokens - (cacheReadTokens ?? 0);
  return (
    <dl class="facts wide">
      <Fact name="model" value={model} />
      <Fact name="time" value={formatDuration(durationMs)} about={`Began ${formatExactTime(startedAt)}`} />
      <Fact name="first word" value={formatDuration(firstDeltaMs)} about="Time to the first piece of the answer" />
      <Fact name="in" value={formatCount(inputTokens)} about="Tokens that the model read" />
      <Fact name="from cache" value={formatCount(cacheReadTokens)} about="Tokens that the provider had in its cache" />
      <Fact name="new" value={formatCount(uncachedTokens)} about="Tokens that the provider had to read" />
      <Fact
        name="into cache"
        value={formatCount(cacheWriteTokens)}
        about="Tokens that the provider put into its cache"
      />
      <Fact name="out" value={formatCount(outputTokens)} about="Tokens that the model wrote" />
      <Fact name="cost" value={formatCost(costUsd)} />
      {finishReason !== undefined && <Fact name="finished" value={finishReason.unified} about={finishReason.raw} />}
      {resends !== undefined && (
        <Fact name="sent again" value={formatCount(resends)} about="The connection closed before an answer arrived" />
      )}
    </dl>
  );
}

function Fact({
  name,
  value,
  about,
}: {
  readonly name: string;
  readonly value: string;
  readonly about?: string | undefined;
}) {
  return (
    <div title={about}>
      <dt>{name}</dt>
      <dd class="num">{value}</dd>
    </div>
  );
}

const nextLabels: { readonly [next in NonNullable<Attempt["next"]>]: string } = {
  retry: "It was tried again",
  fallback: "The next model took over.",
  compact: "The conversation was shortened.",
  give_up: "The step was given up.",
};

function Failure({ attempt: { failure, next, retryInMs } }: { readonly attempt: Attempt }) {
  if (failure === undefined) return null;
  const retryText = next === "retry" ? `${retryInMs === undefined ? "" : ` after ${formatDuration(retryInMs)}`}.` : "";
  return (
    <p class="note bad" dir="auto">
      <b class="mono">{failure.kind}</b>
      {failure.statusCode !== undefined && <span class="mono"> {failure.statusCode}</span>}: {failure.message}
      {next !== undefined && ` ${nextLabels[next]}${retryText}`}
    </p>
  );
}
