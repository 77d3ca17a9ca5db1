/**
 * useChat over a durable session. The server has the conversation, so the page can lose its connection, be reloaded, or be
 * open twice: it loads the messages, and joins the run that is under way.
 */
import { Chat, useChat } from "@ai-sdk/react";
import { DefaultChatTransport } from "ai";
import { useCallback, useEffect, useRef, useState } from "react";
import { type Answer, type Decision, isOpen, isUnderWay, isWaiting, type Message, type Question } from "./messages.js";

const transport = new DefaultChatTransport<Message>({
  api: "/v1/chat",
  // The server has the conversation: the last message is enough.
  prepareSendMessagesRequest: ({ id, messages, body }) => ({ body: { ...body, id, messages: messages.slice(-1) } }),
});

const retryMs = 1_000;

export function useDurableChat(id: string) {
  /** What running calls say of themselves. It is not part of the message. */
  const [notes, setNotes] = useState<{ readonly [callKey: string]: string }>({});
  /** How often the connection was lost since it was last there. */
  const [lost, setLost] = useState(0);
  // useChat({ transport }) would not know that a resumed stream begins anew, and show the text twice: it takes a Chat that does.
  const [own] = useState(
    () =>
      new Chat<Message>({
        id,
        transport,
        onData(part) {
          if (part.type === "data-pawl-progress") setNotes((all) => ({ ...all, [part.data.callKey]: part.data.note }));
        },
      }),
  );
  const chat = useChat({ chat: own });
  const { messages, status, setMessages, sendMessage, resumeStream } = chat;
  useEffect(() => {
    if (chat.error instanceof TypeError) setLost((times) => times + 1);
  }, [chat.error]);
  const isRunning = status === "submitted" || status === "streaming";
  /** Whether a stream is open, for what runs later. */
  const running = useRef(isRunning);
  running.current = isRunning;

  /** The newest catching up: an older one must not show what it has loaded before. */
  const newest = useRef(0);

  /** Shows what the server has, and joins the run under way. */
  const catchUp = useCallback(async () => {
    newest.current += 1;
    const turn = newest.current;
    const isStale = () => turn !== newest.current || running.current;
    try {
      const loaded = await load(id);
      if (isStale()) return;
      setMessages(loaded);
      setLost(0);
      await resumeStream();
      // The run may have ended between the two requests.
      if (!isUnderWay(loaded.at(-1)) || isStale()) return;
      const again = await load(id);
      if (!isStale()) setMessages(again);
    } catch {
      setLost((times) => times + 1);
    }
  }, [id, setMessages, resumeStream]);

  useEffect(() => void catchUp(), [catchUp]);

  useEffect(() => {
    if (lost === 0) return;
    const timer = setTimeout(catchUp, retryMs);
    return () => clearTimeout(timer);
  }, [lost, catchUp]);

  const tellOthers = useOtherTabs(id, status, () => {
    if (!running.current) void catchUp();
  });

  const last = messages.at(-1);
  const sessionId = last?.metadata?.sessionId;

  /** Answers that were given while a stream was open. */
  const given = useRef<readonly Answer[]>([]);

  async function answer({ callKey, inputHash, questionId }: Question, decision: Decision) {
    tellOthers();
    const own = { callKey, inputHash, questionId, decision };
    if (!running.current) return sendMessage(undefined, { body: { answers: [own] } });
    // Another call runs, so the stream is open, and shows what follows. If it is just ending, the answer is sent again.
    given.current = [...given.current, own];
    await post(`/v1/sessions/${sessionId}/answers`, own);
  }

  useEffect(() => {
    if (isRunning || given.current.length === 0) return;
    const answers = given.current.filter((one) => isOpen(last, one));
    given.current = [];
    if (answers.length > 0) void sendMessage(undefined, { body: { answers } });
  }, [isRunning, last, sendMessage]);

  return {
    messages,
    notes,
    isLost: lost > 0,
    isRunning,
    isWaiting: isWaiting(last),
    error: chat.error === undefined || chat.error instanceof TypeError ? null : messageOf(chat.error),
    answer,
    send(text: string) {
      tellOthers();
      return sendMessage({ text });
    },
    /** Ends the run. `stop` of useChat would only leave it. */
    stop: () => post(`/v1/sessions/${sessionId}/abort`, {}).then(() => (running.current ? undefined : catchUp())),
  };
}

/** Tells the other tabs of the browser when this one has begun something, and when that is over. */
function useOtherTabs(id: string, status: string, onNews: () => void): () => void {
  const acts = useRef(false);
  const news = useRef(onNews);
  news.current = onNews;
  const channel = useRef<BroadcastChannel | null>(null);
  useEffect(() => {
    const opened = new BroadcastChannel(`chat-${id}`);
    opened.onmessage = () => news.current();
    channel.current = opened;
    return () => opened.close();
  }, [id]);
  useEffect(() => {
    if (!acts.current || status === "submitted") return;
    if (status !== "streaming") acts.current = false;
    channel.current?.postMessage(status);
  }, [status]);
  return () => {
    acts.current = true;
  };
}

async function load(id: string): Promise<Message[]> {
  const response = await fetch(`/v1/chat/${id}/messages`);
  const loaded = await response.json();
  if (!response.ok) throw new Error(loaded.error.message);
  return loaded.messages;
}

async function post(path: string, body: unknown): Promise<void> {
  await fetch(path, { method: "POST", headers: { "content-type": "application/json" }, body: JSON.stringify(body) });
}

/** The server says in JSON what it refuses. */
function messageOf({ message }: Error): string {
  try {
    return JSON.parse(message).error.message;
  } catch {
    return message;
  }
}
