/**
 * Renders the items of a step.
 */

import { formatDuration, formatWait, toOneLine } from "../state/format.js";
import type { StepTrace } from "../state/session-state.js";
import type { CallAnswer, CallItem, CallWait, StepItem } from "../state/step-items.js";
import { ChildSession } from "./child-session.js";
import { Ago, Fields, PlainText, RouteLink } from "./common.js";
import { HookLines } from "./hook-lines.js";
import { Icon, type Sign, signOfOutcome, signOfStatus } from "./icons.js";
import { Markdown } from "./markdown.js";
import { OutputView } from "./output-view.js";

type Hooks = StepTrace["hooks"];

/** @param hooks the hooks that ran; each is shown with the call that it ran for */
export function StepItems({
  items,
  sessionId,
  hooks = [],
}: {
  readonly items: readonly StepItem[];
  readonly sessionId: string;
  readonly hooks?: Hooks;
}) {
  return (
    <>
      {items.map((item, index) => (
        <Item
          item={item}
          sessionId={sessionId}
          hooks={hooks}
          key={item.kind === "call" ? item.callKey : `${item.kind} ${index}`}
        />
      ))}
    </>
  );
}

function Item({
  item,
  sessionId,
  hooks,
}: {
  readonly item: StepItem;
  readonly sessionId: string;
  readonly hooks: Hooks;
}) {
  switch (item.kind) {
    case "input":
      return (
        <article class="said user">
          <h3>
            {item.how}
            {item.by !== null && <span class="dim"> by {item.by}</span>}
          </h3>
          <PlainText text={item.text} />
        </article>
      );
    case "text":
      return (
        <article class={item.isOpen ? "said model open" : "said model"}>
          <Markdown text={item.text} />
        </article>
      );
    case "reasoning":
      return (
        <details class="reasoning" open={item.isOpen}>
          <summary>Reasoning{item.isOpen ? "" : `: ${toOneLine(item.text, 100)}`}</summary>
          <Markdown text={item.text} />
        </details>
      );
    case "note":
      return <Note item={item} />;
    case "final":
      return <Final result={item.result} />;
    case "call":
      return <Call item={item} sessionId={sessionId} hooks={hooks.filter(({ callKey }) => callKey === item.callKey)} />;
  }
}

function Note({ item }: { readonly item: Extract<StepItem, { readonly kind: "note" }> }) {
  if (item.text === null) return <p class={`note ${item.tone}`}>{item.title}</p>;
  return (
    <details class={`note ${item.tone}`} open={item.tone === "bad"}>
      <summary>{item.title}</summary>
      <PlainText text={item.text} />
    </details>
  );
}

function Final({ result }: { readonly result: Extract<StepItem, { readonly kind: "final" }>["result"] }) {
  const reason = "reason" in result ? result.reason : "";
  const error = "error" in result ? result.error : undefined;
  const isPlain = result.status === "completed";
  return (
    <article class={isPlain ? "final" : "final ended"}>
      <h3>
        <Icon sign={signOfStatus(result.status)} />
        {isPlain ? "Answer" : `The run ${result.status === "aborted" ? "was aborted" : "failed"}`}
        {reason !== "stop" && <span class="dim mono"> {reason}</span>}
      </h3>
      <Markdown text={result.text} />
      {error !== undefined && <PlainText text={`${error.code}: ${error.message}`} mono />}
    </article>
  );
}

