/**
 * A case: what people asked for in a session, the results that tools and people gave, and how the session ended. A case is a JSON
 * file in the author's repository, made by `pawl eval add` or written by hand.
 */
import type { Label } from "../core/data/label.js";
import type { Json, Message, ToolOutput, UserMessage } from "../core/data/message.js";
import type { DataPatch } from "../core/data/session-data.js";
import type { RunOptions } from "../core/machine/event.js";
import type { DeltaBody, JsonSchema, ToolSpecification } from "../ports/model.js";

/** The options of a recorded run that a trial repeats. */
export type TurnOptions = Omit<RunOptions, "tools" | "stopWhen" | "output">;

/** One request by a person. */
export type Turn = {
  /** The messages of the request. */
  readonly input: readonly UserMessage[];
  /** The output schema of the request, as JSON Schema. */
  readonly output?: JsonSchema;
  /** The other options of the request. */
  readonly options?: TurnOptions;
  /** Changes to the session's data made before the request, outside any run. */
  readonly data?: readonly DataPatch[];
};

/** A call that ran, with its result. */
export type RecordedCall = {
  /** The agent that made the call. */
  readonly agent: string;
  /** The name of the tool. */
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

/** A person's answer to a call that was waiting for one. */
export type RecordedAnswer = {
  readonly agent: string;
  /** The name of the tool that asked. */
  readonly tool: string;
  readonly input: Json;
  /** The type of the decision: `approve`, `deny`, `modify`, `reply`, … */
  readonly answer: string;
  /** The input as the person changed it, or the reply to the tool's question. */
  readonly value?: Json;
  readonly note?: string;
  /** The tool's question that was answered. */
  readonly questionId?: string;
};

/** Something that reached the session from outside during a run. */
export type RecordedArrival = {
  /** The model call during which it arrived, counted over the whole session from 1. */
  readonly step: number;
  /** Messages with which a person steered the run. */
  readonly steer?: readonly UserMessage[];
  /** Whether calls that had not started were to be skipped. */
  readonly skip?: "unstarted";
  /** A change to the session's data. */
  readonly data?: DataPatch;
};

/** A recorded session: the one that the case was made from, or one of its children. */
export type RecordedSession = {
  /** The agent that the session started with. */
  readonly agent: string;
  /** The text of its first request. The trial's child sessions are matched with recorded ones by agent and request. */
  readonly request: string;
  /** The model's answers, in the order of its calls. */
  readonly steps: readonly (readonly DeltaBody[])[];
  /** What arrived from outside during its runs. Default: nothing. */
  readonly arrivals?: readonly RecordedArrival[];
};

/** A call that a model made. Calls are in log order; the calls of a child session follow the call that started it. */
export type AskedCall = {
  /** The agent that made the call. */
  readonly agent: string;
  /** The name of the tool. */
  readonly tool: string;
  readonly input: Json;
  /** The input with the defaults of the tool's schema; absent if they change nothing. */
  readonly filled?: Json;
  /** How the call ended: `ok`, `error`, `denied`, … */
  readonly outcome: string;
  /** True if a person was asked for approval. */
  readonly asked?: true;
  /** What the model read instead of a result, if the outcome is not `ok`. Only in trials. */
  readonly error?: string;
};

/** How a recorded session or a trial ended. */
export type Ending = {
  /** The status of the last run. */
  readonly status: string;
  /** The reason for that status. */
  readonly reason?: string;
  /** What went wrong, if the run failed. Only in trials. */
  readonly error?: string;
  /** The text of the answer. */
  readonly text: string;
  /** The answer as data, if the request had an output schema. */
  readonly output?: Json;
  /** The tool calls, in order, child sessions included. */
  readonly calls: readonly AskedCall[];
  /** The hooks that took part, as `agent/hook/point`, sorted. */
  readonly hooks: readonly string[];
  /** The number of model calls, child sessions included. */
  readonly steps: number;
  /** Input tokens, child sessions included. */
  readonly inputTokens: number;
  /** Output tokens, child sessions included. */
  readonly outputTokens: number;
  /** US dollars. Absent if a model has no known price. */
  readonly costUsd?: number;
};

/** A tool of a plugin or an MCP server, as offered to the model. Trials offer it without starting the plugin or server. */
export type OutsideTool = {
  /** The agent that had the tool. */
  readonly agent: string;
  /** The tool's description for the model. */
  readonly specification: Pick<ToolSpecification, "name" | "description" | "inputSchema">;
  /** True if a person was asked to approve a recorded call of the tool. */
  readonly needsApproval?: true;
};

/** A person's verdict on the recorded session. */
export type CaseLabel = Label & {
  /** The person. */
  readonly by?: string;
};

/** A case, as stored in its file. A case written by hand needs only `v`, `name` and `turns`. */
export type EvalCase = {
  /** The version of the format. */
  readonly v: 1;
  /** The name of the case; in a folder, the file name without `.json`. */
  readonly name: string;
  /** The agent that the session started with. */
  readonly agent?: string;
  /** Tags, by which cases can be chosen. Default: none. */
  readonly tags?: readonly string[];
  /** The conversation that the session was started with. */
  readonly history?: readonly Message[];
  /** The requests of the session, in order. */
  readonly turns: readonly Turn[];
  /** The answers that people gave. Default: none. */
  readonly answers?: readonly RecordedAnswer[];
  /** The recorded tool calls. Default: none. */
  readonly calls?: readonly RecordedCall[];
  /** The session itself, followed by its child sessions in the order of the log. */
  readonly sessions?: readonly RecordedSession[];
  /** The number of the session's model calls that are answered from the record. The model answers all later calls. */
  readonly at?: number;
  /** Tools of plugins and servers, offered without starting the plugin or server. Default: none. */
  readonly outsideTools?: readonly OutsideTool[];
  /** The expected ending. In a case made from a session: how that session ended. */
  readonly expected?: Partial<Ending>;
  /** A person's verdict on the session. Default: none. */
  readonly label?: CaseLabel;
  /** The session that the case was made from. */
  readonly from?: {
    readonly sessionId: string;
    /** The last entry of the log that belongs to the case. */
    readonly seq: number;
    readonly model: string;
    /** When the session began, in epoch milliseconds. */
    readonly startedAt: number;
  };
};
