/**
 * What a session is, beside its run: its agent, its model, its folder, and the sessions that it comes from.
 */
import { defined } from "../data/defined.js";

/** What a session is bound to. Only an agent of the same name carries it on. */
export type SessionInfo = {
  readonly agent: string;
  /** The model of the agent that began the session. A handoff does not change it. */
  readonly model: string;
  /** The folder that the agent works in, if it has one. */
  readonly root?: string;
  /** For lists: the first words of the first request, or the title that a person has given the session since. */
  readonly title?: string;
  /** The call of another session that started this one. */
  readonly parent?: {
    readonly sessionId: string;
    readonly callKey: string;
    /** The trace of the parent's run, if its request said which. */
    readonly traceId?: string;
  };
  /** The session at the top of a chain of parents. */
  readonly top?: string;
  /** The person or account that began the session. */
  readonly principal?: string;
  /** The session and the entry that this one was forked from. Reserved: nothing fills it yet. */
  readonly forkedFrom?: {
    readonly sessionId: string;
    /** The last entry of that session that this one has. */
    readonly seq: number;
  };
};

/** What the event that begins a session has of it. */
export function pickSessionInfo({ agent, model, root, title, parent, top, principal }: SessionInfo): SessionInfo {
  return { agent, model, ...defined({ root, title, parent, top, principal }) };
}

/** The same with another title; as it was, if there is none. */
export function withTitle(info: SessionInfo, title: string | undefined): SessionInfo {
  return title === undefined ? info : { ...info, title };
}

/** Who began the session, as what is made of its state has it: nothing if nobody was named. */
export function pickPrincipal({ session }: { readonly session: SessionInfo | null }): Pick<SessionInfo, "principal"> {
  return session?.principal === undefined ? {} : { principal: session.principal };
}

/** What a message asks a new session to be bound to. A poster that has no agent leaves the model to the holder. */
export type SessionBinding = Omit<SessionInfo, "model"> & { readonly model?: string };
