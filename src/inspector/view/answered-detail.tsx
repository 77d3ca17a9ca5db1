/**
 * One answer: who gave it, when, and what was changed.
 */
import { isObject } from "../../core/data/is-object.js";
import type { AnsweredCall } from "../state/answered.js";
import { formatExactTime, toOneLine } from "../state/format.js";
import { stepKeyOfCall } from "../state/route.js";
import { Ago, Difference, Fields, PlainText, RouteLink } from "./common.js";
import { formatDecision } from "./step-items.js";

/** Formats the answer on one line. */
export function formatAnswer(answered: AnsweredCall): string {
  const { answer, note, isSecond } = answered;
  if (answer === "gone") return "No longer waiting";
  const phrase = `${formatDecision(answered)}${note === undefined ? "" : `: ${note}`}`;
  return isSecond ? `Someone else answered first: ${phrase.charAt(0).toLowerCase()}${phrase.slice(1)}` : phrase;
}

export function AnsweredDetail({ answered }: { readonly answered: AnsweredCall }) {
  const { sessionId, session, callKey, name, answer, at, note, input, edited, value, isSecond } = answered;
  return (
    <section class="approval-detail" aria-label={`${name} was answered`}>
      <div class="approval-scroll">
        <header class="asked">
          <RouteLink to={{ screen: "approvals" }} class="back">
            ‹ What waits
          </RouteLink>
          <h2 class="mono">{name}</h2>
          <p class="from">
            <RouteLink to={{ screen: "session", sessionId, step: stepKeyOfCall(callKey), tab: "step" }}>
              <span dir="auto">{toOneLine(session?.title ?? sessionId, 120)}</span>
            </RouteLink>
            {session !== null && <span class="dim"> · agent {session.agent}</span>}
          </p>
          {isSecond && <p class="warning">Someone else answered first. The answer given here does not count.</p>}
          <p>
            <strong>{answer === "gone" ? "No longer waiting" : formatDecision(answered)}</strong>{" "}
            <span class="dim num">
              {formatExactTime(at)} (<Ago at={at} />)
            </span>
          </p>
          {note !== undefined && (
            <blockquote>
              <PlainText text={note} />
            </blockquote>
          )}
        </header>
        {edited !== undefined && input !== undefined && (
          <>
            <h3 class="label">What was changed</h3>
            <Difference before={formatInput(input)} after={formatInput(edited)} isExact />
          </>
        )}
        {edited === undefined && input !== undefined && (
          <>
            <h3 class="label">What was asked</h3>
            <div class="input-box">
              <Fields value={input} isExact />
            </div>
          </>
        )}
        {value !== undefined && (
          <>
            <h3 class="label">The reply</h3>
            <div class="input-box">
              <Fields value={value} isExact />
            </div>
          </>
        )}
      </div>
    </section>
  );
}

/** Formats an input as lines. A value with line breaks takes several lines. */
function formatInput(input: unknown): string {
  if (!isObject(input)) return JSON.stringify(input, null, 2);
  return Object.entries(input)
    .map(([name, value]) => {
      const text = typeof value === "string" ? value : JSON.stringify(value, null, 2);
      return text.includes("\n") ? `${name}:\n${text}` : `${name}: ${text}`;
    })
    .join("\n");
}
