/**
 * Facts about a session apart from its runs: its agent, its model, its folder, and its origin.
 */
import { defined } from "../data/defined.js";

/** The facts that a session is bound to. Only an agent of the same name can continue it. */
export type SessionInfo = {
  readonly agent: string;
  /** The model of the agent that started the session. A handoff does not change it. */
  readonly model: string;
  /** The folder that the agent works in, if it has one. */
  readonly root?: string;
  /** For lists: the first words of the first request, or a title that a person has set. */
  readonly title?: string;
  /** The call of another session that started this one. */
  readonly parent?: {
    readonly sessionId: string;
    readonly callKey: string;
    /** The trace id of the parent's run, if its request named one. */
    readonly traceId?: string;
    /** The call has returned at once: the parent does not wait, and is sent a message when the run ends. */
    readonly background?: true;
  };
  /** The session at the top of a chain of parents. */
  readonly top?: string;
  /** The person or account that started the session. */
  readonly principal?: string;
  /** The session and entry that this session was forked from. Reserved: no code sets it yet. */
  readonly forkedFrom?: {
    readonly sessionId: string;
    /** The last entry of that session that this session has. */
    readonly seq: number;
  };
};

/** The fields that `session_created` records. */
export function pickSessionInfo({ agent, model, root, title, parent, top, principal }: SessionInfo): SessionInfo {
  return { agent, model, ...defined({ root, title, parent, top, principal }) };
}

/** Replaces the title; returns `info` unchanged if `title` is undefined. */
export function withTitle(info: SessionInfo, title: string | undefined): SessionInfo {
  return title === undefined ? info : { ...info, title };
}

/** The `principal` of a session, for objects that are built from its state. Empty if the session has none. */
export function pickPrincipal({ session }: { readonly session: SessionInfo | null }): Pick<SessionInfo, "principal"> {
  return session?.principal === undefined ? {} : { principal: session.principal };
}

/** The facts that a message requests for a new session. A sender without an agent leaves the model to the holder. */
export type SessionBinding = Omit<SessionInfo, "model"> & { readonly model?: string };
