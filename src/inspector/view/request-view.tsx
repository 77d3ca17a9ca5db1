/**
 * The request of each attempt of a model call, exactly as it was sent: its parts, the tokens of each, and the first difference from the
 * previous request. From that point on, the provider's cache cannot be used.
 */
import { useEffect, useState } from "preact/hooks";
import { formatCount, toOneLine } from "../state/format.js";
import { type Loaded, requestKey, type SentRequest, type SessionState } from "../state/session-state.js";
import type { StepRow } from "../state/step-rows.js";
import { AttemptPicker } from "./attempts.js";
import { Fields, LoadFailure, PlainText } from "./common.js";
import { CopyButton } from "./copy-button.js";
import { useInspector } from "./hooks.js";

export function RequestTab({ session, row }: { readonly session: SessionState; readonly row: StepRow }) {
  const inspector = useInspector();
  const attempts = session.traces.get(row.key)?.attempts ?? [];
  const last = attempts.length - 1;
  const [chosenIndex, setChosenIndex] = useState<number | null>(null);
  const at = chosenIndex ?? last;
  // The request of the last attempt is already loaded.
  const attempt = at === last ? undefined : attempts[at]?.attempt;
  useEffect(() => {
    if (attempt !== undefined) inspector.loadRequest(row.key, attempt);
  }, [attempt]);
  return (
    <>
      <AttemptPicker attempts={attempts} selectedIndex={at} onChoose={setChosenIndex} />
      <RequestView request={session.requests.get(requestKey(row.key, attempt))} isFirst={row.index === 1} />
    </>
  );
}

function RequestView({
  request,
  isFirst,
}: {
  readonly request: Loaded<SentRequest> | undefined;
  readonly isFirst: boolean;
}) {
  if (request === undefined || request.status === "loading") return <p class="loading">Loading the request…</p>;
  if (request.status === "failed") return <LoadFailure message={request.message} />;
  const { value } = request;
  const { request: sentRequest, tokens, difference } = value;
  const isBroken = (part: string, index: number | null) => difference?.part === part && difference.index === index;
  return (
    <>
      <div class="request-head">
        <p>
          About <b class="num">{formatCount(tokens.total)}</b> tokens, estimated by Pawl.{" "}
          {difference === null ? (
            <span class="dim">{isFirst ? "It is the first of its run." : "It only adds to the previous request."}</span>
          ) : (
            <span class="warns">
              {formatDifferencePart(difference)} differs from the request before: about{" "}
              {formatCount(difference.tokensLost)} tokens cannot come from a cache.
            </span>
          )}
        </p>
        <CopyButton text={() => JSON.stringify(sentRequest, null, 2)} />
      </div>
      <TokenBar tokens={tokens} />
      {sentRequest.systemPrompt !== undefined && (
        <RequestPart title="System prompt" tokens={tokens.systemPrompt} isBroken={isBroken("systemPrompt", null)}>
          <PlainText text={sentRequest.systemPrompt} />
        </RequestPart>
      )}
      {sentRequest.tools.length > 0 && (
        <RequestPart
          title={`Tools: ${sentRequest.tools.map(({ name }) => name).join(", ")}`}
          tokens={tokens.tools}
          isBroken={isBroken("tools", null)}
        >
          {sentRequest.tools.map((tool) => (
            <div class="tool" key={tool.name}>
              <h4 class="mono">{tool.name}</h4>
              <PlainText text={tool.description ?? ""} />
              <PlainText text={JSON.stringify(tool.inputSchema ?? {}, null, 2)} mono />
            </div>
          ))}
        </RequestPart>
      )}
      {sentRequest.messages.map((message, index) => (
        <RequestPart
          key={index}
          title={message.role}
          number={index + 1}
          preview={formatPreview(message.parts)}
          tokens={tokens.messages[index] ?? null}
          isBroken={isBroken("message", index)}
        >
          {message.parts.map((part, at) => (
            <MessagePart part={part} key={at} />
          ))}
        </RequestPart>
      ))}
    </>
  );
}

function formatDifferencePart({ part, index }: NonNullable<SentRequest["difference"]>): string {
  if (part === "message") return `Message ${(index ?? 0) + 1}`;
  return part === "tools" ? "The list of tools" : "The system prompt";
}

/** The share of each part in the request. */
function TokenBar({ tokens }: { readonly tokens: SentRequest["tokens"] }) {
  const messages = tokens.messages.reduce((sum, one) => sum + one, 0);
  const parts = [
    ["system prompt", tokens.systemPrompt],
    ["tools", tokens.tools],
    ["messages", messages],
  ] as const;
  return (
    <div class="token-bar" aria-hidden="true">
      {parts.map(
        ([name, count]) =>
          count > 0 && (
            <div key={name} style={{ flexGrow: count }} title={`${name}: about ${formatCount(count)} tokens`}>
              <span>{name}</span>
            </div>
          ),
      )}
    </div>
  );
}

function RequestPart({
  title,
  number,
  preview = "",
  tokens,
  isBroken,
  children,
}: {
  readonly title: string;
  readonly number?: number;
  readonly preview?: string;
  readonly tokens: number | null;
  readonly isBroken: boolean;
  readonly children: preact.ComponentChildren;
}) {
  return (
    <details class={isBroken ? "part broken" : "part"} open={isBroken}>
      <summary>
        {number !== undefined && <span class="num dim">{number}</span>}
        <span class="name">{title}</span>
        <span class="cut dim" dir="auto">
          {preview}
        </span>
        {isBroken && <span class="tag warns">first difference</span>}
        <span class="num dim">{formatCount(tokens)}</span>
      </summary>
      {children}
    </details>
  );
}

type AnyPart = {
  readonly type?: string;
  readonly text?: string;
  readonly name?: string;
  readonly input?: unknown;
  readonly output?: { readonly text?: string; readonly value?: unknown };
};

function formatPreview(parts: readonly unknown[]): string {
  const texts = (parts as readonly AnyPart[]).map(({ type, text, name, output, input }) => {
    if (type === "tool_call") return `${name}(${JSON.stringify(input)})`;
    if (type === "tool_result") return `${name} → ${output?.text ?? JSON.stringify(output?.value ?? "")}`;
    return text ?? type ?? "";
  });
  return toOneLine(texts.join(" · "), 240);
}

function MessagePart({ part }: { readonly part: unknown }) {
  const { type, text, name, input, output } = part as AnyPart;
  if (type === "text") return <PlainText text={text ?? ""} />;
  if (type === "reasoning") return <PlainText text={text ?? ""} />;
  if (type === "tool_call")
    return (
      <div class="message-part">
        <h4 class="mono">{name}</h4>
        <Fields value={input} />
      </div>
    );
  if (type === "tool_result")
    return (
      <div class="message-part">
        <h4 class="mono">{name} →</h4>
        <PlainText text={output?.text ?? JSON.stringify(output ?? null, null, 2)} mono />
      </div>
    );
  return <PlainText text={JSON.stringify(part, null, 2)} mono />;
}
