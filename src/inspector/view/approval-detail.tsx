/**
 * A waiting call: the question, its origin and reason, the conversation before it, the whole input, and the possible answers.
 */
import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import type { PublicEvent } from "../../index.js";
import type { TextChoice } from "../../view/question-choices.js";
import { formatErrorMessage } from "../api.js";
import type { WaitingCall } from "../state/app-state.js";
import { type Choice, listChoices, reasonTexts } from "../state/decisions.js";
import { formatDuration, toOneLine } from "../state/format.js";
import { stepKeyOfCall } from "../state/route.js";
import { type StepItem, toStepItems } from "../state/step-items.js";
import { Ago, Fields, HiddenWarning, PlainText, RouteLink } from "./common.js";
import { Editor } from "./editor.js";
import { FormButtons } from "./form-buttons.js";
import { useInspector, useKeys, useNow } from "./hooks.js";
import { StepItems } from "./step-items.js";

/** How long keys are ignored after a call appears, in milliseconds, because they were meant for the previous call. */
const answerableAfterMs = 400;

export function ApprovalDetail({
  approval,
  onAnswered,
}: {
  readonly approval: WaitingCall;
  readonly onAnswered: () => void;
}) {
  const inspector = useInspector();
  const choices = listChoices(approval);
  const first = choices[0]?.takes === "nothing" ? null : (choices[0] ?? null);
  // A question with a written answer opens ready for input. A call in doubt does not, because it has other answers.
  const [chosen, setChosen] = useState<Choice | null>(approval.why === "recovery" ? null : first);
  const [shownAt] = useState(() => performance.now());
  const [sending, setSending] = useState<{ readonly isOn: boolean; readonly problem: string | null }>({
    isOn: false,
    problem: null,
  });
  const send = (decision: Parameters<typeof inspector.answer>[1]) => {
    if (sending.isOn) return;
    setSending({ isOn: true, problem: null });
    inspector.answer(approval, decision).then(onAnswered, (error: unknown) => {
      setSending({ isOn: false, problem: formatErrorMessage(error) });
    });
  };
  const choose = (choice: Choice) => (choice.takes === "nothing" ? send(choice.decide()) : setChosen(choice));
  const press = (choice: Choice) => performance.now() - shownAt >= answerableAfterMs && choose(choice);
  useKeys(Object.fromEntries(choices.map((choice) => [choice.key, () => press(choice)])));
  return (
    <section class="approval-detail" aria-label={`${approval.name} waits`}>
      <div class="approval-scroll">
        <QuestionHeader approval={approval} />
        <ConversationBefore approval={approval} />
        <h3 class="label">{approval.why === "tool" ? "The call that asks" : "What will run"}</h3>
        <HiddenWarning value={approval.input} />
        <div class="input-box">
          <Fields value={approval.input} isExact />
        </div>
      </div>
      <div class="answers">
        {sending.problem !== null && (
          <p class="warning" role="alert">
            {sending.problem}
          </p>
        )}
        {(chosen === null || chosen.takes === "nothing") && (
          <ChoiceButtons choices={choices} isSending={sending.isOn} onChoose={choose} approval={approval} />
        )}
        {chosen?.takes === "value" && (
          <Editor
            choice={chosen}
            isSending={sending.isOn}
            onSend={(value) => send(chosen.decide(value))}
            onCancel={() => setChosen(null)}
          />
        )}
        {chosen?.takes === "text" && (
          <NoteForm
            choice={chosen}
            isSending={sending.isOn}
            onSend={(note) => send(chosen.decide(note))}
            onCancel={() => setChosen(null)}
          />
        )}
      </div>
    </section>
  );
}

function QuestionHeader({ approval }: { readonly approval: WaitingCall }) {
  const now = useNow(1_000);
  const { name, session, sessionId, question, askedAt, expiresAt, url, tool } = approval;
  return (
    <header class="asked">
      <RouteLink to={{ screen: "approvals" }} class="back">
        ‹ What waits
      </RouteLink>
      <h2 class="mono">{name}</h2>
      <p class="from">
        <RouteLink to={{ screen: "session", sessionId, step: stepKeyOfCall(approval.callKey), tab: "step" }}>
          <span dir="auto">{toOneLine(session.title ?? sessionId, 120)}</span>
        </RouteLink>
        <span class="dim">
          {" "}
          · agent {session.agent}
          {session.principal !== undefined && ` · for ${session.principal}`} · asked <Ago at={askedAt} />
        </span>
        {expiresAt !== undefined && (
          <span class="warns"> · expires in {formatDuration(Math.max(0, expiresAt - now))}</span>
        )}
      </p>
      <p>
        {reasonTexts[approval.why]}
        {tool !== null && tool.description !== "" && <span class="dim"> {toOneLine(tool.description, 300)}</span>}
      </p>
      {question !== undefined && (
        <blockquote>
          <PlainText text={question} />
        </blockquote>
      )}
      {url !== undefined && (
        <p>
          The tool refers to a page for this decision: <span class="mono">{url}</span>
        </p>
      )}
    </header>
  );
}