function Call({
  item,
  sessionId,
  hooks,
}: {
  readonly item: CallItem;
  readonly sessionId: string;
  readonly hooks: Hooks;
}) {
  const { name, input, writing, outcome, ms, asked, answers, output, tries, steps, waits, childId, isLate } = item;
  const isAsking = asked !== null && outcome === null && answers.length === 0;
  const openWait = outcome === null ? waits.find(({ endedAt }) => endedAt === null) : undefined;
  const sign: Sign = isAsking || openWait !== undefined ? "waiting" : signOfOutcome(outcome);
  return (
    <article class={isAsking ? "call asking" : "call"} aria-label={`Call of ${name}`}>
      <header>
        <Icon sign={sign} label={sign === "waiting" ? "waits" : (outcome ?? "in progress")} />
        <h3 class="mono">{name}</h3>
        {item.repaired !== null && (
          <span class="tag" title={item.repaired}>
            repaired
          </span>
        )}
        {isLate && <span class="tag">late</span>}
        <span class="outcome dim">
          {isAsking
            ? "waits for an answer"
            : openWait !== undefined
              ? formatWait(openWait)
              : (outcome ?? (writing === null ? "" : "writing…"))}
        </span>
        <span class="num dim">{ms === null ? "" : formatDuration(ms)}</span>
      </header>
      {writing !== null && <PlainText text={writing} mono />}
      {input !== undefined && (
        <div>
          <Fields value={input} />
        </div>
      )}
      {isAsking && (
        <p class="ask">
          {asked.question ?? "This call needs an answer."}{" "}
          <RouteLink class="button primary" to={{ screen: "approvals", sessionId, callKey: item.callKey }}>
            Answer
          </RouteLink>
        </p>
      )}
      {answers.map((answer) => (
        <AnswerLine answer={answer} input={input} key={answer.at} />
      ))}
      {tries.map(({ attempt, message, retryInMs }) => (
        <p class="note bad" key={attempt}>
          Attempt {attempt} failed: {message} Tried again after {formatDuration(retryInMs)}.
        </p>
      ))}
      {steps.map((step) => (
        <p class="tool-step" key={step.step}>
          <Icon sign={signOfOutcome(step.outcome)} label={step.outcome} />
          <span class="mono">{step.step}</span>
          <span class="num dim">{formatDuration(step.ms)}</span>
        </p>
      ))}
      {waits.map((wait) => (
        <WaitLine wait={wait} key={wait.step} />
      ))}
      {childId !== null && (
        <ChildSession childId={childId} renderItems={(items) => <StepItems items={items} sessionId={childId} />} />
      )}
      {item.returned !== null && (
        <>
          <p class="dim">The tool returned:</p>
          <OutputView output={item.returned} isError={false} sessionId={sessionId} />
          <p class="dim">The model read:</p>
        </>
      )}
      {output !== null && <OutputView output={output} isError={item.isError} sessionId={sessionId} />}
      <HookLines hooks={hooks} />
    </article>
  );
}

/** A sleep or a wait for a signal, and how long it took. */
function WaitLine({ wait }: { readonly wait: CallWait }) {
  const { step, on, key, passedOver, at, endedAt } = wait;
  const isOpen = endedAt === null;
  return (
    <p class="tool-step">
      <Icon sign={isOpen ? "waiting" : "done"} label={isOpen ? "waits" : "over"} />
      <span class="mono">{step}</span>
      <span class="dim">
        {isOpen ? formatWait(wait) : on === "time" ? "slept" : `waited for ${key ?? "a signal"}`}
        {passedOver > 0 && `, after ${passedOver} whose value did not match`}
      </span>
      <span class="num dim">{isOpen ? "" : formatDuration(endedAt - at)}</span>
    </p>
  );
}

const answerLabels: { readonly [answer: string]: string } = {
  approve: "Approved",
  modify: "Approved with changes",
  deny: "Denied",
  abort: "Denied, and the run stopped",
  rerun: "To run again",
  result: "Result provided",
  fail: "Counted as failed",
  reply: "Answered",
  decline: "Declined",
  expired: "Expired without an answer",
};

/** Describes a decision, and who made it. */
export function formatDecision({ answer, by, overruled }: DecisionFields): string {
  const label = answerLabels[answer] ?? answer;
  if (overruled === undefined) return `${label}${by ? ` by ${by}` : ""}`;
  const firstLabel = answerLabels[overruled.answer] ?? overruled.answer;
  return `${firstLabel}${overruled.by ? ` by ${overruled.by}` : ""}, but ${lowercaseFirst(label)} by the permissions`;
}

type DecisionFields = {
  readonly answer: string;
  readonly by?: string | null;
  readonly overruled?: CallAnswer["overruled"];
};

function lowercaseFirst(text: string): string {
  return `${text.charAt(0).toLowerCase()}${text.slice(1)}`;
}

function AnswerLine({ answer, input }: { readonly answer: CallAnswer; readonly input: unknown }) {
  const { note, at } = answer;
  return (
    <div class="answer-line">
      <p>
        {formatDecision(answer)}
        {note !== null && <>: {note}</>}
        <span class="dim">
          {" "}
          <Ago at={at} />
        </span>
      </p>
      {answer.input !== undefined && JSON.stringify(answer.input) !== JSON.stringify(input) && (
        <Fields value={answer.input} />
      )}
      {answer.value !== undefined && <Fields value={answer.value} />}
    </div>
  );
}
