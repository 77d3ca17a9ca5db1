/**
 * useChat over a durable session. The server has the conversation, so the page can lose its connection, be reloaded, or be
 * open twice: it loads the messages, and joins the run that is under way.
 */
import { Chat, useChat } from "@ai-sdk/react";
import { DefaultChatTransport } from "ai";
import { useCallback, useEffect, useRef, useState } from "react";
import {
  type Answer,
  type Decision,
  isOpen,
  isUnderWay,
  isWaiting,
  type Message,
  onlyWaits,
  type Question,
} from "./messages.js";

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
  // As of this rendering. What happens between two renderings asks `own`.
  const isRunning = isStreaming(chat);

  /** The catching up that is under way. One that was replaced must not show what it has loaded before. */
  const catching = useRef<object | null>(null);
  /** Whether there were news while a stream was open. It may end too early to show them. */
  const missed = useRef(false);

  /** Shows what the server has, and joins the run under way. */
  const catchUp = useCallback(async (): Promise<void> => {
    missed.current = isStreaming(own);
    if (missed.current) return;
    const turn = {};
    const isStale = () => catching.current !== turn;
    catching.current = turn;
    try {
      const loaded = await load(id);
      if (isStale()) return;
      setMessages(loaded);
      setLost(0);
      // There is nothing to join, and a stream would begin with an empty message: a form that is being filled in would be lost.
      if (onlyWaits(loaded.at(-1))) return;
      await resumeStream();
      if (isStale()) return;
      if (missed.current) return catchUp();
      // The run may have ended between the two requests.
      const again = isUnderWay(loaded.at(-1)) ? await load(id) : null;
      if (again !== null && !isStale()) setMessages(again);
    } catch {
      setLost((times) => times + 1);
    } finally {
      if (!isStale()) catching.current = null;
    }
  }, [id, own, setMessages, resumeStream]);

  /** Sends, and shows what follows. A catching up is older than that, so it is left, and done afterwards. */
  const open = useCallback(
    async (...sent: Parameters<typeof sendMessage>) => {
      await own.stop();
      missed.current = catching.current !== null;
      catching.current = null;
      await sendMessage(...sent);
      if (missed.current && own.error === undefined) await catchUp();
    },
    [own, sendMessage, catchUp],
  );

  useEffect(() => void catchUp(), [catchUp]);

  useEffect(() => {
    if (lost === 0) return;
    const timer = setTimeout(catchUp, retryMs);
    return () => clearTimeout(timer);
  }, [lost, catchUp]);

  const tellOthers = useOtherTabs(id, status, () => void catchUp());

  const last = messages.at(-1);
  const sessionId = last?.metadata?.sessionId;

  /** Answers that were given while a stream was open. */
  const given = useRef<readonly Answer[]>([]);

  async function answer({ callKey, inputHash, questionId }: Question, decision: Decision) {
    tellOthers();
    const said = { callKey, inputHash, questionId, decision };
    if (!isStreaming(own)) return open(undefined, { body: { answers: [said] } });
    // Another call runs, so the stream is open, and shows what follows. If it is just ending, the answer is sent again.
    missed.current = true;
    given.current = [...given.current, said];
    await post(`/v1/sessions/${sessionId}/answers`, said);
  }

  useEffect(() => {
    if (isRunning || given.current.length === 0) return;
    const answers = given.current.filter((one) => isOpen(last, one));
    given.current = [];
    if (answers.length > 0) void open(undefined, { body: { answers } });
  }, [isRunning, last, open]);

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
      return open({ text });
    },
    /** Ends the run. `stop` of useChat would only leave it. */
    stop: () => post(`/v1/sessions/${sessionId}/abort`, {}).then(catchUp),
  };
}

/** Whether a stream is open, or asked for. */
function isStreaming({ status }: Pick<Chat<Message>, "status">): boolean {
  return status === "submitted" || status === "streaming";
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
