/**
 * The options of a run, as the log stores them.
 */
import type { Json } from "../data/message.js";
import type { ModelSettings } from "../data/model-settings.js";
import type { RecordedCondition } from "./stop-condition.js";

/** Options of a run that override its agent's. Plain data, because the log stores them. */
export type RunOptions = {
  readonly systemPrompt?: string;
  /** The names of tools that only this run has. Their functions exist only in the process that received them. */
  readonly tools?: readonly string[];
  readonly activeTools?: readonly string[];
  readonly toolChoice?: RunToolChoice;
  /** False if no person can be asked: a call that would ask is then denied. */
  readonly interactive?: boolean;
  readonly providerOptions?: { readonly [provider: string]: { readonly [key: string]: Json } };
  /** The JSON Schema that the answer must fit. */
  readonly output?: { readonly [key: string]: Json };
  /** The conditions that stop the run between two steps. */
  readonly stopWhen?: readonly RecordedCondition[];
  /** The name of one of the agent's `models`, used in place of its `model`. */
  readonly model?: string;
  /** Settings of the run's model calls. They take precedence over the agent's. */
  readonly settings?: ModelSettings;
  /** Passed to its tools, hooks and policies as `params`. */
  readonly params?: { readonly [name: string]: Json };
  /** The agent that the run begins with, if it is not the session's current agent. */
  readonly agent?: string;
};

/** Whether a model may, must or must not call tools, or which tool it must call. */
export type ToolChoice =
  | "auto"
  | "none"
  | "required"
  | {
      /** The tool that the model must call. */
      readonly tool: string;
    };

/**
 * A tool choice as the log stores it. A forced choice applies to every model call of the run if `everyStep` is true, and otherwise to the
 * first call.
 */
export type RunToolChoice =
  | ToolChoice
  | {
      /** The tool that the model must call. */
      readonly tool: string;
      /** If true, the choice applies to every model call of the run. */
      readonly everyStep?: boolean;
    }
  | {
      /** The model must call some tool. */
      readonly required: true;
      /** If true, the choice applies to every model call of the run. */
      readonly everyStep?: boolean;
    };