/** The number of log entries before the call that are searched for the conversation. */
const entriesBefore = 60;
/** The maximum number of parts of the conversation that are shown. */
const maxBefore = 6;

/** The conversation before the call: the request, the model's text, and the results of its last calls. */
function ConversationBefore({ approval }: { readonly approval: WaitingCall }) {
  const inspector = useInspector();
  const [items, setItems] = useState<readonly StepItem[] | null>(null);
  const box = useRef<HTMLElement>(null);
  const { sessionId, callKey } = approval;
  useEffect(() => {
    let isCurrent = true;
    const load = async () => {
      const path = `/v1/sessions/${encodeURIComponent(sessionId)}`;
      const { seq } = await inspector.api.get<{ readonly seq: number }>(path);
      const { events } = await inspector.api.get<{ readonly events: readonly PublicEvent[] }>(`${path}/events`, {
        after: Math.max(0, seq - entriesBefore),
        limit: 500,
      });
      const recentItems = toStepItems(events, null).filter((item) => item.kind !== "call" || item.callKey !== callKey);
      if (isCurrent) setItems(recentItems.slice(-maxBefore));
    };
    load().catch(() => {
      if (isCurrent) setItems([]);
    });
    return () => {
      isCurrent = false;
    };
  }, [sessionId, callKey]);
  useLayoutEffect(() => {
    // Scrolls to the end, so that the last part is next to the question.
    if (box.current !== null) box.current.scrollTop = box.current.scrollHeight;
  }, [items]);
  if (items === null) return <p class="loading">Loading the conversation…</p>;
  if (items.length === 0) return null;
  return (
    <section class="before" aria-label="The conversation before the call" ref={box}>
      <h3 class="label">Before</h3>
      <StepItems items={items} sessionId={sessionId} />
    </section>
  );
}

function ChoiceButtons({
  choices,
  isSending,
  onChoose,
  approval,
}: {
  readonly choices: readonly Choice[];
  readonly isSending: boolean;
  readonly onChoose: (choice: Choice) => void;
  readonly approval: WaitingCall;
}) {
  const inspector = useInspector();
  return (
    <div class="buttons">
      {choices.map((choice) => (
        <button
          type="button"
          key={choice.key}
          class={choice.takes === "nothing" && approval.why !== "recovery" ? "primary" : undefined}
          disabled={isSending}
          onClick={() => onChoose(choice)}
        >
          {choice.title} <kbd>{choice.key}</kbd>
        </button>
      ))}
      <button
        type="button"
        class="quiet"
        onClick={() =>
          inspector.navigate({
            screen: "session",
            sessionId: approval.sessionId,
            step: stepKeyOfCall(approval.callKey),
            tab: "step",
          })
        }
      >
        Open the step <kbd>o</kbd>
      </button>
    </div>
  );
}

function NoteForm({
  choice,
  isSending,
  onSend,
  onCancel,
}: {
  readonly choice: TextChoice;
  readonly isSending: boolean;
  readonly onSend: (note: string) => void;
  readonly onCancel: () => void;
}) {
  const [note, setNote] = useState("");
  const press = (event: KeyboardEvent) => {
    if (event.key === "Escape") {
      event.preventDefault();
      onCancel();
    }
    if (event.key !== "Enter" || event.shiftKey || event.isComposing) return;
    event.preventDefault();
    onSend(note);
  };
  return (
    <div class="deny">
      <label>
        {choice.name === "done" ? "Its result" : "A note for the model"} <span class="dim">(may be empty)</span>
        <textarea
          rows={2}
          value={note}
          ref={(field) => field?.focus()}
          onInput={(event) => setNote(event.currentTarget.value)}
          onKeyDown={press}
        />
      </label>
      <FormButtons
        label={choice.title}
        keys="Enter"
        isDanger={choice.name !== "done"}
        isDisabled={isSending}
        onSend={() => onSend(note)}
        onCancel={onCancel}
      />
    </div>
  );
}
