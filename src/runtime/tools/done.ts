/**
 * How a tool ends its run: it returns `done(message)` or throws `TaskComplete` (FIN-7).
 */
const doneMark = Symbol.for("pawl.done");

/** What `done` returns: a tool that gives it back completes the run. Only `done` makes it. */
export type Done = {
  /** Tells it from other values. */
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
  /** Tells the error from others. */
  override readonly name = "TaskComplete";
  /** What the tool would have returned. */
  readonly done: Done;

  constructor(message?: string) {
    super(message);
    this.done = done(message);
  }
}

/** The signal in what a tool returned or threw, if it is one. */
export function findDone(value: unknown): Done | undefined {
  if (typeof value !== "object" || value === null) return undefined;
  try {
    const found = value instanceof TaskComplete ? value.done : doneMark in value ? (value as Done) : undefined;
    // A copy: what is read here once need not be guarded again.
    return found === undefined ? undefined : done(found.message === undefined ? undefined : String(found.message));
  } catch {
    // A proxy that throws when it is inspected is no signal.
    return undefined;
  }
}
