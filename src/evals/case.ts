/**
 * A case: what people asked in a session, what the world answered, and how it ended. A case is a JSON file of the
 * author's repository, made by `pawl eval add` or written by hand.
 */
import type { Json, Message, ToolOutput, UserMessage } from "../core/data/message.js";
import type { DataPatch } from "../core/data/session-data.js";
import type { RunOptions } from "../core/machine/event.js";
import type { DeltaBody, JsonSchema, ToolSpecification } from "../ports/model.js";

/** The options of a recorded run that a trial repeats. */
export type TurnOptions = Omit<RunOptions, "tools" | "stopWhen" | "output">;

/** One request of a person. */
export type Turn = {
  /** What the person asked. */
  readonly input: readonly UserMessage[];
  /** The JSON Schema of the answer, if the request asked for one. */
  readonly output?: JsonSchema;
  /** The other options of the request. */
  readonly options?: TurnOptions;
  /** Changes of the session's data that were made before the request, from outside of runs. */
  readonly data?: readonly DataPatch[];
};

/** A call that ran, and its result. */
export type RecordedCall = {
  /** The agent that called. */
  readonly agent: string;
  readonly tool: string;
  /** The input that the call ran with. */
  readonly input: Json;
  /** What the tool returned. */
  readonly output: ToolOutput;
  /** True if the tool threw. */
  readonly isError?: true;
  /** How the call changed the session's data. */
  readonly data?: DataPatch;
};

/** A person's answer to a call that waited for one. */
export type RecordedAnswer = {
  readonly agent: string;
  readonly tool: string;
  readonly input: Json;
  /** The type of the decision: `approve`, `deny`, `modify`, `reply`, … */
  readonly answer: string;
  /** The input that the person gave the call, or the reply to a question of the tool. */
  readonly value?: Json;
  readonly note?: string;
  /** Which question of the tool was answered. */
  readonly questionId?: string;
};

/** What came to the session from outside while a run was under way. */
export type RecordedArrival = {
  /** The number of the model call during which it came, counted over the whole session from 1. */
  readonly step: number;
  /** What a person said to the run. */
  readonly steer?: readonly UserMessage[];
  /** The person also wanted the calls skipped that had not started. */
  readonly skip?: "unstarted";
  /** A change of the session's data. */
  readonly data?: DataPatch;
};

/** A session of the record: the one that the case is made from, or one of its child sessions. */
export type RecordedSession = {
  /** The agent with which the session began. */
  readonly agent: string;
  /** The text of its first request. A child session of a trial is matched with its recorded one by agent and request. */
  readonly request: string;
  /** The answers of the model, in the order of its calls. */
  readonly steps: readonly (readonly DeltaBody[])[];
  readonly arrivals?: readonly RecordedArrival[];
};

/** A call that a model asked for. Calls are in the order of the log; those of child sessions come in their place. */
export type AskedCall = {
  /** The agent that called. */
  readonly agent: string;
  readonly tool: string;
  readonly input: Json;
  /** The input with the defaults of the tool's schema filled in; absent if that changes nothing. */
  readonly filled?: Json;
  /** How the call ended: `ok`, `error`, `denied`, … */
  readonly outcome: string;
  /** True if a person was asked for approval. */
  readonly asked?: true;
};

/** How a session ended, recorded or played. */
export type Ending = {
  /** The status of the last run's result. */
  readonly status: string;
  /** The reason of that status. */
  readonly reason?: string;
  /** The text of the answer. */
  readonly text: string;
  /** The answer as data, if a shape was asked for. */
  readonly output?: Json;
  readonly calls: readonly AskedCall[];
  /** The hooks that the log names, as `agent/hook/point`, sorted. */
  readonly hooks: readonly string[];
  /** The number of model calls, child sessions included. */
  readonly steps: number;
  readonly inputTokens: number;
  readonly outputTokens: number;
  /** US dollars. Absent if a model has no price. */
  readonly costUsd?: number;
};

/** A tool of a plugin or an MCP server, as the model was offered it. A trial has it without starting anything. */
export type OutsideTool = {
  /** The agent that had the tool. */
  readonly agent: string;
  readonly specification: Pick<ToolSpecification, "name" | "description" | "inputSchema">;
  /** True if the record has a call of the tool for which a person was asked. */
  readonly needsApproval?: true;
};

/** What a person thinks of the recorded answer. */
export type Label = {
  readonly good: boolean;
  readonly note?: string;
  readonly by?: string;
};

/** A case, as its file has it. Only `turns` is required of one that is written by hand. */
export type EvalCase = {
  /** The version of the format. */
  readonly v: 1;
  /** The name of the file, without `.json`. */
  readonly name: string;
  /** The agent that the session began with. */
  readonly agent?: string;
  readonly tags?: readonly string[];
  /** The conversation that the session was begun with. */
  readonly history?: readonly Message[];
  readonly turns: readonly Turn[];
  readonly answers?: readonly RecordedAnswer[];
  readonly calls?: readonly RecordedCall[];
  /** The session itself, then its child sessions in the order of the log. */
  readonly sessions?: readonly RecordedSession[];
  /** So many model calls of the session are taken from the record. The model is asked from the next one on. */
  readonly at?: number;
  readonly outsideTools?: readonly OutsideTool[];
  /** What is expected. In a case made from a session: how the session ended. */
  readonly expected?: Partial<Ending>;
  readonly label?: Label;
  /** What the case was made from. */
  readonly from?: {
    readonly sessionId: string;
    /** The last entry of the log that belongs to the case. */
    readonly seq: number;
    readonly model: string;
    /** When the session began, in epoch milliseconds. */
    readonly startedAt: number;
  };
};
