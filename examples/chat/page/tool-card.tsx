import { getToolName } from "ai";
import { type FormEvent, useState } from "react";
import { type Decision, isOver, type Message, openQuestions, type Question, type ToolCall } from "./messages.js";
import type { useDurableChat } from "./use-durable-chat.js";

type Props = {
  readonly call: ToolCall;
  readonly message: Message;
  readonly chat: Pick<ReturnType<typeof useDurableChat>, "answer" | "notes" | "isRunning">;
};

export function ToolCard({ call, message, chat }: Props) {
  const questions = openQuestions(message, call);
  const note = isOver(call) ? undefined : chat.notes[call.toolCallId];
  const status = questions.length > 0 ? "waits for you" : statusOf(call, chat.isRunning);
  return (
    <div className={`call ${questions.length > 0 ? "asks" : ""}`}>
      <div className="call-head">
        <strong>{titleOf(call)}</strong>
        <span className={`status ${call.state}`}>{status}</span>
      </div>
      {call.input !== undefined && <Value label="Input" value={call.input} isOpen={questions.length > 0} />}
      {questions.length === 0 && note !== undefined && <p className="note">{note}</p>}
      {call.state === "output-available" && <Value label="Output" value={call.output} isOpen={false} />}
      {call.state === "output-error" && <p className="note failed">{call.errorText}</p>}
      {questions.map((question) => (
        <Ask
          key={question.questionId ?? question.why}
          question={question}
          input={call.input}
          onAnswer={(decision) => void chat.answer(question, decision)}
        />
      ))}
    </div>
  );
}

function titleOf(call: ToolCall): string {
  if (call.type !== "tool-publish") return getToolName(call);
  const note = call.input?.note;
  return note === undefined ? "publish" : `publish ${note}`;
}

function statusOf({ state }: ToolCall, isRunning: boolean): string {
  switch (state) {
    case "input-streaming":
      return "being written";
    case "output-available":
      return "done";
    case "output-error":
      return "failed";
    case "output-denied":
      return "denied";
    default:
      return isRunning ? "running" : "under way";
  }
}

function Value({
  label,
  value,
  isOpen,
}: {
  readonly label: string;
  readonly value: unknown;
  readonly isOpen: boolean;
}) {
  const fields = value !== null && typeof value === "object" && !Array.isArray(value) ? Object.entries(value) : null;
  return (
    <details open={isOpen}>
      <summary>{label}</summary>
      {fields === null ? (
        <pre>{textOf(value)}</pre>
      ) : (
        <dl>
          {fields.map(([name, field]) => (
            <div key={name}>
              <dt>{name}</dt>
              <dd>
                <pre>{textOf(field)}</pre>
              </dd>
            </div>
          ))}
        </dl>
      )}
    </details>
  );
}

function textOf(value: unknown): string {
  return typeof value === "string" ? value : JSON.stringify(value, null, 2);
}

type AskProps = { readonly question: Question; readonly onAnswer: (decision: Decision) => void };

function Ask({ question, input, onAnswer }: AskProps & { readonly input: unknown }) {
  switch (question.why) {
    case "tool":
      return <Reply question={question} onAnswer={onAnswer} />;
    case "recovery":
      return (
        <div className="ask">
          <p>The server stopped while this ran, so nobody knows whether it was done.</p>
          <div className="choices">
            <button type="button" onClick={() => onAnswer({ type: "result", output: "It is done." })}>
              It is done
            </button>
            <button type="button" onClick={() => onAnswer({ type: "fail" })}>
              It failed
            </button>
            <button type="button" className="quiet" onClick={() => onAnswer({ type: "rerun" })}>
              Run it again
            </button>
          </div>
        </div>
      );
    default:
      return <Approval question={question} input={input} onAnswer={onAnswer} />;
  }
}

function Approval({ question, input, onAnswer }: AskProps & { readonly input: unknown }) {
  const [edited, setEdited] = useState<string | null>(null);
  const parsed = edited === null ? undefined : parse(edited);
  return (
    <div className="ask">
      <p>{question.question ?? "May it run?"}</p>
      {edited !== null && (
        <textarea
          aria-label="Edited input"
          spellCheck={false}
          rows={Math.min(edited.split("\n").length + 1, 12)}
          value={edited}
          onChange={(event) => setEdited(event.target.value)}
        />
      )}
      <div className="choices">
        {edited === null ? (
          <>
            <button type="button" onClick={() => onAnswer({ type: "approve" })}>
              Approve
            </button>
            {question.why === "policy" && (
              <button type="button" className="quiet" onClick={() => setEdited(JSON.stringify(input, null, 2))}>
                Edit
              </button>
            )}
            <button type="button" className="quiet" onClick={() => onAnswer({ type: "deny" })}>
              Deny
            </button>
          </>
        ) : (
          <>
            <button
              type="button"
              disabled={parsed === undefined}
              onClick={() => onAnswer({ type: "modify", input: parsed })}
            >
              Approve the edit
            </button>
            <button type="button" className="quiet" onClick={() => setEdited(null)}>
              Back
            </button>
          </>
        )}
      </div>
    </div>
  );
}

function Reply({ question: { question, schema }, onAnswer }: AskProps) {
  const [text, setText] = useState("");
  function submit(event: FormEvent) {
    event.preventDefault();
    onAnswer({ type: "reply", value: schema?.type === "string" ? text : (parse(text) ?? text) });
  }
  return (
    <form className="ask" onSubmit={submit}>
      <p>{question ?? "The tool asks."}</p>
      {schema?.enum === undefined && (
        <input aria-label="Answer" value={text} onChange={(event) => setText(event.target.value)} />
      )}
      <div className="choices">
        {schema?.enum === undefined ? (
          <button type="submit" disabled={text === ""}>
            Answer
          </button>
        ) : (
          schema.enum.map((value) => (
            <button type="button" key={value} onClick={() => onAnswer({ type: "reply", value })}>
              {value}
            </button>
          ))
        )}
        <button type="button" className="quiet" onClick={() => onAnswer({ type: "decline" })}>
          I do not say
        </button>
      </div>
    </form>
  );
}

/** Undefined if the text is not JSON. */
function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
