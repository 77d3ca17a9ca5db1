/**
 * How a tool says that the work is done: it returns `done(message)` or throws `TaskComplete` (FIN-7).
 */
const mark = Symbol.for("pawl.done");

export type Done = { readonly [mark]: true; readonly message?: string };

/** Returned by a tool: the run completes with this message, or else with the text of the step. */
export function done(message?: string): Done {
  return message === undefined ? { [mark]: true } : { [mark]: true, message };
}

/** Thrown by a tool, anywhere below its `execute`: the run completes with this message, or else with the text of the step. */
export class TaskComplete extends Error {
  override readonly name = "TaskComplete";
  readonly done: Done;

  constructor(message?: string) {
    super(message);
    this.done = done(message);
  }
}

/** The signal in what a tool returned or threw, if it is one. */
export function doneIn(value: unknown): Done | undefined {
  if (typeof value !== "object" || value === null) return undefined;
  try {
    if (value instanceof TaskComplete) return value.done;
    return mark in value ? (value as Done) : undefined;
  } catch {
    // A proxy that refuses to be looked at signals nothing.
    return undefined;
  }
}
