import { type FormEvent, useEffect, useRef, useState } from "react";
import type { Message } from "./messages.js";
import { ToolCard } from "./tool-card.js";
import { useDurableChat } from "./use-durable-chat.js";

type Durable = ReturnType<typeof useDurableChat>;

export function Chat({ id, onNew }: { readonly id: string; readonly onNew: () => void }) {
  const chat = useDurableChat(id);
  const end = useRef<HTMLDivElement>(null);
  // biome-ignore lint/correctness/useExhaustiveDependencies: it scrolls whenever something was added.
  useEffect(() => {
    end.current?.scrollIntoView({ block: "end" });
  }, [chat.messages, chat.notes]);
  return (
    <main>
      <header>
        <h1>Notes</h1>
        <button type="button" className="quiet" onClick={onNew}>
          New chat
        </button>
      </header>
      <section aria-label="Conversation" className="conversation">
        {chat.messages.length === 0 && <Welcome send={chat.send} />}
        {chat.messages.map((message) => (
          <OneMessage key={message.id} message={message} chat={chat} />
        ))}
        {chat.isRunning && <p className="working" role="status" aria-label="Working" />}
        {chat.isLost && <p className="banner">The connection is lost. Nothing else is: the page tries again …</p>}
        {chat.error !== null && (
          <p className="banner failed" role="alert">
            {chat.error}
          </p>
        )}
        <div ref={end} className="end" />
      </section>
      <Composer chat={chat} />
    </main>
  );
}

const examples = [
  "List the files, then write a list of them to FILES.md",
  'Find "train" in the notes',
  'Replace "two nights" with "three nights" in journey.md',
];

function Welcome({ send }: Pick<Durable, "send">) {
  return (
    <div className="welcome">
      <p>An agent looks after a folder of notes. Before it changes anything, it asks you.</p>
      {examples.map((text) => (
        <button type="button" key={text} className="quiet" onClick={() => void send(text)}>
          {text}
        </button>
      ))}
    </div>
  );
}

function OneMessage({ message, chat }: { readonly message: Message; readonly chat: Durable }) {
  const { role, parts, metadata } = message;
  return (
    <article className={role} aria-label={role === "user" ? "You" : "Agent"}>
      {parts.map((part, index) => {
        const key = `${index}`;
        switch (part.type) {
          case "text":
            return (
              <p key={key} className="text">
                {part.text}
              </p>
            );
          case "reasoning":
            return (
              <details key={key} className="reasoning">
                <summary>Thoughts</summary>
                <p>{part.text}</p>
              </details>
            );
          case "dynamic-tool":
          case "tool-publish":
            return <ToolCard key={key} call={part} message={message} chat={chat} />;
          case "data-pawl-compacted":
            return (
              <p key={key} className="aside">
                The beginning of the conversation was summarized.
              </p>
            );
          default:
            return null;
        }
      })}
      {metadata?.status === "failed" && (
        <p className="banner failed" role="alert">
          The run failed: {metadata.error ?? metadata.reason}
        </p>
      )}
      {metadata?.status === "aborted" && <p className="aside">Stopped.</p>}
    </article>
  );
}

function Composer({ chat }: { readonly chat: Durable }) {
  const [text, setText] = useState("");
  const isStoppable = chat.isRunning || chat.isWaiting;
  function submit(event: FormEvent) {
    event.preventDefault();
    if (text.trim() === "" || isStoppable) return;
    void chat.send(text);
    setText("");
  }
  return (
    <form className="composer" onSubmit={submit}>
      <input
        aria-label="Message"
        placeholder={chat.isWaiting ? "The agent waits for you" : "Ask about the notes"}
        value={text}
        onChange={(event) => setText(event.target.value)}
      />
      {isStoppable ? (
        <button type="button" className="quiet" onClick={() => void chat.stop()}>
          Stop
        </button>
      ) : (
        <button type="submit" disabled={text.trim() === ""}>
          Send
        </button>
      )}
    </form>
  );
}
