/**
 * Lets a tool end its run: it returns `done(message)` or throws `TaskComplete` (FIN-7).
 */
const doneMark = Symbol.for("pawl.done");

/** The return value of `done`: a tool that returns it completes the run. Only `done` creates it. */
export type Done = {
  /** Distinguishes it from other values. */
  readonly [doneMark]: true;
  /** The answer of the run. */
  readonly message?: string;
};

/** Return this from a tool to complete the run. The run's text is `message`; default: the text of the step. */
export function done(message?: string): Done {
  return message === undefined ? { [doneMark]: true } : { [doneMark]: true, message };
}

/**
 * Throw this from a tool, at any depth, to complete the run. The run's text is `message`; default: the text of the
 * step.
 */
export class TaskComplete extends Error {
  /** Distinguishes the error from others. */
  override readonly name = "TaskComplete";
  /** The equivalent return value. */
  readonly done: Done;

  constructor(message?: string) {
    super(message);
    this.done = done(message);
  }
}

/** The done signal in a value that a tool returned or threw; undefined if it is not one. */
export function findDone(value: unknown): Done | undefined {
  if (typeof value !== "object" || value === null) return undefined;
  try {
    const found = value instanceof TaskComplete ? value.done : doneMark in value ? (value as Done) : undefined;
    // A copy, so that later code need not guard against getters.
    return found === undefined ? undefined : done(found.message === undefined ? undefined : String(found.message));
  } catch {
    // A proxy that throws when it is inspected is not a signal.
    return undefined;
  }
}
